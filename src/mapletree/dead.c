/* SPDX-License-Identifier: MIT */
/* dead.c - mark the leaves that a write of many nodes removes from the tree. */
#include "dead.h"

static void mark_below(struct maple_enode *enode, bool shared);

static void mark_children(struct mt_node *node, enum node_kind kind, unsigned int to, bool shared)
{
	unsigned int i;

	for (i = 0; i < to; i++) /* their lines are not in the cache if there are many */
		__builtin_prefetch(&enode_node(slot_child(node, kind, i))->wide.meta, 1);
	for (i = 0; i < to; i++)
		mark_below(slot_child(node, kind, i), shared);
}

static void mark_below(struct maple_enode *enode, bool shared)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);

	if (kind != KIND_LEAF)
		mark_children(node, kind, node_end(node, kind) + 1, shared);
	else if (shared)
		dead_mark_shared(node);
	else
		dead_mark(node);
}

void dead_mark_subtree(const struct maple_tree *mt, struct maple_enode *enode)
{
	if (!tree_is_stamped(mt))
		mark_below(enode, tree_is_shared(mt));
}
