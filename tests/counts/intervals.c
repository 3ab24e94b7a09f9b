/* SPDX-License-Identifier: MIT */
/* intervals.c - see intervals.h. */
#include "intervals.h"

#include <mapletree/maple_tree.h>

/* ---- storing and joining --------------------------------------------------------------------- */

/* With the lock held. */
static int join(struct ma_state *mas, unsigned long first, unsigned long last, void *entry)
{
	if (first) {
		mas_set(mas, first - 1);
		if (mas_walk(mas) == entry)
			first = mas->index;
	}
	if (last != ULONG_MAX) {
		mas_set(mas, last + 1);
		if (mas_walk(mas) == entry)
			last = mas->last;
	}
	mas_set_range(mas, first, last);
	return mas_store_gfp(mas, entry, GFP_KERNEL);
}

bool join_by_hand(void *map, const struct range *range)
{
	MA_STATE(mas, map, 0, 0);
	int error;

	mas_lock(&mas);
	error = join(&mas, range->first, range->last, range->entry);
	mas_unlock(&mas);
	return !error;
}

bool join_by_call(void *map, const struct range *range)
{
	return !mtree_store_merge(map, range->first, range->last, range->entry, NULL, GFP_KERNEL);
}

/* ---- updating -------------------------------------------------------------------------------- */

/* A flag changes where something is. */
static void *toggled(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)first, (void)last, (void)ctx;
	return old ? (void *)((unsigned long)old ^ 8) : NULL;
}

bool update_by_hand(void *map, const struct range *range)
{
	unsigned long at, last;
	MA_STATE(mas, map, 0, 0);
	int error = 0;

	mas_lock(&mas);
	for (at = range->first;; at = last + 1) {
		void *old, *entry;

		mas_set(&mas, at);
		old = mas_walk(&mas);
		last = mas.last < range->last ? mas.last : range->last;
		entry = toggled(old, at, last, NULL);
		if (entry != old)
			error = join(&mas, at, last, entry);
		if (error || last == range->last)
			break;
	}
	mas_unlock(&mas);
	return !error;
}

bool update_by_call(void *map, const struct range *range)
{
	return !mtree_update_range(map, range->first, range->last, toggled, NULL, NULL, GFP_KERNEL);
}

/* ---- erasing --------------------------------------------------------------------------------- */

static unsigned long volatile taken;

static void take(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)ctx;
	taken += (unsigned long)old + last - first;
}

bool take_by_hand(void *map, const struct range *range)
{
	MA_STATE(mas, map, range->first, range->first);
	void *entry;
	int error;

	mas_lock(&mas);
	mas_for_each(&mas, entry, range->last)
		take(entry, mas.index < range->first ? range->first : mas.index,
		     mas.last < range->last ? mas.last : range->last, NULL);
	mas_set_range(&mas, range->first, range->last);
	error = mas_store_gfp(&mas, NULL, GFP_KERNEL);
	mas_unlock(&mas);
	return !error;
}

bool take_by_call(void *map, const struct range *range)
{
	return !mtree_erase_range(map, range->first, range->last, take, NULL, GFP_KERNEL);
}
