/* SPDX-License-Identifier: MIT */
/*
 * test_range.c - a tree as a map of intervals: stores that join equal neighbours, updates and
 * erasures of a stretch, case by case. At random: test_range_random.c.
 */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <urcu-bp.h>

/* Letters that differ only in case are equal. */
static bool same_letter(const void *a, const void *b)
{
	assert_non_null(a);
	assert_non_null(b);
	return !(((unsigned long)a ^ (unsigned long)b) & ~(0x20ul << 4));
}

static void a_store_joins_what_is_equal_on_both_sides(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store_merge(&mt, 0x10, 0x1f, E('a'), NULL, GFP_KERNEL), 0);
	assert_int_equal(mtree_store_merge(&mt, 0x30, 0x3f, E('a'), NULL, GFP_KERNEL), 0);
	expect_content(&mt, "10-1f:a 30-3f:a");
	assert_int_equal(mtree_store_merge(&mt, 0x20, 0x2f, E('a'), NULL, GFP_KERNEL), 0);
	expect_content(&mt, "10-3f:a");
	assert_int_equal(mtree_store_merge(&mt, 0x18, 0x20, E('b'), NULL, GFP_KERNEL), 0);
	expect_content(&mt, "10-17:a 18-20:b 21-3f:a");
	assert_int_equal(mtree_store_merge(&mt, 0x1b, 0x24, E('a'), NULL, GFP_KERNEL), 0);
	expect_content(&mt, "10-17:a 18-1a:b 1b-3f:a");
	assert_int_equal(mtree_store_merge(&mt, 0x12, 0x14, NULL, NULL, GFP_KERNEL), 0);
	expect_content(&mt, "10-11:a 15-17:a 18-1a:b 1b-3f:a");
	end(&mt);
}

static void what_is_joined_has_the_entry_that_was_stored(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store_range(&mt, 0, 9, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 20, 29, E('b'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_merge(&mt, 10, 19, E('A'), same_letter, GFP_KERNEL), 0);
	expect_content(&mt, "0-13:A 14-1d:b");
	assert_int_equal(mtree_store_merge(&mt, 15, 19, E('B'), same_letter, GFP_KERNEL), 0);
	expect_content(&mt, "0-e:A f-1d:B");
	end(&mt);
}

static void a_store_joins_at_the_ends_of_the_index_space(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store_merge(&mt, 0, 0, E('a'), NULL, GFP_KERNEL), 0);
	assert_int_equal(mt_height(&mt), 0);
	assert_int_equal(mtree_store_merge(&mt, 1, 4, E('a'), NULL, GFP_KERNEL), 0);
	expect_content(&mt, "0-4:a");
	assert_int_equal(mtree_store_merge(&mt, 5, ULONG_MAX, E('a'), NULL, GFP_KERNEL), 0);
	expect_content(&mt, "0-max:a");
	end(&mt);
}

static void never_erased(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)ctx;
	fail_msg("%p was erased from %lx-%lx", old, first, last);
}

static void refused_stores_change_nothing(void **state)
{
	void *reserved = (void *)(4 * 7 + 2);
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 8, 4);

	(void)state;
	fill(&mt, 0, 5, 10, 3);
	assert_int_equal(mtree_store_merge(&mt, 0, 9, reserved, NULL, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_store_merge(&mt, 9, 0, E('a'), NULL, GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_erase_range(&mt, 9, 0, NULL, NULL, GFP_KERNEL), -EINVAL);
	mtree_lock(&mt);
	assert_int_equal(mas_store_merge(&mas, E('a'), NULL, GFP_KERNEL), -EINVAL);
	assert_true(mas_is_err(&mas));
	mas_set_range(&mas, 0, 9);
	assert_int_equal(mas_store_merge(&mas, reserved, NULL, GFP_KERNEL), -EINVAL);
	mas_set_range(&mas, 8, 4);
	assert_int_equal(mas_erase_range(&mas, NULL, NULL, GFP_KERNEL), -EINVAL);
	assert_int_equal(mas_erase_range(&mas, never_erased, NULL, GFP_KERNEL), -EINVAL);
	mtree_unlock(&mt);
	end(&mt);
}

/* What a function is told of, as text. */
struct told {
	char text[400];
	void *answer[8];
	unsigned int calls;
};

static void tell(struct told *told, void *old, unsigned long first, unsigned long last)
{
	size_t used = strlen(told->text);

	snprintf(told->text + used, sizeof(told->text) - used, "%s%lx-%lx:%c",
		 used ? " " : "", first, last,
		 old ? (char)(((unsigned long)old - 0x10000) >> 4) : '.');
}

static void *answer(void *old, unsigned long first, unsigned long last, void *ctx)
{
	struct told *told = ctx;

	tell(told, old, first, last);
	return told->answer[told->calls++];
}

static void an_update_asks_for_each_piece_and_joins_the_answers(void **state)
{
	struct told told = { "", { E('b'), E('b'), E('c'), E('d'), E('d') }, 0 };
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 0x20, 0x2f, E('b'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 0x30, 0x3f, E('c'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 0x50, 0x5f, E('d'), GFP_KERNEL), 0);
	assert_int_equal(mtree_update_range(&mt, 0x18, 0x54, answer, &told, NULL, GFP_KERNEL), 0);
	assert_string_equal(told.text, "18-1f:a 20-2f:b 30-3f:c 40-4f:. 50-54:d");
	expect_content(&mt, "10-17:a 18-2f:b 30-3f:c 40-5f:d");
	end(&mt);
}

static void an_update_joins_what_lies_outside(void **state)
{
	struct told told = { "", { E('A'), E('A') }, 0 };
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 0x20, 0x2f);

	(void)state;
	assert_int_equal(mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 0x20, 0x27, E('b'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 0x30, 0x3f, E('a'), GFP_KERNEL), 0);
	mtree_lock(&mt);
	assert_int_equal(mas_update_range(&mas, answer, &told, same_letter, GFP_KERNEL), 0);
	expect_place(&mas, 0x20, 0x2f, ma_start);
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), E('A'));
	expect_place(&mas, 0x10, 0x3f, ma_active);
	mtree_unlock(&mt);
	expect_content(&mt, "10-3f:A");
	end(&mt);
}

static void *as_it_is(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)first, (void)last, (void)ctx;
	return old;
}

static void *reserved_at_last(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)first, (void)ctx;
	return last == ULONG_MAX ? (void *)(4 * 7 + 2) : old ? NULL : E('x');
}

static void an_update_that_changes_nothing_writes_nothing(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	unsigned long stamp;

	(void)state;
	assert_int_equal(mtree_update_range(&mt, 0, ULONG_MAX, as_it_is, NULL, NULL, GFP_NOWAIT),
			 0);
	assert_true(mtree_empty(&mt));
	fill(&mt, 0, 5, 10, 100);
	stamp = mt.ma_writes;
	assert_int_equal(mtree_update_range(&mt, 7, 700, as_it_is, NULL, NULL, GFP_KERNEL), 0);
	assert_int_equal(mt.ma_writes, stamp);
	assert_int_equal(mtree_update_range(&mt, 7, ULONG_MAX, reserved_at_last, NULL, NULL,
					    GFP_KERNEL), -EINVAL);
	assert_int_equal(mtree_update_range(&mt, 8, 7, as_it_is, NULL, NULL, GFP_KERNEL), -EINVAL);
	assert_int_equal(mt.ma_writes, stamp);
	end(&mt);
}

/* Every range gets another entry: as many ranges as before, in a leaf and in many. */
static void *renewed(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)last, (void)ctx;
	return old ? xa_mk_value(first) : NULL;
}

static void the_leaves_of_an_update_stay_as_many(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU);
	struct mt_statistics before, after;

	(void)state;
	fill(&mt, 0, 5, 10, 300);
	mt_get_statistics(&mt, &before);
	assert_int_equal(mtree_update_range(&mt, 0, ULONG_MAX, renewed, NULL, NULL, GFP_KERNEL), 0);
	mt_get_statistics(&mt, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	for (unsigned long i = 0; i < 3000; i += 10)
		assert_ptr_equal(mtree_load(&mt, i + 4), xa_mk_value(i));
	end(&mt);
}

/* A loop that stands in a leaf goes on in what an update has put in its place. */
static void loops_go_on_behind_an_update(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU);
	unsigned long count = 0;
	MA_STATE(mas, &mt, 0, 0);
	void *entry;

	(void)state;
	fill(&mt, 0, 5, 10, 300);
	urcu_bp_read_lock();
	mas_for_each(&mas, entry, ULONG_MAX) {
		if (count) /* renewed before */
			assert_ptr_equal(entry, xa_mk_value(mas.index));
		assert_int_equal(mtree_update_range(&mt, mas.last + 1, mas.last + 50, renewed, NULL,
						    NULL, GFP_KERNEL), 0);
		count++;
	}
	urcu_bp_read_unlock();
	assert_int_equal(count, 300);
	end(&mt);
}

static void note_erased(void *old, unsigned long first, unsigned long last, void *ctx)
{
	tell(ctx, old, first, last);
}

static void an_erasure_hands_out_what_was_there(void **state)
{
	struct told told = { "", { NULL }, 0 };
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 0, 0x48);

	(void)state;
	assert_int_equal(mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 0x20, 0x2f, E('b'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 0x30, 0x3f, XA_ZERO_ENTRY, GFP_KERNEL), 0);
	assert_int_equal(mtree_store_range(&mt, 0x48, 0x4f, E('c'), GFP_KERNEL), 0);
	assert_int_equal(mtree_erase_range(&mt, 0x18, 0x3f, note_erased, &told, GFP_KERNEL), 0);
	assert_string_equal(told.text, "18-1f:a 20-2f:b");
	expect_content(&mt, "10-17:a 48-4f:c");
	told.text[0] = 0;
	mtree_lock(&mt);
	assert_int_equal(mas_erase_range(&mas, note_erased, &told, GFP_KERNEL), 0);
	expect_place(&mas, 0, 0x48, ma_active);
	mtree_unlock(&mt);
	assert_string_equal(told.text, "10-17:a 48-48:c");
	expect_content(&mt, "49-4f:c");
	assert_int_equal(mtree_erase_range(&mt, 0, ULONG_MAX, NULL, NULL, GFP_KERNEL), 0);
	assert_true(mtree_empty(&mt));
	end(&mt);
}

/* The lock is free when the entries are handed out. */
static void put_back(void *old, unsigned long first, unsigned long last, void *ctx)
{
	assert_int_equal(mtree_store_range(ctx, first + 1, last + 1, old, GFP_KERNEL), 0);
}

static void an_erasure_calls_without_the_lock(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	fill(&mt, 0, 5, 10, 50);
	assert_int_equal(mtree_erase_range(&mt, 100, 299, put_back, &mt, GFP_KERNEL), 0);
	for (unsigned long i = 0; i < 500; i++) {
		unsigned long at = i >= 100 && i < 300 ? i - 1 : i;

		if (i < 100 || i >= 300)
			assert_int_equal(mtree_load(&mt, i) != NULL, at % 10 < 5);
		else
			assert_int_equal(mtree_load(&mt, i) != NULL, i > 100 && at % 10 < 5);
	}
	end(&mt);
}

static void an_area_is_found_and_stored_through_a_cursor(void **state)
{
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	struct mt_area area = { .min = 3, .max = 1000, .size = 16, .align = 32 };
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	fill(&mt, 0, 8, 32, 4);
	mtree_lock(&mt);
	assert_int_equal(mas_alloc_area(&mas, &area, XA_ZERO_ENTRY, GFP_KERNEL), -EINVAL);
	assert_int_equal(mas_alloc_area(&mas, &area, E('a'), GFP_KERNEL), 0);
	expect_place(&mas, 128, 143, ma_active);
	area.max = 200;
	area.align = 64;
	assert_int_equal(mas_alloc_area(&mas, &area, E('b'), GFP_KERNEL), -EBUSY);
	mtree_unlock(&mt);
	assert_int_equal(area.start, 128);
	end(&mt);
}

static void *no_block(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	(void)size;
	(void)align;
	return NULL;
}

static void no_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)block;
	(void)size;
	fail_msg("nothing was allocated");
}

/* Found from outside: the cursor was left on the place found. */
static void an_area_without_memory_leaves_the_range_of_the_cursor(void **state)
{
	static const struct mt_allocator none = { no_block, no_free, NULL };
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	struct mt_area area = { .min = 100, .max = 200, .size = 4 };
	MA_STATE(mas, &mt, 3, 4);

	(void)state;
	mtree_lock(&mt);
	assert_int_equal(mt_set_allocator(&mt, &none), 0);
	assert_int_equal(mas_alloc_area(&mas, &area, E('a'), GFP_KERNEL), -ENOMEM);
	mtree_unlock(&mt);
	expect_place(&mas, 3, 4, ma_error);
	assert_true(mas_is_err(&mas));
	assert_int_equal(area.start, 100);
	end(&mt);
}

static void a_lone_entry_at_0_is_a_range_too(void **state)
{
	struct told told = { "", { E('b'), E('c') }, 0 };
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store(&mt, 0, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mtree_update_range(&mt, 0, 9, answer, &told, NULL, GFP_KERNEL), 0);
	assert_string_equal(told.text, "0-0:a 1-9:.");
	expect_content(&mt, "0:b 1-9:c");
	mtree_destroy(&mt);
	assert_int_equal(mtree_store(&mt, 0, E('a'), GFP_KERNEL), 0);
	assert_int_equal(mtree_store_merge(&mt, 0, 5, E('b'), NULL, GFP_KERNEL), 0);
	expect_content(&mt, "0-5:b");
	mtree_destroy(&mt);
	assert_int_equal(mtree_store(&mt, 0, E('a'), GFP_KERNEL), 0);
	told.text[0] = 0;
	assert_int_equal(mtree_erase_range(&mt, 0, 5, note_erased, &told, GFP_KERNEL), 0);
	assert_string_equal(told.text, "0-0:a");
	end(&mt);
}

static void a_zero_entry_is_equal_to_no_other(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mtree_store_range(&mt, 0, 9, XA_ZERO_ENTRY, GFP_KERNEL), 0);
	assert_int_equal(mtree_store_merge(&mt, 10, 19, E('a'), same_letter, GFP_KERNEL), 0);
	assert_int_equal(mtree_store_merge(&mt, 20, 29, XA_ZERO_ENTRY, same_letter, GFP_KERNEL), 0);
	assert_int_equal(mtree_store_merge(&mt, 30, 39, XA_ZERO_ENTRY, same_letter, GFP_KERNEL), 0);
	expect_content(&mt, "0-9:zero a-13:a 14-27:zero");
	end(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_joins_what_is_equal_on_both_sides),
		cmocka_unit_test(what_is_joined_has_the_entry_that_was_stored),
		cmocka_unit_test(a_store_joins_at_the_ends_of_the_index_space),
		cmocka_unit_test(refused_stores_change_nothing),
		cmocka_unit_test(an_update_asks_for_each_piece_and_joins_the_answers),
		cmocka_unit_test(an_update_joins_what_lies_outside),
		cmocka_unit_test(an_update_that_changes_nothing_writes_nothing),
		cmocka_unit_test(the_leaves_of_an_update_stay_as_many),
		cmocka_unit_test(loops_go_on_behind_an_update),
		cmocka_unit_test(an_erasure_hands_out_what_was_there),
		cmocka_unit_test(an_erasure_calls_without_the_lock),
		cmocka_unit_test(an_area_is_found_and_stored_through_a_cursor),
		cmocka_unit_test(an_area_without_memory_leaves_the_range_of_the_cursor),
		cmocka_unit_test(a_lone_entry_at_0_is_a_range_too),
		cmocka_unit_test(a_zero_entry_is_equal_to_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
