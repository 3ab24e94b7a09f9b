/* SPDX-License-Identifier: MIT */
/* begin.h - what others have to know of calls that have begun. */
#ifndef VMSPACE_BEGIN_H
#define VMSPACE_BEGIN_H

#include "space.h"

/*
 * The space's tree shares nodes from now on: have what the end of each call that has begun takes
 * then. The space's lock is held. 0 or -ENOMEM.
 */
int begin_share(struct vmspace *space);

#endif
