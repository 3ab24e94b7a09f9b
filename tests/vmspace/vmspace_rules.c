/* SPDX-License-Identifier: MIT */
/* vmspace_rules.c - the table of rules, versions, and each rule's case with and without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "rules.h"
#include "machine.h"
#include "rules_cases.h"

#define DONTUNMAP 4 /* MREMAP_DONTUNMAP */

static struct rules_world world;

static long call(struct vmspace_request *req)
{
	return vmspace_call(world.space, req);
}

static void become_child(struct rules_world *w)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	assert_int_equal(vmspace_call(w->space, &req), 0);
	vmspace_destroy(w->space);
	w->space = req.fork.child;
}

static void leave(struct rules_world *w, unsigned long pages)
{
	struct vmspace_config config = *vmspace_config(w->space);
	struct vmspace_stats stats;

	vmspace_stats(w->space, &stats);
	config.rlimit_as = (stats.total_vm + pages) * config.page_size;
	assert_int_equal(vmspace_configure(w->space, &config), 0);
}

static void fill(struct rules_world *w)
{
	struct vmspace_config config = *vmspace_config(w->space);
	struct vmspace_stats stats;

	vmspace_stats(w->space, &stats);
	config.max_map_count = stats.areas;
	assert_int_equal(vmspace_configure(w->space, &config), 0);
}

static void drop_all_privileges(struct rules_world *w)
{
	struct vmspace_config config = *vmspace_config(w->space);

	config.move_all_privileged = false;
	assert_int_equal(vmspace_configure(w->space, &config), 0);
}

static void make_segment(struct rules_world *w, unsigned long pages)
{
	(void)w;
	(void)pages;
}

static long run(const struct rules_case *it, const struct vmspace_config *config)
{
	const struct vmspace_image image = { .start_brk = 0x1000000, .brk = 0x1000800 };
	const struct vmspace_area vdso = {
		.start = 0x7ffff7ffd000, .end = 0x7ffff7fff000,
		.flags = VMA_READ | VMA_EXEC | VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC |
			 VMA_DONTEXPAND,
		.backing = { .kind = VMA_BACKING_SPECIAL, .name = "[vdso]" },
	};
	const char *reason = "";
	long result;

	world = (struct rules_world){ .call = call, .become_child = become_child, .leave = leave,
				      .fill = fill, .drop_privileges = drop_all_privileges,
				      .make_segment = make_segment };
	world.memory = (struct vma_backing){ .kind = VMA_BACKING_FILE, .file_id = 1,
					     .flags = VMA_BACKING_TMPFS, .name = "/memory" };
	world.sealed = world.memory;
	world.sealed.flags |= VMA_BACKING_SEAL_WRITE | VMA_BACKING_SEAL_FUTURE;
	assert_int_equal(vmspace_create(&world.space, config), 0);
	assert_int_equal(vmspace_exec(world.space, &vdso, 1, &image), 0);
	result = rules_case_run(it, &world);
	if (!vmspace_check(world.space, &reason))
		fail_msg("%s: %s", it->name, reason);
	vmspace_destroy(world.space);
	return result;
}

static void each_rule_decides_its_case(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < rules_cases_count; i++) {
		const struct rules_case *it = &rules_cases[i];
		int rule = vmspace_rule_find(it->rule);
		/* A version in which no other rule hides what this one decides. */
		struct vmspace_config config = machine("6.17");

		assert_true(rule >= 0);
		for (int with = 0; with < 2; with++) {
			vmspace_config_set_rule(&config, (unsigned int)rule, with);
			if (run(it, &config) != (with ? it->with : it->without))
				fail_msg("%s, %s %s", it->name, with ? "with" : "without",
					 it->rule);
		}
	}
}

static void each_rule_has_its_case(void **state)
{
	unsigned int rules = 0;

	(void)state;
	for (const struct vmspace_rule *rule; (rule = vmspace_rule(rules)); rules++) {
		bool found = false;

		assert_int_equal(vmspace_rule_find(rule->name), rules);
		for (unsigned int i = 0; i < rules_cases_count; i++)
			found |= !strcmp(rules_cases[i].rule, rule->name) &&
				 !strcmp(rules_cases[i].name, rule->test);
		if (!found)
			fail_msg("rule %s: there is no case %s", rule->name, rule->test);
		assert_true(rule->text[0] && rule->source[0] && rule->versions[0]);
	}
	assert_int_equal(rules, rules_cases_count);
	assert_int_equal(vmspace_rule_find("no such rule"), -ENOENT);
}

static bool has(const char *version, const char *rule)
{
	struct vmspace_config config = machine(version);

	return vmspace_config_has_rule(&config, (unsigned int)vmspace_rule_find(rule));
}

static void versions_have_their_rules(void **state)
{
	(void)state;
	assert_false(has("6.6", "stack-nohugepage"));
	assert_true(has("6.7", "stack-nohugepage"));
	assert_true(has("6.7.0-rc1", "stack-nohugepage"));
	assert_true(has("7.3.4+deb13-cloud-amd64", "stack-nohugepage"));
	/* Two ranges, one of a single version. */
	assert_false(has("5.10", "dontunmap-part"));
	assert_true(has("6.1.0-47-amd64", "dontunmap-part"));
	assert_true(has("6.15", "dontunmap-part"));
	assert_false(has("6.16", "dontunmap-part"));
	assert_false(has("7.1", "dontunmap-part"));
	assert_true(has("7.2", "dontunmap-part"));
	assert_false(has("6.15", "dontunmap-uncharges"));
	assert_true(has("6.16", "dontunmap-uncharges"));
	assert_false(has("6.17", "dontunmap-uncharges"));
}

/* Before 6.3, too, what is registered as a whole merges with what is above it. */
static void a_whole_area_is_registered(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096;
	struct vmspace_config config = machine("6.1");
	struct vmspace_request req = { .op = VMSPACE_MMAP };
	struct vmspace_stats stats;

	(void)state;
	assert_int_equal(vmspace_create(&world.space, &config), 0);
	req.mmap = (struct vmspace_mmap){ .addr = at, .length = 3 * page, .prot = PROT_READ,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
	assert_int_equal(vmspace_call(world.space, &req), (long)at);
	req.op = VMSPACE_UFFD_REGISTER;
	for (unsigned long first = 2; first + 1; first--) {
		req.uffd = (struct vmspace_uffd){ .addr = at + first * page, .length = page,
						  .mode = UFFDIO_REGISTER_MODE_MISSING,
						  .context = 1 };
		assert_int_equal(vmspace_call(world.space, &req), 0);
		vmspace_stats(world.space, &stats);
		/* Two upper parts stay apart; the rest is a whole area, and joins the second. */
		assert_int_equal(stats.areas, first == 1 ? 3 : 2);
	}
	vmspace_destroy(world.space);
}

/* ---- calls in world.space ---- */

static long map_here(unsigned long addr, unsigned long length, int prot, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = addr, .length = length, .prot = prot,
					  .flags = flags | MAP_ANONYMOUS | MAP_FIXED };
	return vmspace_call(world.space, &req);
}

static long protect_here(unsigned long addr, int prot, int pkey)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };
	long result;

	req.mprotect = (struct vmspace_mprotect){ .addr = addr, .length = 4096, .prot = prot,
						  .pkey = pkey };
	result = vmspace_call(world.space, &req);
	assert_int_equal(req.mprotect.addr, addr);
	return result;
}

static long move_here(unsigned long from, unsigned long old, unsigned long new, int flags,
		      unsigned long to)
{
	struct vmspace_request req = { .op = VMSPACE_MREMAP };

	req.mremap = (struct vmspace_mremap){ .addr = from, .old_length = old, .new_length = new,
					      .flags = flags, .new_addr = to };
	return vmspace_call(world.space, &req);
}

/*
 * A page of a locked area of 20 moves over another page of it and stays: "first-end", with "l" for
 * locked, of the areas that there are then. Seen on 6.1.192, 6.12.117, 7.2.12 and 7.3.4.
 */
static void a_locked_part_moves_into_its_own_area(void **state)
{
	const struct {
		unsigned long from, to;
		const char *old, *new; /* 6.1; 6.12, 7.2 and 7.3 */
	} cases[] = {
		{ 12, 5, "0-12l 12-13 13-20l ", "0-12l 12-13 13-20l " },
		{ 6, 5, "0-5l 5-6l 6-7 7-20l ", "0-6l 6-7 7-20l " },
		{ 12, 11, "0-11l 11-12l 12-13 13-20l ", "0-12l 12-13 13-20l " },
		{ 12, 13, "0-12l 12-13 13-14l 14-20l ", "0-12l 12-13 13-20l " },
		{ 19, 5, "0-19l 19-20 ", "0-19l 19-20 " },
		{ 4, 15, "0-4l 4-5 5-20l ", "0-4l 4-5 5-20l " },
	};
	const char *const versions[] = { "6.1", "6.12", "7.2", "7.3" };
	const unsigned long base = 0x10000000000, page = 4096;

	(void)state;
	for (size_t n = 0; n < 4 * sizeof(cases) / sizeof(cases[0]); n++) {
		struct vmspace_config config = machine(versions[n % 4]);
		struct vmspace_request lock = { .op = VMSPACE_MLOCK };
		unsigned long to = base + cases[n / 4].to * page;
		struct vma_info info;
		char seen[200] = "";

		assert_int_equal(vmspace_create(&world.space, &config), 0);
		assert_int_equal(map_here(base, 20 * page, PROT_READ, MAP_PRIVATE), base);
		lock.mlock = (struct vmspace_mlock){ .addr = base, .length = 20 * page };
		assert_int_equal(vmspace_call(world.space, &lock), 0);
		assert_int_equal(move_here(base + cases[n / 4].from * page, page, page,
					   MREMAP_MAYMOVE | MREMAP_FIXED | DONTUNMAP, to), to);
		for (unsigned long at = base; vmspace_next(world.space, at, &info); at = info.end)
			snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%lu-%lu%s ",
				 (info.start - base) / page, (info.end - base) / page,
				 info.flags & VMA_LOCKED ? "l" : "");
		assert_string_equal(seen, n % 4 ? cases[n / 4].new : cases[n / 4].old);
		vmspace_destroy(world.space);
	}
}

/*
 * Before guards had a flag, a guard gave an area an anon_vma, even in shared memory, where two
 * areas that were apart then stay so. Seen on 6.18.15.
 */
static void guards_in_shared_memory(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096;

	(void)state;
	for (unsigned long flagged = 0; flagged < 2; flagged++) {
		struct vmspace_config config = machine(flagged ? "6.18" : "6.17");
		struct vmspace_request req = { .op = VMSPACE_UFFD_REGISTER };
		const char *reason = "";
		struct vmspace_stats stats;

		assert_int_equal(vmspace_create(&world.space, &config), 0);
		assert_int_equal(map_here(at, 4 * page, PROT_READ, MAP_SHARED), (long)at);
		req.uffd = (struct vmspace_uffd){ .addr = at + 2 * page, .length = 2 * page,
						  .mode = UFFDIO_REGISTER_MODE_WP, .context = 1 };
		assert_int_equal(vmspace_call(world.space, &req), 0);
		req.op = VMSPACE_MADVISE;
		req.madvise = (struct vmspace_madvise){ at + page, 2 * page, 102 };
		assert_int_equal(vmspace_call(world.space, &req), 0);
		req.op = VMSPACE_UFFD_UNREGISTER;
		req.uffd = (struct vmspace_uffd){ .addr = at, .length = 3 * page, .context = 1 };
		assert_int_equal(vmspace_call(world.space, &req), 0);
		vmspace_stats(world.space, &stats);
		assert_int_equal(stats.areas, flagged ? 2 : 3);
		assert_true(vmspace_check(world.space, &reason));
		vmspace_destroy(world.space);
	}
}

/* 5.10 unmaps what is in the way and what is cut off before it finds two areas to be too many. */
static void a_move_that_is_refused_late(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096;
	struct vmspace_config config = machine("5.10");
	struct vmspace_request req = { .op = VMSPACE_MREMAP,
				       .host = { .valid = true, .result = -EFAULT } };
	struct vmspace_stats stats;

	(void)state;
	assert_int_equal(vmspace_create(&world.space, &config), 0);
	map_here(at, page, PROT_READ, MAP_PRIVATE);
	map_here(at + page, 6 * page, PROT_EXEC, MAP_PRIVATE);
	map_here(at + 10 * page, 4 * page, PROT_READ, MAP_PRIVATE);
	req.mremap = (struct vmspace_mremap){ .addr = at, .old_length = 7 * page,
					      .new_length = 2 * page, .new_addr = at + 10 * page,
					      .flags = MREMAP_MAYMOVE | MREMAP_FIXED };
	assert_int_equal(vmspace_call(world.space, &req), -EFAULT);
	vmspace_stats(world.space, &stats);
	assert_int_equal(stats.total_vm, 4);
	vmspace_destroy(world.space);
}

/* What is in the way is unmapped before the limit is looked at: there is room then. */
static void a_move_makes_room_for_itself(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096, to = at + 8 * page;

	(void)state;
	for (int told = 0; told < 2; told++) {
		struct vmspace_config config = machine("6.1");
		struct vmspace_request req = { .op = VMSPACE_MREMAP };

		config.rlimit_as = 3 * page;
		assert_int_equal(vmspace_create(&world.space, &config), 0);
		map_here(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		map_here(to, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		req.mremap = (struct vmspace_mremap){ at, page, 2 * page,
						      MREMAP_MAYMOVE | MREMAP_FIXED, to };
		req.host.valid = told;
		req.host.result = (long)to;
		assert_int_equal(vmspace_call(world.space, &req), to);
		assert_false(req.out.differs);
		assert_null(req.out.why);
		vmspace_destroy(world.space);
	}
}

/* Seen on 6.12.117 and 7.3.4, arm64; smaps shows nothing. */
static void what_mmap_made_stays_apart(void **state)
{
	const unsigned long heap = 0x10000000, page = 4096;

	(void)state;
	for (int apart = 0; apart < 2; apart++) {
		struct vmspace_config config = machine("7.3");
		const struct vmspace_image image = { .start_brk = heap, .brk = heap };
		struct vmspace_request req = { .op = VMSPACE_BRK };
		struct vma_info info;

		config.mmap_apart = apart;
		assert_int_equal(vmspace_create(&world.space, &config), 0);
		assert_int_equal(vmspace_exec(world.space, NULL, 0, &image), 0);
		req.brk.brk = heap + page;
		assert_int_equal(vmspace_call(world.space, &req), heap + page);
		map_here(heap + page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		map_here(heap + 2 * page, page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		assert_true(vmspace_lookup(world.space, heap, &info));
		assert_int_equal(info.end, heap + (apart ? page : 3 * page));
		assert_true(vmspace_lookup(world.space, heap + 2 * page, &info));
		assert_int_equal(info.start, heap + (apart ? page : 0));
		vmspace_destroy(world.space);
	}
}

/* Seen on 6.12.117 and 7.3.4, arm64, with tags 0x01, 0x80 and 0xff. */
static void what_arm64_has(void **state)
{
	const unsigned long at = 0x1000000000, page = 4096, to = at + 8 * page;
	const int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;

	(void)state;
	for (int arm = 0; arm < 2; arm++) {
		struct vmspace_config config = machine("7.3");
		struct vmspace_request req;
		struct vma_info info;
		char flags[200];

		config.pkeys = false;
		config.key_0 = config.bti = config.address_tags = arm;
		assert_int_equal(vmspace_create(&world.space, &config), 0);
		map_here(at, 2 * page, PROT_READ, MAP_PRIVATE);
		assert_int_equal(protect_here(at, PROT_READ | 0x10, -1), arm ? 0 : -EINVAL);
		assert_true(vmspace_lookup(world.space, at, &info));
		vma_flags_text(info.flags, flags, sizeof(flags));
		assert_int_equal(strstr(flags, " bt ") != NULL, arm);
		assert_int_equal(info.end - info.start, arm ? page : 2 * page);
		assert_int_equal(vma_flags_parse(flags, NULL), info.flags);
		assert_int_equal(protect_here(at, PROT_READ, 0), arm ? 0 : -EINVAL);
		assert_true(vmspace_lookup(world.space, at, &info));
		assert_false(info.flags & VMA_BTI);
		assert_int_equal(protect_here(at, PROT_READ, 1), -EINVAL);
		assert_int_equal(protect_here(at | 0x8000000000000000, PROT_READ | PROT_WRITE, -1),
				 arm ? 0 : -ENOMEM);
		/* An address of the kernel's half has none: this range ends where it says. */
		req = (struct vmspace_request){ .op = VMSPACE_MADVISE };
		req.madvise = (struct vmspace_madvise){ 0x7fffffffffffe000, 3 * page,
							MADV_UNMERGEABLE };
		assert_int_equal(vmspace_call(world.space, &req), -ENOMEM);
		req = (struct vmspace_request){ .op = VMSPACE_FAULT };
		req.fault = (struct vmspace_fault){ at | 0x8100000000000000, VMA_READ };
		assert_int_equal(vmspace_call(world.space, &req), arm ? 0 : -EFAULT);
		/* Bit 55 is no tag; nor has the place a tag that something is moved to. */
		assert_int_equal(protect_here(at | 0x80000000000000, PROT_READ, -1), -ENOMEM);
		assert_int_equal(move_here(at | 0xff00000000000000, page, page, fixed, to),
				 arm ? (long)to : -EFAULT);
		assert_int_equal(move_here(to, page, page, fixed, at | 0x100000000000000), -EINVAL);
		vmspace_destroy(world.space);
	}
}

/* 5.10 lets [vdso] be cut, but moves it only as it was mapped, be that by exec or by mmap. */
static void special_areas_move_as_a_whole(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096, to = at + 16 * page;
	const int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;
	const struct vmspace_image image = { .start_brk = 0x1000000 };
	const struct vmspace_area area = {
		.start = at, .end = at + 4 * page, .flags = VMA_READ | VMA_MAYREAD,
		.backing = { .kind = VMA_BACKING_SPECIAL, .name = "[vvar]" },
	};
	struct vmspace_config config = machine("5.10");

	(void)state;
	for (int mapped = 0; mapped < 2; mapped++) {
		struct vmspace_request map = { .op = VMSPACE_MMAP }, cut = { .op = VMSPACE_MUNMAP };

		assert_int_equal(vmspace_create(&world.space, &config), 0);
		assert_int_equal(vmspace_exec(world.space, &area, !mapped, &image), 0);
		map.mmap = (struct vmspace_mmap){ .addr = at, .length = 4 * page, .prot = PROT_READ,
						  .flags = MAP_PRIVATE | MAP_FIXED,
						  .backing = area.backing };
		if (mapped)
			assert_int_equal(vmspace_call(world.space, &map), at);
		assert_int_equal(move_here(at, page, page, fixed, to), -EINVAL);
		assert_int_equal(move_here(at, 4 * page, 4 * page, fixed, to), to);
		cut.munmap = (struct vmspace_munmap){ to, page };
		assert_int_equal(vmspace_call(world.space, &cut), 0);
		assert_int_equal(move_here(to + page, 3 * page, 3 * page, fixed, at), -EINVAL);
		vmspace_destroy(world.space);
	}
}

/* 5.10 needs no area for what does not grow: the host's answer is believed, rounded to pages. */
static void nothing_is_left_where_it_is(void **state)
{
	const unsigned long top = 0x7ffffffff000, page = 4096;
	struct vmspace_config config = machine("5.10");
	struct vmspace_request req = { .op = VMSPACE_MREMAP };

	(void)state;
	assert_int_equal(vmspace_create(&world.space, &config), 0);
	assert_int_equal(move_here(top, 0x205a, 0x3000, MREMAP_MAYMOVE, 0), top);
	req.mremap = (struct vmspace_mremap){ .addr = top, .old_length = 0x205a,
					      .new_length = 0x3000, .flags = MREMAP_MAYMOVE };
	req.host.valid = true;
	req.host.result = (long)top;
	assert_int_equal(vmspace_call(world.space, &req), top);
	assert_false(req.out.differs);
	/* An address that looks like an error is none. */
	assert_int_equal(move_here(1UL << 63, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
				   0x10000000000), -EFAULT);
	vmspace_destroy(world.space);
}

/* The area behind is charged, unless the copy is one with its source. Seen on 5.10.262. */
static void a_copy_that_joins_its_source(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096;
	const struct {
		unsigned long from, to, other; /* of another area of 4 pages; 0: there is none */
		bool charges;
	} cases[] = {
		{ 14, 70, 0, true }, { 14, 30, 0, false }, { 14, 6, 0, false },
		{ 22, 14, 0, false }, { 14, 70, 74, true }, { 14, 70, 66, true },
		{ 14, 6, 2, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vmspace_config config = machine("5.10");
		struct vmspace_stats stats;
		struct vma_info next;

		assert_int_equal(vmspace_create(&world.space, &config), 0);
		map_here(at + 10 * page, 20 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE);
		map_here(at + 50 * page, 2 * page, PROT_READ, MAP_PRIVATE);
		if (cases[i].other)
			map_here(at + cases[i].other * page, 4 * page, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE);
		assert_int_equal(move_here(at + cases[i].from * page, 4 * page, 4 * page,
					   MREMAP_MAYMOVE | MREMAP_FIXED | DONTUNMAP,
					   at + cases[i].to * page), at + cases[i].to * page);
		assert_true(vmspace_lookup(world.space, at + 50 * page, &next));
		assert_int_equal(!!(next.flags & VMA_ACCOUNT), cases[i].charges);
		vmspace_stats(world.space, &stats);
		/* All but what cannot be written. */
		assert_int_equal(stats.committed_vm,
				 stats.total_vm - (cases[i].charges ? 0 : 2));
		vmspace_destroy(world.space);
	}
}

/* Empty ranges, in the middle of a page, before and behind others. Seen on 5.10.262. */
static void empty_ranges_of_process_madvise(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096;
	const struct vmspace_range ranges[] = {
		{ at + 1, 0 }, { at, page }, { at + 1, 0 }, { at + page, page }, { at + 1, 0 },
	};
	const struct {
		unsigned long first, count;
		long old, new; /* 5.10; 6.1 */
	} cases[] = {
		{ 0, 1, 0, 0 }, { 0, 2, -EINVAL, -EINVAL }, { 1, 2, (long)page, (long)page },
		{ 1, 3, (long)page, 2 * (long)page }, { 3, 2, (long)page, (long)page },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct vmspace_config config = machine(i % 2 ? "6.1" : "5.10");
		struct vmspace_request req = { .op = VMSPACE_PROCESS_MADVISE };

		config.move_all_privileged = true;
		assert_int_equal(vmspace_create(&world.space, &config), 0);
		map_here(at, 2 * page, PROT_READ, MAP_PRIVATE);
		req.process_madvise = (struct vmspace_process_madvise){
			ranges + cases[i / 2].first, cases[i / 2].count, MADV_COLD, 0 };
		assert_int_equal(vmspace_call(world.space, &req),
				 i % 2 ? cases[i / 2].new : cases[i / 2].old);
		vmspace_destroy(world.space);
	}
}

/* Execute-only memory can be locked on fault, but for 5.10, which asks whether it may be read. */
static void execute_only_memory_is_locked_on_fault(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096;

	(void)state;
	for (int old = 0; old < 2; old++) {
		struct vmspace_config config = machine(old ? "5.10" : "6.1");
		struct vmspace_request lock = { .op = VMSPACE_MLOCK };

		assert_int_equal(vmspace_create(&world.space, &config), 0);
		assert_int_equal(map_here(at, page, PROT_EXEC, MAP_PRIVATE), at);
		lock.mlock = (struct vmspace_mlock){ .addr = at, .length = page, .mlock2 = true,
						     .flags = MLOCK_ONFAULT };
		assert_int_equal(vmspace_call(world.space, &lock), old ? -ENOMEM : 0);
		vmspace_destroy(world.space);
	}
}

/* The error of 6.16 that drops the seal drops the key of execute-only memory as well. */
static void unmergeable_memory_loses_its_key(void **state)
{
	const unsigned long at = 0x10000000000, page = 4096;

	(void)state;
	for (int drops = 0; drops < 2; drops++) {
		struct vmspace_config config = machine(drops ? "6.16" : "6.17");
		struct vmspace_request req = { .op = VMSPACE_MADVISE };
		struct vma_info info;

		assert_int_equal(vmspace_create(&world.space, &config), 0);
		assert_int_equal(map_here(at, page, PROT_EXEC, MAP_PRIVATE), at);
		for (int advice = MADV_MERGEABLE; advice <= MADV_UNMERGEABLE; advice++) {
			req.madvise = (struct vmspace_madvise){ at, page, advice };
			assert_int_equal(vmspace_call(world.space, &req), 0);
			assert_true(vmspace_lookup(world.space, at, &info));
			assert_int_equal(!info.pkey, drops && advice == MADV_UNMERGEABLE);
		}
		vmspace_destroy(world.space);
	}
}

/*
 * What stays of a locked stack that mremap moves is one with the rest again when it is unlocked, if
 * the stack lies where Linux built it: not with a random place, nor with five-level page tables.
 * Seen on 7.2.12.
 */
static void a_stack_keeps_its_numbers(void **state)
{
	const unsigned long page = 4096, window = 0x7ffffffff000;
	const struct {
		unsigned long task_size, end;
		unsigned int areas;
	} stacks[] = {
		{ window, window, 2 }, { window, window - 0x1234000, 4 },
		{ 0xfffffffffff000, window, 4 },
	};

	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct vmspace_image image = { .start_stack = stacks[i].end - 100 };
		const struct vmspace_area stack = {
			.start = stacks[i].end - 20 * page, .end = stacks[i].end,
			.flags = VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC |
				 VMA_GROWSDOWN | VMA_ACCOUNT,
			.backing.name = "[stack]", .has_anon = true,
		};
		const unsigned long at = stack.start + 5 * page, to = 0x10000000000;
		struct vmspace_config config = machine("7.2");
		struct vmspace_request req = { .op = VMSPACE_MLOCK };
		struct vmspace_stats stats;

		config.task_size = stacks[i].task_size;
		assert_int_equal(vmspace_create(&world.space, &config), 0);
		assert_int_equal(vmspace_exec(world.space, &stack, 1, &image), 0);
		req.mlock = (struct vmspace_mlock){ .addr = stack.start, .length = 20 * page };
		assert_int_equal(vmspace_call(world.space, &req), 0);
		assert_int_equal(move_here(at, page, page,
					   MREMAP_MAYMOVE | MREMAP_FIXED | DONTUNMAP, to), to);
		req.op = VMSPACE_MUNLOCK;
		assert_int_equal(vmspace_call(world.space, &req), 0);
		vmspace_stats(world.space, &stats);
		assert_int_equal(stats.areas, stacks[i].areas);
		vmspace_destroy(world.space);
	}
}

/* The nearest rules are taken where nothing was found out about a kernel that is not known. */
static void unknown_versions_have_a_nearest(void **state)
{
	(void)state;
	assert_string_equal(rules_nearest_version("2.6.78"), VMSPACE_KERNEL_OLDEST);
	assert_string_equal(rules_nearest_version("5.9.16-generic"), VMSPACE_KERNEL_OLDEST);
	assert_string_equal(rules_nearest_version("7.4.0"), VMSPACE_KERNEL_NEWEST);
	assert_string_equal(rules_nearest_version("none"), VMSPACE_KERNEL_NEWEST);
	assert_string_equal(rules_nearest_version(""), VMSPACE_KERNEL_NEWEST);
}

static void spaces_have_known_rules_only(void **state)
{
	struct vmspace_config config = machine("6.1");
	struct vmspace *space;
	unsigned int rules = 0;

	(void)state;
	while (vmspace_rule(rules))
		rules++;
	assert_int_equal(vmspace_create(&space, &config), 0);
	config.rules[rules / 64] |= UINT64_C(1) << (rules % 64);
	assert_int_equal(vmspace_configure(space, &config), -EINVAL);
	vmspace_destroy(space);
	assert_int_equal(vmspace_create(&space, &config), -EINVAL);
}

static void other_versions_are_refused(void **state)
{
	const char *const others[] = { "", "6", "6.", "6.x", "5.9", "4.19", "7.4", "8.0", "-6.1",
				       "6.1x", "six.one", "6.-1", "66.1", "6.1111", "6.1 ",
				       "6.1..2", "6.1.", "6.1.x", "6.1\n", " 6.1", "6.1_", NULL };
	const char *const releases[] = { "6.1.0", "6.1-rc3", "6.1+", "6.1.0-", "6.1.66.2-x" };
	struct vmspace_config config = machine("6.1"), before = config;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (vmspace_config_kernel(&config, others[i]) != -EINVAL)
			fail_msg("%s is a version", others[i] ? others[i] : "NULL");
	assert_memory_equal(&config, &before, sizeof(config));
	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
		if (vmspace_config_kernel(&config, releases[i]))
			fail_msg("%s is none", releases[i]);
	assert_memory_equal(&config, &before, sizeof(config));
	assert_int_equal(vmspace_config_set_rule(&config, 1000, true), -EINVAL);
	assert_false(vmspace_config_has_rule(&config, 1000));
	assert_int_equal(vmspace_config_kernel(&config, VMSPACE_KERNEL_OLDEST), 0);
	assert_int_equal(vmspace_config_kernel(&config, VMSPACE_KERNEL_NEWEST), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_decides_its_case),
		cmocka_unit_test(each_rule_has_its_case),
		cmocka_unit_test(a_whole_area_is_registered),
		cmocka_unit_test(a_locked_part_moves_into_its_own_area),
		cmocka_unit_test(guards_in_shared_memory),
		cmocka_unit_test(a_move_that_is_refused_late),
		cmocka_unit_test(a_move_makes_room_for_itself),
		cmocka_unit_test(what_mmap_made_stays_apart),
		cmocka_unit_test(what_arm64_has),
		cmocka_unit_test(special_areas_move_as_a_whole),
		cmocka_unit_test(nothing_is_left_where_it_is),
		cmocka_unit_test(a_copy_that_joins_its_source),
		cmocka_unit_test(empty_ranges_of_process_madvise),
		cmocka_unit_test(execute_only_memory_is_locked_on_fault),
		cmocka_unit_test(unmergeable_memory_loses_its_key),
		cmocka_unit_test(a_stack_keeps_its_numbers),
		cmocka_unit_test(versions_have_their_rules),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(unknown_versions_have_a_nearest),
		cmocka_unit_test(spaces_have_known_rules_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
