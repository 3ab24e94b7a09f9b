/* SPDX-License-Identifier: MIT */
/*
 * root_leaf.h - the first entry of an empty tree, and the last one that goes: part of write.c.
 *
 * The first one brings a leaf that is the root, the last one leaves a gap, which needs no node.
 * layout.h would do the same, in several times as many instructions, of which a small map has few.
 */
#ifndef MT_ROOT_LEAF_H
#define MT_ROOT_LEAF_H

#include "dead.h"
#include "layout.h"
#include "leaf_slots.h"
#include "publish.h"
#include "retire.h"

/*
 * root_leaf_comes - whether the store of @entry over [@first, @last] makes the first leaf of @mt,
 * which has no nodes. A plain entry at 0 alone is in the root word. Lock held.
 */
static inline bool root_leaf_comes(const struct maple_tree *mt, unsigned long last,
				   const void *entry)
{
	return !mt->ma_root && entry && !tree_is_counted(mt) && (last || !entry_fits_root(entry));
}

#ifndef NDEBUG
/* Whether a layout would make the same leaf, of @slots slots. */
static inline bool root_leaf_agrees(struct maple_tree *mt, unsigned long first, unsigned long last,
				    void *entry, unsigned int slots)
{
	struct mt_layout l;

	layout_plan_span(&l, mt, first, last, entry, 0);
	return l.kind == WRITE_ROOT && l.levels == 1 && l.level[0].nodes == 1 &&
	       l.level[0].total == slots && l.own == (first > 0) && l.blocks == 1;
}

/* Whether a layout of @p would leave no node. */
static inline bool no_leaf_agrees(struct maple_tree *mt, const struct mt_leaf_plan *p,
				  unsigned int blocks)
{
	struct mt_layout l;

	layout_plan(&l, mt, p);
	return l.kind == WRITE_VALUE && !l.value && l.blocks == blocks;
}
#endif

/* root_leaf_make - make it, with a block of @reserve. The finger leads to the entry. Lock held. */
static inline void root_leaf_make(struct maple_tree *mt, unsigned long first, unsigned long last,
				  void *entry, struct pool_list *reserve)
{
	struct mt_node *leaf = pool_take(reserve);
	unsigned int at = first > 0, end = at + (last != ULONG_MAX);

	WORK(NODE_BUILT);
	assert(root_leaf_agrees(mt, first, last, entry, end + 1));
	leaf->wide.slot[0] = NULL;
	slots_pad(leaf, 0, WIDE_PIVOTS);
	if (at)
		leaf->pivot[0] = first - 1;
	leaf->pivot[at] = last; /* as padded, where it is the end of all */
	leaf->wide.slot[at] = entry;
	node_set_end(leaf, KIND_LEAF, end);
	assert(node_is_valid(leaf, KIND_LEAF));
	mt->ma_finger.step[0] = step_make(leaf, at);
	publish_new_height(mt, enode_make(leaf, KIND_LEAF), 1);
}

/* root_leaf_goes - whether nothing but a gap is left after @p, a WRITE_LAYOUT. Lock held. */
static inline bool root_leaf_goes(const struct maple_tree *mt, const struct mt_leaf_plan *p)
{
	return !p->entry && !p->new_end && mt->ma_finger.height == 1;
}

/* root_leaf_blocks - how many blocks root_leaf_drop() needs. */
static inline unsigned int root_leaf_blocks(const struct maple_tree *mt)
{
	return mt_in_rcu(mt) ? retire_batches_needed(mt, 1) : 0;
}

/* root_leaf_drop - carry @p out, which leaves @mt empty. Lock held. */
static inline void root_leaf_drop(struct maple_tree *mt, const struct mt_leaf_plan *p,
				  struct pool_list *reserve)
{
	struct maple_enode *leaf = enode_make(p->leaf, KIND_LEAF);

	assert(no_leaf_agrees(mt, p, root_leaf_blocks(mt)));
	if (mt_in_rcu(mt))
		dead_mark_below(mt, leaf); /* unless it stays in another tree */
	publish_root(mt, NULL, 0);
	retire_subtree(mt, leaf, reserve); /* and what it counts */
	retire_hand_over(mt); /* an empty tree keeps no batch */
}

#endif
