/* SPDX-License-Identifier: MIT */
/* accounting.h - the counters of a space that are sums over its areas, and the limits on them. */
#ifndef VMSPACE_ACCOUNTING_H
#define VMSPACE_ACCOUNTING_H

#include "space.h"

/* Add (sign 1) or subtract (sign -1) `pages` of an area with `flags`. */
void account_pages(struct vmspace *space, vma_flags_t flags, unsigned long pages, int sign);
/* Mapped pages change their flags. */
void account_change(struct vmspace *space, vma_flags_t from, vma_flags_t to, unsigned long pages);
/*
 * mlock and the like have locked (sign 1) or unlocked (sign -1) `pages`, which are accounted for.
 * Corrects locked_vm to what Linux counts: most versions add the number as one of 32 bits, which
 * is wrong from 8 TiB on.
 */
void account_relocked(struct vmspace *space, unsigned long pages, int sign);
/* The tree holds one area more (sign 1) or less (sign -1). */
void account_area(struct vmspace *space, const struct vma *vma, int sign);
/* An area's flags have changed, in the tree, which were `from`. */
void account_area_flags(struct vmspace *space, const struct vma *vma, vma_flags_t from);
/* The area comes into the tree at [start, end), or covers that as well. */
void account_place(struct vmspace *space, const struct vma *vma, unsigned long start,
		   unsigned long end);
/* For assertions, O(1): are the counters consistent with each other? */
bool account_valid(const struct vmspace *space);

/* May `pages` more with `flags` be mapped, by RLIMIT_AS and RLIMIT_DATA? */
bool account_may_expand(const struct vmspace *space, vma_flags_t flags, unsigned long pages);
/* By RLIMIT_DATA alone: if the soft limit is 0, the hard one applies. */
bool account_may_hold_data(const struct vmspace *space, vma_flags_t flags, unsigned long pages);
/* If `flags` has VMA_LOCKED, may `pages` more be locked, by RLIMIT_MEMLOCK? */
bool account_may_lock(const struct vmspace *space, vma_flags_t flags, unsigned long pages);

/* Does an area with these flags count as data (data_vm)? */
static inline bool account_is_data(vma_flags_t flags)
{
	return (flags & (VMA_WRITE | VMA_SHARED | VMA_GROWSDOWN)) == VMA_WRITE;
}

#endif
