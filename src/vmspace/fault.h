/* SPDX-License-Identifier: MIT */
/* fault.h - what a page fault does to areas. */
#ifndef VMSPACE_FAULT_H
#define VMSPACE_FAULT_H

#include "space.h"

/* The growsdown area reaches down to the page of addr. 0, -EPERM or -ENOMEM: it may not. */
long fault_grow_down(struct vmspace *space, struct vma *vma, unsigned long addr);

#endif
