/* SPDX-License-Identifier: MIT */
/*
 * walk.h - move a cursor.
 *
 * Lock or read side. A reader never goes upwards: when it leaves a leaf it walks again from the
 * root, so each leaf it sees is a consistent state of that part of the tree, never older than
 * the beginning of its read-side section. A cursor remembers the version of its leaf and walks
 * again when the leaf has changed under it.
 */
#ifndef MT_WALK_H
#define MT_WALK_H

#include "node.h"

/*
 * walk_to - put the cursor on the range that holds @index: index and last become its bounds,
 * status active (root or none where the tree has no nodes). Returns the entry there.
 */
void *walk_to(struct ma_state *mas, unsigned long index);

/*
 * walk_read_range - read the range at @offset of the cursor's leaf: index, last, *@entry. False if
 * the leaf is not what the cursor's version says, or has no such range any more.
 */
static inline bool walk_read_range(struct ma_state *mas, unsigned int offset, void **entry)
{
	struct mt_node *leaf = enode_node(mas->node);
	unsigned long below = offset ? pivot_load(leaf, offset - 1) : mas->min - 1;
	unsigned long last = slot_last(leaf, KIND_LEAF, offset, mas->max);

	*entry = slot_load(leaf, KIND_LEAF, offset);
	if (!leaf_unchanged(leaf, mas->version) || (offset && below >= mas->max))
		return false;
	mas->offset = (unsigned char)offset;
	mas->index = below + 1;
	mas->last = last;
	mas->status = ma_active;
	return true;
}

/*
 * walk_here - the range of the leaf that the cursor stands on, read again; the range that holds
 * index, if the leaf has changed.
 * walk_up, walk_down - to the range that holds last + 1 (index - 1), which exists.
 * All three set the status to active, or find that the tree has no nodes any more: mas->node is
 * NULL then.
 */
void *walk_here(struct ma_state *mas);
void *walk_up(struct ma_state *mas);
void *walk_down(struct ma_state *mas);

#endif
