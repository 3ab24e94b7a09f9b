/* SPDX-License-Identifier: MIT */
/* A system call in the output of strace(1) as a request to libvmspace. */
#ifndef VMSCOPE_STRACECALL_H
#define VMSCOPE_STRACECALL_H

#include <limits.h>
#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>

#include "straced.h"
#include "straceline.h"

enum stracecall_kind {
	STRACECALL_NONE,	/* it has nothing to do with memory */
	STRACECALL_REQUEST,
	STRACECALL_UNMODELLED,	/* it may change areas in a way that is not told, or not modelled */
	STRACECALL_MALFORMED,
};

/* A request with what it points to. */
struct stracecall {
	struct vmspace_request req;
	struct straced_task *of;	/* whose areas it is about: not always the caller's */
	char name[PATH_MAX];
};

/*
 * Makes the request of the call in @line by @task. @segments: the sizes of shared memory, by number.
 * *@why, if malformed, is static.
 */
enum stracecall_kind stracecall_make(struct stracecall *call, const struct strace_line *line,
				     struct straced_task *task, struct maple_tree *segments,
				     const char **why);

#endif
