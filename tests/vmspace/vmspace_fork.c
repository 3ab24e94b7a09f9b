/* SPDX-License-Identifier: MIT */
/*
 * vmspace_fork.c - children that share their parent's areas, one by one: the undo of a fork, generations
 * without end, several threads, and what a fork costs. vmspace_fork_random.c makes any calls.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <mapletree/vmspace_words.h>

#include "families.h"
#include "inherited.h"
#include "scarce.h"

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
		match(of[SHARES], of[COPIES]);
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
	match(of[2], expected);
	match(of[0], expected);
	match(of[1], expected);
	for (int i = 0; i < OTHERS; i++)
		vmspace_destroy(of[i]);
	vmspace_destroy(expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_fork_is_undone),
		cmocka_unit_test(a_parent_is_alone_again),
		cmocka_unit_test(a_fork_costs_what_differs),
		cmocka_unit_test(generations_without_end),
		cmocka_unit_test(hooks_are_told_of_inherited_areas),
		cmocka_unit_test(corrections_are_not_inherited),
		cmocka_unit_test(relatives_of_several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
