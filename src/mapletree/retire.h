/* SPDX-License-Identifier: MIT */
/*
 * retire.h - what a write has replaced: freed at once, or, in RCU mode, after a grace period.
 *
 * In RCU mode nodes are gathered in a batch that hangs on the tree; a full batch goes to
 * call_rcu() as one. So one callback serves about 28 nodes, and up to that many wait for the
 * next write or for mtree_destroy(). Readers may still be in a retired node: nothing is written
 * to it until the grace period has passed, so what they see there is a consistent past.
 */
#ifndef MT_RETIRE_H
#define MT_RETIRE_H

#include "node.h"
#include "pool.h"

/* retire_batches_needed - how many more blocks @mt needs to retire @count things; lock held. */
unsigned int retire_batches_needed(const struct maple_tree *mt, unsigned int count);

/* retire_node - give up one node that was replaced. A batch comes from @reserve. Lock held. */
void retire_node(struct maple_tree *mt, struct mt_node *node, struct pool_list *reserve);

/* retire_subtree - the same for a node with all below it. */
void retire_subtree(struct maple_tree *mt, struct maple_enode *enode, struct pool_list *reserve);

/* retire_hand_over - do not let what was given up wait for its batch to fill. Lock held. */
void retire_hand_over(struct maple_tree *mt);

/*
 * retire_whole - give up the tree below @root, which no new reader can reach any more, and hand
 * over what still waits. Lock held; in RCU mode not inside a read-side section.
 */
void retire_whole(struct maple_tree *mt, struct maple_enode *root);

/* retire_free_subtree - free a subtree nobody can reach. */
void retire_free_subtree(const struct mt_allocator *alloc, struct maple_enode *enode);

#endif
