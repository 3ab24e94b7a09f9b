/* SPDX-License-Identifier: MIT */
/*
 * Known differences: requests of which libvmspace is known to make something else than the
 * kernel. Each is to be mended, and then taken from the table. Until then such requests are made
 * rarely, and a difference ends the round without a report. A run counts them; "make check-cover"
 * fails if one never showed, so that no entry outlives its difference.
 */
#ifndef VMSCOPE_CHECK_KNOWN_H
#define VMSCOPE_CHECK_KNOWN_H

#include "check/pair.h"

enum { KNOWN_NONE = -1, KNOWN_MAX = 32 };

/* The known difference that the request, not made yet, may show; KNOWN_NONE. */
int known_find(const struct pair *p, const struct vmspace_request *r);

/* Can it show on a kernel with these rules? */
bool known_applies(int known, const struct vmspace_config *config);

/* In a few words; NULL: @known is the number of entries. */
const char *known_name(int known);

#endif
