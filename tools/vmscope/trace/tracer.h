/* SPDX-License-Identifier: MIT */
/* The state of a trace, which all parts of the tracer share, and helpers for one thread. */
#ifndef VMSCOPE_TRACE_TRACER_H
#define VMSCOPE_TRACE_TRACER_H

#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include "log/log.h"
#include "trace/event_loop.h"
#include "trace/task.h"

struct tracer {
	struct session *session;
	struct task_table tasks;
	bool attached;		/* to a running process, which has no filter */
	pid_t root;		/* the process that was started or attached to */
	int exec_status_fd;	/* from tracee_start(), until the first exec; then -1 */
	struct trace_result *result;
};

struct log_who tracer_who(const struct task *task);

/* An object with one number, for log_event(). */
struct json_object *tracer_detail(const char *key, long value);

/*
 * Resumes @task, delivering @signal unless 0. If it is inside a call, or has no filter, it will
 * stop at the next exit or entry of a system call.
 */
void tracer_resume(const struct tracer *tracer, const struct task *task, int signal);

/* Whether @task has a space that has a mirror. */
bool tracer_follows(const struct task *task);

/* Reads the system call at which @tid is stopped. False: the thread is gone. */
bool tracer_read_call(pid_t tid, struct __ptrace_syscall_info *info);

#endif
