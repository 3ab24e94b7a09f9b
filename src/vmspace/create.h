/* SPDX-License-Identifier: MIT */
/* create.h - creating and emptying address spaces. */
#ifndef VMSPACE_CREATE_H
#define VMSPACE_CREATE_H

#include "space.h"

/* Drop all areas, pages and page tables, and reset the counters. Nobody else uses the space. */
void create_clear(struct vmspace *space);

#endif
