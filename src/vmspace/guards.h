/* SPDX-License-Identifier: MIT */
/* guards.h - pages of shared memory that are made inaccessible without a mapping of their own. */
#ifndef VMSPACE_GUARDS_H
#define VMSPACE_GUARDS_H

#include <stdbool.h>

#include "mman_names.h"

/*
 * Has the system guards that a window can use: of shared memory (Linux 6.15), which stay when they
 * are moved, when their protection changes and when their memory is given back? Tried once.
 */
bool guards_exist(void);

#endif
