/* SPDX-License-Identifier: MIT */
/* Why a process cannot be followed or looked at, in words, and what to change. */
#ifndef VMSCOPE_MIRROR_REASON_H
#define VMSCOPE_MIRROR_REASON_H

#include <sys/types.h>

enum { REASON_SIZE = 320 };

/*
 * What is wrong with /proc, which everything is read from: it is not mounted, or is that of other
 * processes than can be traced. A static text; NULL: nothing is.
 */
const char *reason_proc(void);

/*
 * Why process @pid could not be attached to, or its maps not be read, which failed with the
 * negative errno @error: puts a part of a sentence into @text, which it returns.
 */
const char *reason_of(pid_t pid, int error, char text[REASON_SIZE]);

/* The same about a program that could not be started to be traced. */
const char *reason_of_start(int error, char text[REASON_SIZE]);

#endif
