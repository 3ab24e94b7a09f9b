/* SPDX-License-Identifier: MIT */
/*
 * join.c - a store joined with its neighbours, and the erasure of a stretch, through a cursor.
 */
#include "join.h"

#include <errno.h>

#include "cursor.h"
#include "spot.h"
#include "write.h"

/*
 * Where the range begins that @entry will have if it is stored from @first on; @spot holds @first.
 */
static unsigned long joined_first(const struct mt_spot *spot, unsigned long first,
				  const void *entry, mt_same_fn *same)
{
	struct mt_below below;

	if (spot->first < first)
		return spot_same(spot->entry, entry, same) ? spot->first : first;
	if (!first)
		return first;
	below = spot_below(spot);
	return spot_same(below.entry, entry, same) ? below.first : first;
}

/* Where it ends if it is stored up to @last. Moves @spot, which is at or below that. */
static unsigned long joined_last(struct mt_spot *spot, unsigned long last, const void *entry,
				 mt_same_fn *same)
{
	spot_forward(spot, last);
	if (spot->last == last) {
		if (last == ULONG_MAX)
			return last;
		spot_up(spot);
	}
	return spot_same(spot->entry, entry, same) ? spot->last : last;
}

int mas_store_merge(struct ma_state *mas, void *entry, mt_same_fn *same, gfp_t gfp)
{
	unsigned long first = mas->index, last = mas->last;
	bool may = gfp & __GFP_DIRECT_RECLAIM, whole = !entry; /* a gap is one range in any case */
	struct mt_spot spot;
	int error;

	if (first > last || entry_reserved(entry))
		return fail(mas, -EINVAL);
	if (!whole && !write_merge(mas, entry, same, may, &error)) {
		spot_at(&spot, mas->tree, first);
		mas->index = joined_first(&spot, first, entry, same);
		mas->last = joined_last(&spot, last, entry, same);
		whole = true;
	}
	if (whole)
		error = mas_store_gfp(mas, entry, gfp);
	if (error) {
		mas->index = first;
		mas->last = last;
	}
	return error;
}

/* Lists the pieces of [@first, @last] that hold entries. False: no memory. */
static bool list_entries(struct maple_tree *mt, struct mt_range_list *list, unsigned long first,
			 unsigned long last, bool may)
{
	struct mt_spot spot;

	for (spot_at(&spot, mt, first);; spot_up(&spot)) {
		struct mt_range piece = { spot.first < first ? first : spot.first,
					  spot.last < last ? spot.last : last, spot.entry };

		if (spot.entry && !range_list_add(list, mt->ma_alloc, may, piece))
			return false;
		if (spot.last >= last)
			return true;
	}
}

int join_erase(struct ma_state *mas, struct mt_range_list *list, gfp_t gfp)
{
	unsigned long first = mas->index, last = mas->last;
	int error;

	if (first > last)
		return fail(mas, -EINVAL);
	if (!list_entries(mas->tree, list, first, last, gfp & __GFP_DIRECT_RECLAIM))
		return fail(mas, -ENOMEM);
	error = mas_store_gfp(mas, NULL, gfp);
	if (error) {
		mas->index = first;
		mas->last = last;
	}
	return error;
}

void join_tell(struct mt_range_list *list, mt_erased_fn *erased, void *ctx)
{
	struct mt_range_at at = range_list_begin(list);
	struct mt_range *range;

	for (; (range = range_list_look(&at)) != NULL; range_list_next(&at))
		erased(range->entry, range->first, range->last, ctx);
}

int mas_erase_range(struct ma_state *mas, mt_erased_fn *erased, void *ctx, gfp_t gfp)
{
	struct mt_range_list list;
	int error;

	if (!erased)
		return mas_store_gfp(mas, NULL, gfp);
	range_list_init(&list);
	error = join_erase(mas, &list, gfp);
	if (!error)
		join_tell(&list, erased, ctx);
	range_list_free(&list, mas->tree->ma_alloc);
	return error;
}
