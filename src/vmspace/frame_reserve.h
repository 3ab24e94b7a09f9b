/* SPDX-License-Identifier: MIT */
/*
 * frame_reserve.h - frames allocated before a call changes anything, so that populating pages later
 * in that call cannot fail. (The page tables it needs are cached by table.h.)
 *
 * Protected by the space's lock.
 */
#ifndef VMSPACE_FRAME_RESERVE_H
#define VMSPACE_FRAME_RESERVE_H

#include <stddef.h>

#include "frame.h"

/*
 * All zero: empty. Each frame in it holds one reference.
 *
 * Invariants: anon_taken <= anon_count <= anon_capacity;  file_taken <= file_count <= file_capacity.
 */
struct frame_reserve {
	struct frame **anon;         /* interchangeable: any of them serves any anonymous page */
	size_t anon_count, anon_capacity;
	size_t anon_taken;           /* the first so many are used: pages ascend, as frames do */
	struct reserved_file_frame {
		unsigned long addr;  /* where the page is going to be mapped */
		struct frame *frame;
	} *file;
	size_t file_count, file_capacity;
	size_t file_taken;           /* the first so many are used, or were skipped */
};

/* Add a frame; its reference passes to the reserve. False: no memory, and the frame was put. */
bool frame_reserve_add_anon(struct frame_reserve *reserve, const struct vmspace_memory *memory,
			    struct frame *frame);
/* The same for a page of a file, in the order in which they will be taken. */
bool frame_reserve_add_file(struct frame_reserve *reserve, const struct vmspace_memory *memory,
			    unsigned long addr, struct frame *frame);
/* Take a frame. NULL: none left, or none for this address. */
struct frame *frame_reserve_take_anon(struct frame_reserve *reserve);
struct frame *frame_reserve_take_file(struct frame_reserve *reserve, unsigned long addr);
/* The last anonymous frame that was added, and is not taken; or NULL. */
struct frame *frame_reserve_last_anon(const struct frame_reserve *reserve);
/* Put all frames that are left; the reserve is empty then. */
void frame_reserve_clear(struct frame_reserve *reserve, const struct vmspace_memory *memory);

#endif
