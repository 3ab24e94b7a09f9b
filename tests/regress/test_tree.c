/* SPDX-License-Identifier: MIT */
/*
 * test_tree.c - bugs that our tree once had, one test each.
 */
#include "fixture.h"

#include <errno.h>
#include <urcu-bp.h>

/* A leaf that became too empty was joined with the leaf before it, and the result, a lone entry at
 * 0, was left in a node. */
static void a_join_can_leave_a_lone_entry_at_zero(void **state)
{
	static const unsigned int modes[] = { 0, MT_FLAGS_ALLOC_RANGE, MT_FLAGS_USE_RCU,
					      MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU };

	(void)state;
	for (unsigned int m = 0; m < 4; m++) {
		struct maple_tree mt;

		mt_init_flags(&mt, modes[m]);
		for (unsigned long i = 16; i-- > 0;)
			mtree_store(&mt, i, E('a'), GFP_KERNEL);
		mtree_store_range(&mt, 1, ULONG_MAX, NULL, GFP_KERNEL);
		expect_content(&mt, "0:a");
		assert_int_equal(mt_height(&mt), 0);
		end(&mt);
	}
}

/* A store over many leaves asked, after freeing nodes, what had been in them (seen by ASan). */
static void a_store_over_many_leaves_reads_no_freed_node(void **state)
{
	(void)state;
	for (unsigned long last = 100; last < 20000; last = last * 3 / 2) {
		struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);

		for (unsigned long i = 0; i < 4000; i++)
			mtree_store_range(&mt, 5 * i, 5 * i + 3, E('a'), GFP_KERNEL);
		mtree_store_range(&mt, 7, last, E('b'), GFP_KERNEL);
		mt_validate(&mt);
		mtree_store_range(&mt, 3, last + 40, NULL, GFP_KERNEL);
		mt_validate(&mt);
		end(&mt);
	}
}

/* A cyclic allocation of NULL gave out where the gap around it began. */
static void a_cyclic_allocation_of_null_is_where_it_was_asked_for(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	unsigned long start = 0, next = 0;

	(void)state;
	assert_int_equal(mtree_alloc_cyclic(&mt, &start, NULL, 500, 1000, &next, GFP_KERNEL), 0);
	assert_int_equal(start, 500);
	assert_int_equal(next, 501);
	end(&mt);
}

/* A reader's cursor went on from the range that was by then at its index, not from behind the one it
 * had seen: what lay between was skipped. */
static void a_step_goes_on_behind_what_was_seen(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 5, 5);

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mtree_store_range(&mt, 5, 6, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 7, 20, E('b'), GFP_KERNEL);
	urcu_bp_read_lock();
	assert_ptr_equal(mas_walk(&mas), E('a'));
	mtree_store_range(&mt, 5, 12, E('a'), GFP_KERNEL); /* moves the boundary, in place */
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('a')); /* at 7 */
	assert_int_equal(mas.last, 12);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('b'));

	mas_set(&mas, 20);
	assert_ptr_equal(mas_walk(&mas), E('b'));
	mtree_store_range(&mt, 9, 20, E('b'), GFP_KERNEL);
	assert_ptr_equal(mas_prev(&mas, 0), E('b')); /* at 12 */
	assert_int_equal(mas.index, 9);
	assert_ptr_equal(mas_prev(&mas, 0), E('a'));
	urcu_bp_read_unlock();
	end(&mt);
}

/* When boundaries moved down under the cursor, the range that then lay in what it had seen was next. */
static void a_step_does_not_return_to_what_was_seen(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 5, 5);

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mtree_store_range(&mt, 5, 9, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 10, 19, E('b'), GFP_KERNEL);
	mtree_store_range(&mt, 20, 29, E('c'), GFP_KERNEL);
	urcu_bp_read_lock();
	assert_ptr_equal(mas_walk(&mas), E('a'));
	mtree_store_range(&mt, 7, 19, E('b'), GFP_KERNEL);
	mtree_store_range(&mt, 9, 29, E('c'), GFP_KERNEL);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('c')); /* at 10 */
	assert_int_equal(mas.last, 29);
	urcu_bp_read_unlock();
	end(&mt);
}

/* A search that had seen everything found the last index once more. */
static void a_search_at_its_end_stays_there(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mtree_store_range(&mt, 0, ULONG_MAX, E('a'), GFP_KERNEL);
	urcu_bp_read_lock();
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('a'));
	mtree_store_range(&mt, 0, ULONG_MAX, E('b'), GFP_KERNEL);
	mtree_erase(&mt, 5);
	mtree_store(&mt, ULONG_MAX, E('c'), GFP_KERNEL);
	assert_null(mas_find(&mas, ULONG_MAX));
	urcu_bp_read_unlock();
	end(&mt);
}

/* Index 0 was reported twice when the tree lost its nodes, or got some, between two steps. */
static void index_zero_is_found_once(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mtree_store_range(&mt, 0, 2, E('a'), GFP_KERNEL);
	mtree_store(&mt, 5, E('b'), GFP_KERNEL);
	urcu_bp_read_lock();
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('a'));
	mtree_store_range(&mt, 1, ULONG_MAX, NULL, GFP_KERNEL);
	assert_ptr_not_equal(mas_find(&mas, ULONG_MAX), E('a')); /* but of the state before, maybe */

	mas_set(&mas, 0);
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('a'));
	mtree_store(&mt, 5, E('b'), GFP_KERNEL);
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('b'));

	mtree_erase(&mt, 5);
	mas_set(&mas, 9);
	assert_ptr_equal(mas_find_rev(&mas, 0), E('a'));
	mtree_store(&mt, 5, E('b'), GFP_KERNEL);
	assert_null(mas_find_rev(&mas, 0));
	urcu_bp_read_unlock();
	end(&mt);
}

/* A write that dropped all but both ends of a high tree without readers looked into nodes that it
 * had freed: only a sanitizer or memcheck notices. */
static void what_is_freed_is_not_looked_at(void **state)
{
	static const unsigned int modes[] = { 0, MT_FLAGS_ALLOC_RANGE };

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		struct maple_tree mt;
		unsigned long last = 0;

		mt_init_flags(&mt, modes[m]);
		while (mt_height(&mt) < 5) {
			fill(&mt, last, 1, 2, 1000);
			last += 2000;
		}
		mtree_store_range(&mt, 1, last - 3, E('a'), GFP_KERNEL);
		assert_in_range(mt_height(&mt), 1, 2);
		end(&mt);
	}
}

#if ULONG_MAX > 0xffffffff
/* The number of nodes to reserve ran over its word, and hardly any were reserved. */
static void more_stores_are_expected_than_can_be_counted(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mtree_lock(&mt);
	assert_int_equal(mas_expected_entries(&mas, 296253919813322562), -ENOMEM);
	mas_reset(&mas);
	assert_int_equal(mas_expected_entries(&mas, 100000000000), -ENOMEM); /* 2^32 blocks and more */
	mas_destroy(&mas);
	mtree_unlock(&mt);
	end(&mt);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_join_can_leave_a_lone_entry_at_zero),
		cmocka_unit_test(a_store_over_many_leaves_reads_no_freed_node),
		cmocka_unit_test(a_cyclic_allocation_of_null_is_where_it_was_asked_for),
		cmocka_unit_test(a_step_goes_on_behind_what_was_seen),
		cmocka_unit_test(a_step_does_not_return_to_what_was_seen),
		cmocka_unit_test(a_search_at_its_end_stays_there),
		cmocka_unit_test(index_zero_is_found_once),
		cmocka_unit_test(what_is_freed_is_not_looked_at),
#if ULONG_MAX > 0xffffffff
		cmocka_unit_test(more_stores_are_expected_than_can_be_counted),
#endif
	};

	return cmocka_run_group_tests_name("regress_tree", tests, NULL, NULL);
}
