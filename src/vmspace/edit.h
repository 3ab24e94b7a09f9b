/* SPDX-License-Identifier: MIT */
/*
 * edit.h - the only functions that change which areas the tree holds.
 *
 * Each keeps tree, areas and counters in step, merges by merge_verdict(), and reports events.
 * Each makes one store into the tree that may fail, before all else: on -ENOMEM the areas are as
 * they were. Who makes several changes in one call reserves for all of them before the first
 * (space_reserve()); edit_change() does so for those of its span.
 */
#ifndef VMSPACE_EDIT_H
#define VMSPACE_EDIT_H

#include "find.h"

/* Cut vma at `at` (inside it): vma keeps the lower part. 0 or -ENOMEM (memory or max_map_count). */
int edit_split(struct vmspace *space, struct vma *vma, unsigned long at);

/*
 * The parts of areas that lie in a range, from one to the next while they are being changed:
 *
 *	struct edit_span span;
 *
 *	edit_span_init(&span, space, start, end);	start < end
 *	while (edit_next(&span))
 *		... [span.from, span.to) of span.vma ...
 *
 * hole: nothing is mapped between this part and the one before (or the start of the range); after
 * the last part, between that and the end.
 */
struct edit_span {
	struct vmspace *space;
	struct vma *vma;
	unsigned long from, to;      /* vma->start <= from < to <= vma->end */
	bool hole;
	unsigned long end;
	vma_flags_t changes;         /* flags that the call may change; others keep areas apart */
	struct ma_state mas;         /* on vma; or not walked yet, at `to` */
};

void edit_span_init(struct edit_span *span, struct vmspace *space, unsigned long start,
		    unsigned long end);
bool edit_next(struct edit_span *span);

/* What edit_change() gives an area; everything else stays. */
struct edit_want {
	vma_flags_t flags;
	struct anon_name *name;  /* borrowed */
	unsigned int pkey;
	struct policy *policy;   /* borrowed */
	struct vma_uffd {
		unsigned int context;
		bool moves, forks;
	} uffd;
};
struct edit_want edit_same(const struct vma *vma);

/*
 * What changes that edit_change() may make in [start, end) need at most: stores, and new areas.
 * Areas that differ in flags other than `changes` stay apart. Added to what is there.
 */
void edit_count(struct vmspace *space, unsigned long start, unsigned long end,
		vma_flags_t changes, unsigned long *stores, unsigned long *areas);

/*
 * Give the span's present part other flags, merging with neighbours or splitting as needed. 0 or
 * -ENOMEM. span->vma may be gone afterwards; edit_next() goes on behind the part. The first change
 * of a call puts by what all the rest of the span may need, if nobody has (space->whole).
 */
int edit_change(struct edit_span *span, const struct edit_want *want);

/*
 * Put a new area like *proto into a free place, or let neighbours grow over it. The neighbours are
 * those of `hole`, which describes the place; NULL: a separate area always. *out (may be NULL) gets
 * the area that covers it. 0 or -ENOMEM.
 */
int edit_insert(struct vmspace *space, const struct vma *proto, const struct hole *hole,
		struct vma **out);

/*
 * Unmap what is in [start, end), cutting at the edges. *mas stands on `first`, the first area
 * there. 0 or -ENOMEM. No limit is checked.
 */
int edit_remove(struct vmspace *space, struct ma_state *mas, struct vma *first,
		unsigned long start, unsigned long end);

/* Move an edge of vma into free space: up to `end`, or down to `start`. 0 or -ENOMEM. */
int edit_grow_up(struct vmspace *space, struct vma *vma, unsigned long end, bool merge_right);
int edit_grow_down(struct vmspace *space, struct vma *vma, unsigned long start);

/*
 * Call `part` for each part of areas in [start, end), until one returns an error; of flags it changes
 * none but `changes`. Holes are passed
 * over; Linux then answers -ENOMEM at the end, though all parts were done. Returns 0 or the error.
 */
long edit_each(struct vmspace *space, unsigned long start, unsigned long end,
	       vma_flags_t changes, long (*part)(struct edit_span *span, void *arg), void *arg);

/* The same as edit_split() for callers that have checked max_map_count, or need not. */
int edit_split_unchecked(struct vmspace *space, struct vma *vma, unsigned long at);

#endif
