/* SPDX-License-Identifier: MIT */
/* space_check.h - the invariants of a space. */
#ifndef VMSPACE_SPACE_CHECK_H
#define VMSPACE_SPACE_CHECK_H

#include "space.h"

/* vmspace_check() for callers that hold the space's lock. */
bool space_check(const struct vmspace *space, const char **reason);

#endif
