/* SPDX-License-Identifier: MIT */
/*
 * share.h - nodes that belong to several trees: how many references there are to a node.
 *
 * A snapshot has the nodes of its tree, all of them: both roots refer to the same node. References
 * are counted per node and lazily, so that the time does not depend on how many nodes there are:
 *
 *   shares of a node == (root words and slots of nodes that refer to it) - 1
 *   a node is a tree's own if its shares and those of all nodes above it are 0
 *
 * What is not a tree's own never changes but for this count and the mark of dead.h. A writer first
 * replaces it by a copy (own.h), which shares the children. A reference is dropped like a node is
 * freed: in RCU mode after a grace period. So a node becomes a tree's own only when no reader of
 * another tree can be in it any more, and may be changed in place from then on.
 *
 * Only the tree whose own a node is can add a reference to it, under its lock; others that refer to
 * a shared node can add and drop references of theirs at any time. So a writer that finds its own
 * node can rely on that, and one that finds it shared may find it its own a moment later.
 *
 * A tree that was never snapshotted has no TREE_SHARED, and nobody looks at its counts.
 */
#ifndef MT_SHARE_H
#define MT_SHARE_H

#include "node.h"

#if ULONG_MAX > 0xffffffff
#define SHARES_SHIFT 32 /* in the meta word */
#else
#define SHARES_SHIFT 0
#endif

static inline unsigned long *shares_word(struct mt_node *node, enum node_kind kind)
{
#if ULONG_MAX > 0xffffffff
	return node_meta(node, kind);
#else
	return kind == KIND_GAPS ? &node->gaps.shares : &node->wide.shares;
#endif
}

/*
 * node_shares - how many references there are besides one. 0: who refers to the node is alone, and
 * what others did with it has happened before.
 */
static inline unsigned long node_shares(struct mt_node *node, enum node_kind kind)
{
	return __atomic_load_n(shares_word(node, kind), __ATOMIC_ACQUIRE) >> SHARES_SHIFT;
}

/*
 * node_share - one more refers to @node, to which the caller refers. 2^32 references would take
 * more than a tebibyte of nodes and trees.
 */
static inline void node_share(struct mt_node *node, enum node_kind kind)
{
	unsigned long before = __atomic_fetch_add(shares_word(node, kind), 1ul << SHARES_SHIFT,
						  __ATOMIC_RELAXED);

	assert(before >> SHARES_SHIFT < UINT_MAX);
	(void)before;
}

/* node_unshare - drop one reference. Returns false if it was the only one: the node is free. */
static inline bool node_unshare(struct mt_node *node, enum node_kind kind)
{
	return node_shares(node, kind) &&
	       __atomic_fetch_sub(shares_word(node, kind), 1ul << SHARES_SHIFT,
				  __ATOMIC_ACQ_REL) >> SHARES_SHIFT;
}

/*
 * shares_prefetch - ask for the counts of all children of @node. An atomic operation waits for the
 * one before it, so the children would come into the cache one after the other.
 */
static inline void shares_prefetch(struct mt_node *node, enum node_kind kind)
{
	unsigned int i, end = node_end(node, kind);

	for (i = 0; i <= end; i++) {
		struct maple_enode *child = slot_child(node, kind, i);

		__builtin_prefetch(shares_word(enode_node(child), enode_kind(child)), 1);
	}
}

/*
 * node_copy_shared - fill the block @copy with what @node holds, as a node of one reference.
 * Another tree's writer may be counting references to @node.
 */
static inline void node_copy_shared(struct mt_node *copy, struct mt_node *node, enum node_kind kind)
{
	unsigned int i, slots = kind_slots(kind);
	void **from = node_slots(node, kind), **to = node_slots(copy, kind);

	assert(copy != node);
	for (i = 0; i < slots - 1; i++)
		copy->pivot[i] = node->pivot[i];
	for (i = 0; i < slots; i++)
		to[i] = from[i];
	if (kind == KIND_GAPS)
		for (i = 0; i < slots; i++)
			copy->gaps.gap[i] = node->gaps.gap[i];
	node_set_end(copy, kind, node_end(node, kind));
}

#endif
