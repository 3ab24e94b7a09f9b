/* SPDX-License-Identifier: MIT */
/* check.h - the invariants of a space. */
#ifndef VMSPACE_CHECK_H
#define VMSPACE_CHECK_H

#include "space.h"

/* vmspace_check() for those who hold the space's lock. */
bool check_space(const struct vmspace *space, const char **reason);

#endif
