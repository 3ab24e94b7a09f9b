/* SPDX-License-Identifier: MIT */
/* show.h - an area as others see it. */
#ifndef VMSPACE_SHOW_H
#define VMSPACE_SHOW_H

#include "space.h"

/* Its lock for reading, or the space's. *info is good until that is released. */
void show_info(const struct vmspace *space, const struct vma *vma, struct vma_info *info);

#endif
