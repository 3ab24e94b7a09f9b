/* SPDX-License-Identifier: MIT */
/*
 * change_leaves.h - the writes that change one leaf or two and the node above them, without a layout
 * by levels: part of write.c.
 */
#ifndef MT_CHANGE_LEAVES_H
#define MT_CHANGE_LEAVES_H

#include "leaf_divide.h"
#include "leaf_pair.h"
#include "root_leaf.h"
#include "shared_gap.h"
#include "trace.h"

/* Brings @reserve to @blocks, allocating if it @may. Returns whether it is enough. */
static inline bool enough(const struct maple_tree *mt, struct pool_list *reserve,
			  unsigned int blocks, bool may)
{
	return reserve->count >= blocks || (may && retire_reserve(mt, reserve, blocks));
}

/* What a write that changes leaves came to: done, not done for want of memory, or more changes. */
enum leaves_changed { LEAVES_DONE, LEAVES_NO_MEMORY, LEAVES_TOO_FEW };

/* The first entry of a tree for which root_leaf_comes(). */
static enum leaves_changed first_leaf(struct maple_tree *mt, unsigned long first,
				      unsigned long last, void *entry, struct pool_list *reserve,
				      bool may)
{
	if (!enough(mt, reserve, 1, may))
		return LEAVES_NO_MEMORY;
	TRACE_WHOLE(mt, TRACE_LAYOUT);
	root_leaf_make(mt, first, last, entry, reserve);
	return LEAVES_DONE;
}

/* A write after which two leaves share their slots in another way. */
static enum leaves_changed change_pair(struct maple_tree *mt, const struct mt_leaf_pair *g,
				       struct pool_list *reserve, bool may, unsigned int *blocks)
{
	*blocks = leaf_pair_blocks(g, mt);
	if (!enough(mt, reserve, *blocks, may))
		return LEAVES_NO_MEMORY;
	TRACE_OP(mt, g->first, g->last, TRACE_PAIR);
	leaf_pair_write(g, mt, reserve);
	return LEAVES_DONE;
}

/*
 * Carries out @p, for which leaf_plan() returned WRITE_LAYOUT, if that changes one leaf or two and
 * the node above them, with blocks of @reserve; *@blocks is how many it takes.
 */
static __attribute__((noinline)) enum leaves_changed
change_leaves(struct maple_tree *mt, const struct mt_leaf_plan *p, struct pool_list *reserve,
	      bool may, unsigned int *blocks)
{
	unsigned int cut = leaf_divides(mt, p) ? leaf_divide_plan(mt, p) : 0;
	struct mt_shared_gap gap;
	struct mt_leaf_pair pair;

	if (root_leaf_goes(mt, p)) {
		*blocks = root_leaf_blocks(mt);
		if (!enough(mt, reserve, *blocks, may))
			return LEAVES_NO_MEMORY;
		TRACE_OP(mt, 0ul, ULONG_MAX, TRACE_LAYOUT);
		root_leaf_drop(mt, p, reserve);
		return LEAVES_DONE;
	}
	if (cut) {
		*blocks = leaf_divide_blocks(mt);
		if (!enough(mt, reserve, *blocks, may))
			return LEAVES_NO_MEMORY;
		TRACE_OP(mt, p->first, p->last, TRACE_PAIR);
		leaf_divide(mt, p, cut, reserve);
		return LEAVES_DONE;
	}
	if (p->beside && shared_gap_plan(&gap, mt, p)) {
		*blocks = shared_gap_blocks(mt);
		if (!enough(mt, reserve, *blocks, may))
			return LEAVES_NO_MEMORY;
		TRACE_OP(mt, gap.first, gap.last, TRACE_BORDER);
		shared_gap_write(&gap, mt, reserve);
		return LEAVES_DONE;
	}
	if (p->beside ? leaf_pair_plan_border(&pair, mt, p) : leaf_pair_plan(&pair, mt, p))
		return change_pair(mt, &pair, reserve, may, blocks);
	return LEAVES_TOO_FEW;
}

#endif
