/* SPDX-License-Identifier: MIT */
/*
 * leaf_pair.h - a leaf that becomes too full or too empty, and the leaf beside it, without readers.
 *
 * The two leaves share their slots evenly, or become one, or three; only the node above them
 * changes besides. Of writes at random into a small tree one in four is like this. layout.h would
 * produce the same, in twice as many instructions, since it does not know beforehand that two
 * leaves and their parent are all that changes.
 */
#ifndef MT_LEAF_PAIR_H
#define MT_LEAF_PAIR_H

#include "layout.h"

/*
 * struct mt_leaf_pair - the plan.
 * @s:     the two leaves, as the lowest level of a layout, and what becomes of them.
 * @items: what goes into them; @own: which of their slots is the range written then.
 * @at:    the slot of the first of them in the parent, which is the finger's node above the leaf.
 * @min:   the first index of both together; s.last is the last.
 */
struct mt_leaf_pair {
	struct mt_layout_level s;
	struct mt_items items;
	unsigned int own;
	unsigned int at;
	unsigned long min;
};

/*
 * leaf_pair_plan - plan a write for which leaf_plan() returned WRITE_LAYOUT and p->beside is 0.
 * Returns false if there may be readers or the tree tracks gaps, if the leaf has no neighbour below
 * its parent, if a run at the end of the tree leaves full leaves behind, or if the parent would
 * become too full or too empty. Changes nothing but *@g. Lock held.
 */
bool leaf_pair_plan(struct mt_leaf_pair *g, struct maple_tree *mt, const struct mt_leaf_plan *p);

/* leaf_pair_blocks - how many blocks leaf_pair_write() needs: at most as many as a layout would. */
static inline unsigned int leaf_pair_blocks(const struct mt_leaf_pair *g)
{
	return g->s.nodes > 2;
}

/*
 * leaf_pair_write - carry the plan out, with blocks of @reserve. Afterwards the tree's finger leads
 * to the range written. Lock held; the tree is unchanged since the plan was made.
 */
void leaf_pair_write(const struct mt_leaf_pair *g, struct maple_tree *mt,
		     struct pool_list *reserve);

#endif
