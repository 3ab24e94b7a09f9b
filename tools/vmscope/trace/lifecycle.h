/* SPDX-License-Identifier: MIT */
/* Births, execs and ends: which threads there are, and which address spaces they use. */
#ifndef VMSCOPE_TRACE_LIFECYCLE_H
#define VMSCOPE_TRACE_LIFECYCLE_H

#include "trace/tracer.h"

/* @parent stops in the midst of a fork, vfork or clone; @event: which PTRACE_EVENT. */
void lifecycle_clone(struct tracer *tracer, struct task *parent, int event);

/* Process @tid executes another program. */
void lifecycle_exec(struct tracer *tracer, pid_t tid);

/* @task is about to end; its memory is still there. */
void lifecycle_exit_stop(struct tracer *tracer, struct task *task);

/* @tid has ended with @status as of waitpid(). */
void lifecycle_reap(struct tracer *tracer, pid_t tid, int status);

/* Gives @task a new space, and takes over what the kernel says of it. */
void lifecycle_start_mirror(struct tracer *tracer, struct task *task, bool attach);

/* Gives up @task's space if it runs a 32-bit program. */
void lifecycle_require_native(struct task *task);

/*
 * Takes over children whose parent was killed before it could report them, as if attached to:
 * nobody else tells whose they are. To be called when a task has ended, and when a newborn was
 * seen.
 */
void lifecycle_adopt_orphans(struct tracer *tracer);

#endif
