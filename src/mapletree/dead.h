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
 * Of the trees that share a leaf, one at most has no TREE_STAMPED: the first of them, which marks
 * the leaf when it leaves that tree. All others are snapshots. They mark nothing that they share,
 * and their cursors do not look at the mark but compare the tree's stamp.
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

/*
 * dead_mark_shared - the same for a leaf that stays in another tree, whose writer may be counting
 * references in that word.
 */
static inline void dead_mark_shared(struct mt_node *leaf)
{
	__atomic_fetch_or(&leaf->wide.meta, META_DEAD, __ATOMIC_RELEASE);
}

/* dead_clear - @leaf is marked, since it has left another tree, and is now @mt's own. Lock held. */
static inline void dead_clear(struct mt_node *leaf)
{
	__atomic_fetch_and(&leaf->wide.meta, ~META_DEAD, __ATOMIC_RELAXED);
}

/* dead_mark_subtree - mark all leaves of a subtree that @mt is about to drop. Lock held. */
void dead_mark_subtree(const struct maple_tree *mt, struct maple_enode *enode);

/* dead_mark_below - the same, of which most are a leaf of an unshared tree. */
static inline void dead_mark_below(const struct maple_tree *mt, struct maple_enode *enode)
{
	if (enode_kind(enode) == KIND_LEAF && !tree_is_shared(mt))
		dead_mark(enode_node(enode));
	else
		dead_mark_subtree(mt, enode);
}

#endif
