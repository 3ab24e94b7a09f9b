/* SPDX-License-Identifier: MIT */
/* Fault injection, for tests: the mirror gets a call other than the kernel's. */
#ifndef VMSCOPE_MIRROR_INJECT_H
#define VMSCOPE_MIRROR_INJECT_H

#include <mapletree/vmspace.h>
#include <stdbool.h>

#include "base/options.h"

/* Parses "drop:N", "double:N" or "alter:N" into @options. False: it is none of them. */
bool inject_parse(const char *text, struct options *options);

/* What to do to call number @number. */
enum inject_kind inject_for(const struct options *options, unsigned long number);

/* "drop", "double", "alter"; NULL for INJECT_NOTHING. */
const char *inject_name(enum inject_kind kind);

/*
 * Changes one argument: the length by a page if the call has one, otherwise the protection or
 * flags.
 */
void inject_alter(struct vmspace_request *req, unsigned long page_size);

#endif
