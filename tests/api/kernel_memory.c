/* SPDX-License-Identifier: MIT */
/*
 * kernel_memory.c - the kernel's interface where memory runs out, as kernel_style.c: what is
 * reserved, preallocated and tried again.
 */
#include <mapletree/maple_tree.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

#define PAGE_SHIFT 12

static void assert_sound(struct maple_tree *mt)
{
	const char *reason = NULL;

	if (!mt_check(mt, &reason))
		fail_msg("%s", reason);
	mt_validate(mt);
}

/* ---- cursors: reading --------------------------------------------------------------------- */

static bool stands_at(const struct ma_state *mas, unsigned long first, unsigned long last)
{
	return mas_is_active(mas) && mas->index == first && mas->last == last;
}

/* A heap that has @left blocks to give. */
struct budget {
	int left;
	int live;
};

static void *budget_alloc(void *ctx, size_t size, size_t align)
{
	struct budget *budget = (struct budget *)ctx;
	void *block;

	if (budget->left == 0 || posix_memalign(&block, align, size))
		return NULL;
	budget->left--;
	budget->live++;
	return block;
}

static void budget_free(void *ctx, void *block, size_t size)
{
	(void)size;
	((struct budget *)ctx)->live--;
	free(block);
}

/* The classic: store, and if memory ran out get some and try again. */
static int store_with_retry(struct maple_tree *mt, unsigned long first, unsigned long last,
			    void *entry, gfp_t gfp)
{
	MA_STATE(mas, mt, first, last);

	mas_lock(&mas);
retry:
	mas_store(&mas, entry);
	if (mas_nomem(&mas, gfp))
		goto retry;
	mas_unlock(&mas);
	if (mas_is_err(&mas))
		return xa_err(mas.node);
	return 0;
}

/* Refuses the first requests. */
static void *late_alloc(void *ctx, size_t size, size_t align)
{
	unsigned int *refusals = (unsigned int *)ctx;

	if (*refusals) {
		--*refusals;
		return NULL;
	}
	return aligned_alloc(align, size);
}

static void late_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)size;
	free(block);
}

static void wait_for_memory(unsigned int flags)
{
	unsigned int refusals = 4;
	struct mt_allocator allocator = { late_alloc, late_free, &refusals };
	struct maple_tree mt = MTREE_INIT(mt, flags);
	MA_STATE(mas, &mt, 5, 9);

	assert_int_equal(mt_set_allocator(&mt, &allocator), 0);
	if (!mt_external_lock(&mt))
		mas_lock(&mas);
	assert_int_equal(mas_store_gfp(&mas, &mt, GFP_KERNEL), -ENOMEM);
	assert_int_equal(refusals, 3);
	mas.index = 6;
	assert_true(mas_nomem_nofail(&mas, 5, 9));
	assert_int_equal(refusals, 0);
	assert_int_equal(mas.status, ma_start);
	assert_int_equal(mas.index, 5);
	refusals = 1;
	assert_int_equal(mas_store_gfp(&mas, &mt, GFP_NOWAIT), 0); /* from the reserve */
	assert_false(mas_nomem_nofail(&mas, 5, 9));
	if (!mt_external_lock(&mt))
		mas_unlock(&mas);
	assert_int_equal(refusals, 1);
	assert_ptr_equal(mtree_load(&mt, 5), &mt);
	mtree_destroy(&mt);
}

static void a_store_that_must_not_fail_waits_for_memory(void **state)
{
	(void)state;
	wait_for_memory(0);
	wait_for_memory(MT_FLAGS_LOCK_EXTERN);
}

static void a_store_is_retried_after_nomem(void **state)
{
	struct budget budget = { 0, 0 };
	struct mt_allocator allocator = { budget_alloc, budget_free, &budget };
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 5, 9);
	struct maple_enode *node;

	(void)state;
	assert_int_equal(mt_set_allocator(&mt, &allocator), 0);
	assert_int_equal(store_with_retry(&mt, 5, 9, &mt, GFP_KERNEL), -ENOMEM);
	assert_true(mtree_empty(&mt));

	mas_lock(&mas);
	assert_null(mas_store(&mas, &mt));
	assert_true(mas_is_err(&mas));
	assert_int_equal(mas.status, ma_error);
	node = mas.node;
	assert_ptr_equal(node, MA_ERROR(-ENOMEM));
	assert_false(mas_nomem(&mas, GFP_NOWAIT));
	budget.left = 8;
	assert_true(mas_nomem(&mas, GFP_KERNEL | __GFP_NOWARN));
	assert_int_equal(mas.status, ma_start);
	assert_int_equal(mas.index, 5);
	assert_int_equal(mas.last, 9);
	budget.left = 0;
	assert_null(mas_store(&mas, &mt)); /* from the reserve */
	assert_false(mas_is_err(&mas));
	assert_false(mas_nomem(&mas, GFP_KERNEL));
	mas_unlock(&mas);
	assert_ptr_equal(mtree_load(&mt, 7), &mt);
	assert_int_equal(mt_set_allocator(&mt, NULL), -EBUSY);
	mtree_destroy(&mt);
	mt_cache_shrink();
	assert_int_equal(budget.live, 0);
}

static void the_waiting_bit_of_a_gfp_mask_decides(void **state)
{
	static const gfp_t not_waiting[] = {
		GFP_NOWAIT, GFP_ATOMIC, GFP_KERNEL & GFP_NOWAIT,
		GFP_KERNEL & ~__GFP_DIRECT_RECLAIM, GFP_ATOMIC | __GFP_ZERO, 0,
		__GFP_IO | __GFP_FS | __GFP_HIGH | __GFP_KSWAPD_RECLAIM
	};
	static const gfp_t waiting[] = {
		GFP_KERNEL, GFP_KERNEL | __GFP_ZERO, GFP_KERNEL | __GFP_NOWARN,
		__GFP_DIRECT_RECLAIM, GFP_KERNEL & ~__GFP_FS
	};
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 5, 5);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(not_waiting) / sizeof(not_waiting[0]); i++) {
		assert_int_equal(mtree_store(&mt, 5, &mt, not_waiting[i]), -ENOMEM);
		mas_lock(&mas);
		mas_set(&mas, 5);
		assert_int_equal(mas_preallocate(&mas, &mt, not_waiting[i]), -ENOMEM);
		mas_unlock(&mas);
		assert_true(mtree_empty(&mt));
	}
	for (i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++) {
		assert_int_equal(mtree_store(&mt, 5, &mt, waiting[i]), 0);
		mtree_destroy(&mt);
	}
}

static void a_preallocated_store_cannot_fail(void **state)
{
	struct budget budget = { -1, 0 };
	struct mt_allocator allocator = { budget_alloc, budget_free, &budget };
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 50, 60);
	unsigned long i;

	(void)state;
	assert_int_equal(mt_set_allocator(&mt, &allocator), 0);
	for (i = 0; i < 64; i++)
		assert_int_equal(mtree_store_range(&mt, 3 * i + 1, 3 * i + 2, xa_mk_value(i),
						   GFP_KERNEL), 0);
	mas_lock(&mas);
	assert_int_equal(mas_preallocate(&mas, &mt, GFP_KERNEL), 0);
	budget.left = 0;
	mas_store_prealloc(&mas, &mt);
	mas_destroy(&mas);
	assert_ptr_equal(mas_walk(&mas), &mt);
	assert_true(stands_at(&mas, 50, 60));
	budget.left = -1;

	mas_set_range(&mas, 0, ULONG_MAX);
	assert_int_equal(mas_preallocate(&mas, xa_mk_value(0), GFP_KERNEL), 0);
	mas_destroy(&mas); /* thought better of it */
	mas_set(&mas, 55);
	assert_ptr_equal(mas_erase(&mas), &mt);
	assert_int_equal(mas.index, 50);
	assert_int_equal(mas.last, 60);
	assert_sound(&mt);
	mas_unlock(&mas);
	mtree_destroy(&mt);
	assert_int_equal(budget.live, 0);
}

static void a_bulk_load_cannot_fail(void **state)
{
	enum { COUNT = 1000 };
	struct budget budget = { -1, 0 };
	struct mt_allocator allocator = { budget_alloc, budget_free, &budget };
	struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_ALLOC_RANGE);
	MA_STATE(mas, &mt, 0, 0);
	unsigned long i;

	(void)state;
	mas_lock(&mas);
	assert_int_equal(mt_set_allocator(&mt, &allocator), 0);
	assert_int_equal(mas_expected_entries(&mas, COUNT), 0);
	budget.left = 0;
	for (i = 0; i < COUNT; i++) {
		mas.index = i << PAGE_SHIFT;
		mas.last = mas.index + 0xff;
		mas_store(&mas, xa_mk_value(i));
		assert_false(mas_is_err(&mas));
	}
	mas_destroy(&mas);
	assert_sound(&mt);
	mas_unlock(&mas);
	for (i = 0; i < COUNT; i++)
		assert_ptr_equal(mtree_load(&mt, (i << PAGE_SHIFT) + 0xff), xa_mk_value(i));
	mtree_destroy(&mt);
	assert_int_equal(budget.live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_is_retried_after_nomem),
		cmocka_unit_test(a_store_that_must_not_fail_waits_for_memory),
		cmocka_unit_test(the_waiting_bit_of_a_gfp_mask_decides),
		cmocka_unit_test(a_preallocated_store_cannot_fail),
		cmocka_unit_test(a_bulk_load_cannot_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
