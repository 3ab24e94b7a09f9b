/* SPDX-License-Identifier: MIT */
/* Starting a program under ptrace, attaching to one, and resuming threads. */
#include "trace/tracee.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/filter.h"
#include "trace/signals.h"

#define EVENTS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |	\
		PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT)

enum { STOP_PATIENCE_MS = 2000 };	/* for threads that do not stop */

/* In the child, between fork and exec. */
_Noreturn static void run_child(char **command, int go_fd, int status_fd)
{
	char go;
	int error;

	if (read(go_fd, &go, 1) != 1)
		_exit(125);
	signals_restore();
	error = filter_install();
	if (!error) {
		execvp(command[0], command);
		error = errno;
	}
	if (write(status_fd, &error, sizeof(error)) != sizeof(error))
		_exit(125);
	_exit(125);
}

static int let_go(pid_t pid, int go_fd)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(EVENTS | PTRACE_O_TRACESECCOMP |
						     PTRACE_O_EXITKILL)) != 0)
		return -errno;
	return write(go_fd, "", 1) == 1 ? 0 : -errno;
}

pid_t tracee_start(char **command, int *status_fd)
{
	int go[2], status[2], rc;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(status, O_CLOEXEC) != 0) {
		rc = -errno;
		close(go[0]);
		close(go[1]);
		return rc;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		run_child(command, go[0], status[1]);
	}
	rc = pid < 0 ? -errno : 0;
	close(go[0]);
	close(status[1]);
	if (rc == 0)
		rc = let_go(pid, go[1]);
	close(go[1]);
	if (rc == 0) {
		*status_fd = status[0];
		return pid;
	}
	close(status[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return rc;
}

int tracee_exec_error(int status_fd)
{
	int error = 0;

	if (read(status_fd, &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(status_fd);
	return error;
}

struct seized {
	pid_t *tids;
	int count, capacity;
};

static bool is_seized(const struct seized *seized, pid_t tid)
{
	for (int i = 0; i < seized->count; i++)
		if (seized->tids[i] == tid)
			return true;
	return false;
}

static int remember(struct seized *seized, pid_t tid)
{
	if (seized->count == seized->capacity) {
		int wanted = seized->capacity ? seized->capacity * 2 : 64;
		pid_t *larger = reallocarray(seized->tids, (size_t)wanted, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		seized->tids = larger;
		seized->capacity = wanted;
	}
	seized->tids[seized->count++] = tid;
	return 0;
}

/* Seizes the threads that are not seized yet. Returns how many were new, or -errno. */
static int seize_new(pid_t pid, struct seized *seized)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (found >= 0 && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || is_seized(seized, tid))
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)EVENTS) == 0) {
			ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
			found = remember(seized, tid) == 0 ? found + 1 : -ENOMEM;
		} else if (errno != ESRCH) {
			/*
			 * EPERM may also mean that its creator was seized already, so it is traced,
			 * too.
			 */
			found = seized->count > 0 ? found : -errno;
			remember(seized, tid);
		}
	}
	closedir(dir);
	return found;
}

int tracee_attach(pid_t pid, void (*stopped)(void *ctx, pid_t tid, int status), void *ctx)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct seized seized = { .tids = NULL };
	int total = 0, reported = 0, found, waited = 0;

	/* A thread that has not stopped yet may create another: repeat until none is new. */
	do {
		found = seize_new(pid, &seized);
		total += found > 0 ? found : 0;
		while (found >= 0 && reported < total && waited < STOP_PATIENCE_MS) {
			int status;
			pid_t tid = waitpid(-1, &status, __WALL | WNOHANG);

			if (tid > 0) {
				stopped(ctx, tid, status);
				reported++;
			} else {
				nanosleep(&pause, NULL);
				waited++;
			}
		}
	} while (found > 0 && waited < STOP_PATIENCE_MS);
	/* Report those, too, that have not stopped in time. */
	for (int i = 0; found >= 0 && i < seized.count; i++)
		stopped(ctx, seized.tids[i], 0);
	free(seized.tids);
	return found < 0 ? found : total;
}

bool tracee_resume(pid_t tid, int how, int signal)
{
	return ptrace((enum __ptrace_request)how, tid, NULL, (void *)(long)signal) == 0 ||
	       errno != ESRCH;
}
