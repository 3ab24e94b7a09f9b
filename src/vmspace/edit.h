/* SPDX-License-Identifier: MIT */
/*
 * edit.h - the only functions that change which areas the tree holds.
 *
 * Each keeps tree, areas and counters consistent, merges as merge_verdict() says, and reports
 * events. Each first makes one store into the tree, the only step that may fail: after -ENOMEM the
 * areas are as they were. A call that makes several changes reserves for all of them before the
 * first (store_reserve()); edit_change() does that for the changes of its span.
 */
#ifndef VMSPACE_EDIT_H
#define VMSPACE_EDIT_H

#include "find.h"

/* May vma be split at `at`, inside it? edit_check_split() says so: 0 or -EINVAL. */
bool edit_may_be_split(struct vmspace *space, const struct vma *vma, unsigned long at);
int edit_check_split(struct vmspace *space, const struct vma *vma, unsigned long at);
/* May [start, end) be cut out of vma, which contains it? 0 or -EINVAL. */
int edit_check_cuts(struct vmspace *space, const struct vma *vma, unsigned long start,
		    unsigned long end);
/*
 * Split vma at `at` (inside it): vma keeps the lower part. 0, -ENOMEM (memory, max_map_count) or
 * -EINVAL (not there).
 */
int edit_split(struct vmspace *space, struct vma *vma, unsigned long at);
/* The same for callers that have checked max_map_count, or need not. */
int edit_split_unchecked(struct vmspace *space, struct vma *vma, unsigned long at);

/*
 * Iterates over the areas that overlap a range, while they are being changed:
 *
 *	struct edit_span span;
 *
 *	edit_span_init(&span, space, start, end);	start < end
 *	while (edit_next(&span))
 *		... [span.from, span.to) is the part of span.vma that lies in the range ...
 *
 * hole: there is an unmapped gap between this part and the previous one (or the start of the
 * range); after the last part, between it and the end.
 */
struct edit_span {
	struct vmspace *space;
	struct vma *vma;
	unsigned long from, to;      /* vma->start <= from < to <= vma->end */
	bool hole;
	unsigned long end;
	vma_flags_t changes;         /* flags that the call may change, and no others */
	bool alone;                  /* what changes merges with no neighbour */
	bool by_uffd;                /* the call is one of userfaultfd's (RULE_UFFD_MERGES_UP) */
	struct ma_state mas;         /* at vma; or not walked yet, at `to` */
};

void edit_span_init(struct edit_span *span, struct vmspace *space, unsigned long start,
		    unsigned long end);
bool edit_next(struct edit_span *span);

/* The attributes of an area that edit_change() sets. */
struct edit_attrs {
	vma_flags_t flags;
	struct anon_name *name;  /* borrowed */
	struct policy *policy;   /* borrowed */
	uint64_t word;           /* the user's */
	struct vma_tags tags;
};
/* The present attributes of vma. */
struct edit_attrs edit_attrs_of(const struct vma *vma);

/*
 * Add to *stores and *areas the most that edit_change() may need for [start, end). Neighbours that
 * differ in flags other than `changes` will not merge.
 */
void edit_count(struct vmspace *space, unsigned long start, unsigned long end,
		vma_flags_t changes, unsigned long *stores, unsigned long *areas);

/*
 * Set the attributes of the span's present part, merging it with neighbours or splitting its area
 * as needed. 0 or -ENOMEM. span->vma may be freed; edit_next() continues after the part. The first
 * change of a call reserves for all the rest of the span, if nobody has (reserve.covers_call).
 */
int edit_change(struct edit_span *span, const struct edit_attrs *want);

/*
 * Insert a new area like *proto into a hole, or extend neighbours over it. `hole` describes the
 * place and its neighbours; NULL: do not merge. *out (may be NULL) is set to the area that covers
 * it. 0 or -ENOMEM.
 */
int edit_insert(struct vmspace *space, const struct vma *proto, const struct hole *hole,
		struct vma **out);

/*
 * Unmap `vma`, which is all that there is in [start, end), and no area of an ancestor. 0 or -ENOMEM.
 */
int edit_remove_whole(struct vmspace *space, struct vma *vma, unsigned long start,
		      unsigned long end);

/*
 * Unmap [start, end), splitting areas at the edges. *mas stands on `first`, the first area there;
 * NULL: it is the only one. 0 or -ENOMEM. Checks no limit.
 */
int edit_remove(struct vmspace *space, struct ma_state *mas, struct vma *first,
		unsigned long start, unsigned long end);

/*
 * Extend vma into the hole above it, up to `end`; or below it, down to `start`. 0 or -ENOMEM. The
 * area may be another one then: see change.h.
 */
int edit_grow_up(struct vmspace *space, struct vma *vma, unsigned long end, bool merge_right);
int edit_grow_down(struct vmspace *space, struct vma *vma, unsigned long start);

/*
 * Call `part` for each part of an area in [start, end), until one returns an error; it changes no
 * flags but `changes`. Returns that error; else 0, or -ENOMEM if there was a hole: like Linux,
 * which reports holes only after it has processed all parts.
 */
long edit_each(struct vmspace *space, unsigned long start, unsigned long end,
	       vma_flags_t changes, long (*part)(struct edit_span *span, void *arg), void *arg);

/* ---- between edit.c and edit_remove.c ---- */

/* For assertions at the end of a change, O(log areas): is vma (NULL: none) valid, are the counters? */
bool edit_valid(struct vmspace *space, const struct vma *vma);
/* The area has left the tree. */
void edit_free_area(struct vmspace *space, struct vma *vma);
/*
 * Replace [start, end), in the middle of vma, by `what` (NULL: nothing). The rest of vma above it
 * becomes an area of its own.
 */
int edit_replace_middle(struct vmspace *space, struct vma *vma, unsigned long start,
			unsigned long end, struct vma *what);

#endif
