/* SPDX-License-Identifier: MIT */
/*
 * The passage of a thread through a call: one at a time in each address space.
 *
 * The cost: a call that changes an address space takes two stops, four switches between processes;
 * threads of one space that make such calls at the same time wait for each other. All other calls,
 * page faults and computing run on as ever.
 */
#include "trace/call_gate.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>

#include "mirror/mirror.h"
#include "trace/filter.h"
#include "trace/signals.h"

/* For so many ticks a call may sleep before others of its address space are let in beside it. */
enum { PATIENCE = 5 };

static bool is_memory_call(const struct call *call)
{
	return !call_is_clone(call->kind) && !call_is_exec(call->kind);
}

/* @task owns its space and stands at the entry of its call. */
static void begin_call(struct tracer *tracer, struct task *task)
{
	struct log_who who = tracer_who(task);
	struct space *space = task->space;

	if (call_is_exec(task->call.kind)) {
		/* It may wait for other threads to end: nobody waits for it. */
		mirror_before_exec(space->mirror, &who);
		space_release(space);
		task->state = TASK_RUNNING;
	} else if (is_memory_call(&task->call)) {
		mirror_call_enter(space->mirror, &who, &task->call, task->pending, space->tasks == 1);
		/* Nobody else can come between: no need to stop again at its exit. */
		if (space->tasks == 1 && !tracer->attached &&
		    mirror_call_is_certain(space->mirror, &task->call, task->pending))
			call_gate_leave(tracer, task, true, 0);
	}
	tracer_resume(tracer, task, 0);
}

void call_gate_admit_next(struct tracer *tracer, struct space *space)
{
	struct task *task;

	while ((task = space_next(space)))
		begin_call(tracer, task);
}

static bool clone3_shares_memory(const struct task *task)
{
	uint64_t flags = 0;

	kernel_read_memory(task->tid, task->call.args[0], &flags, sizeof(flags));
	return flags & CLONE_VM;
}

/* A call of the table has been entered. Returns true if the thread must not be resumed now. */
static bool enter_call(struct tracer *tracer, struct task *task, const struct call_kind *kind,
		       const uint64_t args[6])
{
	if (!tracer_follows(task))
		return false;
	task->call = (struct call){ .kind = kind };
	memcpy(task->call.args, args, sizeof(task->call.args));
	if (kind->id == CALL_CLONE3 && clone3_shares_memory(task))
		return false;
	if (!task->pending)
		task->pending = calloc(1, sizeof(*task->pending));
	if (!task->pending) {
		session_fail(tracer->session, "out of memory");
		return false;
	}
	if (space_enter(task->space, task))
		begin_call(tracer, task);
	if (task->space->waiting)
		signals_set_tick(true);
	return true;
}

/* A setrlimit() or personality() has succeeded, perhaps for another process. */
static void limits_changed(struct tracer *tracer, const struct task *task)
{
	pid_t target = task->tgid;
	struct task *other;

	if (task->call.kind->id == CALL_PRLIMIT && task->call.args[0] != 0)
		target = (pid_t)task->call.args[0];
	other = task_in_group(&tracer->tasks, target, NULL);
	if (other && tracer_follows(other))
		mirror_refresh_limits(other->space->mirror, target);
}

/* Its thread has been killed before it could be seen whether the call has had an effect. */
static void note_lost(struct tracer *tracer, const struct task *task, bool alone)
{
	struct log_who who = tracer_who(task);
	struct json_object *detail = json_object_new_object();
	unsigned int guesses = mirror_call_lost(task->space->mirror, task->pending, alone, detail);
	char text[256];

	tracer->session->totals.lost++;
	call_format(&task->call, false, text, sizeof(text));
	json_object_object_add(detail, "call", json_object_new_string(text));
	json_object_object_add(detail, "result", json_object_new_int64(task->call.result));
	if (guesses)
		json_object_object_add(detail, "guesses", log_guesses(guesses));
	log_event(tracer->session, "lost", &who, detail);
}

void call_gate_leave(struct tracer *tracer, struct task *task, bool completed, int64_t result)
{
	struct log_who who = tracer_who(task);
	struct space *space = task->space;
	enum call_id id = task->call.kind->id;

	task->state = TASK_RUNNING;
	task->call.result = result;
	if (is_memory_call(&task->call)) {
		bool alone = space->tasks == 1;

		if (completed)
			mirror_call_exit(space->mirror, &who, &task->call, task->pending, alone);
		else
			note_lost(tracer, task, alone);
	}
	if (completed && result >= 0 &&
	    (id == CALL_SETRLIMIT || id == CALL_PRLIMIT || id == CALL_PERSONALITY))
		limits_changed(tracer, task);
	if (space->owner == task)
		space_release(space);
}

void call_gate_break_stalls(struct tracer *tracer)
{
	bool waiting = false;

	for (struct space *space = tracer->tasks.spaces; space; space = space->next) {
		/* One that only waits for a processor will be done: the order stays known. */
		if (space->waiting && space->owner && kernel_is_asleep(space->owner->tid))
			space->asleep++;
		else
			space->asleep = 0;
		if (space->asleep >= PATIENCE) {
			tracer->session->totals.overlaps++;
			space_release(space);
			call_gate_admit_next(tracer, space);
		}
		waiting |= space->waiting != NULL;
	}
	if (!waiting)
		signals_set_tick(false);
}

/* A memory call by a door that the mirror does not watch: 32-bit or x32. */
static void foreign_call(struct task *task)
{
	if (tracer_follows(task))
		mirror_give_up(task->space->mirror,
			       "it makes memory calls through the 32-bit entry");
}

/*
 * A filter of the program's own asks for a tracer. Without one, as if vmscope were not there, the
 * kernel skips the call and answers ENOSYS.
 */
static void refuse_call(const struct task *task)
{
#if defined(__x86_64__)
	ptrace(PTRACE_POKEUSER, task->tid, 8 * 15 /* orig_rax */, -1L);
	ptrace(PTRACE_POKEUSER, task->tid, 8 * 10 /* rax */, (long)-ENOSYS);
#else
	(void)task;
#endif
}

void call_gate_stop(struct tracer *tracer, struct task *task)
{
	struct __ptrace_syscall_info info;
	const struct call_kind *kind = NULL;
	bool held = false;

	if (!tracer_read_call(task->tid, &info))
		return; /* killed meanwhile; its end will be reported */
	switch (info.op) {
	case PTRACE_SYSCALL_INFO_SECCOMP:
		if (info.seccomp.ret_data == FILTER_MARK)
			kind = call_find(info.seccomp.nr);
		else if (info.seccomp.ret_data == FILTER_MARK_FOREIGN)
			foreign_call(task);
		else
			refuse_call(task);
		if (kind)
			held = enter_call(tracer, task, kind, (const uint64_t *)info.seccomp.args);
		break;
	case PTRACE_SYSCALL_INFO_ENTRY:
		kind = task->state == TASK_IN_CALL ? NULL : call_find(info.entry.nr);
		if (kind && call_passes(kind, (const uint64_t *)info.entry.args))
			held = enter_call(tracer, task, kind, (const uint64_t *)info.entry.args);
		break;
	case PTRACE_SYSCALL_INFO_EXIT:
		if (task->state == TASK_IN_CALL) {
			struct space *space = task->space;

			call_gate_leave(tracer, task, true, info.exit.rval);
			tracer_resume(tracer, task, 0);
			call_gate_admit_next(tracer, space);
			held = true;
		}
		break;
	}
	if (!held)
		tracer_resume(tracer, task, 0);
}
