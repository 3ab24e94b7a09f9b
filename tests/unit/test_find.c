/* SPDX-License-Identifier: MIT */
/*
 * test_find.c - the normal API's searches: mt_find, mt_find_after, mt_next, mt_prev, mt_for_each.
 */
#include "fixture.h"

/* 10-1f:a 20:b (a gap) 30-3f:zero 40-4f:c (a gap) max:d */
static int set_up(void **state)
{
	static DEFINE_MTREE(mt);

	mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL);
	mtree_store(&mt, 0x20, E('b'), GFP_KERNEL);
	mtree_store_range(&mt, 0x30, 0x3f, XA_ZERO_ENTRY, GFP_KERNEL);
	mtree_store_range(&mt, 0x40, 0x4f, E('c'), GFP_KERNEL);
	mtree_store(&mt, ULONG_MAX, E('d'), GFP_KERNEL);
	*state = &mt;
	return 0;
}

static int tear_down(void **state)
{
	end(*state);
	return 0;
}

static void expect_find(struct maple_tree *mt, unsigned long index, unsigned long max,
			void *entry, unsigned long after)
{
	unsigned long at = index;

	assert_ptr_equal(mt_find(mt, &at, max), entry);
	assert_int_equal(at, after);
	if (index) {
		at = index;
		assert_ptr_equal(mt_find_after(mt, &at, max), entry);
		assert_int_equal(at, after);
	}
}

static void find_gives_what_reaches_into_the_window(void **state)
{
	struct maple_tree *mt = *state;

	expect_find(mt, 0, ULONG_MAX, E('a'), 0x20);
	expect_find(mt, 0, 0x10, E('a'), 0x20);
	expect_find(mt, 0, 0xf, NULL, 0);
	expect_find(mt, 0x15, 0x15, E('a'), 0x20);
	expect_find(mt, 0x20, ULONG_MAX, E('b'), 0x21);
	expect_find(mt, 0x21, 0x3f, NULL, 0x21);
	expect_find(mt, 0x21, ULONG_MAX, E('c'), 0x50);
	expect_find(mt, 0x50, ULONG_MAX - 1, NULL, 0x50);
	expect_find(mt, 0x50, ULONG_MAX, E('d'), 0);
	expect_find(mt, 0x30, 0x20, NULL, 0x30);
}

static void find_after_zero_is_the_end(void **state)
{
	unsigned long index = 0;

	assert_null(mt_find_after(*state, &index, ULONG_MAX));
	assert_int_equal(index, 0);
}

static void next_and_prev_skip_the_own_range(void **state)
{
	struct maple_tree *mt = *state;

	assert_ptr_equal(mt_next(mt, 0, ULONG_MAX), E('a'));
	assert_ptr_equal(mt_next(mt, 0x10, ULONG_MAX), E('b'));
	assert_null(mt_next(mt, 0x10, 0x1f));
	assert_ptr_equal(mt_next(mt, 0x10, 0x20), E('b'));
	assert_ptr_equal(mt_next(mt, 0x44, ULONG_MAX), E('d'));
	assert_null(mt_next(mt, ULONG_MAX, ULONG_MAX));
	assert_null(mt_next(mt, 0x50, 0x50));

	assert_null(mt_prev(mt, 0x10, 0));
	assert_ptr_equal(mt_prev(mt, 0x20, 0), E('a'));
	assert_ptr_equal(mt_prev(mt, 0x20, 0x1f), E('a'));
	assert_null(mt_prev(mt, 0x20, 0x20));
	assert_ptr_equal(mt_prev(mt, 0x25, 0), E('b'));
	assert_null(mt_prev(mt, 0x25, 0x21));
	assert_ptr_equal(mt_prev(mt, ULONG_MAX, 0), E('c'));
	assert_null(mt_prev(mt, 0, 0));
}

static void for_each_goes_up_to_the_last_index(void **state)
{
	static const char order[] = "abcd";
	unsigned long index = 0;
	size_t count = 0;
	void *entry;

	mt_for_each((struct maple_tree *)*state, entry, index, ULONG_MAX)
		assert_ptr_equal(entry, E(order[count++]));
	assert_int_equal(count, 4);

	index = 0x1f;
	count = 0;
	mt_for_each((struct maple_tree *)*state, entry, index, 0x40)
		assert_ptr_equal(entry, E(order[count++]));
	assert_int_equal(count, 3);
}

static void searches_of_an_empty_tree_find_nothing(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	expect_find(&mt, 0, ULONG_MAX, NULL, 0);
	expect_find(&mt, ULONG_MAX, ULONG_MAX, NULL, ULONG_MAX);
	assert_null(mt_next(&mt, 0, ULONG_MAX));
	assert_null(mt_prev(&mt, ULONG_MAX, 0));
}

static void searches_around_a_lone_entry_at_zero(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	mtree_store(&mt, 0, E('a'), GFP_KERNEL);
	expect_find(&mt, 0, 0, E('a'), 1);
	expect_find(&mt, 1, ULONG_MAX, NULL, 1);
	assert_null(mt_next(&mt, 0, ULONG_MAX));
	assert_ptr_equal(mt_prev(&mt, 7, 0), E('a'));
	assert_null(mt_prev(&mt, 7, 1));
	end(&mt);
}

/* No limit counts from a lone entry to where the tree ends; it does once there is more. */
static void a_lone_entry_that_is_joined_by_others(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	mt_init(&mt);
	assert_int_equal(mtree_store(&mt, 0, E('a'), GFP_KERNEL), 0);
	mtree_lock(&mt);
	assert_ptr_equal(mas_find(&mas, 0), E('a'));
	mtree_unlock(&mt);
	assert_int_equal(mtree_store(&mt, 5, E('b'), GFP_KERNEL), 0);
	mtree_lock(&mt);
	assert_null(mas_find(&mas, 0));
	assert_ptr_equal(mas_find(&mas, 5), E('b'));
	mtree_unlock(&mt);
	end(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(find_gives_what_reaches_into_the_window, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(find_after_zero_is_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(next_and_prev_skip_the_own_range, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(for_each_goes_up_to_the_last_index, set_up,
						tear_down),
		cmocka_unit_test(searches_of_an_empty_tree_find_nothing),
		cmocka_unit_test(searches_around_a_lone_entry_at_zero),
		cmocka_unit_test(a_lone_entry_that_is_joined_by_others),
	};

	return cmocka_run_group_tests_name("find", tests, NULL, NULL);
}
