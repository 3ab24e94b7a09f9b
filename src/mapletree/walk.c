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

void *walk_here(struct ma_state *mas)
{
	struct mt_node *leaf = enode_node(mas->node);

	mas->index = slot_first(leaf, mas->offset, mas->min);
	mas->last = slot_last(leaf, mas->offset, mas->end, mas->max);
	return slot_load(leaf, KIND_LEAF, mas->offset);
}

void *walk_to(struct ma_state *mas, unsigned long index)
{
	struct maple_enode *enode = root_load(mas->tree);
	unsigned long min = 0, max = ULONG_MAX;
	unsigned int offset, end;

	if (!root_is_node(enode))
		return walk_rootless(mas, enode, index);
	for (;;) {
		struct mt_node *node = enode_node(enode);
		enum node_kind kind = enode_kind(enode);

		offset = node_search(node, kind, index);
		end = node_end(node, kind);
		if (kind == KIND_LEAF)
			break;
		enode = slot_child(node, kind, offset);
		max = slot_last(node, offset, end, max);
		min = slot_first(node, offset, min);
	}
	mas->node = enode;
	mas->min = min;
	mas->max = max;
	mas->offset = (unsigned char)offset;
	mas->end = (unsigned char)end;
	mas->status = ma_active;
	return walk_here(mas);
}

void *walk_up(struct ma_state *mas)
{
	if (mas->offset == mas->end)
		return walk_to(mas, mas->max + 1);
	mas->offset++;
	return walk_here(mas);
}

void *walk_down(struct ma_state *mas)
{
	if (mas->offset == 0)
		return walk_to(mas, mas->min - 1);
	mas->offset--;
	return walk_here(mas);
}
