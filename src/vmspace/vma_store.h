/* SPDX-License-Identifier: MIT */
/* vma_store.h - allocates and frees areas. */
#ifndef VMSPACE_VMA_STORE_H
#define VMSPACE_VMA_STORE_H

#include <stddef.h>

#include "vma.h"

/*
 * Allocator of the areas of one space: blocks that are filled from their start, so that areas made
 * in succession are adjacent in memory. Used by one thread at a time. All zero: empty.
 *
 * Invariants: first_unused <= block_end, both in the newest block.   spares == length of `spare`.
 */
struct vma_store {
	struct vma_block *blocks;    /* newest first */
	union vma_slot *free;        /* slots given back, linked through their first word */
	union vma_slot *first_unused, *block_end; /* never used yet: the rest of the newest block */
	size_t slots;                /* in all blocks */
	size_t expected;             /* allocations announced; the next blocks are sized for them */
	struct vma *spare;           /* reserved for when there is no memory; see reserve.h */
	unsigned long spares;        /* their number */
	bool locks;                  /* areas have locks: what is free is detached */
	uint8_t generation;          /* of the space: inherited.h */
	uint32_t snapshots;          /* of the space, so far: vma->born */
};

/*
 * An area with unspecified content, or NULL: no memory. If areas have locks, its `lock` says
 * "detached", and vma_fill() does not touch that.
 */
struct vma *vma_alloc(struct vma_store *store);
/* Free an area that holds no references, and that nobody looks at any more. */
void vma_release(struct vma_store *store, struct vma *vma);
/* So many spare areas may stay from one call to the next. */
#define VMA_SPARES_KEPT 8
/* Have at least `count` spare areas, which vma_new() falls back on. False: no memory. */
bool vma_reserve(struct vma_store *store, unsigned long count);
/* Free the spare areas beyond `count`. */
void vma_unreserve(struct vma_store *store, unsigned long count);
/*
 * Drop the references of all areas in use, and free them, in a time that depends on how many areas
 * there ever were. False: which are in use is not known (under AddressSanitizer).
 */
bool vma_free_all(struct vma_store *store);
/* Free all memory of the store; no area may be in use. `locks` stays. */
void vma_store_clear(struct vma_store *store);

/* A new area like `like`, with references of its own, of the store's generation. NULL: no memory. */
struct vma *vma_new(struct vma_store *store, const struct vma *like);
/* Drop the references an area holds, and free it. */
void vma_free(struct vma_store *store, struct vma *vma);

#endif
