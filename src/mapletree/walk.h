/* SPDX-License-Identifier: MIT */
/*
 * walk.h - a reader's way down, for a single index and for cursors.
 *
 * Lock or read side. A reader never goes upwards: when it leaves a leaf it walks again from the
 * root, so each leaf it sees is a consistent state of that part of the tree, never older than
 * the beginning of its read-side section. A cursor remembers the version of its leaf and walks
 * again when the leaf has changed under it.
 */
#ifndef MT_WALK_H
#define MT_WALK_H

#include "search.h"

/* walk_leaf - the entry at @index in a leaf. */
static inline void *walk_leaf(struct mt_node *leaf, unsigned long index)
{
	unsigned long version;
	void *entry;

	do {
		version = leaf_version(leaf);
		entry = slot_load(leaf, KIND_LEAF, node_search(leaf, KIND_LEAF, index));
	} while (__builtin_expect(!leaf_unchanged(leaf, version), 0));
	return entry;
}

/* walk_load - the entry at @index, as the advanced API shows it. */
static inline void *walk_load(const struct maple_tree *mt, unsigned long index)
{
	struct maple_enode *enode = root_load(mt);
	struct mt_node *node;
	enum node_kind kind;

	if (!root_is_node(enode))
		return index ? NULL : enode;
	for (;;) {
		node = enode_node(enode);
		kind = enode_kind(enode);
		if (kind == KIND_LEAF)
			return walk_leaf(node, index);
		enode = slot_child(node, kind, node_search(node, kind, index));
	}
}

/*
 * walk_to - put the cursor on the range that holds @index: index and last become its bounds,
 * status active (root or none where the tree has no nodes). Returns the entry there.
 */
void *walk_to(struct ma_state *mas, unsigned long index);

/*
 * walk_here - the entry of an active cursor's range, its bounds restored to index and last.
 * walk_up, walk_down - from there to the next (previous) range, which exists. All three may find
 * that the tree has no nodes any more: mas->node is NULL then.
 */
void *walk_here(struct ma_state *mas);
void *walk_up(struct ma_state *mas);
void *walk_down(struct ma_state *mas);

#endif
