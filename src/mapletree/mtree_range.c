/* SPDX-License-Identifier: MIT */
/*
 * mtree_range.c - the normal API of intervals: the cursor's calls, under the lock.
 */
#include <errno.h>

#include "join.h"
#include "lock.h"
#include "write.h"

static __attribute__((noinline)) int merge_anywhere(struct maple_tree *mt, unsigned long first,
						    unsigned long last, void *entry,
						    mt_same_fn *same, gfp_t gfp)
{
	MA_STATE(mas, mt, first, last);

	return mas_store_merge(&mas, entry, same, gfp);
}

int mtree_store_merge(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry,
		      mt_same_fn *same, gfp_t gfp)
{
	bool may = gfp & __GFP_DIRECT_RECLAIM;
	int error;

	if (first > last || entry_reserved(entry))
		return -EINVAL;
	tree_lock_to_write(mt, gfp);
	if (!entry)
		error = write_range(mt, first, last, NULL, may);
	else if (!write_merge_range(mt, first, last, entry, same, may, &error))
		error = merge_anywhere(mt, first, last, entry, same, gfp);
	tree_unlock(mt);
	return error;
}

int mtree_update_range(struct maple_tree *mt, unsigned long first, unsigned long last,
		       mt_update_fn *fn, void *ctx, mt_same_fn *same, gfp_t gfp)
{
	MA_STATE(mas, mt, first, last);
	int error;

	tree_lock_to_write(mt, gfp);
	error = mas_update_range(&mas, fn, ctx, same, gfp);
	tree_unlock(mt);
	return error;
}

/* Drops the zero entries, which the normal API does not show. */
struct shown {
	mt_erased_fn *erased;
	void *ctx;
};

static void show(void *old, unsigned long first, unsigned long last, void *ctx)
{
	const struct shown *shown = ctx;

	if (!xa_is_zero(old))
		shown->erased(old, first, last, shown->ctx);
}

int mtree_erase_range(struct maple_tree *mt, unsigned long first, unsigned long last,
		      mt_erased_fn *erased, void *ctx, gfp_t gfp)
{
	const struct mt_allocator *alloc = mt->ma_alloc;
	struct shown shown = { erased, ctx };
	MA_STATE(mas, mt, first, last);
	struct mt_range_list list;
	int error;

	range_list_init(&list);
	tree_lock_to_write(mt, gfp);
	error = erased ? join_erase(&mas, &list, gfp) : mas_store_gfp(&mas, NULL, gfp);
	tree_unlock(mt);
	if (!error && erased)
		join_tell(&list, show, &shown);
	range_list_free(&list, alloc);
	return error;
}
