/* SPDX-License-Identifier: MIT */
/*
 * frame.h - a page frame of the user's memory, reference counted.
 *
 * Shared without a lock between spaces related by fork: refs is atomic, the rest is constant.
 * Dropping the last reference gives the frame back to the user.
 */
#ifndef VMSPACE_FRAME_H
#define VMSPACE_FRAME_H

#include <mapletree/vmspace.h>

/*
 * refs == page table entries + pages_lookup()s not yet released + faults in progress that use it.
 */
#define FRAME_ALIGN 16 /* of each, to keep low bits of pointers free */
struct frame {
	uint64_t handle;             /* the user's */
	unsigned int refs;
	unsigned int kind;           /* enum vmspace_page_kind. ZERO, ANON: from alloc();
					FILE, SHMEM: from file_page() */
};

/*
 * A frame with one reference; it owns the handle. NULL: no memory, and the handle was given back.
 */
struct frame *frame_new(const struct vmspace_memory *memory, uint64_t handle,
			enum vmspace_page_kind kind);
/* Add a reference; there is another one that is not dropped meanwhile. */
struct frame *frame_get(struct frame *frame);
/* Drop a reference. Dropping the last one acquires the writes of other spaces. NULL is ignored. */
void frame_put(const struct vmspace_memory *memory, struct frame *frame);
/* Is the caller's reference the only one? If so, it stays so: nobody else can add one. */
bool frame_exclusive(const struct frame *frame);

#endif
