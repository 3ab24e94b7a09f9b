/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h - several ranges of one leaf stored at once.
 *
 * Only for a leaf that remains one, neither too full nor too empty, in a tree that shares no nodes
 * and counts no references. Beside readers a changed copy replaces it, so they see all of the
 * ranges or none.
 */
#ifndef MT_REWRITE_H
#define MT_REWRITE_H

#include "content.h"
#include "finger.h"
#include "range_list.h"

/* rewrite_allowed - whether the tree is such a one. Lock held. */
static inline bool rewrite_allowed(const struct maple_tree *mt)
{
	return !tree_is_shared(mt) && !tree_is_counted(mt);
}

/*
 * rewrite_plan - compute in @content what the leaf of the tree's finger holds when the ranges from
 * *@at on are stored, those that end in this leaf; the first of them begins at the slot of @step.
 * Moves *@at behind them. Returns whether the leaf remains one. Changes nothing.
 */
bool rewrite_plan(struct mt_content *content, const struct maple_tree *mt, unsigned long step,
		  struct mt_range_at *at);

/* rewrite_blocks - how many blocks it takes to do so with @leaves leaves. */
unsigned int rewrite_blocks(const struct maple_tree *mt, unsigned int leaves);

/*
 * rewrite_leaf - give the leaf of the tree's finger the @content that rewrite_plan() has computed,
 * with blocks of @reserve. Lock held.
 */
void rewrite_leaf(struct maple_tree *mt, const struct mt_content *content,
		  struct pool_list *reserve);

#endif
