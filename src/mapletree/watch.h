/* SPDX-License-Identifier: MIT */
/*
 * watch.h - how a cursor notices that what it knows about its leaf is out of date.
 *
 * Lock or read side. A cursor remembers a word to watch and the value it had. If the value differs,
 * the cursor walks again from the root. The word is
 *
 *   inside a read-side section of a tree in RCU mode    the meta word of its leaf
 *   otherwise: lock held, or no writers                 the stamp of the tree, ma_writes
 *
 * Inside a section the leaf cannot be freed. Its meta word changes when the leaf is changed, before
 * the first word and after the last (inplace.h), and when the leaf is taken out of the tree
 * (dead.h). Outside a section any change of the tree may have freed the leaf, so the cursor
 * compares the stamp before it touches the leaf; and nobody changes the tree while the cursor
 * reads. In both cases what a step returns is in the tree at the time of that step.
 *
 * A leaf of a snapshot (TREE_STAMPED) does not tell when it leaves that tree, since it may stay in
 * others. There cursors inside a section compare the stamp, too: as it was before the cursor went
 * down from the root. It is raised before each change and after it, and odd in between; an odd one
 * never compares equal. So as long as it compares equal nothing has changed since, or what is being
 * changed is not visible yet.
 */
#ifndef MT_WATCH_H
#define MT_WATCH_H

#include "node.h"

/*
 * watch_holds, watch_held - whether what the cursor knows about its leaf is still true: called
 * before and after the leaf is read.
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

/* watch_leaf - watch @leaf as of @version. An unsettled version never compares equal. */
static inline void watch_leaf(struct ma_state *mas, const struct mt_node *leaf,
			      unsigned long version)
{
	mas->watch = &leaf->wide.meta;
	mas->version = version & ~META_UNSETTLED;
}

/* NO_STAMP: the tree has no TREE_STAMPED. */
#define NO_STAMP ULONG_MAX

/*
 * watch_begin - before a cursor goes down from *@root, which it has loaded: returns the stamp of a
 * tree with TREE_STAMPED, and then loads *@root anew, or NO_STAMP. watch_stamp - watch that stamp.
 */
static inline unsigned long watch_begin(const struct maple_tree *mt, void **root)
{
	unsigned long stamp;

	if (!tree_is_stamped(mt))
		return NO_STAMP;
	stamp = __atomic_load_n(&mt->ma_writes, __ATOMIC_ACQUIRE);
	*root = root_load(mt);
	return stamp & ~1ul;
}

static inline void watch_stamp(struct ma_state *mas, unsigned long stamp)
{
	mas->watch = &mas->tree->ma_writes;
	mas->version = stamp;
}

/* watches_leaf - whether the mark of dead leaves means anything to the cursor. */
static inline bool watches_leaf(const struct ma_state *mas)
{
	return mas->watch != &mas->tree->ma_writes;
}

#endif
