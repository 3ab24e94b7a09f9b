/* SPDX-License-Identifier: MIT */
/*
 * mas.c - the cursor's writes and searches for free ranges.
 */
#include <errno.h>

#include "gap.h"
#include "pool.h"
#include "retire.h"
#include "walk.h"
#include "write.h"

static struct pool_list take_reserve(struct ma_state *mas)
{
	struct pool_list list = { mas->reserve, mas->reserve_count };

	mas->reserve = NULL;
	mas->reserve_count = 0;
	return list;
}

static void keep_reserve(struct ma_state *mas, const struct pool_list *list)
{
	mas->reserve = list->head;
	mas->reserve_count = list->count;
}

static bool may_allocate(gfp_t gfp)
{
	return gfp & __GFP_DIRECT_RECLAIM;
}

static int fail(struct ma_state *mas, int error)
{
	mas->status = ma_error;
	mas->node = MA_ERROR(error);
	return error;
}

void mas_destroy(struct ma_state *mas)
{
	struct pool_list list = take_reserve(mas);

	pool_release(mas->tree->ma_alloc, &list);
}

/* Puts the cursor on what was written. */
static void stand_at(struct ma_state *mas, const struct mt_place *place, const void *entry)
{
	mas->gap_written = !entry;
	if (!place->node) {
		mas->node = NULL;
		mas->status = mas->index == 0 && mas->tree->ma_root ? ma_root : ma_none;
		return;
	}
	mas->node = enode_make(place->node, KIND_LEAF);
	mas->min = place->min;
	mas->max = place->max;
	mas->offset = place->offset;
	mas->end = place->end;
	mas->version = leaf_version(place->node);
	mas->status = ma_active;
}

/* Stores over [index, last]; what the reserve lacks comes from the allocator, if it @may. */
static int store(struct ma_state *mas, void *entry, bool may, void **old)
{
	struct mt_write w;
	struct mt_place place;
	struct pool_list reserve;

	if (mas->index > mas->last)
		return fail(mas, -EINVAL);
	write_plan(&w, mas->tree, mas->index, mas->last, entry);
	*old = w.old;
	reserve = take_reserve(mas);
	if (reserve.count < w.blocks &&
	    (!may || !pool_grow(mas->tree->ma_alloc, &reserve, w.blocks))) {
		keep_reserve(mas, &reserve);
		mas->reserve_wanted = w.blocks;
		return fail(mas, -ENOMEM);
	}
	write_commit(&w, &reserve, &place);
	keep_reserve(mas, &reserve);
	stand_at(mas, &place, entry);
	return 0;
}

void *mas_store(struct ma_state *mas, void *entry)
{
	void *old = NULL;

	return store(mas, entry, true, &old) ? NULL : old;
}

int mas_store_gfp(struct ma_state *mas, void *entry, gfp_t gfp)
{
	void *old;

	return store(mas, entry, may_allocate(gfp), &old);
}

int mas_preallocate(struct ma_state *mas, void *entry, gfp_t gfp)
{
	struct mt_write w;
	struct pool_list reserve;
	bool enough;

	if (mas->index > mas->last)
		return fail(mas, -EINVAL);
	write_plan(&w, mas->tree, mas->index, mas->last, entry);
	reserve = take_reserve(mas);
	enough = reserve.count >= w.blocks ||
		 (may_allocate(gfp) && pool_grow(mas->tree->ma_alloc, &reserve, w.blocks));
	if (!enough) {
		pool_release(mas->tree->ma_alloc, &reserve);
		mas->reserve_wanted = w.blocks;
		return fail(mas, -ENOMEM);
	}
	keep_reserve(mas, &reserve);
	return 0;
}

void mas_store_prealloc(struct ma_state *mas, void *entry)
{
	void *old;
	int error = store(mas, entry, false, &old);

	assert(!error && "mas_preallocate() was for another store");
	(void)error;
	mas_destroy(mas);
}

void *mas_erase(struct ma_state *mas)
{
	unsigned long first, last;
	void *old = walk_to(mas, mas->index);

	if (!old)
		return NULL;
	first = mas->index;
	last = mas->last;
	old = mas_store(mas, NULL);
	mas->index = first;
	mas->last = last;
	return old;
}

bool mas_nomem(struct ma_state *mas, gfp_t gfp)
{
	struct pool_list reserve;
	bool unlock = may_allocate(gfp) && !mt_external_lock(mas->tree);
	bool grown;

	if (mas->node != MA_ERROR(-ENOMEM) || mas->status != ma_error) {
		mas_destroy(mas);
		return false;
	}
	if (!may_allocate(gfp))
		return false;
	reserve = take_reserve(mas);
	if (unlock)
		mtree_unlock(mas->tree);
	grown = pool_grow(mas->tree->ma_alloc, &reserve, mas->reserve_wanted);
	if (unlock)
		mtree_lock(mas->tree);
	keep_reserve(mas, &reserve);
	if (grown)
		mas_reset(mas);
	return grown;
}

/*
 * n ascending stores make at most 2n+1 ranges; appended, they fill leaves completely. Each store
 * that splits takes at most one more node than it keeps per level, given back only afterwards,
 * and in RCU mode every store copies its path.
 */
int mas_expected_entries(struct ma_state *mas, unsigned long count)
{
	struct pool_list reserve = take_reserve(mas);
	unsigned long ranges = count > ULONG_MAX / 4 ? ULONG_MAX / 2 : 2 * count + 1;
	unsigned long copied = mt_in_rcu(mas->tree) ? 2 * MAPLE_HEIGHT_MAX : 0; /* a store */
	unsigned long nodes = 0;
	unsigned int slots = WIDE_SLOTS;

	do {
		ranges = (ranges + slots - 1) / slots;
		nodes += ranges;
		slots = kind_slots(inner_kind(mas->tree));
	} while (ranges > 1);
	nodes = 2 * nodes + 3 * MAPLE_HEIGHT_MAX;
	if (nodes > UINT_MAX || (copied && count > (UINT_MAX - nodes) / copied) ||
	    !pool_grow(mas->tree->ma_alloc, &reserve, (unsigned int)(nodes + count * copied))) {
		keep_reserve(mas, &reserve);
		return fail(mas, -ENOMEM);
	}
	keep_reserve(mas, &reserve);
	return 0;
}

int mas_find_area(struct ma_state *mas, struct mt_area *area)
{
	struct mt_area want = *area;
	unsigned long start;

	if (!want.align)
		want.align = 1;
	if (!tree_tracks_gaps(mas->tree) || want.size == 0 || want.min > want.max ||
	    want.max - want.min < want.size - 1 || (want.align & (want.align - 1)))
		return -EINVAL;
	if (!gap_find(mas->tree, &want, &start))
		return -EBUSY;
	area->start = start;
	mas_set_range(mas, start, start + want.size - 1);
	return 0;
}

int mas_empty_area(struct ma_state *mas, unsigned long min, unsigned long max,
		   unsigned long size)
{
	struct mt_area area = { .min = min, .max = max, .size = size, .fit = MT_FIT_LOWEST };

	return mas_find_area(mas, &area);
}

int mas_empty_area_rev(struct ma_state *mas, unsigned long min, unsigned long max,
		       unsigned long size)
{
	struct mt_area area = { .min = min, .max = max, .size = size, .fit = MT_FIT_HIGHEST };

	return mas_find_area(mas, &area);
}

int mas_alloc_cyclic(struct ma_state *mas, unsigned long *startp, void *entry,
		     unsigned long range_lo, unsigned long range_hi, unsigned long *next,
		     gfp_t gfp)
{
	unsigned long from = *next > range_lo ? *next : range_lo;
	int error, wrapped = 0;

	if (!tree_tracks_gaps(mas->tree) || range_lo > range_hi || entry_reserved(entry) ||
	    xa_is_zero(entry))
		return -EINVAL;
	error = from > range_hi ? -EBUSY : mas_empty_area(mas, from, range_hi, 1);
	if (error == -EBUSY && from > range_lo) {
		error = mas_empty_area(mas, range_lo, range_hi, 1);
		wrapped = 1;
	}
	if (error)
		return error;
	error = mas_store_gfp(mas, entry, gfp);
	if (error)
		return error;
	*startp = mas->index;
	*next = mas->index + 1;
	if (tree_flags(mas->tree) & MT_FLAGS_ALLOC_WRAPPED) {
		__atomic_and_fetch(&mas->tree->ma_flags, ~MT_FLAGS_ALLOC_WRAPPED, __ATOMIC_RELAXED);
		wrapped = 1;
	}
	if (*next == 0)
		__atomic_or_fetch(&mas->tree->ma_flags, MT_FLAGS_ALLOC_WRAPPED, __ATOMIC_RELAXED);
	return wrapped;
}
