/* SPDX-License-Identifier: MIT */
/* dead.c - mark the leaves that a write of many nodes removes from the tree. */
#include "dead.h"

static void mark_children(struct mt_node *node, enum node_kind kind, unsigned int from,
			  unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++) /* their lines are not in the cache if there are many */
		__builtin_prefetch(&enode_node(slot_child(node, kind, i))->wide.meta, 1);
	for (i = from; i < to; i++)
		dead_mark_below(slot_child(node, kind, i));
}

void dead_mark_below(struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);

	if (kind == KIND_LEAF)
		dead_mark(node);
	else
		mark_children(node, kind, 0, node_end(node, kind) + 1);
}
