/* SPDX-License-Identifier: MIT */
/*
 * leaf_pair.h - a leaf that becomes too full or too empty, and the leaf beside it; or two leaves
 * that a write lies over.
 *
 * The two leaves share their slots evenly, or become one, or three. (A leaf that becomes too full
 * may also be divided alone: leaf_divide.h.) Only the node above them changes besides. layout.h would produce the same, in two to
 * four times as many instructions, since it does not know beforehand how few nodes change.
 */
#ifndef MT_LEAF_PAIR_H
#define MT_LEAF_PAIR_H

#include "leaf_divide.h"

/*
 * struct mt_leaf_pair - the plan.
 * @s:     the two leaves as the lowest level of a layout, and what becomes of them.
 * @p:     the write, if it begins and ends in one leaf; must outlast this. Else NULL.
 * @items: then, what goes into the leaves.
 * @first, @last: the range written.
 * @own:   which of the slots of all leaves it is then.
 * @at:    the slot of the first of them in the parent, which is the finger's node above the leaf.
 * @min:   the first index of both together; s.last is the last.
 * @gap_before, @gap_after: the widest gap in them, if the tree tracks gaps; afterwards it may be
 *         GAP_UNKNOWN.
 */
struct mt_leaf_pair {
	struct mt_layout_level s;
	const struct mt_leaf_plan *p;
	struct mt_items items;
	unsigned long first;
	unsigned long last;
	unsigned int own;
	unsigned int at;
	unsigned long min;
	unsigned long gap_before;
	unsigned long gap_after;
};

/*
 * leaf_pair_plan - plan a write for which leaf_plan() returned WRITE_LAYOUT and p->beside is 0.
 * Returns false if the leaf has no neighbour below its parent, if it is too full and divided alone,
 * if a run at the end of the tree leaves full leaves behind, or if the parent would become too full
 * or too empty. Changes nothing but *@g. Lock held.
 */
bool leaf_pair_plan(struct mt_leaf_pair *g, struct maple_tree *mt, const struct mt_leaf_plan *p);

/*
 * leaf_pair_plan_border - the same if p->beside is not 0: the gap goes on in a leaf beside.
 * leaf_pair_plan_span - the same for a store of @entry over [@first, @last] for which leaf_plan()
 * returned WRITE_SPAN for @step.
 * leaf_pair_plan_before - the same for a write with leaf_first_slot(), so that what lies before is
 * in the same leaf afterwards, as after layout_plan_before().
 * All return false also if more than two leaves or two nodes above them change.
 */
bool leaf_pair_plan_border(struct mt_leaf_pair *g, struct maple_tree *mt,
			   const struct mt_leaf_plan *p);
bool leaf_pair_plan_span(struct mt_leaf_pair *g, struct maple_tree *mt, unsigned long first,
			 unsigned long last, void *entry, unsigned long step);
bool leaf_pair_plan_before(struct mt_leaf_pair *g, struct maple_tree *mt,
			   const struct mt_leaf_plan *p);

/* leaf_pair_blocks - how many blocks leaf_pair_write() needs: at most as many as a layout would. */
unsigned int leaf_pair_blocks(const struct mt_leaf_pair *g, const struct maple_tree *mt);

/*
 * leaf_pair_write - carry the plan out, with blocks of @reserve. Afterwards the tree's finger leads
 * to the range written. Lock held; the tree is unchanged since the plan was made.
 */
void leaf_pair_write(const struct mt_leaf_pair *g, struct maple_tree *mt,
		     struct pool_list *reserve);

#endif
