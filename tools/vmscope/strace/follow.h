/* SPDX-License-Identifier: MIT */
/* What the calls in the output of strace(1) do to processes, address spaces and descriptors. */
#ifndef VMSCOPE_STRACE_FOLLOW_H
#define VMSCOPE_STRACE_FOLLOW_H

#include "strace/line.h"
#include "strace/steps.h"

/* The task that the line of @tid is about; @tid is 0 if the line has none. NULL: out of memory. */
struct strace_task *strace_follow_task(struct strace_reader *from, pid_t tid);

/* These queue steps. They return false if the line is malformed, or memory has run out. */

/* A complete call. */
bool strace_follow_call(struct strace_reader *from, struct strace_task *task,
			const struct strace_line *line);

/* The beginning of a call: @body is "name(args". */
bool strace_follow_unfinished(struct strace_reader *from, struct strace_task *task,
			      struct strace_text body);

/* The rest of a call. */
bool strace_follow_resumed(struct strace_reader *from, struct strace_task *task,
			   const struct strace_line *line);

/* The exit of a thread. */
bool strace_follow_exit(struct strace_reader *from, struct strace_task *task,
			const struct strace_line *line);

#endif
