/* SPDX-License-Identifier: MIT */
/* anon_vma.h - which areas have an anon_vma, and share it. */
#ifndef VMSPACE_ANON_VMA_H
#define VMSPACE_ANON_VMA_H

#include "space.h"

/*
 * vma gets its first anonymous page: give it an anon_vma, a neighbour's if Linux would share it.
 * Returns the area, which is another one if it was inherited; NULL: no memory for that, and the
 * outcome says so.
 */
struct vma *anon_vma_prepare(struct vmspace *space, struct vma *vma);

/* The same, whatever the area is: old versions do so for a guard, in shared memory, too. */
struct vma *anon_vma_prepare_guard(struct vmspace *space, struct vma *vma);

#endif
