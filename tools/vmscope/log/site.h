/* SPDX-License-Identifier: MIT */
/* Call sites: the function that is responsible for a call, found on the stack. */
#ifndef VMSCOPE_LOG_SITE_H
#define VMSCOPE_LOG_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SITE_MAX = 200 };	/* bytes, including the NUL */

/*
 * Whether @file, a name without a directory, is libc or the dynamic loader. Then the site is in one
 * of the callers.
 */
bool site_is_runtime(const char *file, size_t length);

struct site_finder;

/* Whether vmscope was built with libdw, and so can find sites. */
bool site_available(void);

/* For process @pid, which this thread traces. NULL: it cannot be unwound, or out of memory. */
struct site_finder *site_open(pid_t pid);
void site_close(struct site_finder *finder);

/*
 * Finds the innermost function outside libc on the stack of stopped thread @tid, or the outermost
 * one that can be unwound, as "file(function+0x10)". False: the stack cannot be read. Takes about a
 * millisecond.
 */
bool site_find(struct site_finder *finder, pid_t tid, char site[SITE_MAX]);

#endif
