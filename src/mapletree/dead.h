/* SPDX-License-Identifier: MIT */
/*
 * dead.h - mark leaves that are removed from the tree.
 *
 * In RCU mode a leaf that is replaced or dropped stays readable until a grace period has passed. A
 * cursor may be standing on it, or reach it through a node above that has been removed too. So the
 * writer sets META_DEAD in each such leaf before the store that makes its change visible:
 *
 *   A leaf that is not marked is in the tree.
 *
 * A leaf whose bounds change is always replaced, so a leaf's bounds agree with every node that was
 * ever its parent. A cursor may therefore go to the neighbour of its leaf through a parent of any
 * age, as long as the neighbour is not marked.
 */
#ifndef MT_DEAD_H
#define MT_DEAD_H

#include "node.h"

/* dead_mark - mark @leaf, which is published and about to be removed from the tree. Lock held. */
static inline void dead_mark(struct mt_node *leaf)
{
	__atomic_store_n(&leaf->wide.meta, leaf->wide.meta | META_DEAD, __ATOMIC_RELAXED);
}

/* dead_mark_below - the same for all leaves of a subtree. */
void dead_mark_below(struct maple_enode *enode);

#endif
