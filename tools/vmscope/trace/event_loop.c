/* SPDX-License-Identifier: MIT */
/* The event loop of a trace: starts or attaches, dispatches each ptrace stop, and lets go. */
#include "trace/event_loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "log/log.h"
#include "log/site_names.h"
#include "mirror/mirror.h"
#include "mirror/reason.h"
#include "trace/call_gate.h"
#include "trace/lifecycle.h"
#include "trace/signals.h"
#include "trace/summary.h"
#include "trace/tracee.h"
#include "trace/tracer.h"

/* How long to wait, before detaching, for threads that do not stop. */
enum { DETACH_PATIENCE_MS = 2000 };

static void on_group_stop_or_interrupt(struct tracer *tracer, struct task *task, int signal)
{
	bool group_stop = signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
			  signal == SIGTTOU;

	/* PTRACE_LISTEN: the process stays in its group stop, and SIGCONT will be reported. */
	if (group_stop)
		tracee_resume(task->tid, PTRACE_LISTEN, 0);
	else
		tracer_resume(tracer, task, 0);
}

static void on_stop(struct tracer *tracer, pid_t tid, int status)
{
	int event = status >> 16, signal = WSTOPSIG(status);
	struct task *task = task_find(&tracer->tasks, tid);

	if (!task) {
		task = event == PTRACE_EVENT_EXEC ? NULL : task_add(&tracer->tasks, tid, tid);
		if (task) {
			task->state = TASK_UNREPORTED; /* until its parent's event comes */
			lifecycle_adopt_orphans(tracer);
		}
	} else if (task->state == TASK_UNREPORTED) {
		return;
	} else if (event == PTRACE_EVENT_EXEC) {
		lifecycle_exec(tracer, tid);
	} else if (event == PTRACE_EVENT_EXIT) {
		lifecycle_exit_stop(tracer, task);
	} else if (event == PTRACE_EVENT_STOP) {
		on_group_stop_or_interrupt(tracer, task, signal);
	} else if (event == PTRACE_EVENT_SECCOMP || signal == (SIGTRAP | 0x80)) {
		call_gate_stop(tracer, task);
	} else if (event != 0) {
		lifecycle_clone(tracer, task, event);
	} else {
		tracer_resume(tracer, task, signal);
	}
}

/* Children that the dead thread did not report will not be reported by anybody. */
static void end(struct tracer *tracer, pid_t tid, int status)
{
	lifecycle_reap(tracer, tid, status);
	lifecycle_adopt_orphans(tracer);
}

static void follow(struct tracer *tracer)
{
	const struct options *options = tracer->session->options;
	/* Must not mix with the output of the program. */
	bool progress = !options->quiet && isatty(STDERR_FILENO) &&
			(tracer->attached || !isatty(STDOUT_FILENO));

	if (tracer->session->log)	/* others may read it meanwhile */
		signals_tick_slowly();
	while (tracer->tasks.count > 0 && !tracer->session->failed && !signals_stop_requested()) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0 && errno != EINTR)
			break; /* ECHILD */
		if (tid > 0 && WIFSTOPPED(status))
			on_stop(tracer, tid, status);
		else if (tid > 0)
			end(tracer, tid, status);
		/*
		 * Checked after every event, since a steady stream of events would never let a tick
		 * interrupt waitpid().
		 */
		if (signals_ticked()) {
			call_gate_break_stalls(tracer);
			log_flush(tracer->session);
		}
		if (progress)
			summary_progress(tracer->session);
	}
	summary_progress_end();
}

static void free_mirror(struct task *task, void *ctx)
{
	(void)ctx;
	if (!tracer_follows(task))
		return;
	mirror_free(task->space->mirror);
	task->space->mirror = NULL;
}

static void kill_task(struct task *task, void *ctx)
{
	(void)ctx;
	kill(task->tgid, SIGKILL);
}

/* Kills all traced processes; vmscope has started them. */
static void kill_all(struct tracer *tracer)
{
	int status;
	pid_t tid;

	task_each(&tracer->tasks, kill_task, NULL);
	/* New children may still appear, and each thread stops once more at its exit. */
	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (tid <= 0 || !WIFSTOPPED(status))
			continue;
		kill(tid, SIGKILL);
		tracee_resume(tid, PTRACE_CONT, 0);
	}
}

static void interrupt_task(struct task *task, void *ctx)
{
	(void)ctx;
	if (!task->held && task->state != TASK_WAITING)
		ptrace(PTRACE_INTERRUPT, task->tid, NULL, NULL);
}

static void count_moving(struct task *task, void *ctx)
{
	unsigned int *moving = ctx;

	*moving += !task->held && task->state != TASK_WAITING;
}

/* Keeps @task stopped until the detach. If it has just finished a call, applies that. */
static void hold(struct tracer *tracer, struct task *task, int status)
{
	struct __ptrace_syscall_info info;

	if (task->state == TASK_IN_CALL && tracer_read_call(task->tid, &info) &&
	    info.op == PTRACE_SYSCALL_INFO_EXIT)
		call_gate_leave(tracer, task, true, info.exit.rval);
	task->held = true;
	task->hold_signal = status >> 16 == 0 && WSTOPSIG(status) != (SIGTRAP | 0x80) ?
				    WSTOPSIG(status) : 0;
}

/* Stops all threads for the last comparison. Does not wait long for those that do not stop. */
static void stop_all(struct tracer *tracer)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned int moving = 1;

	task_each(&tracer->tasks, interrupt_task, NULL);
	for (int waited = 0; moving > 0 && waited < DETACH_PATIENCE_MS;) {
		int status, event;
		pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);
		struct task *task = tid > 0 ? task_find(&tracer->tasks, tid) : NULL;

		moving = 0;
		event = status >> 16;
		if (tid <= 0) {
			nanosleep(&pause, NULL);
			waited++;
		} else if (!WIFSTOPPED(status)) {
			lifecycle_reap(tracer, tid, status);
		} else if (task && (event == 0 || event == PTRACE_EVENT_STOP) &&
			   task->state != TASK_UNREPORTED) {
			hold(tracer, task, status);
		} else {
			/* A clone, exec or exit: handle it, then stop what has become of it. */
			on_stop(tracer, tid, status);
			task_each(&tracer->tasks, interrupt_task, NULL);
		}
		task_each(&tracer->tasks, count_moving, &moving);
	}
}

static void last_look(struct task *task, void *ctx)
{
	struct log_who who = tracer_who(task);

	(void)ctx;
	if (!tracer_follows(task) || task->exiting || task->space->owner)
		return;
	mirror_finish(task->space->mirror, &who, "detach");
	mirror_free(task->space->mirror);
	task->space->mirror = NULL;
}

static void let_go(struct task *task, void *ctx)
{
	(void)ctx;
	if (task->held || task->state == TASK_WAITING || task->state == TASK_UNREPORTED)
		ptrace(PTRACE_DETACH, task->tid, NULL, (void *)(long)task->hold_signal);
}

/* Compares all attached processes for the last time and detaches from them. */
static void detach_all(struct tracer *tracer)
{
	int status;
	pid_t tid;

	stop_all(tracer);
	if (!tracer->session->failed)
		task_each(&tracer->tasks, last_look, NULL);
	task_each(&tracer->tasks, free_mirror, NULL);
	task_each(&tracer->tasks, let_go, NULL);
	/* The threads that did not stop in time. */
	while ((tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		long signal = 0;

		if (tid <= 0 || !WIFSTOPPED(status))
			continue;
		if (status >> 16 == 0 && WSTOPSIG(status) != (SIGTRAP | 0x80))
			signal = WSTOPSIG(status);
		ptrace(PTRACE_DETACH, tid, NULL, (void *)signal);
	}
}

/*
 * vmscope needs two descriptors for each address space and one for each open file mapped there. The
 * program's own limit is not affected: it has been started before.
 */
static void raise_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int start(struct tracer *tracer)
{
	const struct options *options = tracer->session->options;
	pid_t pid = tracee_start(options->command, &tracer->exec_status_fd);
	char why[REASON_SIZE];
	struct task *task;

	if (pid < 0) {
		session_fail(tracer->session, "cannot start a traced program: %s",
			     reason_of_start((int)pid, why));
		return pid;
	}
	task = task_add(&tracer->tasks, pid, pid);
	if (!task) {
		kill(pid, SIGKILL);
		session_fail(tracer->session, "out of memory");
		return -ENOMEM;
	}
	task->state = TASK_RUNNING;
	tracer->root = pid;
	tracer->session->totals.processes++;
	tracer->session->totals.threads++;
	signals_forward_to(pid);
	return 0;
}

static void first_stop(void *ctx, pid_t tid, int status)
{
	struct tracer *tracer = ctx;
	struct task *task = task_find(&tracer->tasks, tid);

	/* Not stopped yet; skip it if it is already known, or gone. */
	if (status == 0 && (task || syscall(SYS_tgkill, tracer->root, tid, 0) != 0))
		return;
	if (!task)
		task = task_add(&tracer->tasks, tid, tracer->root);
	if (!task) {
		session_fail(tracer->session, "out of memory");
		return;
	}
	/* It may be a child process that was forked just now. */
	if (syscall(SYS_tgkill, tracer->root, tid, 0) != 0) {
		task->tgid = tid;
		task->state = TASK_UNREPORTED;
		return;
	}
	task->state = TASK_RUNNING;
	task->first_status = status;
}

static void share_first_space(struct task *task, void *ctx)
{
	struct task *first = ctx;

	if (task != first && task->state != TASK_UNREPORTED)
		space_join(first->space, task);
}

static void find_unhandled(struct task *task, void *ctx)
{
	struct task **found = ctx;

	if (task->first_status != 0)
		*found = task;
}

/* Handles the first stops of the attached threads. That may add or remove threads. */
static void handle_first_stops(struct tracer *tracer)
{
	for (;;) {
		struct task *task = NULL;
		int status;

		task_each(&tracer->tasks, find_unhandled, &task);
		if (!task)
			return;
		status = task->first_status;
		task->first_status = 0;
		if (WIFSTOPPED(status))
			on_stop(tracer, task->tid, status);
		else
			lifecycle_reap(tracer, task->tid, status);
	}
}

static int attach(struct tracer *tracer)
{
	pid_t pid = tracer->session->options->attach;
	char why[REASON_SIZE];
	struct task *first;
	int rc;

	tracer->root = pid;
	rc = tracee_attach(pid, first_stop, tracer);
	if (rc < 0) {
		session_fail(tracer->session, "cannot attach to process %d: %s", (int)pid,
			     reason_of(pid, rc, why));
		return rc;
	}
	first = task_in_group(&tracer->tasks, pid, NULL);
	if (!first) {
		session_fail(tracer->session, "cannot stop process %d", (int)pid);
		return -ESRCH;
	}
	tracer->session->totals.processes++;
	tracer->session->totals.threads += tracer->tasks.count;
	lifecycle_start_mirror(tracer, first, true);
	task_each(&tracer->tasks, share_first_space, first);
	if (!tracer->session->failed) {
		struct log_who who = tracer_who(first);

		lifecycle_require_native(first);
		log_event(tracer->session, "attach", &who, NULL);
		handle_first_stops(tracer);
	}
	return 0;
}

int event_loop_run(struct session *session, struct trace_result *result)
{
	struct tracer tracer = {
		.session = session,
		.attached = session->options->command == NULL,
		.exec_status_fd = -1,
		.result = result,
	};
	int rc;

	*result = (struct trace_result){ .ended = false };
	rc = tracer.attached ? attach(&tracer) : start(&tracer);
	raise_open_files();
	if (rc == 0)
		follow(&tracer);
	signals_set_tick(false);
	if (tracer.attached)
		detach_all(&tracer);
	else
		kill_all(&tracer);
	task_each(&tracer.tasks, free_mirror, NULL);
	task_table_clear(&tracer.tasks);
	site_names_forget();
	return rc;
}
