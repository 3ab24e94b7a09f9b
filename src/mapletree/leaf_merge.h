/* SPDX-License-Identifier: MIT */
/*
 * leaf_merge.h - the plan of a store that is joined with the ranges beside it: part of write.c.
 */
#ifndef MT_LEAF_MERGE_H
#define MT_LEAF_MERGE_H

#include "leaf_plan.h"
#include "spot.h"

/* Adds to @p what lies below the range in the leaf. Returns false if the leaf before has such. */
static ALWAYS_INLINE bool join_below(struct mt_leaf_plan *p, const struct maple_tree *mt,
				     mt_same_fn *same)
{
	void **slot = p->leaf->wide.slot;

	if (p->below + 1 != p->first) {
		if (spot_same(slot[p->low], p->entry, same))
			p->first = p->below + 1;
	} else if (p->low) {
		if (spot_same(slot[p->low - 1], p->entry, same)) {
			p->low--;
			p->first = slot_first(p->leaf, p->low, mt->ma_finger.min);
			p->below = p->first - 1;
		}
	} else if (p->first) {
		return !spot_same(entry_beside(mt, false), p->entry, same);
	}
	return true;
}

/* The same of what lies above. */
static ALWAYS_INLINE bool join_above(struct mt_leaf_plan *p, const struct maple_tree *mt,
				     mt_same_fn *same)
{
	void **slot = p->leaf->wide.slot;

	if (p->top != p->last) {
		if (spot_same(slot[p->high], p->entry, same))
			p->last = p->top;
	} else if (p->high < p->end) {
		if (spot_same(slot[p->high + 1], p->entry, same)) {
			p->high++;
			p->last = p->top = last_of(p->leaf, p->high, mt->ma_finger.max);
		}
	} else if (p->top != ULONG_MAX) {
		return !spot_same(entry_beside(mt, true), p->entry, same);
	}
	return true;
}

/*
 * leaf_merge - plan the store of @entry, which is not NULL, over [@first, @last] and what is joined
 * with it, in the leaf of the tree's finger, which led to @step. Returns false if not all of that
 * lies in the leaf; then *@p is undefined. Changes nothing but *@p. Lock held.
 */
static ALWAYS_INLINE bool leaf_merge(struct mt_leaf_plan *p, const struct maple_tree *mt,
				     unsigned long first, unsigned long last, void *entry,
				     mt_same_fn *same, unsigned long step)
{
	if (!leaf_plan_slots(p, mt, first, last, entry, step) || !join_below(p, mt, same) ||
	    !join_above(p, mt, same))
		return false;
	leaf_plan_kind(p, mt, 0);
	return true;
}

#endif
