/* SPDX-License-Identifier: MIT */
/*
 * own.h - around a write in a tree with TREE_SHARED: before it, replace what it would change, and
 * other trees hold too, by copies that are the tree's own. In a tree with TREE_COUNTED: find out
 * which references to entries it takes and drops.
 *
 * These copies have the content of what they replace, so they change nothing that anybody sees.
 * Afterwards the write itself is planned and carried out as in any other tree. What it drops as a
 * whole stays as it is: a reference to it is dropped.
 */
#ifndef MT_OWN_H
#define MT_OWN_H

#include "layout.h"
#include "refs.h"

/* At most: two leaves, and a sibling at each level. */
#define OWN_PATHS_MAX (2 + MAPLE_HEIGHT_MAX)

/*
 * struct mt_own - what is to become the tree's own: @count paths, each from the root down to the
 * node at @level that covers @index.
 * @blocks: how many blocks that takes: fewer if others drop their references meanwhile.
 * @dropped: how many references to nodes that are not the tree's own are dropped.
 * @total: the blocks of the write itself added, at most. Who reserves as many before it begins does
 *         all of it or nothing.
 * @refs: the references to entries that the write takes and drops.
 */
struct mt_own {
	unsigned int count;
	unsigned int blocks;
	unsigned int dropped;
	unsigned int total;
	struct mt_refs refs;
	struct mt_own_path {
		unsigned long index;
		unsigned int level;
	} path[OWN_PATHS_MAX];
};

/*
 * own_has_leaf - whether the finger's leaf and all nodes above it are the tree's own, and it needs no
 * preparation: a write of that leaf alone may begin. Lock held.
 */
bool own_has_leaf(const struct maple_tree *mt);

/*
 * own_plan - find out what a store of @entry over [@first, @last] in @mt changes. Moves the tree's
 * finger, but changes nothing else. own->blocks == 0: all of it is the tree's own. Lock held.
 */
void own_plan(struct mt_own *own, struct maple_tree *mt, unsigned long first, unsigned long last,
	      void *entry);

/*
 * own_make - carry the plan out, with at most own->blocks blocks of @reserve, and take the
 * references. The store must succeed after that. Lock held; the tree is unchanged since the plan
 * was made.
 */
void own_make(const struct mt_own *own, struct maple_tree *mt, struct pool_list *reserve);

/* own_end - after the store: drop the references that it gave up. Lock held. */
void own_end(const struct mt_own *own, struct maple_tree *mt, struct pool_list *reserve);

#endif
