/* SPDX-License-Identifier: MIT */
/*
 * dead.c - mark the leaves that a write of many nodes takes out of the tree.
 */
#include "dead.h"

static void mark_children(struct mt_node *node, enum node_kind kind, unsigned int from,
			  unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++) /* whose lines are not in the cache, if they are many */
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

/* The children of the nodes at @step between the two sides of the path. */
static void mark_between(struct mt_path *path, unsigned int step)
{
	const struct mt_step *left = path_left(path, step);
	const struct mt_step *right = path_right(path, step);

	if (step <= path->parted) {
		mark_children(left->node, left->kind, left->offset + 1u, right->offset);
		return;
	}
	mark_children(left->node, left->kind, left->offset + 1u, left->end + 1u);
	mark_children(right->node, right->kind, 0, right->offset);
}

void dead_mark_replaced(const struct maple_tree *mt, const struct mt_plan *plan,
			struct mt_path *path)
{
	unsigned int replaced = plan_replaced_levels(plan, path), level;

	if (!replaced || !mt_in_rcu(mt))
		return;
	dead_mark(path_left(path, path->depth - 1)->node);
	dead_mark(path_right(path, path->depth - 1)->node);
	if (plan->level[0].side != SIBLING_NONE)
		dead_mark(enode_node(plan->level[0].sibling));
	for (level = 1; level < replaced; level++)
		mark_between(path, path->depth - 1 - level);
}
