/* SPDX-License-Identifier: MIT */
/*
 * retire.h - nodes that a write has replaced: freed at once, or in RCU mode after a grace period.
 *
 * In RCU mode nodes are gathered in a batch that is attached to the tree; a full batch is passed to
 * call_rcu() as one. So one callback frees about 26 nodes, and up to that many wait for the next
 * write or for mtree_destroy(); a tree without nodes holds no batch, nor does one between two writes
 * that counts its entries (retire_gather()). Readers may still be in a retired node: nothing is
 * written to it until the grace period has passed, so they see a consistent past there.
 */
#ifndef MT_RETIRE_H
#define MT_RETIRE_H

#include "node.h"
#include "polled.h"
#include "pool.h"

/*
 * retire_batches_needed - how many more blocks @mt needs to retire @count nodes or subtrees; lock
 * held.
 */
unsigned int retire_batches_needed(const struct maple_tree *mt, unsigned int count);

/* retire_replace_blocks - how many blocks it takes to replace one node by a copy. */
static inline unsigned int retire_replace_blocks(const struct maple_tree *mt)
{
	return 1 + retire_batches_needed(mt, 1);
}

/*
 * retire_reserve - pool_grow() of @reserve to @count blocks for writes of @mt; also obtains what
 * else is needed so that handing over batches cannot fail. Returns false, with @reserve unchanged,
 * if either is not available.
 */
bool retire_reserve(const struct maple_tree *mt, struct pool_list *reserve, unsigned int count);

/* retire_hand_over - start the grace period of all that waits on the tree. Lock held. */
void retire_hand_over(struct maple_tree *mt);

/*
 * retire_gather - the same, but it may begin only when that of another tree's batch, or an earlier
 * one of this tree, is over: for writes that would otherwise each pay for a call_rcu(). Lock held.
 */
void retire_gather(struct maple_tree *mt);

/* How many nodes may wait for readers before writers wait; 0: any number. */
extern unsigned long retire_limit __attribute__((visibility("hidden")));

/* retire_limited - whether there is a limit. */
static inline bool retire_limited(void)
{
	return __atomic_load_n(&retire_limit, __ATOMIC_RELAXED);
}

/* retire_polls - whether it is time for a writer of @mt to free what polled trees have retired. */
static inline bool retire_polls(const struct maple_tree *mt)
{
	return UNLIKELY(mt->ma_rcu == &rcu_polled) && poll_is_due();
}

/*
 * retire_node - retire one node that was replaced. If a batch is needed, it comes from @reserve.
 * Lock held.
 */
void retire_node(struct maple_tree *mt, struct mt_node *node, struct pool_list *reserve);

/* retire_subtree - the same for a node with all below it. */
void retire_subtree(struct maple_tree *mt, struct maple_enode *enode, struct pool_list *reserve);

/*
 * retire_entry - drop a reference to @entry, which the tree with TREE_COUNTED has given up, at once
 * or in RCU mode after a grace period.
 */
void retire_entry(struct maple_tree *mt, void *entry, struct pool_list *reserve);

/*
 * retire_whole - retire all that the former root word @root held, which new readers can no longer
 * reach, and hand over what still waits. Lock held; in RCU mode not inside a read-side section.
 */
void retire_whole(struct maple_tree *mt, void *root);

/* retire_free_subtree - free a subtree that nobody can reach; the references to entries stay. */
void retire_free_subtree(const struct mt_allocator *alloc, struct maple_enode *enode);

#endif
