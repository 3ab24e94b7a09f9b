/* SPDX-License-Identifier: MIT */
/* What the parts of the tracer share: its state, and a few words on one thread. */
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
	bool attached;		/* to a running process, so without a filter */
	pid_t root;		/* the process that was started or attached to */
	int exec_status_fd;	/* of the started program until its first exec, then -1 */
	struct trace_result *result;
};

struct log_who tracer_who(const struct task *task);

/* An object for the log with one number. */
struct json_object *tracer_detail(const char *key, long value);

/*
 * Lets @task run, with @signal unless 0. Inside a call, and always without a filter, it stops at
 * the next exit or entry of a call.
 */
void tracer_resume(const struct tracer *tracer, const struct task *task, int signal);

/* Whether the space of @task has a mirror. */
bool tracer_follows(const struct task *task);

/* What call @tid stands at. False: it is gone. */
bool tracer_read_call(pid_t tid, struct __ptrace_syscall_info *info);

#endif
