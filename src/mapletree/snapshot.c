/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - trees that share their nodes: the calls. How that works is said in share.h.
 */
#include <errno.h>

#include "dup.h"
#include "publish.h"
#include "refs.h"
#include "share.h"
#include "trace.h"

/* Makes @snap, which is empty, refer to the nodes of @mt. Both locks held. */
static int snapshot(struct maple_tree *mt, struct maple_tree *snap)
{
	void *root = mt->ma_root;

	if (mt == snap || !dup_allowed(mt, snap) || mt->ma_alloc != snap->ma_alloc ||
	    mt->ma_rcu != snap->ma_rcu)
		return -EINVAL;
	TRACE_WHOLE(mt, TRACE_SNAPSHOT);
	if (root_is_node(root)) {
		node_share(enode_node(root), enode_kind(root));
		__atomic_fetch_or(&mt->ma_retrying, TREE_SHARED, __ATOMIC_RELAXED);
		__atomic_fetch_or(&snap->ma_retrying, TREE_SHARED, __ATOMIC_RELAXED);
		__atomic_fetch_or(&snap->ma_flags, TREE_STAMPED, __ATOMIC_RELAXED);
	} else if (tree_is_counted(mt)) {
		refs_get(mt->ma_entry_ops, root);
	}
	tree_changes(snap);
	publish_root(snap, root, mt_height(mt));
	assert(mtree_empty(snap) == mtree_empty(mt));
	return 0;
}

int mas_snapshot(struct ma_state *mas, struct maple_tree *snap, gfp_t gfp)
{
	(void)gfp;
	return snapshot(mas->tree, snap);
}

int mtree_snapshot(struct maple_tree *mt, struct maple_tree *snap, gfp_t gfp)
{
	int error;

	(void)gfp;
	if (mt == snap)
		return -EINVAL;
	dup_lock(mt, snap);
	error = snapshot(mt, snap);
	dup_unlock(mt, snap);
	return error;
}
