/* SPDX-License-Identifier: MIT */
/* Clone, exec and exit: which threads exist, and which address spaces they use. */
#include "trace/lifecycle.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mirror/mirror.h"
#include "mirror/reason.h"
#include "trace/call_gate.h"
#include "trace/filter.h"
#include "trace/signals.h"
#include "trace/tracee.h"

/* @task no longer uses its address space. The last user frees the mirror. */
static void leave_space(struct tracer *tracer, struct task *task)
{
	struct space *space = task->space;
	bool last;

	if (!space)
		return;
	last = space->tasks == 1;
	if (task->state == TASK_IN_CALL)
		call_gate_leave(tracer, task, false, 1);
	if (last && space->mirror) {
		mirror_free(space->mirror);
		space->mirror = NULL;
	}
	space_leave(&tracer->tasks, task);
	task->state = TASK_RUNNING;
	if (!last)
		call_gate_admit_next(tracer, space);
}

static bool shares_memory(const struct task *parent, pid_t child, int event)
{
	long order = syscall(SYS_kcmp, parent->tid, child, KCMP_VM, 0, 0);

	/* Without kcmp(), assume the usual: vfork() and clone() share, fork() copies. */
	return order < 0 ? event != PTRACE_EVENT_FORK : order == 0;
}

static struct space *copy_space(struct tracer *tracer, struct task *parent, pid_t child)
{
	struct log_who from = tracer_who(parent), to = { child, child, 0 };
	struct space *space = space_add(&tracer->tasks);

	if (!space) {
		session_fail(tracer->session, "out of memory");
		return NULL;
	}
	to.space = space->id;
	if (parent->space->mirror)
		space->mirror = mirror_fork(parent->space->mirror, &from, &to);
	return space;
}

static void register_child(struct tracer *tracer, struct task *parent, struct task *child,
			   int event)
{
	struct session *session = tracer->session;
	bool thread = syscall(SYS_tgkill, parent->tgid, child->tid, 0) == 0;
	struct log_who who;

	child->tgid = thread ? parent->tgid : child->tid;
	session->totals.threads++;
	session->totals.processes += !thread;
	session->totals.forks += !thread;
	if (parent->space && shares_memory(parent, child->tid, event))
		space_join(parent->space, child);
	else if (parent->space) {
		struct space *space = copy_space(tracer, parent, child->tid);

		if (space)
			space_join(space, child);
	}
	who = tracer_who(child);
	log_event(session, thread ? "thread" : event == PTRACE_EVENT_VFORK ? "vfork" : "fork", &who,
		  tracer_detail("parent", parent->tid));
}

void lifecycle_clone(struct tracer *tracer, struct task *parent, int event)
{
	unsigned long message = 0;
	struct task *child;
	struct space *space = parent->space;
	bool unreported;

	if (ptrace(PTRACE_GETEVENTMSG, parent->tid, NULL, &message) != 0)
		return;
	child = task_find(&tracer->tasks, (pid_t)message);
	unreported = child && child->state == TASK_UNREPORTED;
	if (!child) {
		child = task_add(&tracer->tasks, (pid_t)message, (pid_t)message);
		if (!child) {
			session_fail(tracer->session, "out of memory");
			return;
		}
		child->state = TASK_RUNNING;
	} else if (!unreported) {
		child = NULL; /* it was attached to separately */
	}
	if (child)
		register_child(tracer, parent, child, event);
	if (unreported) {
		child->state = TASK_RUNNING;
		tracer_resume(tracer, child, 0);
	}
	/*
	 * The address space is copied, so the next call may go ahead. A vfork() does not return
	 * before its child lets it.
	 */
	if (parent->state == TASK_IN_CALL)
		call_gate_leave(tracer, parent, true, (int64_t)message);
	tracer_resume(tracer, parent, 0);
	if (space)
		call_gate_admit_next(tracer, space);
}

void lifecycle_start_mirror(struct tracer *tracer, struct task *task, bool attach)
{
	struct session *session = tracer->session;
	struct space *space = space_add(&tracer->tasks);
	char why[REASON_SIZE];
	struct log_who who;
	int rc;

	if (!space) {
		session_fail(session, "out of memory");
		return;
	}
	space_join(space, task);
	who = tracer_who(task);
	rc = mirror_create(session, &who, attach, &space->mirror);
	if (rc == -ENOMEM) {
		session_fail(session, "out of memory");
	} else if (rc != 0 && attach && task->tgid == tracer->root) {
		session_fail(session, "cannot follow process %d: its maps cannot be read: %s",
			     (int)task->tgid, reason_of(task->tgid, rc, why));
	} else if (rc != 0 && !kernel_is_gone(rc)) {
		session->totals.unfollowed++;
		session_say("process %d runs, but is not followed: its maps cannot be read: %s",
			    (int)task->tgid, reason_of(task->tgid, rc, why));
	}
}

void lifecycle_require_native(struct task *task)
{
	struct __ptrace_syscall_info info;

	if (!tracer_follows(task) || !tracer_read_call(task->tid, &info))
		return;
	if (info.arch == filter_native_arch())
		return;
	mirror_give_up(task->space->mirror, task->tgid, "it is a 32-bit program");
	mirror_free(task->space->mirror);
	task->space->mirror = NULL;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *after_name;
	FILE *file;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fgets(text, sizeof(text), file) && (after_name = strrchr(text, ')')))
		sscanf(after_name, ") %*c %d", &parent);
	fclose(file);
	return parent;
}

/*
 * A search for a new thread that no traced thread will report: none of its own process and none of
 * its parent's. A child created with CLONE_PARENT has the same parent as its creator.
 */
struct orphan_search {
	struct tracer *tracer;
	struct task *orphan;
	pid_t tid, parent;
	bool has_parent;
};

static void find_parent(struct task *task, void *ctx)
{
	struct orphan_search *search = ctx;

	if (task->state != TASK_UNREPORTED)
		search->has_parent |= task->tgid == search->parent ||
				      syscall(SYS_tgkill, task->tgid, search->tid, 0) == 0;
}

static void find_orphan(struct task *task, void *ctx)
{
	struct orphan_search *search = ctx;

	if (task->state != TASK_UNREPORTED)
		return;
	search->tid = task->tid;
	search->parent = parent_of(task->tid);
	search->has_parent = search->parent == 0 ||
			     search->parent == parent_of(search->tracer->root);
	task_each(&search->tracer->tasks, find_parent, search);
	if (!search->has_parent)
		search->orphan = task;
}

void lifecycle_adopt_orphans(struct tracer *tracer)
{
	for (;;) {
		struct orphan_search search = { .tracer = tracer };
		struct task *task;

		task_each(&tracer->tasks, find_orphan, &search);
		task = search.orphan;
		if (!task)
			return;
		task->state = TASK_RUNNING;
		tracer->session->totals.processes++;
		tracer->session->totals.threads++;
		tracer->session->totals.forks++;
		lifecycle_start_mirror(tracer, task, true);
		lifecycle_require_native(task);
		tracer_resume(tracer, task, 0);
	}
}

static void forget_space(struct tracer *tracer, struct task *task)
{
	struct space *space = task->space;
	struct log_who who = tracer_who(task);

	if (space && space->mirror && space->live == 1 && !task->exiting)
		mirror_gone(space->mirror, &who, "exec");
	leave_space(tracer, task);
}

void lifecycle_exec(struct tracer *tracer, pid_t tid)
{
	unsigned long former = (unsigned long)tid;
	struct task *task, *other;
	struct log_who who;

	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &former);
	task = task_find(&tracer->tasks, (pid_t)former);
	if (!task)
		task = task_find(&tracer->tasks, tid);
	if (!task)
		return;
	/* All other threads of the process are gone; this one is the leader now. */
	while ((other = task_in_group(&tracer->tasks, task->tgid, task))) {
		leave_space(tracer, other);
		task_remove(&tracer->tasks, other);
	}
	task_rename(&tracer->tasks, task, tid);
	forget_space(tracer, task);
	task->state = TASK_RUNNING;
	task->exiting = false;
	if (tracer->exec_status_fd >= 0 && tid == tracer->root) {
		tracee_exec_error(tracer->exec_status_fd);
		tracer->exec_status_fd = -1;
	}
	lifecycle_start_mirror(tracer, task, false);
	lifecycle_require_native(task);
	tracer->session->totals.execs++;
	who = tracer_who(task);
	log_event(tracer->session, "exec", &who, NULL);
	tracer_resume(tracer, task, 0);
}

/* The result of a call whose thread exits without returning from it; x86-64 has it in rax. */
static bool result_at_end(const struct task *task, int64_t *result)
{
#if defined(__x86_64__)
	errno = 0;
	*result = ptrace(PTRACE_PEEKUSER, task->tid, 8 * 10, NULL);
	/* Until the call is performed, rax is -ENOSYS. */
	return errno == 0 && *result != -ENOSYS && (*result > -512 || *result < -516);
#else
	(void)task;
	(void)result;
	return false;
#endif
}

void lifecycle_exit_stop(struct tracer *tracer, struct task *task)
{
	struct space *space = task->space;
	struct log_who who = tracer_who(task);

	if (space && !task->exiting) {
		int64_t result = 0;

		if (task->state == TASK_IN_CALL) {
			bool done = result_at_end(task, &result);

			call_gate_leave(tracer, task, done, result);
		}
		space_withdraw(space, task);
		task->exiting = true;
		if (--space->live == 0 && space->mirror)
			mirror_finish(space->mirror, &who, "exit");
	}
	tracer_resume(tracer, task, 0);
	if (space)
		call_gate_admit_next(tracer, space);
}

void lifecycle_reap(struct tracer *tracer, pid_t tid, int status)
{
	struct task *task = task_find(&tracer->tasks, tid);
	struct log_who who;

	if (tid == tracer->root) {
		tracer->result->wait_status = status;
		tracer->result->ended = true;
		signals_forward_to(0);
		if (tracer->exec_status_fd >= 0)
			tracer->result->exec_error = tracee_exec_error(tracer->exec_status_fd);
		tracer->exec_status_fd = -1;
	}
	if (!task)
		return;
	who = tracer_who(task);
	/* Killed without an exit stop: there was no last comparison. */
	if (tracer_follows(task) && task->space->live == 1 && !task->exiting)
		mirror_gone(task->space->mirror, &who, "exit");
	if (task->tid == task->tgid)
		log_event(tracer->session, "exit", &who, tracer_detail("status", status));
	leave_space(tracer, task);
	task_remove(&tracer->tasks, task);
}
