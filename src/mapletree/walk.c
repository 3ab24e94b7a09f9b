/* SPDX-License-Identifier: MIT */
/*
 * walk.c - move a cursor through the leaves.
 */
#include "walk.h"

static void *walk_rootless(struct ma_state *mas, void *entry, unsigned long index)
{
	mas->node = NULL;
	if (entry && index == 0) {
		mas->status = ma_root;
		mas->index = mas->last = 0;
		return entry;
	}
	mas->status = ma_none;
	mas->index = entry ? 1 : 0;
	mas->last = ULONG_MAX;
	return NULL;
}

/* Reads the range at @offset of the cursor's leaf. False if the leaf is not what it was. */
static bool read_range(struct ma_state *mas, unsigned int offset, void **entry)
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
	return true;
}

/* Puts the cursor on the range of its leaf that holds @index, which the leaf covers. */
static void *search_leaf(struct ma_state *mas, unsigned long index)
{
	struct mt_node *leaf = enode_node(mas->node);
	void *entry;

	do {
		mas->version = leaf_version(leaf);
	} while (!read_range(mas, node_search(leaf, KIND_LEAF, index), &entry) ||
		 index < mas->index || index > mas->last);
	mas->end = (unsigned char)(mas->version & META_END_MASK);
	mas->status = ma_active;
	return entry;
}

void *walk_to(struct ma_state *mas, unsigned long index)
{
	struct maple_enode *enode = root_load(mas->tree);

	if (!root_is_node(enode))
		return walk_rootless(mas, enode, index);
	mas->min = 0;
	mas->max = ULONG_MAX;
	while (enode_kind(enode) != KIND_LEAF) {
		struct mt_node *node = enode_node(enode);
		enum node_kind kind = enode_kind(enode);
		unsigned int offset = node_search(node, kind, index);

		enode = slot_child(node, kind, offset);
		mas->min = slot_first(node, offset, mas->min);
		mas->max = slot_last(node, kind, offset, mas->max);
	}
	mas->node = enode;
	return search_leaf(mas, index);
}

void *walk_here(struct ma_state *mas)
{
	void *entry;

	return read_range(mas, mas->offset, &entry) ? entry : walk_to(mas, mas->index);
}

void *walk_up(struct ma_state *mas)
{
	unsigned long next = mas->last + 1;
	void *entry;

	if (mas->last < mas->max && read_range(mas, mas->offset + 1u, &entry))
		return entry;
	return walk_to(mas, next);
}

void *walk_down(struct ma_state *mas)
{
	unsigned long next = mas->index - 1;
	void *entry;

	if (mas->offset && read_range(mas, mas->offset - 1u, &entry))
		return entry;
	return walk_to(mas, next);
}
