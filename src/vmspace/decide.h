/* SPDX-License-Identifier: MIT */
/* decide.h - with which of its neighbours an area that is new, or changes, becomes one. */
#ifndef VMSPACE_DECIDE_H
#define VMSPACE_DECIDE_H

#include "find.h"

/* Why an area is not merged with a neighbour; told when the change has been made. */
struct refusal {
	enum vma_verdict verdict; /* VMA_MERGED, VMA_MERGE_NONE: it is, or there is none */
	vma_flags_t differ;
	unsigned long start, at, end;
	uint64_t word;            /* VMA_MERGED: of what they become */
};

/*
 * The neighbours that an area will be merged with. The rest of a refusal is set only if its verdict
 * is not VMA_MERGE_NONE. With both, to_right.word is that of all three.
 */
struct merge {
	struct vma *left, *right; /* NULL: not with that one */
	bool grows;               /* the area is nothing new, but what the left one grows by */
	struct refusal to_left, to_right;
};

static inline void decide_init(struct merge *merge)
{
	merge->left = merge->right = NULL;
	merge->grows = false;
	merge->to_left.verdict = merge->to_right.verdict = VMA_MERGE_NONE;
}

/* Tell why it is not merged. */
void decide_report(struct vmspace *space, const struct merge *merge);

/*
 * Set the verdict about an area that is new or changes, `changed`, and the one beside it: that of
 * merge_verdict(), with what some versions of Linux judge otherwise, and with the user's. comes: it is
 * new, so if it has an anon_vma it was moved.
 */
void decide_beside(struct vmspace *space, struct refusal *refusal, const struct vma *changed,
		   const struct vma *beside, bool comes);

/*
 * Can `middle` (not in the tree as it is here) merge with its left neighbour, its right, or both?
 * hole: where it comes, NULL if it is there and changes. mmap may prefer the right one if it cannot
 * be both. *merge was just initialised.
 */
void decide(struct vmspace *space, struct merge *merge, const struct vma *middle, struct vma *left,
	    struct vma *right, const struct hole *hole);

#endif
