/* SPDX-License-Identifier: MIT */
/* The addresses that a request is about. */
#ifndef VMSCOPE_CHECK_RANGES_H
#define VMSCOPE_CHECK_RANGES_H

#include <mapletree/vmspace.h>

/* A range of addresses. */
struct span {
	unsigned long start, end;
};

#define RANGE_WRAPS (~0UL)

enum { RANGES_MAX = 8 };

/*
 * The ranges whose areas the request changes or looks at, in whole pages. If a range wraps around,
 * its end is RANGE_WRAPS. Returns how many.
 */
unsigned int ranges_of(const struct vmspace_request *r, struct span spans[RANGES_MAX]);

#endif
