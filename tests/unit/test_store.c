/* SPDX-License-Identifier: MIT */
/*
 * test_store.c - the normal API's writes: store, insert, erase, and what they refuse.
 */
#include "fixture.h"

#include <errno.h>

static int store(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry)
{
	return mtree_store_range(mt, first, last, entry, GFP_KERNEL);
}

static void an_empty_tree_holds_nothing(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	expect_content(&mt, "");
	assert_true(mtree_empty(&mt));
	assert_int_equal(mt_height(&mt), 0);
	assert_null(mtree_load(&mt, 0));
	assert_null(mtree_load(&mt, ULONG_MAX));
	assert_null(mtree_erase(&mt, 5));
	assert_int_equal(store(&mt, 0, ULONG_MAX, NULL), 0);
	expect_content(&mt, "");
	end(&mt);
}

static void a_lone_entry_at_zero(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store(&mt, 0, E('a'), GFP_KERNEL), 0);
	expect_content(&mt, "0:a");
	assert_int_equal(mt_height(&mt), 0);
	assert_ptr_equal(mtree_load(&mt, 0), E('a'));
	assert_null(mtree_load(&mt, 1));
	assert_int_equal(mtree_store(&mt, 0, E('b'), GFP_KERNEL), 0);
	expect_content(&mt, "0:b");
	assert_int_equal(mtree_insert(&mt, 0, E('c'), GFP_KERNEL), -EEXIST);
	assert_int_equal(mtree_insert(&mt, 1, E('c'), GFP_KERNEL), 0);
	expect_content(&mt, "0:b 1:c");
	assert_ptr_equal(mtree_erase(&mt, 1), E('c'));
	expect_content(&mt, "0:b");
	assert_ptr_equal(mtree_erase(&mt, 0), E('b'));
	expect_content(&mt, "");
	end(&mt);
}

static void a_store_cuts_what_it_overlaps(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	store(&mt, 0x10, 0x1f, E('a'));
	store(&mt, 0x14, 0x17, E('b'));
	expect_content(&mt, "10-13:a 14-17:b 18-1f:a");
	store(&mt, 0x12, 0x15, E('c'));
	expect_content(&mt, "10-11:a 12-15:c 16-17:b 18-1f:a");
	store(&mt, 0x16, 0x17, E('d'));
	expect_content(&mt, "10-11:a 12-15:c 16-17:d 18-1f:a");
	store(&mt, 0xf, 0x20, E('e'));
	expect_content(&mt, "f-20:e");
	store(&mt, 0x20, 0x30, E('f'));
	expect_content(&mt, "f-1f:e 20-30:f");
	end(&mt);
}

static void the_last_index_is_like_any(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store(&mt, ULONG_MAX, E('z'), GFP_KERNEL), 0);
	expect_content(&mt, "max:z");
	store(&mt, ULONG_MAX - 4, ULONG_MAX - 1, E('y'));
	expect_content(&mt, sizeof(long) == 8 ? "fffffffffffffffb-fffffffffffffffe:y max:z"
					      : "fffffffb-fffffffe:y max:z");
	store(&mt, 0, ULONG_MAX, E('a'));
	expect_content(&mt, "0-max:a");
	assert_int_equal(mtree_insert(&mt, ULONG_MAX, E('b'), GFP_KERNEL), -EEXIST);
	store(&mt, 0, 0, E('b'));
	expect_content(&mt, "0:b 1-max:a");
	assert_ptr_equal(mtree_erase(&mt, ULONG_MAX), E('a'));
	expect_content(&mt, "0:b");
	end(&mt);
}

static void storing_null_erases_and_gaps_join(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	store(&mt, 0x10, 0x1f, E('a'));
	store(&mt, 0x20, 0x2f, E('b'));
	store(&mt, 0x30, 0x3f, E('c'));
	store(&mt, 0x18, 0x27, NULL);
	expect_content(&mt, "10-17:a 28-2f:b 30-3f:c");
	store(&mt, 0x28, 0x2f, NULL);
	expect_content(&mt, "10-17:a 30-3f:c");
	store(&mt, 0, 0x17, NULL);
	expect_content(&mt, "30-3f:c");
	store(&mt, 0x34, ULONG_MAX, NULL);
	expect_content(&mt, "30-33:c");
	store(&mt, 0x30, 0x33, NULL);
	expect_content(&mt, "");
	end(&mt);
}

static void equal_neighbours_stay_apart(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	store(&mt, 1, 2, E('a'));
	store(&mt, 3, 4, E('a'));
	expect_content(&mt, "1-2:a 3-4:a");
	store(&mt, 2, 3, E('a'));
	expect_content(&mt, "1:a 2-3:a 4:a");
	assert_ptr_equal(mtree_erase(&mt, 3), E('a'));
	expect_content(&mt, "1:a 4:a");
	end(&mt);
}

static void insert_needs_the_whole_range_free(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	store(&mt, 0x10, 0x1f, E('a'));
	assert_int_equal(mtree_insert_range(&mt, 0x1f, 0x2f, E('b'), GFP_KERNEL), -EEXIST);
	assert_int_equal(mtree_insert_range(&mt, 0, 0x10, E('b'), GFP_KERNEL), -EEXIST);
	assert_int_equal(mtree_insert_range(&mt, 0, ULONG_MAX, E('b'), GFP_KERNEL), -EEXIST);
	assert_int_equal(mtree_insert(&mt, 0x18, E('b'), GFP_KERNEL), -EEXIST);
	expect_content(&mt, "10-1f:a");
	assert_int_equal(mtree_insert_range(&mt, 0x20, 0x2f, E('b'), GFP_KERNEL), 0);
	assert_int_equal(mtree_insert_range(&mt, 0, 0xf, E('c'), GFP_KERNEL), 0);
	expect_content(&mt, "0-f:c 10-1f:a 20-2f:b");
	end(&mt);
}

static void erase_takes_the_whole_range(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	store(&mt, 0x10, 0x1f, E('a'));
	store(&mt, 0x20, 0x2f, E('b'));
	assert_null(mtree_erase(&mt, 0xf));
	assert_null(mtree_erase(&mt, 0x30));
	assert_ptr_equal(mtree_erase(&mt, 0x18), E('a'));
	expect_content(&mt, "20-2f:b");
	end(&mt);
}

static void bad_ranges_and_reserved_entries_are_refused(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	store(&mt, 5, 6, E('a'));
	assert_int_equal(store(&mt, 6, 5, E('b')), -EINVAL);
	assert_int_equal(store(&mt, ULONG_MAX, 0, NULL), -EINVAL);
	assert_int_equal(mtree_insert_range(&mt, 9, 8, E('b'), GFP_KERNEL), -EINVAL);
	for (unsigned long raw = 2; raw <= 1026; raw += 4) {
		assert_int_equal(store(&mt, 5, 6, (void *)raw), -EINVAL);
		assert_int_equal(mtree_store(&mt, 5, (void *)raw, GFP_KERNEL), -EINVAL);
		assert_int_equal(mtree_insert(&mt, 7, (void *)raw, GFP_KERNEL), -EINVAL);
		assert_int_equal(mtree_insert_range(&mt, 7, 9, (void *)raw, GFP_KERNEL), -EINVAL);
	}
	expect_content(&mt, "5-6:a");
	end(&mt);
}

static void a_zero_entry_reserves_its_range(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(store(&mt, 3, 5, XA_ZERO_ENTRY), 0);
	expect_content(&mt, "3-5:zero");
	assert_false(mtree_empty(&mt));
	assert_null(mtree_load(&mt, 4));
	assert_int_equal(mtree_insert(&mt, 4, E('a'), GFP_KERNEL), -EEXIST);
	assert_int_equal(mtree_insert(&mt, 0, XA_ZERO_ENTRY, GFP_KERNEL), 0);
	assert_int_equal(store(&mt, 4, 4, E('a')), 0);
	expect_content(&mt, "0:zero 3:zero 4:a 5:zero");
	assert_null(mtree_load(&mt, 0));
	end(&mt);
}

static void values_and_pointers_mix(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	store(&mt, 1, 1, xa_mk_value(0));
	store(&mt, 2, 2, xa_mk_value(77));
	store(&mt, 3, 3, E('a'));
	expect_content(&mt, "1:v0 2:v77 3:a");
	assert_int_equal(xa_to_value(mtree_load(&mt, 2)), 77);
	end(&mt);
}

/* Fills a tree in some order, reads it, and erases it to nothing in another. */
static void fill_and_empty(unsigned int flags, unsigned long step, unsigned long back)
{
	const unsigned long count = 4001; /* prime to the steps */
	struct maple_tree mt;

	mt_init_flags(&mt, flags);
	for (unsigned long i = 0, at = 0; i < count; i++, at = (at + step) % count)
		assert_int_equal(mtree_insert_range(&mt, at * 4, at * 4 + 2, xa_mk_value(at),
						    GFP_KERNEL), 0);
	assert_true(mt_height(&mt) >= 3);
	for (unsigned long i = 0; i < count * 4; i++)
		assert_ptr_equal(mtree_load(&mt, i), i % 4 == 3 ? NULL : xa_mk_value(i / 4));
	for (unsigned long i = 0, at = 0; i < count; i++, at = (at + back) % count) {
		assert_ptr_equal(mtree_erase(&mt, at * 4 + 1), xa_mk_value(at));
		if (i % 256 == 0)
			assert_true(mt_check(&mt, NULL));
	}
	expect_content(&mt, "");
	assert_int_equal(mt_height(&mt), 0);
	end(&mt);
}

static void trees_grow_and_shrink_to_nothing(void **state)
{
	(void)state;
	for (unsigned int rcu = 0; rcu <= MT_FLAGS_USE_RCU; rcu += MT_FLAGS_USE_RCU) {
		for (unsigned int gaps = 0; gaps <= MT_FLAGS_ALLOC_RANGE; gaps++) {
			fill_and_empty(rcu | gaps, 1, 1);
			fill_and_empty(rcu | gaps, 1, 4000);
			fill_and_empty(rcu | gaps, 4000, 1);
			fill_and_empty(rcu | gaps, 1777, 2311);
		}
	}
}

static void one_store_replaces_a_whole_tree(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	fill(&mt, 0, 3, 4, 5000);
	assert_true(mt_height(&mt) >= 3);
	assert_int_equal(store(&mt, 1, 0x4e1d, E('a')), 0);
	expect_content(&mt, "0:v0 1-4e1d:a 4e1e:v4999");
	end(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_tree_holds_nothing),
		cmocka_unit_test(a_lone_entry_at_zero),
		cmocka_unit_test(a_store_cuts_what_it_overlaps),
		cmocka_unit_test(the_last_index_is_like_any),
		cmocka_unit_test(storing_null_erases_and_gaps_join),
		cmocka_unit_test(equal_neighbours_stay_apart),
		cmocka_unit_test(insert_needs_the_whole_range_free),
		cmocka_unit_test(erase_takes_the_whole_range),
		cmocka_unit_test(bad_ranges_and_reserved_entries_are_refused),
		cmocka_unit_test(a_zero_entry_reserves_its_range),
		cmocka_unit_test(values_and_pointers_mix),
		cmocka_unit_test(trees_grow_and_shrink_to_nothing),
		cmocka_unit_test(one_store_replaces_a_whole_tree),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
