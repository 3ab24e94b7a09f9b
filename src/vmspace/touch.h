/* SPDX-License-Identifier: MIT */
/* touch.h - page faults in a space with memory, and pages made present without one. */
#ifndef VMSPACE_TOUCH_H
#define VMSPACE_TOUCH_H

#include "space.h"

/* A VMSPACE_FAULT request. The space's lock not held. */
long touch_call(struct vmspace *space, struct vmspace_request *req);

/*
 * Before a call changes anything: put by what touch_range() of [start, end) in vma will need, if the
 * area has the flags `as` then, and lies `by` bytes further (modulo the word). `fresh`: what it holds
 * now goes, or vma is not there yet. 0, or -ENOMEM; or 1: touch_range() will stop on the way. In a
 * space with memory; the space's lock held. store_end_call() gives back what is left.
 */
int touch_reserve(struct vmspace *space, struct vma *vma, vma_flags_t as, unsigned long start,
		unsigned long end, unsigned int access, unsigned long by, bool fresh);

/*
 * Make the pages of [start, end), which lies in vma, present for `access`: mlock, MAP_POPULATE,
 * MADV_POPULATE_*. The space's lock held. 0, or the errno of the first page that could not be:
 * -ENOMEM, -EFAULT (a guard, or nothing there). Nothing to do in a space without memory.
 */
long touch_range(struct vmspace *space, const struct vma *vma, unsigned long start,
		 unsigned long end, unsigned int access);

#endif
