/* SPDX-License-Identifier: MIT */
/* Call sites: which of the functions on a stack made a call. */
#ifndef VMSCOPE_LOG_SITE_H
#define VMSCOPE_LOG_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SITE_MAX = 200 };	/* bytes, with its NUL */

/* Whether a file of that name (without a directory) is the C library or its loader: callers count. */
bool site_is_runtime(const char *file, size_t length);

struct site_finder;

/* Whether sites can be found: built with libdw. */
bool site_available(void);

/* For the stacks of process @pid, which is traced by this thread. NULL: not possible, or no memory. */
struct site_finder *site_open(pid_t pid);
void site_close(struct site_finder *finder);

/*
 * The innermost function of stopped thread @tid outside of the C library, or the outermost that could be
 * found, as "file(function+0x10)". False: the stack cannot be read. Takes a millisecond or so.
 */
bool site_find(struct site_finder *finder, pid_t tid, char site[SITE_MAX]);

#endif
