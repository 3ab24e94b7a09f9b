/* SPDX-License-Identifier: MIT */
/* touch.h - page faults in a space with pages, and populating ranges. */
#ifndef VMSPACE_TOUCH_H
#define VMSPACE_TOUCH_H

#include "space.h"

/* A VMSPACE_FAULT request. The space's lock is not held. */
long touch_call(struct vmspace *space, struct vmspace_request *req);

/* As vmspace_touch() in a space with pages; and *pin is the page's frame then, pinned. */
enum vmspace_fault_result touch_pin(struct vmspace *space, unsigned long addr, unsigned int access,
				    struct frame **pin);

/*
 * Before a call changes anything: reserve what touch_range() of [start, end) in vma is going to
 * need once the area has the flags `flags`; the pages will be `delta` bytes higher (modulo the
 * word).
 * fresh: what is mapped there now will be unmapped, or vma does not exist yet.
 * 0; -ENOMEM; or 1: touch_range() will stop half-way. In a space with pages, under its lock.
 * store_end_call() frees what is left.
 */
int touch_reserve(struct vmspace *space, struct vma *vma, vma_flags_t flags, unsigned long start,
		  unsigned long end, unsigned int access, unsigned long delta, bool fresh);

/*
 * Populate [start, end), which lies in vma, for `access`: mlock, MAP_POPULATE, MADV_POPULATE_*. The
 * space's lock is held. 0, or the error of the first page that cannot be populated: -ENOMEM,
 * -EFAULT (a guard, or beyond the end of the file). Does nothing in a space without pages.
 */
long touch_range(struct vmspace *space, const struct vma *vma, unsigned long start,
		 unsigned long end, unsigned int access);

/*
 * Is a guard at `addr` in vma? touch_range() from there on stops at once, and gives the area no anon_vma.
 * The space's lock is held. In a space without pages it is not known: false.
 */
bool touch_meets_guard(struct vmspace *space, const struct vma *vma, unsigned long addr);

#endif
