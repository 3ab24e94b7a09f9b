/* SPDX-License-Identifier: MIT */
/*
 * copy.h - copy a tree node by node.
 */
#ifndef MT_COPY_H
#define MT_COPY_H

#include "node.h"

/*
 * copy_tree - copy @root and all below it into nodes from @alloc. Returns NULL if there is not
 * enough memory, and keeps none then. @shared: the source has TREE_SHARED; the copy is not shared
 * in any case. Lock of the source held.
 */
struct maple_enode *copy_tree(const struct mt_allocator *alloc, struct maple_enode *root,
			      bool shared);

#endif
