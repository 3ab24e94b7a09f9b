/* SPDX-License-Identifier: MIT */
/*
 * frame.h - a frame of the user's memory that pages refer to: how many, and when it goes.
 *
 * Shared between a space and its relatives by fork, without a lock: refs is atomic, the rest is
 * fixed. Whoever drops the last reference gives the user's frame back.
 */
#ifndef VMSPACE_FRAME_H
#define VMSPACE_FRAME_H

#include <stdalign.h>
#include <mapletree/vmspace.h>

/* refs == entries of page tables that hold it + holds of pages_lookup() and of faults under way. */
struct frame {
	alignas(8) uint64_t handle;  /* the user's; aligned so that the low bits of a pointer are free */
	unsigned int refs;
	unsigned int kind;           /* enum vmspace_page_kind: ZERO, ANON: from alloc();
					FILE, SHMEM: from file_page() */
};

/*
 * A frame with one reference, for a handle that passes to it. NULL: no memory, and the handle has
 * been given back.
 */
struct frame *frame_new(const struct vmspace_memory *memory, uint64_t handle,
			enum vmspace_page_kind kind);
/* One more; the caller knows of one that stays meanwhile. */
struct frame *frame_get(struct frame *frame);
/* One less. Acquires what other spaces did with it if that leaves nobody. NULL is ignored. */
void frame_put(const struct vmspace_memory *memory, struct frame *frame);
/* Is the caller's reference the only one? True stays true, as nobody else can add one. */
bool frame_exclusive(const struct frame *frame);

#endif
