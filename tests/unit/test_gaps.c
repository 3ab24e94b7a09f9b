/* SPDX-License-Identifier: MIT */
/*
 * test_gaps.c - searches for free ranges, and allocations of them.
 */
#include "fixture.h"

#include <errno.h>

static struct maple_tree mt;

static int set_up(void **state)
{
	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)mtree_trylock(&mt); /* a test that failed may have kept it */
	mtree_unlock(&mt);
	end(&mt);
	return 0;
}

static int alloc(unsigned long size, unsigned long min, unsigned long max, unsigned long *start)
{
	return mtree_alloc_range(&mt, start, E('n'), size, min, max, GFP_KERNEL);
}

static int alloc_reverse(unsigned long size, unsigned long min, unsigned long max,
			 unsigned long *start)
{
	return mtree_alloc_rrange(&mt, start, E('n'), size, min, max, GFP_KERNEL);
}

static void the_lowest_and_the_highest_place(void **state)
{
	unsigned long start;

	(void)state;
	mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 0x28, 0x2f, E('b'), GFP_KERNEL);
	assert_int_equal(alloc(4, 0x10, 0xff, &start), 0);
	assert_int_equal(start, 0x20);
	assert_int_equal(alloc(5, 0x10, 0xff, &start), 0);
	assert_int_equal(start, 0x30);
	assert_int_equal(alloc_reverse(4, 0x10, 0xff, &start), 0);
	assert_int_equal(start, 0xfc);
	assert_int_equal(alloc_reverse(0x10, 0, 0x20, &start), 0);
	assert_int_equal(start, 0);
	expect_content(&mt, "0-f:n 10-1f:a 20-23:n 28-2f:b 30-34:n fc-ff:n");
}

static void exact_fits_at_the_edges_of_the_window(void **state)
{
	unsigned long start;

	(void)state;
	mtree_store_range(&mt, 0, 0xf, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 0x20, ULONG_MAX, E('b'), GFP_KERNEL);
	assert_int_equal(alloc(0x11, 0, ULONG_MAX, &start), -EBUSY);
	assert_int_equal(alloc(8, 0x19, ULONG_MAX, &start), -EBUSY);
	assert_int_equal(alloc_reverse(8, 0, 0x16, &start), -EBUSY);
	assert_int_equal(alloc(8, 0x18, ULONG_MAX, &start), 0);
	assert_int_equal(start, 0x18);
	assert_int_equal(alloc_reverse(8, 0, 0x17, &start), 0);
	assert_int_equal(start, 0x10);
	assert_int_equal(alloc(1, 0, ULONG_MAX, &start), -EBUSY);
}

static void whole_index_space(void **state)
{
	unsigned long start;

	(void)state;
	assert_int_equal(alloc(ULONG_MAX, 1, ULONG_MAX, &start), 0);
	assert_int_equal(start, 1);
	assert_int_equal(alloc_reverse(1, 0, ULONG_MAX, &start), 0);
	assert_int_equal(start, 0);
	expect_content(&mt, "0:n 1-max:n");
	assert_int_equal(alloc(1, 0, ULONG_MAX, &start), -EBUSY);
}

static void bad_requests_are_refused(void **state)
{
	struct maple_tree plain;
	unsigned long start = 42;

	(void)state;
	assert_int_equal(alloc(0, 0, ULONG_MAX, &start), -EINVAL);
	assert_int_equal(alloc(1, 2, 1, &start), -EINVAL);
	assert_int_equal(alloc(3, 1, 2, &start), -EINVAL);
	assert_int_equal(alloc_reverse(0, 0, ULONG_MAX, &start), -EINVAL);
	assert_int_equal(alloc_reverse(1, 2, 1, &start), -EINVAL);
	assert_int_equal(alloc_reverse(3, 1, 2, &start), -EINVAL);
	assert_int_equal(mtree_alloc_range(&mt, &start, XA_ZERO_ENTRY, 1, 0, 9, GFP_KERNEL),
			 -EINVAL);
	assert_int_equal(mtree_alloc_rrange(&mt, &start, (void *)4094, 1, 0, 9, GFP_KERNEL),
			 -EINVAL);
	assert_int_equal(mtree_fill_gap(&mt, 5, NULL, &start, &start, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_fill_gap(&mt, 5, (void *)4094, &start, &start, GFP_KERNEL), -EINVAL);
	mt_init(&plain);
	assert_int_equal(mtree_alloc_range(&plain, &start, E('a'), 1, 0, 9, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_alloc_rrange(&plain, &start, E('a'), 1, 0, 9, GFP_KERNEL), -EINVAL);
	assert_int_equal(start, 42);
	expect_content(&mt, "");
}

/* The place for @size aligned indexes, or 1, which is no aligned one, if there is none. */
static unsigned long aligned(unsigned long size, unsigned long min, unsigned long max,
			     enum mt_fit fit)
{
	struct mt_area area = { .min = min, .max = max, .size = size, .align = 64, .fit = fit };
	MA_STATE(mas, &mt, 0, 0);
	int error;

	mtree_lock(&mt);
	error = mas_find_area(&mas, &area);
	mtree_unlock(&mt);
	assert_true(error == 0 || error == -EBUSY);
	return error ? 1 : area.start;
}

static void aligned_places_lie_in_the_gap(void **state)
{
	(void)state;
	mtree_store_range(&mt, 0, 99, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 131, 199, E('b'), GFP_KERNEL);
	mtree_store_range(&mt, 401, ULONG_MAX - 5, E('c'), GFP_KERNEL);
	assert_int_equal(aligned(3, 0, ULONG_MAX, MT_FIT_LOWEST), 128); /* 128..130, just so */
	assert_int_equal(aligned(4, 0, ULONG_MAX, MT_FIT_LOWEST), 256);
	assert_int_equal(aligned(1, 129, ULONG_MAX, MT_FIT_LOWEST), 256);
	assert_int_equal(aligned(1, 0, 128, MT_FIT_LOWEST), 128);
	assert_int_equal(aligned(2, 0, 128, MT_FIT_LOWEST), 1);
	assert_int_equal(aligned(1, 0, 127, MT_FIT_LOWEST), 1);
	assert_int_equal(aligned(1, 401, ULONG_MAX, MT_FIT_LOWEST), 1); /* none up to the top */
	assert_int_equal(aligned(10, 0, 400, MT_FIT_HIGHEST), 384);
	assert_int_equal(aligned(10, 0, 392, MT_FIT_HIGHEST), 320);
	assert_int_equal(aligned(10, 0, 265, MT_FIT_HIGHEST), 256);
	assert_int_equal(aligned(10, 0, 264, MT_FIT_HIGHEST), 1);
	assert_int_equal(aligned(3, 0, 264, MT_FIT_HIGHEST), 256);
	assert_int_equal(aligned(3, 0, 255, MT_FIT_HIGHEST), 128);
	assert_int_equal(aligned(1, 257, ULONG_MAX, MT_FIT_HIGHEST), 384);
}

static void gaps_in_a_deep_tree(void **state)
{
	unsigned long start;

	(void)state;
	fill(&mt, 0x100, 0xf, 0x10, 5000); /* gaps of 1 at 0x10f, 0x11f ... */
	mtree_store_range(&mt, 0x100 + 5000 * 0x10, ULONG_MAX, E('a'), GFP_KERNEL);
	mtree_erase(&mt, 0x100 + 3000 * 0x10);
	assert_int_equal(alloc(0x11, 0x100, ULONG_MAX, &start), 0);
	assert_int_equal(start, 0x100 + 3000 * 0x10 - 1);
	assert_int_equal(alloc(2, 0x100, ULONG_MAX, &start), -EBUSY);
	assert_int_equal(alloc(1, 0x100, ULONG_MAX, &start), 0);
	assert_int_equal(start, 0x10f);
	assert_int_equal(alloc_reverse(1, 0x100, ULONG_MAX, &start), 0);
	assert_int_equal(start, 0x10f + 4999 * 0x10);
}

static void every_gap_is_handed_out_once(void **state)
{
	unsigned long start, last = 0;

	(void)state;
	fill(&mt, 0, 3, 4, 3000);
	for (unsigned long i = 0; i < 3000; i++) {
		int error = i % 2 ? alloc(1, 0, 11999, &start) : alloc_reverse(1, 0, 11999, &start);

		assert_int_equal(error, 0);
		assert_int_equal(start, i % 2 ? 3 + i / 2 * 4 : 11999 - i / 2 * 4);
	}
	assert_int_equal(alloc(1, 0, 11999, &last), -EBUSY);
	assert_int_equal(alloc_reverse(1, 0, 11999, &last), -EBUSY);
}

static void a_cursor_reports_the_place(void **state)
{
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL);
	mas_lock(&mas);
	assert_int_equal(mas_empty_area(&mas, 8, 0x100, 8), 0);
	assert_int_equal(mas.index, 8);
	assert_int_equal(mas.last, 0xf);
	assert_null(mas_store(&mas, E('b')));
	mas_set(&mas, 0);
	assert_int_equal(mas_empty_area_rev(&mas, 8, 0x100, 0x20), 0);
	assert_int_equal(mas.index, 0xe1);
	assert_int_equal(mas.last, 0x100);
	mas_set(&mas, 0);
	assert_int_equal(mas_empty_area(&mas, 8, 0x27, 9), -EBUSY);
	mas_set(&mas, 0);
	assert_int_equal(mas_empty_area(&mas, 8, 0x27, 0), -EINVAL);
	mas_set(&mas, 0);
	assert_int_equal(mas_empty_area_rev(&mas, 9, 8, 1), -EINVAL);
	mas_unlock(&mas);
	expect_content(&mt, "8-f:b 10-1f:a");
}

static void cyclic_allocation_goes_round(void **state)
{
	unsigned long start, next = 0;
	const unsigned long expected[] = { 2, 3, 5, 2 };
	const int results[] = { 0, 0, 0, 1 };

	(void)state;
	mtree_store(&mt, 4, E('a'), GFP_KERNEL);
	for (size_t i = 0; i < LENGTH(expected); i++) {
		assert_int_equal(mtree_alloc_cyclic(&mt, &start, E('n'), 2, 5, &next, GFP_KERNEL),
				 results[i]);
		assert_int_equal(start, expected[i]);
		assert_int_equal(next, expected[i] + 1);
		if (i == 2)
			mtree_erase(&mt, 2);
	}
	assert_int_equal(mtree_alloc_cyclic(&mt, &start, E('n'), 2, 5, &next, GFP_KERNEL), -EBUSY);
	assert_int_equal(mtree_alloc_cyclic(&mt, &start, E('n'), 5, 2, &next, GFP_KERNEL),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_lowest_and_the_highest_place, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(exact_fits_at_the_edges_of_the_window, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(whole_index_space, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_requests_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(aligned_places_lie_in_the_gap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gaps_in_a_deep_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_gap_is_handed_out_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_cursor_reports_the_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cyclic_allocation_goes_round, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("gaps", tests, NULL, NULL);
}
