/* SPDX-License-Identifier: MIT */
/*
 * test_cursor.c - a cursor's reads: where it stands after each, and at the limits.
 */
#include "fixture.h"

#include <errno.h>
#include <string.h>

#include "node.h"

static struct maple_tree mt;

/* 0-f gap, 10-1f:a 20-2f:b, 30-3f gap, 40-4f:c 50:zero, 51-max gap */
static int set_up(void **state)
{
	(void)state;
	mt_init(&mt);
	mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 0x20, 0x2f, E('b'), GFP_KERNEL);
	mtree_store_range(&mt, 0x40, 0x4f, E('c'), GFP_KERNEL);
	mtree_store(&mt, 0x50, XA_ZERO_ENTRY, GFP_KERNEL);
	mtree_lock(&mt);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	mtree_unlock(&mt);
	end(&mt);
	return 0;
}

static void a_new_cursor(void **state)
{
	MA_STATE(mas, &mt, 0x15, 0x25);
	struct ma_state other;

	(void)state;
	expect_place(&mas, 0x15, 0x25, ma_start);
	mas_init(&other, &mt, 7);
	expect_place(&other, 7, 7, ma_start);
	assert_ptr_equal(other.tree, &mt);
	mas_set_range(&other, 1, 2);
	expect_place(&other, 1, 2, ma_start);
	mas_set(&other, 3);
	expect_place(&other, 3, 3, ma_start);
	assert_false(mas_is_active(&other));
	assert_false(mas_is_err(&other));
}

static void walk_reports_ranges_and_gaps(void **state)
{
	MA_STATE(mas, &mt, 0x15, 0x15);

	(void)state;
	assert_ptr_equal(mas_walk(&mas), E('a'));
	expect_place(&mas, 0x10, 0x1f, ma_active);
	assert_true(mas_is_active(&mas));
	mas_set(&mas, 0);
	assert_null(mas_walk(&mas));
	expect_place(&mas, 0, 0xf, ma_active);
	mas_set(&mas, 0x50);
	assert_ptr_equal(mas_walk(&mas), XA_ZERO_ENTRY);
	mas_set(&mas, ULONG_MAX);
	assert_null(mas_walk(&mas));
	expect_place(&mas, 0x51, ULONG_MAX, ma_active);
	mas.index = mas.last = 0x22; /* by hand: a walk always starts from the root */
	assert_ptr_equal(mas_walk(&mas), E('b'));
	expect_place(&mas, 0x20, 0x2f, ma_active);
}

static void find_starts_here_and_goes_on(void **state)
{
	MA_STATE(mas, &mt, 0x18, 0x18);

	(void)state;
	assert_ptr_equal(mas_find(&mas, 0x45), E('a'));
	assert_ptr_equal(mas_find(&mas, 0x45), E('b'));
	assert_ptr_equal(mas_find(&mas, 0x45), E('c'));
	expect_place(&mas, 0x40, 0x4f, ma_active);
	assert_null(mas_find(&mas, 0x45));
	mas_set(&mas, 0x30);
	assert_null(mas_find(&mas, 0x3f));
	mas_set(&mas, 0x30);
	assert_ptr_equal(mas_find(&mas, 0x40), E('c'));
}

static void find_range_stops_at_gaps(void **state)
{
	MA_STATE(mas, &mt, 0x20, 0x20);

	(void)state;
	assert_ptr_equal(mas_find_range(&mas, ULONG_MAX), E('b'));
	assert_null(mas_find_range(&mas, ULONG_MAX));
	expect_place(&mas, 0x30, 0x3f, ma_active);
	assert_ptr_equal(mas_find_range(&mas, ULONG_MAX), E('c'));
	assert_ptr_equal(mas_find_range(&mas, ULONG_MAX), XA_ZERO_ENTRY);
	assert_null(mas_find_range(&mas, ULONG_MAX));
	expect_place(&mas, 0x51, ULONG_MAX, ma_active);
	mas_set(&mas, 0x20);
	assert_ptr_equal(mas_find_range_rev(&mas, 0), E('b'));
	assert_ptr_equal(mas_find_range_rev(&mas, 0), E('a'));
	assert_null(mas_find_range_rev(&mas, 0));
	expect_place(&mas, 0, 0xf, ma_active);
}

static void find_rev_goes_down(void **state)
{
	MA_STATE(mas, &mt, 0x4a, 0x4a);

	(void)state;
	assert_ptr_equal(mas_find_rev(&mas, 0x18), E('c'));
	assert_ptr_equal(mas_find_rev(&mas, 0x18), E('b'));
	assert_ptr_equal(mas_find_rev(&mas, 0x18), E('a'));
	expect_place(&mas, 0x10, 0x1f, ma_active);
	assert_null(mas_find_rev(&mas, 0x10));
	expect_place(&mas, 0x10, 0x1f, ma_underflow);
	mas_set(&mas, 0x3f);
	assert_null(mas_find_rev(&mas, 0x30));
	expect_place(&mas, 0x30, 0x3f, ma_underflow);
}

static void next_and_prev_turn_at_the_ends(void **state)
{
	MA_STATE(mas, &mt, 0x20, 0x20);

	(void)state;
	assert_ptr_equal(mas_walk(&mas), E('b'));
	assert_ptr_equal(mas_next(&mas, 0x50), E('c'));
	assert_ptr_equal(mas_next(&mas, 0x50), XA_ZERO_ENTRY);
	assert_null(mas_next(&mas, 0x50));
	expect_place(&mas, 0x50, 0x50, ma_overflow);
	assert_ptr_equal(mas_prev(&mas, 0), XA_ZERO_ENTRY); /* the last valid one again */
	expect_place(&mas, 0x50, 0x50, ma_active);
	assert_ptr_equal(mas_prev(&mas, 0), E('c'));
	assert_ptr_equal(mas_prev(&mas, 0), E('b'));
	assert_ptr_equal(mas_prev(&mas, 0), E('a'));
	assert_null(mas_prev(&mas, 0));
	expect_place(&mas, 0, 0xf, ma_underflow);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('a'));
}

static void limits_inside_a_range(void **state)
{
	MA_STATE(mas, &mt, 0x20, 0x20);

	(void)state;
	assert_ptr_equal(mas_next(&mas, 0x40), E('c'));
	mas_set(&mas, 0x20);
	assert_null(mas_next(&mas, 0x3f));
	expect_place(&mas, 0x30, 0x3f, ma_overflow);
	mas_set(&mas, 0x40);
	assert_ptr_equal(mas_prev(&mas, 0x2f), E('b'));
	mas_set(&mas, 0x40);
	assert_null(mas_prev(&mas, 0x30));
	expect_place(&mas, 0x30, 0x3f, ma_underflow);
	mas_set(&mas, 0x40);
	assert_null(mas_prev_range(&mas, 0));
	expect_place(&mas, 0x30, 0x3f, ma_active);
	assert_ptr_equal(mas_next_range(&mas, ULONG_MAX), E('c'));
}

/* An empty tree has no place to stand on: the cursor is in its only gap, as after a pause. */
static void a_cursor_that_empties_a_tree_is_paused(void **state)
{
	struct maple_tree other = MTREE_INIT(other, 0);

	(void)state;
	for (unsigned long first = 0; first < 2; first++) {
		MA_STATE(mas, &other, first, first + 6);

		mtree_lock(&other);
		assert_int_equal(mas_store_gfp(&mas, E('a'), GFP_KERNEL), 0);
		expect_place(&mas, first, first + 6, ma_active);
		assert_int_equal(mas_store_gfp(&mas, NULL, GFP_KERNEL), 0);
		expect_place(&mas, 0, ULONG_MAX, ma_pause);
		assert_null(mas_find(&mas, ULONG_MAX));
		mtree_unlock(&other);
	}
}

static void pause_goes_on_behind_reset_starts_again(void **state)
{
	MA_STATE(mas, &mt, 0x10, 0x10);

	(void)state;
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('a'));
	mas_pause(&mas);
	assert_int_equal(mas.status, ma_pause);
	mtree_unlock(&mt);
	assert_int_equal(mtree_store(&mt, 0x22, E('x'), GFP_KERNEL), 0);
	mtree_lock(&mt);
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('b'));
	expect_place(&mas, 0x20, 0x21, ma_active);
	mas_reset(&mas);
	expect_place(&mas, 0x20, 0x21, ma_start);
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('b'));
	mas_pause(&mas);
	assert_ptr_equal(mas_find_rev(&mas, 0), E('a'));
}

/* What it stood on may be gone when it goes on, even if it goes nowhere at first. */
static void a_paused_cursor_forgets_its_node(void **state)
{
	MA_STATE(mas, &mt, 0x40, 0x40);

	(void)state;
	assert_ptr_equal(mas_walk(&mas), E('c'));
	mas_pause(&mas);
	mtree_unlock(&mt);
	assert_ptr_equal(mtree_erase(&mt, 0x10), E('a'));
	assert_int_equal(mtree_store(&mt, 0x51, E('d'), GFP_KERNEL), 0);
	mtree_lock(&mt);
	assert_null(mas_next(&mas, 0x4f));
	expect_place(&mas, 0x40, 0x4f, ma_overflow);
	assert_ptr_equal(mas_prev(&mas, 0), E('c'));
	expect_place(&mas, 0x40, 0x4f, ma_active);
}

static void for_each_sees_zero_entries(void **state)
{
	static const unsigned long firsts[] = { 0x10, 0x20, 0x40, 0x50 };
	MA_STATE(mas, &mt, 0, 0);
	size_t count = 0;
	void *entry;

	(void)state;
	mas_for_each(&mas, entry, ULONG_MAX)
		assert_int_equal(mas.index, firsts[count++]);
	assert_int_equal(count, LENGTH(firsts));
	mas_set(&mas, ULONG_MAX);
	mas_for_each_rev(&mas, entry, 0)
		assert_int_equal(mas.index, firsts[--count]);
	assert_int_equal(count, 0);
}

/* As in Linux 6.12 and 7.3. */
static void find_after_an_overflow_on_an_entry_returns_it_again(void **state)
{
	MA_STATE(mas, &mt, 0x20, 0x20);

	(void)state;
	assert_ptr_equal(mas_walk(&mas), E('b'));
	assert_null(mas_next(&mas, 0x2f));
	expect_place(&mas, 0x20, 0x2f, ma_overflow);
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('b'));
	expect_place(&mas, 0x20, 0x2f, ma_active);
	assert_null(mas_next_range(&mas, 0x2f));
	assert_ptr_equal(mas_find_range(&mas, 0x24), E('b'));
	assert_null(mas_next(&mas, 0x2f));
	assert_null(mas_find(&mas, 0x20)); /* as from a start behind it */
	expect_place(&mas, 0x20, 0x2f, ma_overflow);
	assert_null(mas_find(&mas, 0x20));
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('b'));
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('c'));
}

/* On a gap there is nothing to return again. */
static void find_after_an_overflow_on_a_gap_goes_on(void **state)
{
	MA_STATE(mas, &mt, 0x20, 0x20);

	(void)state;
	assert_null(mas_next(&mas, 0x3f));
	expect_place(&mas, 0x30, 0x3f, ma_overflow);
	assert_null(mas_find(&mas, 0x3f));
	expect_place(&mas, 0x30, 0x3f, ma_overflow);
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('c'));
}

static void a_cursor_on_a_gap_is_active(void **state)
{
	static void *(*const reads[])(struct ma_state *, unsigned long) = {
		mas_find, mas_find_range, mas_find_rev, mas_find_range_rev,
	};
	MA_STATE(mas, &mt, 0x33, 0x33);

	(void)state;
	assert_null(mas_walk(&mas));
	assert_true(mas_is_active(&mas));
	mas_set(&mas, 0x55);
	assert_null(mas_find(&mas, ULONG_MAX));
	expect_place(&mas, 0x51, ULONG_MAX, ma_active);
	assert_true(mas_is_active(&mas));
	for (size_t i = 0; i < LENGTH(reads); i++) { /* a limit met by a step says so instead */
		mas_set(&mas, i < 2 ? 0x20 : 0x40);
		assert_ptr_equal(reads[i](&mas, i < 2 ? 0x3f : 0x30), i < 2 ? E('b') : E('c'));
		assert_null(reads[i](&mas, i < 2 ? 0x3f : 0x30));
		assert_int_equal(mas_is_active(&mas), i != 2);
		expect_place(&mas, 0x30, 0x3f, i == 2 ? ma_underflow : ma_active);
	}
}

static void an_empty_tree(void **state)
{
	struct maple_tree empty;
	MA_STATE(mas, &empty, 5, 5);

	(void)state;
	mt_init(&empty);
	assert_null(mas_walk(&mas));
	expect_place(&mas, 0, ULONG_MAX, ma_none);
	mas_set(&mas, 5);
	assert_null(mas_find(&mas, ULONG_MAX));
	assert_false(mas_is_active(&mas));
	mas_set(&mas, 5);
	assert_null(mas_find_rev(&mas, 0));
	mas_set(&mas, 5);
	assert_null(mas_next(&mas, ULONG_MAX));
	mas_set(&mas, 5);
	assert_null(mas_prev(&mas, 0));
}

static void a_lone_entry_at_zero(void **state)
{
	struct maple_tree lone;
	MA_STATE(mas, &lone, 0, 0);

	(void)state;
	mt_init(&lone);
	mtree_store(&lone, 0, E('a'), GFP_KERNEL);
	assert_ptr_equal(mas_walk(&mas), E('a'));
	expect_place(&mas, 0, 0, ma_root);
	assert_null(mas_next(&mas, ULONG_MAX));
	expect_place(&mas, 1, ULONG_MAX, ma_none);
	assert_ptr_equal(mas_prev(&mas, 0), E('a'));
	expect_place(&mas, 0, 0, ma_root);
	mas_set(&mas, 9);
	assert_null(mas_walk(&mas));
	expect_place(&mas, 1, ULONG_MAX, ma_none);
	mas_set(&mas, 9);
	assert_ptr_equal(mas_find_rev(&mas, 0), E('a'));
	end(&lone);
}

static void ranges_up_to_the_last_index(void **state)
{
	struct maple_tree full;
	MA_STATE(mas, &full, ULONG_MAX, ULONG_MAX);

	(void)state;
	mt_init(&full);
	mtree_store_range(&full, 0, ULONG_MAX, E('a'), GFP_KERNEL);
	assert_ptr_equal(mas_walk(&mas), E('a'));
	expect_place(&mas, 0, ULONG_MAX, ma_active);
	assert_null(mas_next(&mas, ULONG_MAX));
	expect_place(&mas, 0, ULONG_MAX, ma_overflow);
	mas_set(&mas, 17);
	assert_ptr_equal(mas_find(&mas, 17), E('a'));
	assert_null(mas_find(&mas, ULONG_MAX));
	end(&full);
}

static void iteration_over_many_leaves(void **state)
{
	struct maple_tree big;
	MA_STATE(mas, &big, 0, 0);
	unsigned long count = 0;
	void *entry;

	(void)state;
	mt_init(&big);
	fill(&big, 3, 2, 5, 20000);
	mas_for_each(&mas, entry, ULONG_MAX) {
		assert_ptr_equal(entry, xa_mk_value(count));
		assert_int_equal(mas.index, 3 + 5 * count);
		assert_int_equal(mas.last, 4 + 5 * count);
		count++;
	}
	assert_int_equal(count, 20000);
	mas_set(&mas, ULONG_MAX);
	while ((entry = mas_prev_range(&mas, 0)) || mas.status == ma_active) {
		if (entry)
			assert_ptr_equal(entry, xa_mk_value(--count));
	}
	assert_int_equal(count, 0);
	assert_int_equal(mas.status, ma_underflow);
	end(&big);
}

static void at_the_end_of_a_tree_without_nodes(void **state)
{
	struct maple_tree lone;
	MA_STATE(mas, &lone, 0, 0);

	(void)state;
	mt_init(&lone);
	mtree_store(&lone, 0, E('a'), GFP_KERNEL);
	assert_ptr_equal(mas_walk(&mas), E('a'));
	assert_null(mas_prev(&mas, 0));
	expect_place(&mas, 0, 0, ma_underflow);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('a'));
	expect_place(&mas, 0, 0, ma_root);
	mas_set(&mas, 9);
	assert_null(mas_prev(&mas, 1));
	expect_place(&mas, 1, ULONG_MAX, ma_underflow);
	__mas_set_range(&mas, 5, 6);
	assert_null(mas_next(&mas, ULONG_MAX));
	expect_place(&mas, 1, ULONG_MAX, ma_none);
	end(&lone);
}

static void a_cursor_in_error_reads_nothing(void **state)
{
	void *(*const reads[])(struct ma_state *, unsigned long) = {
		mas_next, mas_next_range, mas_find, mas_find_range,
		mas_prev, mas_prev_range, mas_find_rev, mas_find_range_rev,
	};
	MA_STATE(mas, &mt, 0x20, 0x10);
	size_t i;

	(void)state;
	assert_int_equal(mas_store_gfp(&mas, E('x'), GFP_KERNEL), -EINVAL);
	assert_int_equal(mas_preallocate(&mas, E('x'), GFP_KERNEL), -EINVAL);
	for (i = 0; i < LENGTH(reads); i++) {
		assert_null(reads[i](&mas, i < 4 ? ULONG_MAX : 0));
		assert_true(mas_is_err(&mas));
		assert_int_equal(xa_err(mas.node), -EINVAL);
		expect_place(&mas, 0x20, 0x10, ma_error);
	}
	mas_set(&mas, 0x20);
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('b'));
}

/* An erased range of which a part was stored to by another: the cursor goes on behind all of it. */
static void a_cursor_that_erased_goes_on_behind_it(void **state)
{
	struct maple_tree tree;
	MA_STATE(mas, &tree, 10, 10);

	(void)state;
	mt_init(&tree);
	assert_int_equal(mtree_store_range(&tree, 5, 9, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&tree, 10, 19, E('b'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&tree, 20, 29, E('c'), GFP_KERNEL), 0);
	mtree_lock(&tree);
	assert_ptr_equal(mas_erase(&mas), E('b'));
	mtree_unlock(&tree);
	assert_int_equal(mtree_store_range(&tree, 15, 17, E('d'), GFP_KERNEL), 0);
	mtree_lock(&tree);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('c'));
	mtree_unlock(&tree);
	end(&tree);
}

/* The same downwards, where the other one's entry reaches into the erased range. */
static void a_cursor_that_erased_goes_on_below_it(void **state)
{
	struct maple_tree tree;
	MA_STATE(mas, &tree, 10, 10);

	(void)state;
	mt_init(&tree);
	assert_int_equal(mtree_store_range(&tree, 0, 4, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&tree, 10, 19, E('b'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&tree, 20, 29, E('c'), GFP_KERNEL), 0);
	mtree_lock(&tree);
	assert_ptr_equal(mas_erase(&mas), E('b'));
	mtree_unlock(&tree);
	assert_int_equal(mtree_store_range(&tree, 5, 14, E('d'), GFP_KERNEL), 0);
	mtree_lock(&tree);
	assert_ptr_equal(mas_prev(&mas, 0), E('d'));
	expect_place(&mas, 5, 14, ma_active);
	assert_ptr_equal(mas_prev(&mas, 0), E('a'));
	mtree_unlock(&tree);
	end(&tree);
}

/* What was reserved was for a store that takes less. */
static void a_store_that_was_not_reserved_for_is_not_lost(void **state)
{
	struct maple_tree tree;
	MA_STATE(mas, &tree, 0, 0);

	(void)state;
	mt_init(&tree);
	mtree_lock(&tree);
	assert_int_equal(mas_preallocate(&mas, E('a'), GFP_KERNEL), 0);
	mas_set_range(&mas, 5, 9);
	mas_store_prealloc(&mas, E('b'));
	mtree_unlock(&tree);
	expect_content(&tree, "5-9:b");
	end(&tree);
}

/* ---- the word behind the pivots ----------------------------------------------------------- */

static struct {
	unsigned char block[8][NODE_BYTES];
	unsigned int used;
} arena __attribute__((aligned(NODE_BYTES)));

static void *arena_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	assert_true(size <= NODE_BYTES && align <= NODE_BYTES && arena.used < 7);
	return arena.block[arena.used++];
}

static void arena_free(void *ctx, void *block, size_t size)
{
	(void)ctx, (void)block, (void)size;
}

/*
 * The last range of a full leaf has no pivot: the word there, the meta word, is no index, though it
 * may be equal to the one where the cursor stands; and no slot follows, whatever lies behind the
 * leaf. Here a full leaf ends in a gap of which the cursor has erased the lower part.
 */
static void in_a_full_leaf_nothing_follows_the_last_range(void **state)
{
	static const struct mt_allocator allocator = { arena_alloc, arena_free, NULL };
	const unsigned long last = WIDE_SLOTS - 1, next = last + 5;
	struct maple_tree tree;
	MA_STATE(mas, &tree, last, last);

	(void)state;
	memset(&arena, 0x11, sizeof(arena));
	arena.used = 0;
	mt_init(&tree);
	assert_int_equal(mt_set_allocator(&tree, &allocator), 0);
	fill(&tree, 0, 1, 1, last + 1);
	fill(&tree, next, 1, 1, last);
	mtree_lock(&tree);
	assert_ptr_equal(mas_erase(&mas), xa_mk_value(last));
	assert_int_equal(mas.last, last);
	assert_int_equal(mas.max, next - 1); /* the leaf has taken the gap behind it */
	assert_int_equal(enode_node(mas.node)->wide.meta, last);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), xa_mk_value(0));
	expect_place(&mas, next, next, ma_active);
	mtree_unlock(&tree);
	end(&tree);
}

/* The rest of that range comes next, if only a part of it was wanted; nothing is read behind it. */
static void the_last_range_of_a_full_leaf_may_be_narrowed(void **state)
{
	static const struct mt_allocator allocator = { arena_alloc, arena_free, NULL };
	const unsigned long last = WIDE_SLOTS - 1;
	struct maple_tree tree;
	MA_STATE(mas, &tree, last, last);

	(void)state;
	for (unsigned int own = 0; own < 2; own++) { /* sanitizers see the default allocator's */
		memset(&arena, 0x11, sizeof(arena));
		arena.used = 0;
		mt_init(&tree);
		assert_int_equal(mt_set_allocator(&tree, own ? &allocator : NULL), 0);
		for (unsigned long i = 0; i <= last; i++)
			assert_int_equal(mtree_store_range(&tree, i, ULONG_MAX, E('a'), GFP_KERNEL),
					 0);
		mtree_lock(&tree);
		mas_set(&mas, last);
		assert_ptr_equal(mas_walk(&mas), E('a'));
		__mas_set_range(&mas, last, last);
		assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('a'));
		expect_place(&mas, last, ULONG_MAX, ma_active);
		assert_null(mas_next(&mas, ULONG_MAX));
		mtree_unlock(&tree);
		end(&tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_new_cursor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(walk_reports_ranges_and_gaps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(find_starts_here_and_goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(find_range_stops_at_gaps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(find_rev_goes_down, set_up, tear_down),
		cmocka_unit_test_setup_teardown(next_and_prev_turn_at_the_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(limits_inside_a_range, set_up, tear_down),
		cmocka_unit_test(a_cursor_that_empties_a_tree_is_paused),
		cmocka_unit_test_setup_teardown(pause_goes_on_behind_reset_starts_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_paused_cursor_forgets_its_node, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(find_after_an_overflow_on_an_entry_returns_it_again,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(find_after_an_overflow_on_a_gap_goes_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_cursor_on_a_gap_is_active, set_up, tear_down),
		cmocka_unit_test_setup_teardown(for_each_sees_zero_entries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_lone_entry_at_zero, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ranges_up_to_the_last_index, set_up, tear_down),
		cmocka_unit_test_setup_teardown(iteration_over_many_leaves, set_up, tear_down),
		cmocka_unit_test(a_cursor_that_erased_goes_on_behind_it),
		cmocka_unit_test(a_cursor_that_erased_goes_on_below_it),
		cmocka_unit_test(a_store_that_was_not_reserved_for_is_not_lost),
		cmocka_unit_test(at_the_end_of_a_tree_without_nodes),
		cmocka_unit_test_setup_teardown(a_cursor_in_error_reads_nothing, set_up, tear_down),
		cmocka_unit_test(in_a_full_leaf_nothing_follows_the_last_range),
		cmocka_unit_test(the_last_range_of_a_full_leaf_may_be_narrowed),
	};

	return cmocka_run_group_tests_name("cursor", tests, NULL, NULL);
}
