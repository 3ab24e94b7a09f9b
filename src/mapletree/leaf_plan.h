/* SPDX-License-Identifier: MIT */
/*
 * leaf_plan.h - a write that stays in one leaf, or in it and one beside it, as a value.
 */
#ifndef MT_LEAF_PLAN_H
#define MT_LEAF_PLAN_H

#include "plan.h"
#include "way.h"

/*
 * struct mt_leaf_plan - a write that stays in one leaf. Slots @low .. @high are what it touches,
 * and cover (below, top]; of their ends something may be left.
 *   left == (below + 1 < first), right == (last < top)
 * @first, @last: what is stored over: for NULL, as wide as the gap becomes.
 * @end, @new_end: the last slot in use, before and after.
 *   new_end == end + left + right - (high - low)
 * @seam: at this side the gap that is written goes on in the leaf beside this one; the lowest node
 *        above both is at @seam_level, 1 if it is the parent of both.
 */
struct mt_leaf_plan {
	struct mt_node *leaf;
	void *entry;
	unsigned long first;
	unsigned long last;
	unsigned long below;
	unsigned long top;
	enum publish_kind publish;
	enum sibling_side seam;
	unsigned int seam_level;
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
 * its place; laid out anew together with one beside it, under the same parent, or divided; it gives its part
 * of a gap to the leaf beside it.
 */
enum leaf_verdict { LEAF_NOT_ALONE, LEAF_IN_PLACE, LEAF_COPY, LEAF_GROUP, LEAF_SEAM };

/* Two leaves become three at most. */
#define GROUP_LEAVES_MAX 3

/*
 * struct mt_group - the leaf of a write and maybe one beside it, to be @leaves new ones.
 *   old == 1 + (side != SIBLING_NONE), 1 <= leaves <= old + 1; beside readers leaves <= 2
 *   0 == from[0] < from[1] < .. < from[leaves] == total
 * @at:    the first of them in the parent, @min, @max: what they cover.
 * @total: slots of all they will hold; those from from[i] on come to the i-th leaf.
 */
struct mt_group {
	enum sibling_side side;
	unsigned int old;
	unsigned int leaves;
	unsigned int at;
	unsigned int total;
	unsigned int from[GROUP_LEAVES_MAX + 1];
	unsigned long min;
	unsigned long max;
};

/*
 * struct mt_seam - the leaf of a write, the leaf beside it and the boundary between the two, which
 * moves: the gap they share becomes one slot of the leaf beside.
 * @kept:   slots that the leaf of the write keeps; kept > 0
 * @first, @last: of the gap.
 * @min, @max: what the leaf beside covers then; the gap is at one end of it.
 * @beside: the way to the gap, from the leaf beside up to the level below that of both.
 */
struct mt_seam {
	unsigned int kept;
	unsigned long first;
	unsigned long last;
	unsigned long min;
	unsigned long max;
	unsigned long beside[WAY_LEVELS];
};

#endif
