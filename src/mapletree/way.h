/* SPDX-License-Identifier: MIT */
/*
 * way.h - the way down of the last write, remembered on the tree.
 *
 * Most writes come near the one before, and most change one leaf alone. So a writer leaves its
 * way down on the tree (a "finger", in the literature on search trees), and the next one that
 * falls into the same leaf need not walk. The lock covers it all; readers never look at it.
 *   min > max, or height == mt_height(), step[0] is the leaf, which covers [min, max], and
 *   step[i] is the parent of step[i - 1]'s node, for every level i < height that is remembered
 * Whatever replaces or moves nodes forgets the way (way_forget); changes inside a leaf keep it.
 */
#ifndef MT_WAY_H
#define MT_WAY_H

#include "node.h"

#ifdef MT_TEST_SLOTS /* tests reach trees higher than what is remembered */
#define WAY_LEVELS 3
#else
#define WAY_LEVELS MT_WAY_LEVELS
#endif

static_assert(WAY_LEVELS <= MT_WAY_LEVELS && WAY_LEVELS >= 3, "the leaf and two above it at least");

static inline unsigned long way_step(struct mt_node *node, unsigned int offset)
{
	return (unsigned long)(uintptr_t)node | offset;
}

static inline void way_forget(struct maple_tree *mt)
{
	mt->ma_way.min = 1;
	mt->ma_way.max = 0;
}

/* way_descend - the way from the root, a node, to @index; returns its step[0]. Lock held. */
unsigned long way_descend(struct maple_tree *mt, unsigned long index);

/* way_in_leaf - the step to @index in the leaf of @step, which covers it. */
unsigned long way_in_leaf(unsigned long step, unsigned long index);

static inline struct mt_node *step_node(unsigned long step)
{
	return (struct mt_node *)(uintptr_t)(step & ~(unsigned long)(NODE_BYTES - 1));
}

static inline unsigned int step_offset(unsigned long step)
{
	return (unsigned int)(step & (NODE_BYTES - 1));
}

/*
 * way_to - let the tree's way lead to @index. Returns its step[0], or 0 if the tree has no node.
 * Looks first at the slot of the last write and those beside it. The tree's own step[0] is
 * changed only with the leaf. Lock held.
 */
static inline unsigned long way_to(struct maple_tree *mt, unsigned long index)
{
	const struct mt_way *way = &mt->ma_way;
	unsigned long step = way->step[0];
	const struct mt_node *leaf = step_node(step);
	unsigned int offset = step_offset(step);

	if (__builtin_expect(index < way->min || index > way->max, 0))
		return root_is_node(mt->ma_root) ? way_descend(mt, index) : 0;
	if (!offset || leaf->pivot[offset - 1] < index) {
		if (offset == WIDE_PIVOTS || index <= leaf->pivot[offset])
			return step;
		if (offset + 1 == WIDE_PIVOTS || index <= leaf->pivot[offset + 1])
			return step + 1;
	} else if (offset == 1 || leaf->pivot[offset - 2] < index) {
		return step - 1;
	}
	return way_in_leaf(step, index);
}

#endif
