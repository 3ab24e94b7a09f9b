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
 * refs == page table entries + pages_lookup()s not yet released + faults in progress that use it
 *   + pins.
 * Kind ANON and pins != 0  =>  at most one page table entry: who pins it to write has the only one, and a
 *   fork copies the frame.
 */
#define FRAME_ALIGN 16 /* of each, to keep low bits of pointers free */
struct frame {
	uint64_t handle;             /* the user's */
	unsigned int refs;
	unsigned int kind;           /* enum vmspace_page_kind. ZERO, ANON: from alloc();
					FILE, SHMEM: from file_page() */
	unsigned int pins;           /* that may write; see frame_pin() */
	bool was_pinned;             /* atomic; some references may be of pins, then */
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
/*
 * References for a user's system calls, which read the frame, or also write it, with no lock held. Pinned
 * under the lock of the one table that has it (to write: there must be no other).
 */
void frame_pin(struct frame *frame, bool write);
void frame_unpin(const struct vmspace_memory *memory, struct frame *frame, bool write);
/* Is it pinned to be written? Acquires what was written if it is no more. */
bool frame_is_written(const struct frame *frame);
/*
 * Is the caller's, a page table entry, the only reference, or the only entry, as it is pinned to be
 * written? If so, it stays the only entry: nobody else can add one. Who has pinned it to read alone goes
 * on to see what was there.
 */
bool frame_exclusive(const struct frame *frame);

#endif
