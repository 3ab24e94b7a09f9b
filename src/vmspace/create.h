/* SPDX-License-Identifier: MIT */
/* create.h - creating and emptying address spaces. */
#ifndef VMSPACE_CREATE_H
#define VMSPACE_CREATE_H

#include "space.h"

/* Drop all areas, pages and page tables, and reset the counters. Nobody else uses the space. */
void create_clear(struct vmspace *space);
/* The same, but pages stay, and hooks are told nothing. */
void create_clear_areas(struct vmspace *space);
/*
 * A space without areas takes over those of `fresh`, and all that goes with them; `fresh` is empty then.
 * The handle, the configuration and the statistics stay.
 */
void create_adopt(struct vmspace *space, struct vmspace *fresh);

/*
 * As vmspace_create(), for one that is never used with guests: a window that is its memory may be
 * another space's.
 */
int create_beside(struct vmspace **out, const struct vmspace_config *config);

#endif
