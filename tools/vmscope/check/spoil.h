/* SPDX-License-Identifier: MIT */
/* Random calls with one argument that no sensible program passes. */
#ifndef VMSCOPE_CHECK_SPOIL_H
#define VMSCOPE_CHECK_SPOIL_H

#include "check/generator.h"

/*
 * Replaces one argument: an address by one from 0 to past the end of user space, or in an area of
 * the kernel's; a length by one up to those that wrap around; one bit of flags; any advice.
 */
void spoil(struct generator *c, const struct pair *p, struct vmspace_request *r);

#endif
