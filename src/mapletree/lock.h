/* SPDX-License-Identifier: MIT */
/* lock.h - the lock of a tree as the normal API takes it. */
#ifndef MT_LOCK_H
#define MT_LOCK_H

#include "retire.h"

/* tree_lock, tree_unlock - for a tree whose user brings the lock these do nothing. */
static inline void tree_lock(struct maple_tree *mt)
{
	if (!mt_external_lock(mt))
		mtree_lock(mt);
}

static inline void tree_unlock(struct maple_tree *mt)
{
	if (!mt_external_lock(mt))
		mtree_unlock(mt);
}

/*
 * tree_lock_to_write - take the lock for a write. If the write may wait, it first waits until the
 * retired nodes are below the limit, and frees those of polled trees.
 */
static inline void tree_lock_to_write(struct maple_tree *mt, gfp_t gfp)
{
	if (mt_external_lock(mt))
		return;
	if ((UNLIKELY(retire_limited()) || retire_polls(mt)) && gfp & __GFP_DIRECT_RECLAIM)
		mt_wait_retired(mt);
	mtree_lock(mt);
}

#endif
