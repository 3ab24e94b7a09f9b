/* SPDX-License-Identifier: MIT */
/*
 * vmspace_fuzzer.c - interpret bytes as requests to address spaces: any system call with any
 * arguments, decided by libvmspace alone or with any answer of a host; after each every invariant.
 */
#include "fuzzer.h"
#include "input.h"

#include <mapletree/vmspace_rules.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SPACES       3
#define REQUESTS_MAX 200
#define PAGE         4096UL
#define ARENA        0x10000000000UL

static bool print_calls;

/* index: which space is worked on. */
struct world {
	struct input in;
	struct vmspace *space[SPACES];
	unsigned int index;
};

void fuzzer_print_calls(void)
{
	print_calls = true;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "vmspace fuzzer: %s: %s\n", what, why);
	abort();
}

/* ---- arguments ---------------------------------------------------------------------------- */

static unsigned long take_word(struct input *in)
{
	unsigned long word = 0;

	for (size_t i = 0; i < sizeof(word); i++)
		word = word << 8 | input_byte(in);
	return word;
}

/* Mostly a page of a small arena or beside an area, where things meet. */
static unsigned long take_address(struct world *world)
{
	struct input *in = &world->in;
	unsigned int kind = input_byte(in);
	struct vma_info info;

	if (kind < 128)
		return ARENA + kind * PAGE;
	if (kind < 208) {
		unsigned long at = ARENA + input_byte(in) * PAGE;

		if (!(kind & 8))
			at = 0x7ffff7000000UL;
		if (!(kind & 1 ? vmspace_next(world->space[world->index], at, &info) :
				 vmspace_prev(world->space[world->index], at, &info)))
			return 0;
		return (kind & 2 ? info.start : info.end) + (kind & 4 ? PAGE : 0) -
		       (kind & 16 ? PAGE : 0);
	}
	if (kind < 224)
		return (kind - 208) * PAGE;
	if (kind < 240)
		return ARENA + input_byte(in) * PAGE + input_byte(in);
	return take_word(in);
}

static unsigned long take_length(struct input *in)
{
	unsigned int kind = input_byte(in);

	if (kind < 128)
		return kind / 4 * PAGE;
	if (kind < 192)
		return (kind - 128) * 512 * PAGE + (kind & 1) * PAGE;
	if (kind < 240)
		return kind;
	return take_word(in);
}

static int take_bits(struct input *in)
{
	return input_byte(in) << 8 | input_byte(in);
}

static struct vma_backing take_backing(struct input *in)
{
	static const char *const names[4] = { NULL, "/tmp/a", "/tmp/with space\n", "[vdso]" };
	unsigned int how = input_byte(in);

	return (struct vma_backing){
		.kind = how % 6,
		.flags = how & 64 ? input_byte(in) : 0,
		.inode = how >> 3 & 3,
		.file_id = how >> 5 & 1,
		.name = names[how >> 4 & 3],
		.huge_size = how & 128 ? 512 * PAGE : 0,
	};
}

/* mmap: flags that mean something, or any. */
static int take_mmap_flags(struct input *in)
{
	unsigned int how = input_byte(in);
	int flags = how & 1 ? MAP_SHARED : MAP_PRIVATE;

	if (how >= 240)
		return take_bits(in) << 4;
	flags |= how & 2 ? 0 : MAP_ANONYMOUS;
	flags |= how & 4 ? MAP_FIXED : 0;
	flags |= (how & 24) == 24 ? MAP_GROWSDOWN : 0;
	flags |= (how & 40) == 40 ? MAP_NORESERVE : 0;
	flags |= (how & 48) == 48 ? MAP_LOCKED : 0;
	flags |= (how & 96) == 96 ? MAP_FIXED_NOREPLACE : 0;
	return flags;
}

static void take_mapping(struct world *world, struct vmspace_request *req)
{
	struct input *in = &world->in;

	if (req->op == VMSPACE_SHMAT) {
		req->shmat.addr = take_address(world);
		req->shmat.flags = take_bits(in);
		req->shmat.size = take_length(in);
		req->shmat.backing = take_backing(in);
		return;
	}
	req->mmap.addr = take_address(world);
	req->mmap.length = take_length(in);
	req->mmap.prot = input_byte(in) & 7;
	req->mmap.flags = take_mmap_flags(in);
	if (!(req->mmap.flags & MAP_ANONYMOUS)) {
		req->mmap.offset = take_length(in);
		req->mmap.backing = take_backing(in);
	}
}

static void take_keys(struct input *in, struct vmspace_request *req)
{
	if (req->op == VMSPACE_PKEY_ALLOC)
		req->pkey_alloc = (struct vmspace_pkey_alloc){ input_byte(in) % 16 == 0,
							       input_byte(in) % 5 };
	else
		req->pkey_free.pkey = input_byte(in) % 20 - 1;
}

static void take_protection(struct input *in, struct vmspace_mprotect *protect)
{
	protect->prot = take_bits(in) & 0x1f;
	protect->pkey = -1;
	if (protect->prot & 16) {
		protect->pkey = input_byte(in) % 20 - 1;
		protect->prot = take_bits(in) << 12 | (protect->prot & 7);
	}
}

/* All other calls begin with an address and a length. */
static void take_arguments(struct world *world, struct vmspace_request *req)
{
	static const char *const names[4] = { NULL, "one", "two", "bad[name]" };
	struct input *in = &world->in;
	unsigned long addr = take_address(world);
	unsigned long length = take_length(in);

	switch (req->op) {
	case VMSPACE_MUNMAP: req->munmap = (struct vmspace_munmap){ addr, length }; break;
	case VMSPACE_MPROTECT:
		req->mprotect = (struct vmspace_mprotect){ .addr = addr, .length = length };
		take_protection(in, &req->mprotect);
		break;
	case VMSPACE_MREMAP:
		req->mremap = (struct vmspace_mremap){ addr, length, take_length(in),
						       input_byte(in) % 16, take_address(world) };
		break;
	case VMSPACE_BRK: req->brk.brk = addr; break;
	case VMSPACE_MADVISE:
		req->madvise = (struct vmspace_madvise){ addr, length, input_byte(in) % 110 };
		break;
	case VMSPACE_MLOCK:
	case VMSPACE_MUNLOCK:
		req->mlock = (struct vmspace_mlock){ addr, length, input_byte(in) % 4, false };
		req->mlock.mlock2 = req->op == VMSPACE_MLOCK && (length & PAGE);
		break;
	case VMSPACE_MLOCKALL: req->mlockall.flags = input_byte(in) % 16; break;
	case VMSPACE_SET_ANON_NAME:
		req->set_anon_name = (struct vmspace_set_anon_name){ addr, length,
								     names[input_byte(in) % 4] };
		break;
	case VMSPACE_SHMDT: req->shmdt.addr = addr; break;
	case VMSPACE_REMAP_FILE_PAGES:
		req->remap_file_pages = (struct vmspace_remap_file_pages){
			addr, length, 0, input_byte(in), input_byte(in) << 8,
			input_byte(in) & (VMA_BACKING_SEAL_WRITE | VMA_BACKING_NO_EXEC) };
		break;
	case VMSPACE_MSEAL:
		req->mseal = (struct vmspace_mseal){ addr, length, input_byte(in) % 16 == 0 };
		break;
	case VMSPACE_PKEY_ALLOC:
	case VMSPACE_PKEY_FREE: take_keys(in, req); break;
	case VMSPACE_MSYNC:
		req->msync = (struct vmspace_msync){ addr, length, input_byte(in) % 16 };
		break;
	case VMSPACE_MINCORE:
		req->mincore = (struct vmspace_mincore){ .addr = addr, .length = length,
							 .bad_vec = input_byte(in) & 1 };
		break;
	case VMSPACE_MBIND:
		req->mbind = (struct vmspace_mbind){ addr, length, input_byte(in) % 9 |
			(input_byte(in) % 8) << 13, input_byte(in), input_byte(in) % 16 };
		break;
	case VMSPACE_SET_HOME_NODE:
		req->home_node = (struct vmspace_home_node){ addr, length, input_byte(in) % 3,
							     input_byte(in) % 16 == 0 };
		break;
	case VMSPACE_UFFD_REGISTER:
	case VMSPACE_UFFD_UNREGISTER:
	case VMSPACE_UFFD_RELEASE:
		req->uffd = (struct vmspace_uffd){ addr, length, input_byte(in) % 9,
						   input_byte(in) % 8, input_byte(in) % 4 };
		break;
	case VMSPACE_FAULT:
		req->fault = (struct vmspace_fault){ addr, input_byte(in) % 8 };
		break;
	default: break;
	}
}

/* ---- the host: whatever the input says -------------------------------------------------------- */

static bool has_anon(void *ctx, unsigned long start, unsigned long end)
{
	struct world *world = ctx;

	if (start >= end)
		die("has_anon", "asked for an empty range");
	return input_byte(&world->in) & 1;
}

static unsigned long stack_start(void *ctx, unsigned long start, unsigned long end)
{
	struct world *world = ctx;

	if (start >= end)
		die("stack_start", "asked for an empty area");
	return start - input_byte(&world->in) % 8 * PAGE;
}

static struct vmspace_config make_config(struct world *world)
{
	unsigned int how = input_byte(&world->in);
	struct vmspace_config config = {
		.page_size = PAGE,
		.task_size = 0x7ffffffff000UL,
		.map_window = 0x7ffffffff000UL,
		.mmap_base = how & 1 ? 0 : 0x7ffff7fff000UL,
		.mmap_base_legacy = 0x2aaaaaaab000UL,
		.mmap_bottom_up = how & 2,
		.mmap_min_addr = 65536,
		.stack_guard_gap = 256,
		.max_map_count = how & 4 ? 12 : 65530,
		.pmd_size = 512 * PAGE,
		.thp = how >> 3 & 1 ? VMSPACE_THP_ALWAYS : VMSPACE_THP_MADVISE,
		.overcommit = how & 16 ? 2 : 0,
		.anon_names = true,
		.softdirty = how & 32,
		.pkeys = true,
		.ksm = true,
		.read_implies_exec = how & 64,
		.lock_privileged = how & 128,
		.move_all_privileged = how & 128,
		.rlimit_as = VMSPACE_NO_LIMIT,
		.rlimit_data = VMSPACE_NO_LIMIT,
		.rlimit_stack = 8UL << 20,
		.rlimit_memlock = 64 * PAGE,
	};

	vmspace_config_kernel(&config, VMSPACE_KERNEL_NEWEST);
	if (how & 8)
		config.host = (struct vmspace_host){ world, has_anon, stack_start };
	return config;
}

/* ---- after each request ------------------------------------------------------------------------ */

static void check_space(const struct vmspace *space, const struct vmspace_request *req)
{
	static char text[1 << 16];
	const char *reason = "no reason given";
	struct vmspace_stats stats;
	struct vma_info info, back;
	unsigned long areas = 0, at = 0;

	if (!vmspace_check(space, &reason)) {
		vmspace_request_text(req, text, sizeof(text));
		fprintf(stderr, "after %s\n", text);
		die("vmspace_check", reason);
	}
	for (; vmspace_next(space, at, &info); at = info.end, areas++) {
		if (info.start < at || info.start >= info.end)
			die("vmspace_next", "areas out of order");
		if (!vmspace_lookup(space, info.start, &back) || back.start != info.start ||
		    !vmspace_prev(space, info.end, &back) || back.end != info.end)
			die("vmspace_lookup, vmspace_prev", "another area than vmspace_next");
	}
	vmspace_stats(space, &stats);
	if (stats.areas != areas || vmspace_count_areas(space) != areas)
		die("vmspace_stats", "counts other areas than there are");
	if (vmspace_show(space, text, sizeof(text)) == 0 && areas)
		die("vmspace_show", "shows nothing");
	for (unsigned int i = 0; i < req->out.event_count; i++)
		vmspace_event_text(&req->out.events[i], text, sizeof(text));
}

static void note(const struct world *world, const struct vmspace_request *req)
{
	char text[512];

	if (!print_calls)
		return;
	vmspace_request_text(req, text, sizeof(text));
	fprintf(stderr, "  space %u %s", world->index, text);
	if (req->host.valid)
		fprintf(stderr, " (host: %ld)", req->host.result);
	fprintf(stderr, "\n");
}

/* A fork fills the next place of a space. */
static void keep_child(struct world *world, struct vmspace *child)
{
	unsigned int to = (world->index + 1) % SPACES;

	if (!child)
		return;
	vmspace_destroy(world->space[to]);
	world->space[to] = child;
}

/* What no kernel answers, but a host may: beside, over or inside what is there; any word. */
static long take_nonsense(struct world *world, const struct vmspace_request *req)
{
	struct input *in = &world->in;
	unsigned int kind = input_byte(in);
	unsigned long task_size = vmspace_config(world->space[world->index])->task_size;

	switch (kind % 8) {
	case 0: return (long)(take_address(world) + kind);
	case 1: return (long)(task_size - kind / 8 * PAGE);
	case 2: return (long)(req->mremap.addr + kind / 8 * PAGE); /* of any request: its address */
	case 3: return (long)(req->mremap.addr - kind / 8 * PAGE);
	case 4: return (long)take_word(in);
	case 5: return (long)-PAGE - kind / 8;
	case 6: return kind / 8;
	default: return (long)take_address(world);
	}
}

/* What a host may have answered: an error, a free place of the arena, nonsense. */
static long take_host_result(struct world *world, const struct vmspace_request *req)
{
	struct vmspace *space = world->space[world->index];
	struct input *in = &world->in;
	unsigned int kind = input_byte(in);
	unsigned long place = ARENA + input_byte(in) * PAGE;
	unsigned long length = 0;
	struct vmspace_stats stats;
	struct vma_info info;

	if (kind >= 176)
		return take_nonsense(world, req);
	vmspace_stats(space, &stats);
	switch (req->op) {
	case VMSPACE_BRK: return (long)stats.brk;
	case VMSPACE_MMAP: length = req->mmap.length; break;
	case VMSPACE_MREMAP: length = req->mremap.new_length; break;
	case VMSPACE_SHMAT: length = req->shmat.size; break;
	default: return kind & 1 ? -(long)(kind / 2 % 40) : 0;
	}
	if (kind & 1 || length == 0 || length > 1UL << 40 ||
	    (vmspace_next(space, place, &info) && info.start < place + length + PAGE))
		return -(long)(kind / 2 % 39) - 1;
	return (long)place;
}

static void request(struct world *world, unsigned int code)
{
	struct vmspace *space = world->space[world->index];
	struct vmspace_request req = { .op = code % (VMSPACE_OP_COUNT + 1) };

	if (code % 4 == 0 || req.op == 0)
		req.op = VMSPACE_MMAP;
	if (req.op == VMSPACE_MMAP || req.op == VMSPACE_SHMAT)
		take_mapping(world, &req);
	else if (req.op != VMSPACE_FORK)
		take_arguments(world, &req);
	note(world, &req);
	if (code < 192) {
		vmspace_call(space, &req);
	} else if (vmspace_gather(space, &req) == 0) {
		if (code % 16 == 5) {
			vmspace_abort(space, &req);
			check_space(space, &req);
			return;
		}
		req.host.valid = true;
		req.host.result = take_host_result(world, &req);
		note(world, &req);
		vmspace_complete(space, &req);
	}
	if (print_calls)
		fprintf(stderr, "    = %#lx\n", req.out.result);
	check_space(space, &req);
	if (req.op == VMSPACE_FORK)
		keep_child(world, req.fork.child);
}

/* A copy fills the next place of a space; it must be the same and stay so when worked on. */
static void keep_clone(struct world *world)
{
	static char ours[1 << 16], theirs[1 << 16];
	const struct vmspace *space = world->space[world->index];
	const struct vmspace_request none = { .op = VMSPACE_MUNMAP };
	struct vmspace_stats a, b;
	struct vmspace *copy;

	if (vmspace_clone(&copy, space))
		die("vmspace_clone", "failed");
	check_space(copy, &none);
	vmspace_show(space, ours, sizeof(ours));
	vmspace_show(copy, theirs, sizeof(theirs));
	vmspace_stats(space, &a);
	vmspace_stats(copy, &b);
	if (strcmp(ours, theirs) != 0 || a.locked_vm != b.locked_vm || a.total_vm != b.total_vm ||
	    a.brk != b.brk || a.mmap_base != b.mmap_base)
		die("vmspace_clone", "the copy is another one");
	keep_child(world, copy);
}

/* Two areas share an anon_vma, or one shares none, or inherited its own, whatever was known. */
static void turn_anon(struct world *world, bool join)
{
	struct vmspace *space = world->space[world->index];
	unsigned long addr = take_address(world);
	struct vma_info one, two;

	if (!join && addr & 0x1000)
		vmspace_inherit_anon(space, addr, addr & 0x2000);
	else if (!join)
		vmspace_part_anon(space, addr);
	else if (vmspace_lookup(space, addr, &one) && vmspace_next(space, one.end, &two))
		vmspace_join_anon(space, one.anon_id, two.anon_id);
}

/* What changes a space but is no request. */
static void around(struct world *world, unsigned int code)
{
	struct input *in = &world->in;
	struct vmspace *space = world->space[world->index];
	struct vmspace_request none = { .op = VMSPACE_MUNMAP };
	struct vma_backing backing = take_backing(in);

	switch (code < 10 ? code % 5 : code % 3 + 5) {
	case 0: vmspace_refresh(space); break;
	case 1: vmspace_identify(space, take_address(world), &backing); break;
	case 2:
		vmspace_place(space, take_address(world), take_length(in), take_mmap_flags(in),
			      code & 8 ? &backing : NULL, take_length(in));
		break;
	case 3: vmspace_exit(space); break;
	case 5: keep_clone(world); break;
	case 6:
	case 7: turn_anon(world, code & 1); break;
	default: world->index = (world->index + 1) % SPACES; return;
	}
	check_space(space, &none);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct world world;
	struct vmspace_config config;

	world = (struct world){ .in = { bytes, bytes + size } };
	config = make_config(&world);
	for (unsigned int i = 0; i < SPACES; i++)
		if (vmspace_create(&world.space[i], &config))
			die("vmspace_create", "failed");
	for (unsigned int i = 0; i < REQUESTS_MAX && input_left(&world.in); i++) {
		unsigned int code = input_byte(&world.in);

		if (code % 16 == 15)
			around(&world, code >> 4);
		else
			request(&world, code);
	}
	for (unsigned int i = 0; i < SPACES; i++)
		vmspace_destroy(world.space[i]);
	return 0;
}
