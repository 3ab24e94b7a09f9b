/* SPDX-License-Identifier: MIT */
/*
 * leaf_plan.h - a write that stays in one leaf, as a value.
 */
#ifndef MT_LEAF_PLAN_H
#define MT_LEAF_PLAN_H

#include "plan.h"

/*
 * struct mt_leaf_plan - a write that stays in one leaf. Slots @low .. @high are what it touches,
 * and cover (below, top]; of their ends something may be left.
 *   left == (below + 1 < first), right == (last < top)
 * @first, @last: what is stored over: for NULL, as wide as the gap becomes.
 * @end, @new_end: the last slot in use, before and after.
 *   new_end == end + left + right - (high - low)
 */
struct mt_leaf_plan {
	struct mt_node *leaf;
	void *entry;
	unsigned long first;
	unsigned long last;
	unsigned long below;
	unsigned long top;
	enum publish_kind publish;
	unsigned int low;
	unsigned int high;
	unsigned int left;
	unsigned int right;
	unsigned int end;
	unsigned int new_end;
};

/* plan_at - the slot that the new range comes to. */
static inline unsigned int plan_at(const struct mt_leaf_plan *p)
{
	return p->low + p->left;
}

/*
 * What becomes of the leaf: nothing yet, since more than it changes; changed in place; a copy takes
 * its place; divided in two, the new one beside it in the same parent (without readers only).
 */
enum leaf_verdict { LEAF_NOT_ALONE, LEAF_IN_PLACE, LEAF_COPY, LEAF_SPLIT };

#endif
