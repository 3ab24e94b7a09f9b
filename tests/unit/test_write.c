/* SPDX-License-Identifier: MIT */
/*
 * test_write.c - writes through a cursor: store, store_gfp, preallocated store, erase, bulk.
 */
#include "fixture.h"

#include <errno.h>

#include "layout.h"

static struct maple_tree mt;

/* 10-1f:a 20-2f:b */
static int set_up(void **state)
{
	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 0x20, 0x2f, E('b'), GFP_KERNEL);
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

static void expect(const char *content)
{
	mtree_unlock(&mt);
	expect_content(&mt, content);
	mtree_lock(&mt);
}

static void store_returns_what_was_there(void **state)
{
	MA_STATE(mas, &mt, 0x14, 0x17);

	(void)state;
	assert_ptr_equal(mas_store(&mas, E('c')), E('a'));
	assert_int_equal(mas.index, 0x14);
	assert_int_equal(mas.last, 0x17);
	expect("10-13:a 14-17:c 18-1f:a 20-2f:b");
	mas_set_range(&mas, 0, 3);
	assert_null(mas_store(&mas, E('d')));
	mas_set_range(&mas, 0x12, 0x25);
	assert_ptr_equal(mas_store(&mas, E('e')), E('a'));
	expect("0-3:d 10-11:a 12-25:e 26-2f:b");
}

static void an_inverted_range_is_an_error(void **state)
{
	MA_STATE(mas, &mt, 9, 8);

	(void)state;
	assert_int_equal(mas_store_gfp(&mas, E('c'), GFP_KERNEL), -EINVAL);
	mas_set_range(&mas, 9, 8);
	mas_store(&mas, E('c'));
	assert_true(mas_is_err(&mas));
	assert_int_equal(mas.status, ma_error);
	assert_ptr_equal(mas.node, MA_ERROR(-EINVAL));
	assert_int_equal(xa_err(mas.node), -EINVAL);
	assert_false(mas_nomem(&mas, GFP_KERNEL)); /* not a lack of memory: no use to repeat */
	expect("10-1f:a 20-2f:b");
}

static void a_cursor_stands_on_what_it_wrote(void **state)
{
	MA_STATE(mas, &mt, 0x18, 0x27);

	(void)state;
	assert_int_equal(mas_store_gfp(&mas, E('c'), GFP_KERNEL), 0);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('b'));
	expect_place(&mas, 0x28, 0x2f, ma_active);
	assert_ptr_equal(mas_prev(&mas, 0), E('c'));
	assert_ptr_equal(mas_prev(&mas, 0), E('a'));
	expect_place(&mas, 0x10, 0x17, ma_active);
}

/* The store leaves no node: what the cursor does next does not tell that it stood on one. */
static void a_cursor_that_wrote_is_as_one_that_walked(void **state)
{
	struct maple_tree lone;
	MA_STATE(wrote, &lone, 0, 0);
	MA_STATE(walked, &lone, 0, 0);

	(void)state;
	mt_init(&lone);
	mtree_store(&lone, 0, XA_ZERO_ENTRY, GFP_KERNEL); /* which takes a node */
	mtree_lock(&lone);
	assert_ptr_equal(mas_walk(&wrote), XA_ZERO_ENTRY);
	assert_ptr_equal(mas_store(&wrote, E('a')), XA_ZERO_ENTRY);
	assert_int_equal(mt_height(&lone), 0);
	assert_ptr_equal(mas_walk(&walked), E('a'));
	expect_place(&wrote, walked.index, walked.last, walked.status);
	assert_null(mas_next(&wrote, 0));
	assert_null(mas_next(&walked, 0));
	expect_place(&wrote, walked.index, walked.last, walked.status);
	assert_ptr_equal(mas_find_rev(&wrote, 0), mas_find_rev(&walked, 0));
	expect_place(&wrote, walked.index, walked.last, walked.status);
	mtree_unlock(&lone);
	end(&lone);
}

static void a_found_range_may_be_narrowed_and_stored(void **state)
{
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('a'));
	__mas_set_range(&mas, 0x12, 0x13);
	assert_int_equal(mas_store_gfp(&mas, NULL, GFP_KERNEL), 0);
	expect("10-11:a 14-1f:a 20-2f:b");
	mas_set(&mas, 0x20);
	assert_ptr_equal(mas_walk(&mas), E('b'));
	mas.last = 0x3f; /* beyond the range */
	assert_int_equal(mas_store_gfp(&mas, E('c'), GFP_KERNEL), 0);
	expect("10-11:a 14-1f:a 20-3f:c");
}

/* Up means to the range that holds last + 1, also for a cursor that has erased before. */
static void from_a_narrowed_range_the_rest_comes_next(void **state)
{
	MA_STATE(mas, &mt, 0x10, 0x1f);

	(void)state;
	assert_ptr_equal(mas_store(&mas, NULL), E('a'));
	mas_set(&mas, 0x25);
	assert_ptr_equal(mas_walk(&mas), E('b'));
	__mas_set_range(&mas, 0x20, 0x23);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('b'));
	expect_place(&mas, 0x20, 0x2f, ma_active);
	__mas_set_range(&mas, 0x28, 0x2f);
	assert_ptr_equal(mas_prev(&mas, 0), E('b'));
	assert_null(mas_prev(&mas, 0));
}

static void erase_while_iterating(void **state)
{
	MA_STATE(mas, &mt, 0, 0);
	unsigned long count = 0;
	void *entry;

	(void)state;
	mtree_unlock(&mt);
	fill(&mt, 0x100, 3, 4, 2000);
	mtree_lock(&mt);
	mas_for_each(&mas, entry, ULONG_MAX) {
		if (count++ % 2 == 0)
			assert_ptr_equal(mas_erase(&mas), entry);
	}
	assert_int_equal(count, 2002);
	count = 0;
	mas_set(&mas, 0);
	mas_for_each(&mas, entry, ULONG_MAX)
		count++;
	assert_int_equal(count, 1001);
	mas_set(&mas, 0);
	mas_for_each(&mas, entry, ULONG_MAX)
		assert_ptr_equal(mas_erase(&mas), entry);
	expect("");
}

static void store_while_iterating(void **state)
{
	MA_STATE(mas, &mt, 0, 0);
	void *entry;

	(void)state;
	mas_for_each(&mas, entry, ULONG_MAX) {
		mas.last = mas.index + 3;
		mas_store(&mas, E('x'));
	}
	expect("10-13:x 14-17:x 18-1b:x 1c-1f:x 20-23:x 24-27:x 28-2b:x 2c-2f:x");
}

static void a_preallocated_store_needs_no_memory(void **state)
{
	MA_STATE(mas, &mt, 0x14, 0x17);

	(void)state;
	assert_int_equal(mas_preallocate(&mas, E('c'), GFP_KERNEL), 0);
	mas_store_prealloc(&mas, E('c'));
	assert_int_equal(mas.index, 0x14);
	assert_int_equal(mas.last, 0x17);
	mas_set_range(&mas, 0, ULONG_MAX);
	assert_int_equal(mas_preallocate(&mas, NULL, GFP_KERNEL), 0);
	mas_destroy(&mas); /* thought better of it */
	expect("10-13:a 14-17:c 18-1f:a 20-2f:b");
	mas_destroy(&mas); /* always allowed */
	mas_set_range(&mas, 0x10, 0x1f);
	assert_int_equal(mas_preallocate(&mas, NULL, GFP_KERNEL), 0);
	mas_store_prealloc(&mas, NULL);
	expect("20-2f:b");
}

/* Who may not wait is refused only what is not there. */
static void what_is_reserved_is_enough_for_who_may_not_wait(void **state)
{
	struct maple_tree tree;
	MA_STATE(mas, &tree, 5, 6);
	MA_STATE(in_place, &mt, 0x14, 0x17);

	(void)state;
	assert_int_equal(mas_preallocate(&in_place, E('c'), GFP_NOWAIT), 0);
	mas_store_prealloc(&in_place, E('c'));
	mt_init(&tree);
	mtree_lock(&tree);
	assert_int_equal(mas_preallocate(&mas, E('d'), GFP_KERNEL), 0);
	assert_int_equal(mas_preallocate(&mas, E('d'), GFP_NOWAIT), 0);
	mas_store_prealloc(&mas, E('d'));
	mtree_unlock(&tree);
	expect_content(&tree, "5-6:d");
	end(&tree);
}

static void an_erase_is_preallocated_for_the_whole_gap(void **state)
{
	MA_STATE(mas, &mt, 0x10, 0x17);

	(void)state;
	assert_int_equal(mas_preallocate(&mas, NULL, GFP_KERNEL), 0);
	expect_place(&mas, 0, 0x17, ma_start);
	mas_store_prealloc(&mas, NULL);
	mas_set_range(&mas, 0x28, 0x2f);
	assert_int_equal(mas_preallocate(&mas, NULL, GFP_KERNEL), 0);
	expect_place(&mas, 0x28, ULONG_MAX, ma_start);
	mas_store_prealloc(&mas, NULL);
	expect("18-1f:a 20-27:b");
	mas_set_range(&mas, 0x1c, 0x1d);
	assert_int_equal(mas_preallocate(&mas, NULL, GFP_KERNEL), 0);
	expect_place(&mas, 0x1c, 0x1d, ma_start);
	mas_store_prealloc(&mas, NULL);
	expect("18-1b:a 1e-1f:a 20-27:b");
}

static void erase_reports_the_range(void **state)
{
	MA_STATE(mas, &mt, 0x25, 0x25);

	(void)state;
	assert_ptr_equal(mas_erase(&mas), E('b'));
	assert_int_equal(mas.index, 0x20);
	assert_int_equal(mas.last, 0x2f);
	mas_set(&mas, 0x25);
	assert_null(mas_erase(&mas));
	expect("10-1f:a");
}

/* Each @sparse-th entry has a gap behind it. */
static void bulk_load(unsigned int flags, unsigned long sparse)
{
	struct maple_tree bulk;
	MA_STATE(mas, &bulk, 0, 0);

	mt_init_flags(&bulk, flags);
	mtree_lock(&bulk);
	assert_int_equal(mas_expected_entries(&mas, 10000), 0);
	for (unsigned long i = 0; i < 10000; i++) {
		mas.index = i * 10;
		mas.last = i * 10 + (i % sparse ? 9 : 4);
		mas_store(&mas, xa_mk_value(i));
		assert_false(mas_is_err(&mas));
		assert_true(mas.reserve_count > 0); /* else it may have come from the allocator */
	}
	mas_destroy(&mas);
	assert_true(mt_check(&bulk, NULL));
	mtree_unlock(&bulk);
	for (unsigned long i = 0; i < 10000; i++) {
		assert_ptr_equal(mtree_load(&bulk, i * 10), xa_mk_value(i));
		assert_ptr_equal(mtree_load(&bulk, i * 10 + 9), i % sparse ? xa_mk_value(i) : NULL);
	}
	end(&bulk);
}

static void bulk_mode_loads_ascending_entries(void **state)
{
	(void)state;
	for (unsigned long sparse = 1; sparse <= 3; sparse += 2) {
		bulk_load(0, sparse);
		bulk_load(MT_FLAGS_ALLOC_RANGE, sparse);
		bulk_load(MT_FLAGS_USE_RCU, sparse);
		bulk_load(MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, sparse);
	}
}

static void bulk_mode_may_store_less_than_expected(void **state)
{
	struct maple_tree bulk;
	MA_STATE(mas, &bulk, 0, 0);

	(void)state;
	mt_init(&bulk);
	mtree_lock(&bulk);
	assert_int_equal(mas_expected_entries(&mas, 1000), 0);
	mas.index = 5;
	mas.last = 6;
	mas_store(&mas, E('a'));
	mas_destroy(&mas);
	mtree_unlock(&bulk);
	expect_content(&bulk, "5-6:a");
	end(&bulk);
}

static void bulk_mode_may_expect_nothing(void **state)
{
	static const unsigned int flags[] = { 0, MT_FLAGS_USE_RCU, MT_FLAGS_ALLOC_RANGE };
	struct maple_tree bulk;

	(void)state;
	for (size_t i = 0; i < LENGTH(flags); i++) {
		MA_STATE(mas, &bulk, 0, 0);

		mt_init_flags(&bulk, flags[i]);
		mtree_lock(&bulk);
		assert_int_equal(mas_expected_entries(&mas, 0), 0);
		mas_destroy(&mas);
		mtree_unlock(&bulk);
		end(&bulk);
	}
}

/* What is reserved is memory that others cannot have meanwhile. */
static void bulk_mode_reserves_not_much_more_than_it_takes(void **state)
{
	struct maple_tree bulk;
	struct mt_statistics stats;
	MA_STATE(mas, &bulk, 0, 0);
	unsigned long count = 100000;

	(void)state;
	mt_init(&bulk);
	fill(&bulk, 4, 3, 4, count);
	mtree_lock(&bulk);
	mt_get_statistics(&bulk, &stats);
	assert_int_equal(mas_expected_entries(&mas, count), 0);
	assert_in_range(mas.reserve_count, stats.nodes, 5 * stats.nodes / 2);
	mas_destroy(&mas);
	bulk.ma_flags |= MT_FLAGS_USE_RCU; /* each split of a node leaves three behind */
	assert_int_equal(mas_expected_entries(&mas, count), 0);
	assert_in_range(mas.reserve_count, stats.nodes, 4 * stats.nodes);
	mas_destroy(&mas);
	mtree_unlock(&bulk);
	end(&bulk);
}

/* ... to the node, so that nobody changes the estimate without meaning to. */
static void what_bulk_mode_reserves_is_counted(void **state)
{
	static const unsigned long counts[] = { 0, 1, 100, 12345 };
	static const struct {
		unsigned int flags, nodes[LENGTH(counts)];
	} expected[] = {
		{ 0, { 95, 95, 121, 3391 } },
		{ MT_FLAGS_ALLOC_RANGE, { 95, 95, 125, 3529 } },
		{ MT_FLAGS_USE_RCU, { 97, 97, 150, 6400 } },
		{ MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, { 97, 97, 153, 6990 } },
	};

	(void)state;
	if (sizeof(long) < 8)
		skip(); /* nodes have other numbers of slots */
	for (size_t i = 0; i < LENGTH(expected); i++) {
		for (size_t j = 0; j < LENGTH(counts); j++) {
			struct maple_tree bulk;
			MA_STATE(mas, &bulk, 0, 0);

			mt_init_flags(&bulk, expected[i].flags);
			mtree_lock(&bulk);
			assert_int_equal(mas_expected_entries(&mas, counts[j]), 0);
			assert_int_equal(mas.reserve_count, expected[i].nodes[j]);
			mas_destroy(&mas);
			mtree_unlock(&bulk);
			end(&bulk);
		}
	}
}

/*
 * The same of stores anywhere: for each of them three nodes in each level that the tree can have by
 * then, a root above, and two batches of what it replaces. Nodes are split in halves.
 */
static void what_is_reserved_is_for_the_highest_tree_there_can_be(void **state)
{
	const unsigned long one_level = WIDE_SLOTS - 4;
	const unsigned long two_levels = (WIDE_SLOTS - 3) * (WIDE_SLOTS / 2 - 2);
	const unsigned long too_many = UINT_MAX / (LAYOUT_NODES + 3) + 1;
	struct maple_tree tree;
	MA_STATE(mas, &tree, 0, 0);

	(void)state;
	mt_init(&tree);
	mtree_lock(&tree);
	assert_int_equal(mas_reserve(&mas, 1, one_level + 1), 0);
	assert_int_equal(mas.reserve_count, 2 * LAYOUT_NODES + 3);
	mas_destroy(&mas);
	assert_int_equal(mas_reserve(&mas, 1, two_levels + WIDE_SLOTS - 3), 0);
	assert_int_equal(mas.reserve_count, 3 * LAYOUT_NODES + 3);
	mas_destroy(&mas);
	assert_int_equal(mas_reserve(&mas, too_many, 0), -ENOMEM);
	assert_int_equal(mas.reserve_count, 0);
	mas_reset(&mas);
	assert_int_equal(mas_reserve(&mas, 1, one_level), 0);
	assert_int_equal(mas.reserve_count, LAYOUT_NODES + 3);
	mas_destroy(&mas);
	assert_int_equal(mas_reserve(&mas, 10, two_levels), 0);
	assert_int_equal(mas.reserve_count, 10 * (2 * LAYOUT_NODES + 3));
	mas_destroy(&mas);
	mtree_unlock(&tree);

	fill(&tree, 0, 2, 2, WIDE_SLOTS - 1); /* and a gap: the next store adds a level */
	assert_int_equal(mt_height(&tree), 1);
	mtree_lock(&tree);
	assert_int_equal(mas_reserve(&mas, 10, 1), 0);
	assert_int_equal(mas.reserve_count, 10 * (2 * LAYOUT_NODES + 3));
	mas_destroy(&mas);
	mtree_unlock(&tree);
	assert_int_equal(mtree_store(&tree, 0, E('x'), GFP_KERNEL), 0);
	assert_int_equal(mt_height(&tree), 2);
	end(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(store_returns_what_was_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_inverted_range_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cursor_stands_on_what_it_wrote, set_up,
						tear_down),
		cmocka_unit_test(a_cursor_that_wrote_is_as_one_that_walked),
		cmocka_unit_test_setup_teardown(a_found_range_may_be_narrowed_and_stored, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(from_a_narrowed_range_the_rest_comes_next, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(erase_while_iterating, set_up, tear_down),
		cmocka_unit_test_setup_teardown(store_while_iterating, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_preallocated_store_needs_no_memory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_reserved_is_enough_for_who_may_not_wait,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_erase_is_preallocated_for_the_whole_gap, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(erase_reports_the_range, set_up, tear_down),
		cmocka_unit_test(bulk_mode_loads_ascending_entries),
		cmocka_unit_test(bulk_mode_may_store_less_than_expected),
		cmocka_unit_test(bulk_mode_may_expect_nothing),
		cmocka_unit_test(bulk_mode_reserves_not_much_more_than_it_takes),
		cmocka_unit_test(what_bulk_mode_reserves_is_counted),
		cmocka_unit_test(what_is_reserved_is_for_the_highest_tree_there_can_be),
	};

	return cmocka_run_group_tests_name("write", tests, NULL, NULL);
}
