/* SPDX-License-Identifier: MIT */
/*
 * vmspace_fork.c - children that share their parent's areas are what children with copies are.
 *
 * Two families get the same random calls: in one forks share areas, in the other, whose spaces are
 * for several threads, they copy them. Members fork, are forked from, go, and are looked at by
 * snapshots, in any order. Results, areas, anon_vmas and counters must be equal all the time; with
 * memory refused at random in the first family, a call that fails has changed nothing. Then the undo
 * of a fork, generations without end, two threads, and what a fork costs.
 *
 *	vmspace_fork [--seed N] [--ops N]
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <mapletree/vmspace_memfd.h>
#include <mapletree/vmspace_rules.h>
#include <mapletree/vmspace_words.h>

#include "inherited.h"
#include "options.h"
#include "scarce.h"

#define PAGE 4096UL
#define WINDOW 0x10000000UL    /* where most calls are made */
#define WINDOW_PAGES 64UL
#define FILL 0x20000000UL      /* areas that are there from the start, enough for a fork to share */
#define FILL_AREAS 320UL
#define REST 0x30000000UL      /* more, which random calls leave: builds that are shipped share no less */
#define REST_AREAS 256UL
#define TASK_SIZE ((1UL << (sizeof(long) == 8 ? 47 : 31)) - PAGE)
#define MEMBERS 6
#define REQUEST(op_name, field, ...) \
	(struct vmspace_request){ .op = op_name, .field = (struct vmspace_##field){ __VA_ARGS__ } }

enum { SHARES, COPIES, FAMILIES };

/* A member, in both families; or none. */
struct member {
	struct vmspace *space[FAMILIES];
	const struct vmspace *view[FAMILIES]; /* snapshots of it, or NULL */
};

static unsigned long long seed;
static uint64_t random_state;
static unsigned long ops = 4000;
static struct member member[MEMBERS];
static unsigned long shared_forks, becomes, refusals;

static unsigned long draw(unsigned long below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned long)(random_state >> 33) % below;
}

/* ---- families ------------------------------------------------------------------------------- */

static struct vmspace *create(bool threads)
{
	struct vmspace_config config;
	struct vmspace *space;

	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = PAGE;
	config.task_size = config.map_window = TASK_SIZE;
	config.mmap_base = TASK_SIZE / 2 & ~(PAGE - 1);
	config.anon_names = true;
	config.memory_nodes = 1;
	config.rlimit_memlock = VMSPACE_NO_LIMIT;
	config.threads = threads;
	assert_int_equal(vmspace_create(&space, &config), 0);
	return space;
}

static long map(struct vmspace *space, unsigned long addr, unsigned long pages, int prot)
{
	struct vmspace_request req = REQUEST(VMSPACE_MMAP, mmap, .addr = addr, .prot = prot);

	req.mmap.length = pages * PAGE;
	req.mmap.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	return vmspace_call(space, &req);
}

static long touch(struct vmspace *space, unsigned long addr)
{
	struct vmspace_request req = REQUEST(VMSPACE_FAULT, fault, addr, VMSPACE_ACCESS_WRITE);

	return vmspace_call(space, &req);
}

/* Areas that cannot merge, from `from` on; every third has pages. */
static void fill_from(struct vmspace *space, unsigned long from, unsigned long areas)
{
	for (unsigned long i = 0; i < areas; i++) {
		unsigned long at = from + i * 2 * PAGE;

		assert_true(map(space, at, 2, PROT_READ | (i % 2 ? PROT_WRITE : PROT_EXEC)) > 0);
		if (i % 3 == 1)
			touch(space, at);
	}
}

static void fill(struct vmspace *space, unsigned long areas)
{
	fill_from(space, FILL, areas);
}

static bool shares(const struct vmspace *space)
{
	return space->origin;
}

static struct vmspace *fork_of(struct vmspace *space)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	assert_int_equal(vmspace_call(space, &req), 0);
	return req.fork.child;
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Which anon_vma of one family is which of the other. */
static struct { uint64_t id[FAMILIES]; } same[4096];

static void match_anon(uint64_t a, uint64_t b)
{
	size_t i = (size_t)(b % 4096);

	assert_int_equal(!a, !b);
	if (!a)
		return;
	while (same[i].id[COPIES] && same[i].id[COPIES] != b)
		i = (i + 1) % 4096;
	if (!same[i].id[COPIES])
		same[i].id[SHARES] = a;
	same[i].id[COPIES] = b;
	assert_int_equal(same[i].id[SHARES], a);
}

/* No two of one family are one of the other. */
static void match_apart(void)
{
	static uint64_t seen[4096];

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < 4096; i++) {
		uint64_t a = same[i].id[SHARES];
		size_t at = (size_t)(a % 4096);

		while (a && seen[at] && seen[at] != a)
			at = (at + 1) % 4096;
		assert_true(!a || !seen[at]);
		seen[at] = a ? a : seen[at];
	}
}

static void match_areas(const struct vmspace *a, const struct vmspace *b, unsigned long end)
{
	struct vma_iterator of_a, of_b;
	struct vma_info x, y;
	bool more;

	memset(same, 0, sizeof(same));
	vma_iter_init(&of_a, a, 0);
	vma_iter_init(&of_b, b, 0);
	do {
		more = vma_iter_find(&of_a, end, &x);
		assert_int_equal(vma_iter_find(&of_b, end, &y), more);
		if (!more)
			break;
		assert_true(x.start == y.start && x.end == y.end && x.flags == y.flags);
		assert_true(x.page_offset == y.page_offset && x.pkey == y.pkey && x.uffd == y.uffd);
		assert_true(x.policy == y.policy && x.word == y.word);
		assert_int_equal(x.anon_shared, y.anon_shared);
		assert_true(!x.anon_name == !y.anon_name && !x.backing.name == !y.backing.name);
		assert_true(!x.anon_name || !strcmp(x.anon_name, y.anon_name));
		assert_true(!x.backing.name || !strcmp(x.backing.name, y.backing.name));
		match_anon(x.anon_id, y.anon_id);
	} while (more);
	match_apart();
}

static void match_counters(const struct vmspace *a, const struct vmspace *b)
{
	struct vmspace_stats x, y;

	vmspace_stats(a, &x);
	vmspace_stats(b, &y);
	assert_true(x.areas == y.areas && x.total_vm == y.total_vm && x.locked_vm == y.locked_vm);
	assert_true(x.data_vm == y.data_vm && x.stack_vm == y.stack_vm && x.exec_vm == y.exec_vm);
	assert_true(x.committed_vm == y.committed_vm && x.areas_peak == y.areas_peak);
}

static void match(const struct vmspace *a, const struct vmspace *b, bool whole)
{
	const char *why = "";

	match_counters(a, b);
	match_areas(a, b, whole ? TASK_SIZE : WINDOW + WINDOW_PAGES * PAGE);
	if (whole && (!vmspace_check(a, &why) || !vmspace_check(b, &why)))
		fail_msg("%s", why);
}

/* ---- random calls --------------------------------------------------------------------------- */

static unsigned long draw_range(unsigned long *pages)
{
	if (!draw(4)) {
		*pages = draw(3) ? 1 + draw(6) : 1 + draw(2 * FILL_AREAS / 2);
		return FILL + draw(2 * FILL_AREAS) * PAGE;
	}
	*pages = 1 + draw(draw(4) ? 4 : WINDOW_PAGES);
	return WINDOW + draw(WINDOW_PAGES - 4) * PAGE;
}

static int draw_prot(void)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE,
				     PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC };

	return prots[draw(5)];
}

static int draw_advice(void)
{
	static const int advices[] = { MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK, MADV_KEEPONFORK,
				       MADV_DONTDUMP, MADV_DODUMP, MADV_DONTNEED, MADV_RANDOM,
				       23 /* MADV_POPULATE_WRITE */, 102 /* MADV_GUARD_INSTALL */ };

	return advices[draw(10)];
}

static void draw_mmap(struct vmspace_request *req, unsigned long addr, unsigned long bytes)
{
	static const char *const files[] = { "/lib/a", "/lib/b" };
	bool file = !draw(3);

	*req = REQUEST(VMSPACE_MMAP, mmap, .addr = addr, .length = bytes, .prot = draw_prot());
	req->mmap.flags = (draw(5) ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED;
	if (!file) {
		req->mmap.flags |= MAP_ANONYMOUS;
		return;
	}
	req->mmap.offset = addr & 0xfffff;
	req->mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .inode = 7,
						  .name = files[draw(2)] };
}

static void draw_uffd(struct vmspace_request *req, unsigned long addr, unsigned long bytes)
{
	*req = REQUEST(draw(2) ? VMSPACE_UFFD_REGISTER : VMSPACE_UFFD_UNREGISTER, uffd, .addr = addr,
		       .length = bytes, .mode = 1, .context = 1 + (unsigned int)draw(2));
	req->uffd.features = draw(2) ? 2 /* UFFD_FEATURE_EVENT_FORK */ : 0;
}

static void draw_call(struct vmspace_request *req)
{
	unsigned long pages, to_pages, addr = draw_range(&pages), bytes = pages * PAGE;

	switch (draw(20)) {
	case 0: case 1: case 2: case 3:
		draw_mmap(req, addr, bytes);
		return;
	case 4: case 5: case 6:
		*req = REQUEST(VMSPACE_MUNMAP, munmap, addr, bytes);
		return;
	case 7: case 8: case 9:
		*req = REQUEST(VMSPACE_MPROTECT, mprotect, addr, bytes, draw_prot(), -1);
		return;
	case 10: case 11:
		*req = REQUEST(VMSPACE_MREMAP, mremap, .addr = addr, .old_length = bytes);
		req->mremap.flags = draw(3) ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE;
		req->mremap.new_length = draw(2) ? bytes : PAGE * (1 + draw(8));
		req->mremap.new_addr = draw_range(&to_pages);
		if (!draw(4)) {
			req->mremap.new_length = bytes;
			req->mremap.flags |= MREMAP_DONTUNMAP;
		}
		return;
	case 12: case 13:
		*req = REQUEST(VMSPACE_MADVISE, madvise, addr, bytes, draw_advice());
		return;
	case 14:
		*req = REQUEST(draw(2) ? VMSPACE_MLOCK : VMSPACE_MUNLOCK, mlock, .addr = addr, .length = bytes);
		return;
	case 15:
		*req = REQUEST(VMSPACE_SET_ANON_NAME, set_anon_name, addr, bytes,
			       draw(2) ? "name" : NULL);
		return;
	case 16:
		*req = REQUEST(VMSPACE_MBIND, mbind, addr, bytes, draw(2) ? 2 : 0, 1, 0);
		return;
	case 17:
		draw_uffd(req, addr, bytes);
		return;
	default:
		*req = REQUEST(VMSPACE_FAULT, fault, addr, VMSPACE_ACCESS_WRITE);
	}
}

/* What says that the call of both is the same one: events, in order. */
static void match_events(const struct vmspace_outcome *a, const struct vmspace_outcome *b)
{
	assert_int_equal(a->event_count, b->event_count);
	for (size_t i = 0; i < a->event_count && i < VMSPACE_EVENT_MAX; i++) {
		assert_int_equal(a->events[i].kind, b->events[i].kind);
		assert_int_equal(a->events[i].start, b->events[i].start);
		assert_int_equal(a->events[i].end, b->events[i].end);
	}
}

static struct vmspace_request request[FAMILIES];

/* With memory refused, the call may have failed: then it has changed nothing, and is forgotten. */
static void call_both(const struct member *of, const struct vmspace_request *wanted, bool scarcely)
{
	request[SHARES] = request[COPIES] = *wanted;
	/* What calls keep in reserve takes many blocks at first. */
	scarce.one_of = scarcely && draw(2) ? draw(2) ? 8 : 200 : 0;
	vmspace_call(of->space[SHARES], &request[SHARES]);
	scarce.one_of = 0;
	if (request[SHARES].out.out_of_memory) {
		refusals++;
		match(of->space[SHARES], of->space[COPIES], true);
		return;
	}
	vmspace_call(of->space[COPIES], &request[COPIES]);
	assert_int_equal(request[SHARES].out.result, request[COPIES].out.result);
	match_events(&request[SHARES].out, &request[COPIES].out);
}

static struct member *draw_member(bool living)
{
	struct member *of;

	do
		of = &member[draw(MEMBERS)];
	while (living && !of->space[SHARES]);
	return of;
}

static void close_views(struct member *of)
{
	if (!of->view[SHARES])
		return;
	match(of->view[SHARES], of->view[COPIES], true);
	for (int family = 0; family < FAMILIES; family++) {
		vmspace_snapshot_close(of->view[family]);
		of->view[family] = NULL;
	}
}

static void end_member(struct member *of)
{
	if (!of->space[SHARES])
		return;
	if (draw(2))
		close_views(of);
	for (int family = 0; family < FAMILIES; family++) {
		vmspace_destroy(of->space[family]);
		of->space[family] = NULL;
	}
	close_views(of);
}

static void fork_both(const struct member *parent, struct member *child, bool scarcely)
{
	static const struct vmspace_request wanted = { .op = VMSPACE_FORK };

	if (child == parent || child == member) /* the first one stays */
		return;
	end_member(child);
	call_both(parent, &wanted, scarcely);
	if (request[SHARES].out.out_of_memory)
		return;
	for (int family = 0; family < FAMILIES; family++)
		child->space[family] = request[family].fork.child;
	shared_forks += shares(child->space[SHARES]);
	assert_false(shares(child->space[COPIES]));
	match(child->space[SHARES], child->space[COPIES], true);
}

/*
 * One family's becomes the child of itself, the other's has a child and goes: there is no difference. Either
 * family may be the one.
 */
static void become_both(struct member *of, bool scarcely)
{
	int one = scarcely ? SHARES : (int)draw(FAMILIES), other = FAMILIES - 1 - one;
	struct vmspace *parent = of->space[other];
	int err;

	scarce.one_of = scarcely ? draw(2) ? 50 : 5000 : 0;
	err = vmspace_become_child(of->space[one]);
	scarce.one_of = 0;
	becomes += !err;
	if (err) {
		assert_true(scarcely && err == -ENOMEM);
		refusals++;
		match(of->space[SHARES], of->space[COPIES], true);
		return;
	}
	of->space[other] = fork_of(parent);
	vmspace_destroy(parent);
	match(of->space[SHARES], of->space[COPIES], true);
}

static void snapshot_both(struct member *of)
{
	close_views(of);
	for (int family = 0; family < FAMILIES; family++)
		assert_int_equal(vmspace_snapshot(&of->view[family], of->space[family]), 0);
}

/*
 * What mirrors correct. (Which anon_vma an area has is not corrected beside a view: those that were
 * opened show it, too, unless the area was inherited then, or a child came since.)
 */
static void correct_both(const struct member *of)
{
	const struct vma_backing is = { .kind = VMA_BACKING_FILE, .inode = 9, .name = "/lib/c" };
	unsigned long pages, addr = draw_range(&pages), kind = draw(6);
	struct vma_info info;

	for (int family = 0; family < FAMILIES; family++) {
		struct vmspace *space = of->space[family];

		if (kind == 0 && !of->view[family])
			vmspace_part_anon(space, addr);
		else if (kind == 1)
			vmspace_drop_anon(space, addr);
		else if (kind == 2 && vmspace_lookup(space, addr, &info))
			vmspace_inherit_anon(space, addr, info.anon_id && pages & 1);
		else if (kind == 3)
			vmspace_identify(space, addr, &is);
		else if (kind == 4)
			vmspace_set_word(space, addr, pages * PAGE, pages & 1);
		else if (kind == 5 && !of->view[family] &&
			 vmspace_lookup(space, WINDOW + 5 * PAGE, &info) && info.anon_id &&
			 !(info.flags & VMA_SHARED)) {
			uint64_t keep = info.anon_id;

			if (vmspace_lookup(space, addr, &info))
				vmspace_join_anon(space, keep, info.anon_id);
		}
	}
}

static void explain_both(const struct member *of)
{
	struct vma_explanation why[FAMILIES];
	unsigned long pages, addr = draw_range(&pages);
	int found = vmspace_explain(of->space[SHARES], addr, addr + pages * PAGE, &why[SHARES]);

	assert_int_equal(vmspace_explain(of->space[COPIES], addr, addr + pages * PAGE, &why[COPIES]),
			 found);
	assert_int_equal(why[SHARES].verdict, why[COPIES].verdict);
}

static void match_all(void)
{
	for (int i = 0; i < MEMBERS; i++)
		if (member[i].space[SHARES])
			match(member[i].space[SHARES], member[i].space[COPIES], true);
}

static void step(bool scarcely)
{
	struct member *of = draw_member(true);
	struct vmspace_request wanted;

	switch (draw(40)) {
	case 0: case 1: case 2:
		fork_both(of, draw_member(false), scarcely);
		return;
	case 3:
		if (of != member)
			end_member(of);
		return;
	case 4:
		snapshot_both(of);
		return;
	case 5:
		close_views(of);
		return;
	case 6: case 7:
		if (!scarcely)
			correct_both(of);
		break;
	case 8:
		explain_both(of);
		return;
	case 9:
		become_both(of, scarcely);
		return;
	case 10: /* a space so small that its children get copies */
		if (of == member)
			return;
		wanted = REQUEST(VMSPACE_MUNMAP, munmap, REST, REST_AREAS * 2 * PAGE);
		call_both(of, &wanted, scarcely);
		break;
	default:
		draw_call(&wanted);
		call_both(of, &wanted, scarcely);
	}
	match(of->space[SHARES], of->space[COPIES], false);
}

static void family(bool scarcely)
{
	memset(member, 0, sizeof(member));
	for (int i = 0; i < FAMILIES; i++) {
		member[0].space[i] = create(i == COPIES);
		if (scarcely && i == SHARES)
			assert_int_equal(mt_set_allocator(&member[0].space[i]->tree, &scarce_nodes), 0);
		fill(member[0].space[i], FILL_AREAS);
		fill_from(member[0].space[i], REST, REST_AREAS);
	}
	shared_forks = becomes = 0;
	for (unsigned long i = 0; i < ops; i++) {
		step(scarcely);
		if (i % 32 == 0)
			match_all();
	}
	for (int i = 0; i < MEMBERS; i++)
		end_member(&member[i]);
	print_message("%lu forks shared, %lu in place\n", shared_forks, becomes);
	assert_true(shared_forks > ops / 100 && becomes > ops / 200);
	mt_barrier();
}

static void random_family(void **state)
{
	(void)state;
	family(false);
}

static void random_family_without_memory(void **state)
{
	(void)state;
	refusals = 0;
	family(true);
	assert_true(refusals > ops / 50);
}

/* ---- one by one ----------------------------------------------------------------------------- */

/* An even number of areas, of which some are other ones in a child, or none. */
static struct vmspace *create_parent(unsigned long areas)
{
	struct vmspace *space = create(false);
	struct vmspace_request stay = REQUEST(VMSPACE_MADVISE, madvise, FILL + 2 * PAGE, 2 * PAGE,
					      MADV_DONTFORK);
	struct vmspace_request lock = REQUEST(VMSPACE_MLOCK, mlock, .addr = FILL + 6 * PAGE,
					      .length = 4 * PAGE);

	assert_int_equal(mt_set_allocator(&space->tree, &scarce_nodes), 0);
	fill(space, areas);
	assert_int_equal(vmspace_call(space, &stay), 0);
	stay.madvise.addr += 6 * PAGE;
	stay.madvise.advice = MADV_WIPEONFORK;
	assert_int_equal(vmspace_call(space, &stay), 0);
	assert_int_equal(vmspace_call(space, &lock), 0);
	return space;
}

static char before[1 << 16], after[1 << 16];

/* Each allocation of a fork fails in turn: the parent is as it was, and no block is lost. */
static void a_failed_fork_is_undone(void **state)
{
	long blocks = scarce.blocks, failed = 0;
	struct vmspace *space = create_parent(FILL_AREAS);
	const char *why = "";
	bool again = true;

	(void)state;
	assert_true(vmspace_show(space, before, sizeof(before)) < sizeof(before));
	for (long n = 1; again; n++) {
		struct vmspace_request req = { .op = VMSPACE_FORK };

		scarce.countdown = n;
		vmspace_call(space, &req);
		again = !scarce.countdown;
		scarce.countdown = 0;
		if (again) {
			assert_int_equal(req.out.result, -ENOMEM);
			assert_null(req.fork.child);
			failed++;
		} else {
			assert_true(shares(req.fork.child));
			assert_true(vmspace_check(req.fork.child, &why));
			vmspace_destroy(req.fork.child);
		}
		touch(space, FILL + 2 * PAGE);
		assert_true(vmspace_check(space, &why));
		vmspace_show(space, after, sizeof(after));
		assert_string_equal(before, after);
	}
	assert_true(failed > 3);
	vmspace_destroy(space);
	assert_int_equal(scarce.blocks, blocks);
}

/* Without a child that shares, areas change in place again. */
static void a_parent_is_alone_again(void **state)
{
	struct vmspace *space = create_parent(FILL_AREAS), *child = fork_of(space);

	(void)state;
	assert_true(shares(child) && space->past);
	vmspace_destroy(child);
	touch(space, FILL + 2 * PAGE);
	assert_null(space->past);
	assert_false(space->reserve.shared);
	vmspace_destroy(space);
}

static long asked_by_fork(unsigned long areas, struct vmspace **child)
{
	struct vmspace *space = create_parent(areas);

	scarce.asked = 0;
	scarce.counting = true;
	*child = fork_of(space);
	scarce.counting = false;
	vmspace_destroy(space); /* the child keeps what it has of it */
	return scarce.asked;
}

/* A fork takes no more memory for ten times as many areas; nor does the end of the child look at all. */
static void a_fork_costs_what_differs(void **state)
{
	struct vmspace *child[2];
	const char *why = "";
	long asked = asked_by_fork(FILL_AREAS, &child[0]);

	(void)state;
	assert_true(asked < 20);
	assert_in_range(asked_by_fork(10 * FILL_AREAS, &child[1]), asked, asked + 2);
	for (int i = 0; i < 2; i++) {
		assert_true(shares(child[i]));
		assert_int_equal(child[i]->areas, (i ? 10 : 1) * FILL_AREAS - 1);
		assert_true(vmspace_check(child[i], &why));
		vmspace_destroy(child[i]);
	}
}

/* Each is the child of the one before, which goes; after some time all is copied once. */
static void generations_without_end(void **state)
{
	struct vmspace *of[FAMILIES] = { create(false), create(true) };
	unsigned int copied = 0;

	(void)state;
	for (int i = 0; i < FAMILIES; i++)
		fill(of[i], FILL_AREAS);
	for (unsigned long n = 0; n < 3 * GENERATIONS_MAX; n++) {
		for (int i = 0; i < FAMILIES; i++) {
			struct vmspace *child = fork_of(of[i]);

			vmspace_destroy(of[i]);
			of[i] = child;
			touch(child, FILL + (n * 10 % (2 * FILL_AREAS)) * PAGE);
			map(child, FILL + n * 6 * PAGE, 2, PROT_READ | PROT_WRITE);
		}
		copied += !shares(of[SHARES]);
		match(of[SHARES], of[COPIES], true);
	}
	assert_in_range(copied, 1, 3);
	for (int i = 0; i < FAMILIES; i++)
		vmspace_destroy(of[i]);
}

/* Hooks about words are told of inherited areas as of any. */
static unsigned long dropped;

static void count_drops(void *ctx, const struct vmspace *space, struct vmspace_word_change *change)
{
	(void)ctx;
	(void)space;
	dropped += change->kind == VMSPACE_WORD_DROP;
}

static void hooks_are_told_of_inherited_areas(void **state)
{
	struct vmspace_word_hooks hooks = { .size = sizeof(hooks), .change = count_drops };
	struct vmspace *space = create_parent(FILL_AREAS), *child = fork_of(space);
	struct vmspace_request unmap = REQUEST(VMSPACE_MUNMAP, munmap, FILL + 101 * PAGE, 100 * PAGE);

	(void)state;
	assert_true(shares(child));
	assert_int_equal(vmspace_set_word_hooks(child, &hooks), 0);
	dropped = 0;
	assert_int_equal(vmspace_call(child, &unmap), 0);
	assert_int_equal(dropped, 51); /* 49 as a whole, and a part at each end */
	vmspace_destroy(child);
	assert_int_equal(dropped, 51 + FILL_AREAS - 1 - 49);
	vmspace_destroy(space);
}

/* What is corrected in the parent later, snapshots may show, and a child does not. */
static void corrections_are_not_inherited(void **state)
{
	struct vmspace *space = create_parent(FILL_AREAS), *child;
	const struct vmspace *view;
	struct vma_info info;
	const char *why = "";

	(void)state;
	assert_int_equal(vmspace_snapshot(&view, space), 0);
	vmspace_part_anon(space, FILL + 60 * PAGE);
	assert_true(vmspace_lookup(view, FILL + 60 * PAGE, &info) && info.anon_id);
	if (!vmspace_check(view, &why))
		fail_msg("%s", why);
	vmspace_snapshot_close(view);
	child = fork_of(space);
	assert_true(shares(child));
	vmspace_part_anon(space, FILL + 66 * PAGE);
	assert_true(vmspace_lookup(space, FILL + 66 * PAGE, &info) && info.anon_id);
	assert_true(vmspace_lookup(child, FILL + 66 * PAGE, &info) && !info.anon_id);
	assert_true(vmspace_lookup(child, FILL + 60 * PAGE, &info) && info.anon_shared);
	vmspace_destroy(child);
	vmspace_destroy(space);
}

/* ---- threads -------------------------------------------------------------------------------- */

/* What one thread does with its space: always the same. */
static void *use(void *arg)
{
	struct vmspace *space = arg;

	for (unsigned long i = 0; i < 400; i++) {
		unsigned long at = FILL + (i * 14 % (2 * FILL_AREAS - 8)) * PAGE;
		struct vmspace_request req =
			REQUEST(VMSPACE_MPROTECT, mprotect, at, 3 * PAGE,
				i % 3 ? PROT_READ : PROT_READ | PROT_WRITE, -1);
		struct vmspace_request unmap = REQUEST(VMSPACE_MUNMAP, munmap, at + 4 * PAGE, PAGE);
		const struct vmspace *view;

		vmspace_call(space, &req);
		touch(space, at + 2 * PAGE);
		if (i % 5 == 0)
			vmspace_call(space, &unmap);
		if (i % 50 == 0) {
			vmspace_destroy(fork_of(space));
			assert_int_equal(vmspace_snapshot(&view, space), 0);
			vmspace_snapshot_close(view);
		}
	}
	return NULL;
}

/* Parent, child and grandchild are used by a thread each, which know nothing of each other. */
static void relatives_of_several_threads(void **state)
{
	enum { OTHERS = 3 };
	struct vmspace *parent = create(false), *expected = create(true), *of[OTHERS];
	pthread_t thread[OTHERS];

	(void)state;
	fill(parent, FILL_AREAS);
	fill(expected, FILL_AREAS);
	of[0] = fork_of(parent);
	of[1] = fork_of(parent);
	of[2] = fork_of(of[1]);
	assert_true(shares(of[0]) && shares(of[1]) && shares(of[2]));
	for (int i = 0; i < OTHERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, use, of[i]), 0);
	use(parent);
	vmspace_destroy(parent);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < FAMILIES; i++) { /* inherited anon_vmas decide about merges */
		struct vmspace *child = fork_of(expected);

		vmspace_destroy(expected);
		expected = child;
	}
	use(expected);
	match(of[2], expected, true);
	match(of[0], expected, true);
	match(of[1], expected, true);
	for (int i = 0; i < OTHERS; i++)
		vmspace_destroy(of[i]);
	vmspace_destroy(expected);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_family),
		cmocka_unit_test(random_family_without_memory),
		cmocka_unit_test(a_failed_fork_is_undone),
		cmocka_unit_test(a_parent_is_alone_again),
		cmocka_unit_test(a_fork_costs_what_differs),
		cmocka_unit_test(generations_without_end),
		cmocka_unit_test(hooks_are_told_of_inherited_areas),
		cmocka_unit_test(corrections_are_not_inherited),
		cmocka_unit_test(relatives_of_several_threads),
	};

	if (!take_options(argc, argv, &seed, &ops))
		return 2;
	print_message("seed %llu\n", seed);
	random_state = seed;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
