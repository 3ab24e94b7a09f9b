/* SPDX-License-Identifier: MIT */
/*
 * edit.h - the only functions that change which areas the tree holds.
 *
 * Each keeps tree, areas and counters in step, merges by merge_verdict(), and reports events.
 * Each reserves before it changes: on -ENOMEM the areas are as they were.
 */
#ifndef VMSPACE_EDIT_H
#define VMSPACE_EDIT_H

#include "space.h"

/* Cut vma at `at` (inside it): vma keeps the lower part. 0 or -ENOMEM (memory or max_map_count). */
int edit_split(struct vmspace *space, struct vma *vma, unsigned long at);

/* What edit_change() gives an area; everything else stays. */
struct edit_want {
	vma_flags_t flags;
	struct anon_name *name;  /* borrowed */
	unsigned int pkey;
};
struct edit_want edit_same(const struct vma *vma);

/*
 * Give the part [start, end) of vma other flags, merging with neighbours or splitting as needed.
 * 0 or -ENOMEM. vma may be gone afterwards.
 */
int edit_change(struct vmspace *space, struct vma *vma, unsigned long start, unsigned long end,
		const struct edit_want *want);

/*
 * Put a new area like *proto into a free place, or let neighbours grow over it. `merge` false: a
 * separate area always. *out (may be NULL) gets the area that covers it. 0 or -ENOMEM.
 */
int edit_insert(struct vmspace *space, const struct vma *proto, bool merge, struct vma **out);

/* Unmap what is in [start, end), cutting at the edges. 0 or -ENOMEM. No limit is checked. */
int edit_remove(struct vmspace *space, unsigned long start, unsigned long end);

/* Move an edge of vma into free space: up to `end`, or down to `start`. 0 or -ENOMEM. */
int edit_grow_up(struct vmspace *space, struct vma *vma, unsigned long end, bool merge_right);
int edit_grow_down(struct vmspace *space, struct vma *vma, unsigned long start);

/*
 * Call `part` for each area's part of [start, end), until one returns an error. Holes are passed
 * over; Linux then answers -ENOMEM at the end, though all parts were done. Returns 0 or the error.
 */
long edit_each(struct vmspace *space, unsigned long start, unsigned long end,
	       long (*part)(struct vmspace *space, struct vma *vma, unsigned long start,
			    unsigned long end, void *arg),
	       void *arg);

/* The same as edit_split() for callers that have checked max_map_count, or need not. */
int edit_split_unchecked(struct vmspace *space, struct vma *vma, unsigned long at);

#endif
