/* SPDX-License-Identifier: MIT */
/*
 * test_documented.c - what the documentation promises and Linux 6.12's tree does not keep: one test
 * for each such case.
 */
#include "fixture.h"

#include <errno.h>
#include <urcu-bp.h>

/* Linux: returns 0 and overwrites the entry. */
static void inserting_everything_over_a_lone_entry_fails(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	mtree_store(&mt, 0, E('a'), GFP_KERNEL);
	assert_int_equal(mtree_insert_range(&mt, 0, ULONG_MAX, E('b'), GFP_KERNEL), -EEXIST);
	expect_content(&mt, "0:a");
	end(&mt);
}

/* Linux: mtree_empty() says no, and every allocation gives -EBUSY. */
static void a_tree_is_empty_after_its_whole_range_was_erased(void **state)
{
	struct maple_tree mt;
	unsigned long start;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	mtree_store_range(&mt, 0, ULONG_MAX, E('a'), GFP_KERNEL);
	assert_ptr_equal(mtree_erase(&mt, 77), E('a'));
	assert_true(mtree_empty(&mt));
	assert_int_equal(mt_height(&mt), 0);
	assert_int_equal(mtree_alloc_range(&mt, &start, E('b'), 9, 5, ULONG_MAX, GFP_KERNEL), 0);
	assert_int_equal(start, 5);
	mtree_store_range(&mt, 0, ULONG_MAX, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 0, ULONG_MAX, NULL, GFP_KERNEL);
	assert_true(mtree_empty(&mt));
	assert_int_equal(mtree_alloc_rrange(&mt, &start, E('b'), 9, 5, ULONG_MAX, GFP_KERNEL), 0);
	assert_int_equal(start, ULONG_MAX - 8);
	end(&mt);
}

/* Linux: a downward search from ULONG_MAX misses gaps near 0. */
static void a_search_down_from_the_top_sees_gaps_near_zero(void **state)
{
	struct maple_tree mt;
	unsigned long start;

	(void)state;
	for (unsigned long from = 1; from < 40; from++) {
		MA_STATE(mas, &mt, 0, 0);

		mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
		mtree_store_range(&mt, from, ULONG_MAX, E('a'), GFP_KERNEL);
		mas_lock(&mas);
		assert_int_equal(mas_empty_area_rev(&mas, 0, ULONG_MAX, from), 0);
		assert_int_equal(mas.index, 0);
		assert_int_equal(mas.last, from - 1);
		mas_unlock(&mas);
		assert_int_equal(mtree_alloc_rrange(&mt, &start, E('b'), 1, 0, ULONG_MAX,
						    GFP_KERNEL), 0);
		assert_int_equal(start, from - 1);
		end(&mt);
	}
}

/* Linux: the size of the whole range overflows. */
static void a_search_down_of_everything_does_not_overflow(void **state)
{
	struct maple_tree mt;
	unsigned long start = 1;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	assert_int_equal(mtree_alloc_rrange(&mt, &start, E('a'), ULONG_MAX, 0, ULONG_MAX,
					    GFP_KERNEL), 0);
	assert_int_equal(start, 1);
	assert_int_equal(mtree_alloc_rrange(&mt, &start, E('b'), ULONG_MAX, 0, ULONG_MAX,
					    GFP_KERNEL), -EBUSY);
	expect_content(&mt, "1-max:a");
	end(&mt);
}

/* Linux: can return a raw pointer to a node. */
static void storing_null_over_everything_returns_an_entry(void **state)
{
	struct maple_tree mt;

	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		MA_STATE(mas, &mt, 0, ULONG_MAX);

		mt_init_flags(&mt, flags);
		mtree_store_range(&mt, 0, 9, E('a'), GFP_KERNEL);
		fill(&mt, 20, 3, 4, 500);
		mas_lock(&mas);
		assert_ptr_equal(mas_store(&mas, NULL), E('a'));
		assert_false(mas_is_err(&mas));
		mas_unlock(&mas);
		expect_content(&mt, "");
		mas_set_range(&mas, 0, ULONG_MAX);
		mas_lock(&mas);
		assert_null(mas_store(&mas, NULL));
		mas_unlock(&mas);
		end(&mt);
	}
}

/* Linux: dereferences NULL. */
static void a_step_after_an_end_that_came_before_any_walk(void **state)
{
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 5, 5);

	(void)state;
	mtree_store_range(&mt, 10, 19, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 30, 39, E('b'), GFP_KERNEL);
	mas_lock(&mas);
	assert_null(mas_next(&mas, 5));
	assert_int_equal(mas.status, ma_overflow);
	assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('a'));
	mas_set(&mas, 35);
	assert_null(mas_prev(&mas, 35));
	assert_int_equal(mas.status, ma_underflow);
	assert_ptr_equal(mas_prev(&mas, 0), E('a'));
	mas_set(&mas, 5);
	assert_null(mas_next_range(&mas, 5));
	assert_ptr_equal(mas_next_range(&mas, ULONG_MAX), E('a'));
	mas_set(&mas, 35);
	assert_null(mas_prev_range(&mas, 35));
	assert_null(mas_prev_range(&mas, 0));
	expect_place(&mas, 20, 29, ma_active);
	mas_unlock(&mas);
	end(&mt);
}

/* Linux: returns the entry although it lies below the limit. */
static void prev_of_a_lone_entry_minds_the_limit(void **state)
{
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 9, 9);

	(void)state;
	mtree_store(&mt, 0, E('a'), GFP_KERNEL);
	assert_null(mt_prev(&mt, 9, 1));
	mas_lock(&mas);
	assert_null(mas_prev(&mas, 1));
	mas_set(&mas, 9);
	assert_null(mas_prev_range(&mas, 5));
	mas_set(&mas, 9);
	assert_null(mas_find_rev(&mas, 1));
	mas_set(&mas, 9);
	assert_ptr_equal(mas_prev(&mas, 0), E('a'));
	mas_unlock(&mas);
	end(&mt);
}

/* Linux: reports a range widened by the gaps around it. */
static void erase_reports_exactly_the_range_erased(void **state)
{
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 15, 15);

	(void)state;
	mtree_store_range(&mt, 10, 19, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 50, 59, E('b'), GFP_KERNEL);
	mas_lock(&mas);
	assert_ptr_equal(mas_erase(&mas), E('a'));
	assert_int_equal(mas.index, 10);
	assert_int_equal(mas.last, 19);
	mas_set(&mas, 55);
	assert_ptr_equal(mas_erase(&mas), E('b'));
	assert_int_equal(mas.index, 50);
	assert_int_equal(mas.last, 59);
	mas_unlock(&mas);
	end(&mt);
}

/* Linux: frees a wrong pointer when an inner node is full. */
static void a_plain_tree_in_rcu_mode_is_destroyed_whatever_its_fill(void **state)
{
	struct maple_tree mt;

	(void)state;
	for (unsigned long count = 1; count < 700; count++) {
		mt_init_flags(&mt, MT_FLAGS_USE_RCU);
		fill(&mt, 0, 1, 1, count);
		end(&mt);
	}
	rcu_barrier();
}

/* Linux: crashes. */
static void bulk_loading_in_rcu_mode(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);
	int error;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mas_lock(&mas);
	error = mas_expected_entries(&mas, 2000);
	assert_int_equal(error, 0);
	for (unsigned long i = 0; i < 2000; i++) {
		mas.index = i * 4;
		mas.last = i * 4 + 2;
		mas_store(&mas, xa_mk_value(i));
		assert_false(mas_is_err(&mas));
	}
	mas_destroy(&mas);
	assert_true(mt_check(&mt, NULL));
	mas_unlock(&mas);
	for (unsigned long i = 0; i < 8000; i++)
		assert_ptr_equal(mtree_load(&mt, i), i % 4 == 3 ? NULL : xa_mk_value(i / 4));
	end(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inserting_everything_over_a_lone_entry_fails),
		cmocka_unit_test(a_tree_is_empty_after_its_whole_range_was_erased),
		cmocka_unit_test(a_search_down_from_the_top_sees_gaps_near_zero),
		cmocka_unit_test(a_search_down_of_everything_does_not_overflow),
		cmocka_unit_test(storing_null_over_everything_returns_an_entry),
		cmocka_unit_test(a_step_after_an_end_that_came_before_any_walk),
		cmocka_unit_test(prev_of_a_lone_entry_minds_the_limit),
		cmocka_unit_test(erase_reports_exactly_the_range_erased),
		cmocka_unit_test(a_plain_tree_in_rcu_mode_is_destroyed_whatever_its_fill),
		cmocka_unit_test(bulk_loading_in_rcu_mode),
	};

	return cmocka_run_group_tests_name("documented", tests, NULL, NULL);
}
