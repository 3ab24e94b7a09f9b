/* SPDX-License-Identifier: MIT */
/*
 * copy.h - copy a tree node by node.
 */
#ifndef MT_COPY_H
#define MT_COPY_H

#include "node.h"

/*
 * copy_tree - a copy of @root and all below it, from @alloc; or NULL: not enough memory, and none
 * kept. Lock of the source held.
 */
struct maple_enode *copy_tree(const struct mt_allocator *alloc, struct maple_enode *root);

#endif
