/* SPDX-License-Identifier: MIT */
/*
 * test_dup.c - copies of whole trees.
 */
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>

static void copies_of_every_size_are_equal_and_independent(void **state)
{
	static const unsigned long sizes[] = { 0, 1, 2, 15, 16, 17, 100, 300, 5000, 70000 };
	struct maple_tree old, new;

	(void)state;
	for (size_t i = 0; i < 4 * LENGTH(sizes); i++) {
		unsigned int flags = i % 4;
		unsigned long size = sizes[i / 4];

		mt_init_flags(&old, flags);
		mt_init_flags(&new, flags);
		fill(&old, 0, 2, 3, size);
		assert_int_equal(mtree_dup(&old, &new, GFP_KERNEL), 0);
		assert_true(mt_check(&new, NULL));
		assert_int_equal(mt_height(&new), mt_height(&old));
		for (unsigned long j = 0; j < 3 * size + 3; j++)
			assert_ptr_equal(mtree_load(&new, j), mtree_load(&old, j));
		assert_int_equal(mtree_store_range(&new, 0, size, E('x'), GFP_KERNEL), 0);
		assert_ptr_equal(mtree_load(&old, 0), size ? xa_mk_value(0) : NULL);
		mtree_destroy(&old);
		assert_ptr_equal(mtree_load(&new, 0), E('x'));
		assert_true(mt_check(&new, NULL));
		end(&new);
	}
}

static void a_lone_entry_is_copied(void **state)
{
	DEFINE_MTREE(old);
	DEFINE_MTREE(new);

	(void)state;
	mtree_store(&old, 0, E('a'), GFP_KERNEL);
	assert_int_equal(mtree_dup(&old, &new, GFP_KERNEL), 0);
	expect_content(&new, "0:a");
	end(&old);
	end(&new);
}

static void the_copy_must_be_empty_and_of_the_same_flags(void **state)
{
	struct maple_tree old, new;

	(void)state;
	for (unsigned int i = 0; i < 16; i++) {
		mt_init_flags(&old, i % 4);
		mt_init_flags(&new, i / 4);
		mtree_store_range(&old, 1, 5, E('a'), GFP_KERNEL);
		assert_int_equal(mtree_dup(&old, &new, GFP_KERNEL), i % 4 == i / 4 ? 0 : -EINVAL);
		expect_content(&new, i % 4 == i / 4 ? "1-5:a" : "");
		if (i % 4 == i / 4)
			assert_int_equal(mtree_dup(&old, &new, GFP_KERNEL), -EINVAL);
		end(&old);
		end(&new);
	}
}

static void a_copy_under_the_callers_locks(void **state)
{
	struct maple_tree old, new;

	(void)state;
	mt_init_flags(&old, MT_FLAGS_ALLOC_RANGE);
	mt_init_flags(&new, MT_FLAGS_ALLOC_RANGE);
	fill(&old, 0, 2, 4, 1000);
	mtree_lock(&old);
	mtree_lock_nested(&new, 1);
	assert_int_equal(__mt_dup(&old, &new, GFP_KERNEL), 0);
	mtree_unlock(&new);
	mtree_unlock(&old);
	assert_ptr_equal(mtree_load(&new, 3996), xa_mk_value(999));
	end(&old);
	end(&new);
}

static void externally_locked_trees_are_copied(void **state)
{
	struct maple_tree old, new;
	MA_STATE(mas, &old, 3, 8);

	(void)state;
	mt_init_flags(&old, MT_FLAGS_LOCK_EXTERN);
	mt_init_flags(&new, MT_FLAGS_LOCK_EXTERN);
	assert_int_equal(mas_store_gfp(&mas, E('a'), GFP_KERNEL), 0);
	assert_int_equal(__mt_dup(&old, &new, GFP_KERNEL), 0);
	expect_content(&new, "3-8:a");
	end(&new);
	assert_int_equal(mtree_dup(&old, &new, GFP_KERNEL), 0); /* and takes no lock of theirs */
	expect_content(&new, "3-8:a");
	end(&old);
	end(&new);
}

static void a_tree_is_no_copy_of_itself(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_dup(&mt, &mt, GFP_KERNEL), -EINVAL);
}

static void gaps_are_known_in_the_copy(void **state)
{
	struct maple_tree old, new;
	unsigned long start;

	(void)state;
	mt_init_flags(&old, MT_FLAGS_ALLOC_RANGE);
	mt_init_flags(&new, MT_FLAGS_ALLOC_RANGE);
	fill(&old, 0, 4, 4, 3000);
	mtree_erase(&old, 8000);
	assert_int_equal(mtree_dup(&old, &new, GFP_KERNEL), 0);
	assert_int_equal(mtree_alloc_range(&new, &start, E('x'), 4, 0, 11999, GFP_KERNEL), 0);
	assert_int_equal(start, 8000);
	assert_int_equal(mtree_alloc_range(&new, &start, E('x'), 1, 0, 11999, GFP_KERNEL), -EBUSY);
	assert_int_equal(mtree_alloc_rrange(&old, &start, E('x'), 4, 0, 11999, GFP_KERNEL), 0);
	end(&old);
	end(&new);
}

static long blocks;

static void *counting_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	blocks++;
	return aligned_alloc(align, size);
}

static void counting_free(void *ctx, void *block, size_t size)
{
	(void)ctx, (void)size;
	blocks--;
	free(block);
}

/* Though the default one, which the original uses, has free nodes at hand. */
static void a_copy_uses_its_own_allocator(void **state)
{
	static const struct mt_allocator counting = { counting_alloc, counting_free, NULL };
	struct maple_tree mt, other, copy;
	struct mt_statistics stats;

	(void)state;
	mt_init(&mt);
	mt_init(&other);
	mt_init(&copy);
	fill(&mt, 0, 3, 4, 300);
	fill(&other, 0, 3, 4, 1000);
	end(&other);
	assert_int_equal(mt_set_allocator(&copy, &counting), 0);
	assert_int_equal(mtree_dup(&mt, &copy, GFP_KERNEL), 0);
	mtree_lock(&mt);
	mt_get_statistics(&mt, &stats);
	mtree_unlock(&mt);
	assert_int_equal(blocks, stats.nodes);
	end(&mt);
	end(&copy);
	assert_int_equal(blocks, 0);
}

/* As a fork does: several cursors stand on ranges of the copy, and each replaces its own. */
static void entries_of_a_copy_are_replaced_one_by_one(void **state)
{
	struct maple_tree old, new;
	struct ma_state at[24];

	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		MA_STATE(mas, &new, 0, 0);
		unsigned int count, next = 0;
		void *entry;

		mt_init_flags(&old, flags);
		mt_init_flags(&new, flags);
		fill(&old, 0, 2, 3, 1000);
		assert_int_equal(mtree_dup(&old, &new, GFP_KERNEL), 0);
		mas_lock(&mas);
		do {
			for (count = 0; count < LENGTH(at) && mas_find(&mas, ULONG_MAX); count++)
				at[count] = mas;
			for (unsigned int i = 0; i < count; i++, next++) {
				entry = mas_store(&at[i], xa_mk_value(5000 + next));
				assert_ptr_equal(entry, xa_mk_value(next));
			}
		} while (count == LENGTH(at));
		mas_unlock(&mas);
		assert_int_equal(next, 1000);
		assert_true(mt_check(&new, NULL));
		for (unsigned long i = 0; i < 3000; i++) {
			assert_ptr_equal(mtree_load(&new, i),
					 i % 3 == 2 ? NULL : xa_mk_value(5000 + i / 3));
			assert_ptr_equal(mtree_load(&old, i),
					 i % 3 == 2 ? NULL : xa_mk_value(i / 3));
		}
		end(&old);
		end(&new);
	}
}

/* The leaf that a cursor stands on has other ranges by now: the store goes where it says. */
static void a_store_of_a_cursor_whose_leaf_has_changed(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree mt;
		MA_STATE(mas, &mt, 0, 0);
		MA_STATE(other, &mt, 12, 12);

		mt_init_flags(&mt, flags);
		mtree_store_range(&mt, 10, 19, E('a'), GFP_KERNEL);
		mtree_store_range(&mt, 20, 29, E('b'), GFP_KERNEL);
		mtree_store_range(&mt, 30, 39, E('c'), GFP_KERNEL);
		mas_lock(&mas);
		assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('a'));
		assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('b'));
		mas_store(&mas, E('B'));
		mas_store(&other, E('x'));
		if (flags & MT_FLAGS_USE_RCU) /* then the leaf may be another one by now */
			mas_set_range(&mas, 20, 29);
		mas_store(&mas, E('y'));
		mas_unlock(&mas);
		expect_content(&mt, "a-b:a c:x d-13:a 14-1d:y 1e-27:c");
		assert_true(mt_check(&mt, NULL));
		end(&mt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_of_every_size_are_equal_and_independent),
		cmocka_unit_test(a_lone_entry_is_copied),
		cmocka_unit_test(the_copy_must_be_empty_and_of_the_same_flags),
		cmocka_unit_test(a_copy_under_the_callers_locks),
		cmocka_unit_test(externally_locked_trees_are_copied),
		cmocka_unit_test(gaps_are_known_in_the_copy),
		cmocka_unit_test(a_tree_is_no_copy_of_itself),
		cmocka_unit_test(a_copy_uses_its_own_allocator),
		cmocka_unit_test(entries_of_a_copy_are_replaced_one_by_one),
		cmocka_unit_test(a_store_of_a_cursor_whose_leaf_has_changed),
	};

	return cmocka_run_group_tests_name("dup", tests, NULL, NULL);
}
