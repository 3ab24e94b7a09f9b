/* SPDX-License-Identifier: MIT */
/*
 * spot.h - the ranges of a tree, one after the other, as a writer reads them: beginning in the leaf
 * that the tree's finger leads to, so that the write that follows need not walk again.
 *
 * Lock held; the tree must not change as long as a spot is used.
 */
#ifndef MT_SPOT_H
#define MT_SPOT_H

#include "finger.h"

/*
 * struct mt_spot - a range or gap of @mt, [@first, @last].
 * @way: leads to it: the tree's finger, or @own once the finger's leaf was left.
 * @step: its slot; 0 in a tree without nodes.
 */
struct mt_spot {
	struct maple_tree *mt;
	unsigned long first;
	unsigned long last;
	void *entry;
	const struct mt_finger *way;
	unsigned long step;
	struct mt_finger own;
};

/* The range of the root word that holds @index. */
static inline void spot_in_root(struct mt_spot *spot, unsigned long index)
{
	spot->entry = index ? NULL : spot->mt->ma_root;
	spot->first = index && spot->mt->ma_root ? 1 : 0;
	spot->last = spot->entry ? 0 : ULONG_MAX;
}

static inline void spot_in_leaf(struct mt_spot *spot)
{
	const struct mt_node *leaf = step_node(spot->step);
	unsigned int at = step_offset(spot->step);

	spot->entry = leaf->wide.slot[at];
	spot->first = slot_first(leaf, at, spot->way->min);
	spot->last = slot_last(leaf, KIND_LEAF, at, spot->way->max);
}

/* spot_at - the range that holds @index; the tree's finger leads to its leaf then. */
static inline void spot_at(struct mt_spot *spot, struct maple_tree *mt, unsigned long index)
{
	spot->mt = mt;
	spot->way = &mt->ma_finger;
	spot->step = finger_to(mt, index);
	if (spot->step)
		spot_in_leaf(spot);
	else
		spot_in_root(spot, index);
}

/* spot_up - go to the range above, which must exist. */
static inline void spot_up(struct mt_spot *spot)
{
	assert(spot->last != ULONG_MAX);
	if (!spot->step) {
		spot_in_root(spot, spot->last + 1);
		return;
	}
	if (spot->last != spot->way->max) {
		spot->step++;
	} else {
		if (spot->way != &spot->own)
			finger_copy(&spot->own, spot->way);
		finger_move_up(&spot->own, inner_kind(spot->mt));
		spot->way = &spot->own;
		spot->step = spot->own.step[0];
	}
	spot_in_leaf(spot);
}

/* Where the range directly below another one begins, and its entry. */
struct mt_below {
	unsigned long first;
	void *entry;
};

/* The same, if it is in the leaf before. */
static __attribute__((noinline, unused)) struct mt_below spot_below_leaf(const struct mt_spot *spot)
{
	struct mt_finger way;
	const struct mt_node *leaf;
	unsigned int at;

	finger_copy(&way, spot->way);
	finger_move_down(&way, inner_kind(spot->mt));
	leaf = step_node(way.step[0]);
	at = step_offset(way.step[0]);
	return (struct mt_below){ slot_first(leaf, at, way.min), leaf->wide.slot[at] };
}

/* spot_below - the range directly below, which must exist. */
static inline struct mt_below spot_below(const struct mt_spot *spot)
{
	const struct mt_node *leaf = step_node(spot->step);
	unsigned int at = step_offset(spot->step);

	assert(spot->first != 0);
	if (!spot->step)
		return (struct mt_below){ 0, spot->mt->ma_root };
	if (!at)
		return spot_below_leaf(spot);
	return (struct mt_below){ slot_first(leaf, at - 1, spot->way->min),
				  leaf->wide.slot[at - 1] };
}

/*
 * spot_forward - go up to the range that holds @index, which is not below this one: by a search in
 * the leaf, or by a walk if it is in another one.
 */
static inline void spot_forward(struct mt_spot *spot, unsigned long index)
{
	assert(index >= spot->first);
	if (index <= spot->last)
		return;
	if (!spot->step) {
		spot_in_root(spot, index);
		return;
	}
	if (index <= spot->way->max) {
		spot->step = leaf_find(spot->step, index);
	} else {
		spot->step = finger_descend(spot->mt, &spot->own, index);
		spot->way = &spot->own;
	}
	spot_in_leaf(spot);
}

/* spot_same - whether entries are equal, and their ranges may be one: see mt_same_fn. */
static inline bool spot_same(const void *a, const void *b, mt_same_fn *same)
{
	if (!same || a == b)
		return a == b;
	return a && b && !xa_is_zero(a) && !xa_is_zero(b) && same(a, b);
}

#endif
