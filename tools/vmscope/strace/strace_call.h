/* SPDX-License-Identifier: MIT */
/* Translating a system call in the output of strace(1) into a request to libvmspace. */
#ifndef VMSCOPE_STRACE_STRACE_CALL_H
#define VMSCOPE_STRACE_STRACE_CALL_H

#include <limits.h>
#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>

#include "strace/line.h"
#include "strace/processes.h"

enum strace_call_kind {
	STRACE_CALL_NONE,	/* it does not concern memory */
	STRACE_CALL_REQUEST,
	STRACE_CALL_UNMODELLED,	/* it may change areas in a way that is not shown or not modelled */
	STRACE_CALL_UNTOLD,	/* it has made an area that the log shows too little of: see *why */
	STRACE_CALL_MALFORMED,
};

/* Of System V. */
struct strace_segment {
	unsigned long size;
	unsigned int key;
};

/* A request together with what it points to. */
struct strace_call {
	struct vmspace_request req;
	struct strace_task *of;	/* whose areas it changes: not always the caller */
	char name[PATH_MAX];
};

/*
 * Translates the call in @line by @task. @segments has a struct strace_segment by its id where it
 * is known. If malformed or untold, *@why is the reason, a static string.
 */
enum strace_call_kind strace_call_make(struct strace_call *call, const struct strace_line *line,
				       struct strace_task *task, struct maple_tree *segments,
				       const char **why);

#endif
