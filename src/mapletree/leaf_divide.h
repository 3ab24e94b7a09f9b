/* SPDX-License-Identifier: MIT */
/*
 * leaf_divide.h - a leaf that becomes too full is divided alone, as beside readers and in small
 * trees: layout_divides_alone(). So is a leaf that is the root, above which a node comes, and one to
 * which a run is appended.
 *
 * Half of its slots go to a new leaf, what is written goes into one of the two, and the node above
 * gets one more slot. A run leaves a full leaf behind, and begins a new one. layout.h would produce
 * the same, in several times as many instructions.
 */
#ifndef MT_LEAF_DIVIDE_H
#define MT_LEAF_DIVIDE_H

#include "layout.h"

/*
 * leaf_is_appended - whether @p writes at the end of the tree, so that a run that goes on leaves a
 * full leaf behind; leaf_is_run - or at its beginning.
 */
static inline bool leaf_is_appended(const struct mt_finger *finger, const struct mt_leaf_plan *p)
{
	return p->high == p->end && finger->max == ULONG_MAX;
}

static inline bool leaf_is_run(const struct mt_finger *finger, const struct mt_leaf_plan *p)
{
	return leaf_is_appended(finger, p) || (!p->low && !finger->min);
}

/*
 * leaf_divides - whether the leaf of @p, for which leaf_plan() returned WRITE_LAYOUT, becomes too
 * full and is divided alone.
 */
static ALWAYS_INLINE bool leaf_divides(const struct maple_tree *mt, const struct mt_leaf_plan *p)
{
	const struct mt_finger *finger = &mt->ma_finger;

	return !p->beside && p->new_end >= WIDE_SLOTS &&
	       (finger->height == 1 ||
		layout_divides_alone(finger, inner_kind(mt), mt_in_rcu(mt)) ||
		leaf_is_appended(finger, p));
}

/*
 * leaf_divide_plan - how many of the resulting slots come to the first of the two leaves if @p, with
 * leaf_divides(), is done so. Returns 0 if it prepends to the tree, which leaves a full leaf behind,
 * or if the node above has no room. Changes nothing. Lock held.
 */
unsigned int leaf_divide_plan(const struct maple_tree *mt, const struct mt_leaf_plan *p);

/* leaf_divide_blocks - how many blocks leaf_divide() needs: as many as a layout would. */
unsigned int leaf_divide_blocks(const struct maple_tree *mt);

/*
 * leaf_divide - carry @p out, for which leaf_divide_plan() has returned @cut, with blocks of
 * @reserve. Afterwards the tree's finger leads to the range written. Lock held; the tree is
 * unchanged since then.
 */
void leaf_divide(struct maple_tree *mt, const struct mt_leaf_plan *p, unsigned int cut,
		 struct pool_list *reserve);

#define GAP_UNKNOWN ULONG_MAX

#endif
