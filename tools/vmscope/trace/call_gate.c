/* SPDX-License-Identifier: MIT */
/*
 * Lets the threads of an address space into the calls that change it one at a time.
 *
 * The cost: such a call takes two ptrace stops, that is, four context switches, and threads that
 * make such calls in one address space at the same time wait for each other. All other calls and
 * page faults run at full speed.
 */
#include "trace/call_gate.h"

#include <assert.h>
#include <errno.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>

#include "mirror/mirror.h"
#include "trace/filter.h"
#include "trace/signals.h"

/* If a call sleeps for this many ticks, other calls in its address space no longer wait for it. */
enum { STALL_TICKS = 5 };

static bool is_memory_call(const struct call *call)
{
	return !call_is_clone(call->kind) && !call_is_exec(call->kind);
}

/* @task owns its address space, and is stopped at the entry of its call. */
static void begin_call(struct tracer *tracer, struct task *task)
{
	struct log_who who = tracer_who(task);
	struct space *space = task->space;

	assert(space->owner == task && task->state == TASK_IN_CALL);
	if (call_is_exec(task->call.kind)) {
		/* exec waits for other threads to exit, so they must not wait for it. */
		mirror_before_exec(space->mirror, &who);
		space_release(space);
		task->state = TASK_RUNNING;
	} else if (is_memory_call(&task->call)) {
		mirror_call_enter(space->mirror, &who, &task->call, task->pending,
				  space->tasks == 1);
		/* No other thread can come between: the stop at the exit is not needed. */
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

/* @task has entered a call of @kind. Returns true if the caller must not resume it. */
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

/* setrlimit(), prlimit() or personality() has succeeded, perhaps for another process. */
static void limits_changed(struct tracer *tracer, const struct task *task)
{
	pid_t target = task->tgid;
	struct task *other;

	if (task->call.kind->id == CALL_PRLIMIT && task->call.args[0] != 0)
		target = (pid_t)task->call.args[0];
	other = task_in_group(&tracer->tasks, target, NULL);
	if (other && tracer_follows(other))
		mirror_refresh_limits(other->space->mirror, target, target);
}

/* The thread was killed inside its call, before anybody saw whether it was performed. */
static void log_lost_call(struct tracer *tracer, const struct task *task, bool alone)
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

	assert(task->state == TASK_IN_CALL);
	task->state = TASK_RUNNING;
	task->call.result = result;
	if (is_memory_call(&task->call)) {
		bool alone = space->tasks == 1;

		if (completed)
			mirror_call_exit(space->mirror, &who, &task->call, task->pending, alone);
		else
			log_lost_call(tracer, task, alone);
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
		/*
		 * An owner that only waits for a CPU will finish: then the order of calls stays
		 * known.
		 */
		if (space->waiting && space->owner && kernel_is_asleep(space->owner->tid))
			space->asleep++;
		else
			space->asleep = 0;
		if (space->asleep >= STALL_TICKS) {
			tracer->session->totals.overlaps++;
			space_release(space);
			call_gate_admit_next(tracer, space);
		}
		waiting |= space->waiting != NULL;
	}
	if (!waiting)
		signals_set_tick(false);
}

/* A memory call through an entry that vmscope does not decode: 32-bit or x32. */
static void foreign_call(struct task *task)
{
	if (tracer_follows(task))
		mirror_give_up(task->space->mirror, task->tgid,
			       "it makes memory calls through the 32-bit entry");
}

/*
 * A seccomp filter of the program itself returned SECCOMP_RET_TRACE. Does what the kernel does if
 * there is no tracer: skips the call and returns ENOSYS.
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
		return; /* killed meanwhile; waitpid() will report its exit */
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
