/* SPDX-License-Identifier: MIT */
/* The state of a trace, which all parts of the tracer share, and helpers for one thread. */
#include "trace/tracer.h"

#include <assert.h>

#include "trace/tracee.h"

struct log_who tracer_who(const struct task *task)
{
	return (struct log_who){ task->tgid, task->tid, task->space ? task->space->id : 0 };
}

struct json_object *tracer_detail(const char *key, long value)
{
	struct json_object *detail = json_object_new_object();

	json_object_object_add(detail, key, json_object_new_int64(value));
	return detail;
}

void tracer_resume(const struct tracer *tracer, const struct task *task, int signal)
{
	bool to_exit = tracer->attached || task->state == TASK_IN_CALL;

	assert(!task->held && task->state != TASK_WAITING);
	tracee_resume(task->tid, to_exit ? PTRACE_SYSCALL : PTRACE_CONT, signal);
}

bool tracer_follows(const struct task *task)
{
	return task->space && task->space->mirror;
}

bool tracer_read_call(pid_t tid, struct __ptrace_syscall_info *info)
{
	return ptrace((enum __ptrace_request)PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(*info),
		      info) > 0;
}
