/* SPDX-License-Identifier: MIT */
/* merge.h - may two areas become one? A pure function that names its verdict. */
#ifndef VMSPACE_MERGE_H
#define VMSPACE_MERGE_H

#include "vma.h"

/*
 * May `left` and `right`, where left->end == right->start, become one area? Looks at nothing but
 * its arguments. `differ` (may be NULL) gets the flags in which they differ.
 */
enum vma_verdict merge_verdict(const struct vma *left, const struct vma *right,
			       unsigned long page_size, vma_flags_t *differ);

/* Whether an area is one that Linux never merges: device memory, the kernel's own ... */
bool merge_is_special(const struct vma *vma);

/*
 * May they come to be one by a change of nothing but the flags `changes`, names, keys, policies
 * and anonymous pages?
 */
bool merge_conceivable(const struct vma *left, const struct vma *right, unsigned long page_size,
		       vma_flags_t changes);

/* The part of the verdict that concerns anonymous pages: VMA_MERGED or why not. */
enum vma_verdict merge_anon_verdict(const struct vma *a, const struct vma *b);

/*
 * Would Linux let two adjacent areas share one anon_vma when the first page of one of them is
 * touched? The same question with access rights ignored.
 */
bool merge_anon_compatible(const struct vma *left, const struct vma *right,
			   unsigned long page_size);

#endif
