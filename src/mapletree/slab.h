/* SPDX-License-Identifier: MIT */
/*
 * slab.h - the default node allocator: blocks of NODE_BYTES, cached per thread.
 */
#ifndef MT_SLAB_H
#define MT_SLAB_H

#include "node.h"

/* slab_alloc - a block aligned to its size, of unspecified content, or NULL. Not for signal
 * handlers. */
struct mt_node *slab_alloc(void);

/* slab_free - give a block of slab_alloc() back; any thread. */
void slab_free(struct mt_node *block);

/* slab_shrink - give the calling thread's cache and all empty slabs back to the C library. */
void slab_shrink(void);

#endif
