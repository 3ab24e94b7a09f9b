/* SPDX-License-Identifier: MIT */
/* show.h - describes an area for users. */
#ifndef VMSPACE_SHOW_H
#define VMSPACE_SHOW_H

#include "space.h"

/* The area is read-locked, or the space is locked; *info is valid until that is released. */
void show_info(const struct vmspace *space, const struct vma *vma, struct vma_info *info);

#endif
