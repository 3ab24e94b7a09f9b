/* SPDX-License-Identifier: MIT */
/*
 * dup.c - copy a tree node by node.
 *
 * A node holds no pointer upwards and no length that depends on its place, so a copy of its
 * bytes with the children exchanged is a node of the new tree.
 */
#include <errno.h>
#include <string.h>

#include "pool.h"
#include "publish.h"
#include "retire.h"

/* Frees a copy of which only the first @children children have been copied. */
static void drop_partial(const struct mt_allocator *alloc, struct mt_node *copy,
			 enum node_kind kind, unsigned int children)
{
	while (children--)
		retire_free_subtree(alloc, slot_child(copy, kind, children));
	pool_free(alloc, copy);
}

static struct maple_enode *copy_subtree(const struct mt_allocator *alloc,
					struct maple_enode *enode)
{
	enum node_kind kind = enode_kind(enode);
	struct mt_node *copy = pool_alloc(alloc);
	unsigned int i, end;

	if (!copy)
		return NULL;
	memcpy(copy, enode_node(enode), sizeof(*copy));
	if (kind == KIND_LEAF)
		return enode_make(copy, kind);
	end = node_end(copy, kind);
	for (i = 0; i <= end; i++) {
		struct maple_enode *child = copy_subtree(alloc, slot_child(copy, kind, i));

		if (!child) {
			drop_partial(alloc, copy, kind, i);
			return NULL;
		}
		node_slots(copy, kind)[i] = child;
	}
	return enode_make(copy, kind);
}

int __mt_dup(struct maple_tree *mt, struct maple_tree *new_tree, gfp_t gfp)
{
	const unsigned int volatile_flags = MT_FLAGS_HEIGHT_MASK | MT_FLAGS_ALLOC_WRAPPED;
	void *root = mt->ma_root;

	if (!mtree_empty(new_tree) || ((mt->ma_flags ^ new_tree->ma_flags) & ~volatile_flags))
		return -EINVAL;
	if (root_is_node(root)) {
		root = gfp & __GFP_DIRECT_RECLAIM ? copy_subtree(new_tree->ma_alloc, root) : NULL;
		if (!root)
			return -ENOMEM;
	}
	publish_root(new_tree, root, mt_height(mt));
	return 0;
}

int mtree_dup(struct maple_tree *mt, struct maple_tree *new_tree, gfp_t gfp)
{
	int error;

	if (mt == new_tree)
		return -EINVAL;
	if (!mt_external_lock(mt))
		mtree_lock(mt);
	if (!mt_external_lock(new_tree))
		mtree_lock_nested(new_tree, 1);
	error = __mt_dup(mt, new_tree, gfp);
	if (!mt_external_lock(new_tree))
		mtree_unlock(new_tree);
	if (!mt_external_lock(mt))
		mtree_unlock(mt);
	return error;
}
