/* SPDX-License-Identifier: MIT */
/*
 * dead.h - leaves that leave the tree are marked.
 *
 * In RCU mode a leaf that is replaced or dropped stays readable until a grace period has passed,
 * and a cursor may be standing on it, or come to it by a node above that has left the tree too. So
 * the writer sets META_DEAD in each such leaf before the store that makes its change visible:
 *
 *   A leaf that is not marked is in the tree.
 *
 * And since a leaf whose bounds change is replaced, it covers what any node that ever was its
 * parent says. So a cursor may go to the leaf beside its own by a parent of any age, as long as
 * that leaf is not marked.
 */
#ifndef MT_DEAD_H
#define MT_DEAD_H

#include "node.h"

/* dead_mark - @leaf is about to leave the tree; it is published. Lock held. */
static inline void dead_mark(struct mt_node *leaf)
{
	__atomic_store_n(&leaf->wide.meta, leaf->wide.meta | META_DEAD, __ATOMIC_RELAXED);
}

/* dead_mark_below - the same for all leaves of a subtree. */
void dead_mark_below(struct maple_enode *enode);

#endif
