/* SPDX-License-Identifier: MIT */
/*
 * dup.c - copies of whole trees: the calls.
 */
#include <errno.h>

#include "copy.h"
#include "dup.h"
#include "publish.h"
#include "refs.h"
#include "trace.h"

bool dup_allowed(const struct maple_tree *mt, const struct maple_tree *new_tree)
{
	const unsigned int volatile_flags =
		MT_FLAGS_HEIGHT_MASK | MT_FLAGS_ALLOC_WRAPPED | TREE_STAMPED;

	return mtree_empty(new_tree) && mt->ma_entry_ops == new_tree->ma_entry_ops &&
	       !((mt->ma_flags ^ new_tree->ma_flags) & ~volatile_flags);
}

/* Takes the references of a tree with the root word @root. */
static void get_all(const struct mt_entry_ops *ops, void *root)
{
	unsigned int i, end;
	struct mt_node *node;

	if (!root_is_node(root)) {
		refs_get(ops, root);
		return;
	}
	node = enode_node(root);
	if (enode_kind(root) == KIND_LEAF) {
		refs_get_leaf(ops, node);
		return;
	}
	for (i = 0, end = node_end(node, enode_kind(root)); i <= end; i++)
		get_all(ops, slot_child(node, enode_kind(root), i));
}

int __mt_dup(struct maple_tree *mt, struct maple_tree *new_tree, gfp_t gfp)
{
	void *root = mt->ma_root;

	if (!dup_allowed(mt, new_tree))
		return -EINVAL;
	if (root_is_node(root)) {
		root = gfp & __GFP_DIRECT_RECLAIM
			       ? copy_tree(new_tree->ma_alloc, root, tree_is_shared(mt)) : NULL;
		if (!root)
			return -ENOMEM;
	}
	TRACE_WHOLE(mt, TRACE_DUP);
	if (tree_is_counted(mt))
		get_all(mt->ma_entry_ops, root);
	tree_changes(new_tree);
	publish_root(new_tree, root, mt_height(mt));
	assert(mtree_empty(new_tree) == mtree_empty(mt));
	return 0;
}

int mtree_dup(struct maple_tree *mt, struct maple_tree *new_tree, gfp_t gfp)
{
	int error;

	if (mt == new_tree)
		return -EINVAL;
	dup_lock(mt, new_tree);
	error = __mt_dup(mt, new_tree, gfp);
	dup_unlock(mt, new_tree);
	return error;
}
