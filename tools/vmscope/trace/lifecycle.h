/* SPDX-License-Identifier: MIT */
/* Clone, exec and exit: which threads exist, and which address spaces they use. */
#ifndef VMSCOPE_TRACE_LIFECYCLE_H
#define VMSCOPE_TRACE_LIFECYCLE_H

#include "trace/tracer.h"

/* @parent is inside fork, vfork or clone and reports its child by PTRACE_EVENT @event. */
void lifecycle_clone(struct tracer *tracer, struct task *parent, int event);

/* Process @tid has executed another program. */
void lifecycle_exec(struct tracer *tracer, pid_t tid);

/* @task is about to exit; its address space still exists. */
void lifecycle_exit_stop(struct tracer *tracer, struct task *task);

/* @tid is dead; @status is from waitpid(). */
void lifecycle_reap(struct tracer *tracer, pid_t tid, int status);

/* Gives @task a new address space with a mirror, read from the kernel. */
void lifecycle_start_mirror(struct tracer *tracer, struct task *task, bool attach);

/* Stops following @task's address space if it runs a 32-bit program. */
void lifecycle_require_native(struct task *task);

/*
 * Follows children whose parents were killed before they could report them, as if vmscope had
 * attached to them. To be called whenever a thread has died, and whenever one appears that has not
 * been reported.
 */
void lifecycle_adopt_orphans(struct tracer *tracer);

#endif
