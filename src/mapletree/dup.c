/* SPDX-License-Identifier: MIT */
/*
 * dup.c - copies of whole trees: the calls.
 */
#include <errno.h>

#include "copy.h"
#include "dup.h"
#include "publish.h"

bool dup_allowed(const struct maple_tree *mt, const struct maple_tree *new_tree)
{
	const unsigned int volatile_flags =
		MT_FLAGS_HEIGHT_MASK | MT_FLAGS_ALLOC_WRAPPED | TREE_STAMPED;

	return mtree_empty(new_tree) && !((mt->ma_flags ^ new_tree->ma_flags) & ~volatile_flags);
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
