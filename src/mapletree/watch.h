/* SPDX-License-Identifier: MIT */
/*
 * watch.h - how a cursor finds out that what it knows of its leaf no longer holds.
 *
 * Lock or read side. A cursor remembers which word to watch and what it held, and walks again from
 * the root when it differs:
 *
 *   inside a read-side section of a tree in RCU mode    the meta word of its leaf
 *   else, so with the lock held or without writers      the stamp of the tree, ma_writes
 *
 * In a section the leaf cannot be freed; its meta word changes when the leaf is changed, before its
 * first word and after its last (inplace.h), and when it leaves the tree (dead.h). Without a
 * section any change of the tree may have freed the leaf, so nothing but the stamp is looked at
 * before it was compared; and nobody changes the tree while the cursor looks. So with both what a
 * step has read is in the tree at that step.
 */
#ifndef MT_WATCH_H
#define MT_WATCH_H

#include "node.h"

/*
 * watch_holds, watch_held - before and after a look at the cursor's leaf: whether what the cursor
 * knows of it still holds.
 */
static inline bool watch_holds(const struct ma_state *mas)
{
	return __atomic_load_n(mas->watch, __ATOMIC_ACQUIRE) == mas->version;
}

static inline bool watch_held(const struct ma_state *mas)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(mas->watch, __ATOMIC_RELAXED) == mas->version;
}

/* watch_tree - watch the tree's stamp. Lock held, or nobody writes. */
static inline void watch_tree(struct ma_state *mas)
{
	mas->watch = &mas->tree->ma_writes;
	mas->version = __atomic_load_n(mas->watch, __ATOMIC_ACQUIRE);
}

/* watch_leaf - watch @leaf as it was at @version; an unsettled one differs from that at once. */
static inline void watch_leaf(struct ma_state *mas, const struct mt_node *leaf,
			      unsigned long version)
{
	mas->watch = &leaf->wide.meta;
	mas->version = version & ~META_UNSETTLED;
}

#endif
