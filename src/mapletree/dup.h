/* SPDX-License-Identifier: MIT */
/*
 * dup.h - what a copy and a snapshot of a whole tree ask for.
 */
#ifndef MT_DUP_H
#define MT_DUP_H

#include "node.h"

/*
 * dup_allowed - whether @new_tree is empty and has the flags and the entry operations of @mt. Both
 * locks held.
 */
bool dup_allowed(const struct maple_tree *mt, const struct maple_tree *new_tree);

/* dup_lock, dup_unlock - the locks of two different trees, unless the user brings them. */
static inline void dup_lock(struct maple_tree *mt, struct maple_tree *new_tree)
{
	if (!mt_external_lock(mt))
		mtree_lock(mt);
	if (!mt_external_lock(new_tree))
		mtree_lock_nested(new_tree, 1);
}

static inline void dup_unlock(struct maple_tree *mt, struct maple_tree *new_tree)
{
	if (!mt_external_lock(new_tree))
		mtree_unlock(new_tree);
	if (!mt_external_lock(mt))
		mtree_unlock(mt);
}

#endif
