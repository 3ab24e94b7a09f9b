/* SPDX-License-Identifier: MIT */
/* merge.h - whether two areas can be merged, and if not, why: pure functions. */
#ifndef VMSPACE_MERGE_H
#define VMSPACE_MERGE_H

#include "vma.h"

/*
 * Can `left` and `right`, where left->end == right->start, be merged? `differ` (may be NULL) is set
 * to the flags in which they differ.
 */
enum vma_verdict merge_verdict(const struct vma *left, const struct vma *right,
			       unsigned long page_size, vma_flags_t *differ);

/* Is it an area that Linux never merges: device memory, the kernel's own mappings ...? */
bool merge_is_special(const struct vma *vma);

/*
 * Could they be merged after a change of nothing but the flags `changes`, names, keys, policies and
 * anonymous pages?
 */
bool merge_conceivable(const struct vma *left, const struct vma *right, unsigned long page_size,
		       vma_flags_t changes);

/* The part of the verdict that concerns anonymous pages: VMA_MERGED or why not. */
enum vma_verdict merge_anon_verdict(const struct vma *a, const struct vma *b);

/*
 * Would Linux let two adjacent areas share one anon_vma when the first page of one of them is
 * touched? As merge_verdict(), but access rights do not matter.
 */
bool merge_anon_compatible(const struct vma *left, const struct vma *right,
			   unsigned long page_size);

#endif
