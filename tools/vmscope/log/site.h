/* SPDX-License-Identifier: MIT */
/* Call sites: the function that is responsible for a call, found on the stack. */
#ifndef VMSCOPE_LOG_SITE_H
#define VMSCOPE_LOG_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SITE_MAX = 200, STACK_MAX = 4096 };	/* bytes of a site, of a stack, including the NUL */

/*
 * Whether @file, a name without a directory, is libc or the dynamic loader. Then the site is in one
 * of the callers.
 */
bool site_is_runtime(const char *file, size_t length);

/*
 * Puts @frame in front of @stack, "outermost;...;innermost", which grows from the end of @room, of
 * STACK_MAX bytes, where "" has to be. Returns where it begins now; if there is no room, @stack.
 */
char *site_stack_add(char room[STACK_MAX], char *stack, const char *frame);

struct site_finder;

/* Whether vmscope was built with libdw, and so can find sites. */
bool site_available(void);

/* For process @pid, which this thread traces. NULL: it cannot be unwound, or out of memory. */
struct site_finder *site_open(pid_t pid);
void site_close(struct site_finder *finder);

/*
 * Finds the innermost function outside libc on the stack of stopped thread @tid, or the outermost
 * one that can be unwound, as "file(function+0x10)". False: the stack cannot be read. What it finds
 * out of files is kept until site_names_forget().
 */
bool site_find(struct site_finder *finder, pid_t tid, char site[SITE_MAX]);

/* Where a thread was: registers of x86-64 that functions keep, and what was at sp and above. */
struct site_copy {
	unsigned long ip, sp, bp, bx, r12, r13, r14, r15;
	const unsigned char *bytes;
	size_t size;
};

/* For process @pid, which need not be there any more. NULL: out of memory. */
struct site_finder *site_open_copies(pid_t pid);

/* From now on files are mapped as in @maps, a text as in /proc/PID/maps. False: it makes no sense. */
bool site_remap(struct site_finder *finder, char *maps);

/*
 * As site_find(), of a thread's @copy; and the whole stack, as far as the copy goes, as
 * site_stack_add() has it: from *@stack, in @room. Takes about 10 us once the functions are known.
 */
bool site_find_copy(struct site_finder *finder, const struct site_copy *copy, char site[SITE_MAX],
		    char room[STACK_MAX], char **stack);

#endif
