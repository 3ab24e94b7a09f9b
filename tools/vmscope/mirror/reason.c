/* SPDX-License-Identifier: MIT */
/* Why a process cannot be followed or looked at, in words, and what to change. */
#include "mirror/reason.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mirror/kernel.h"

/* What may be in the way of ptrace() where users and processes are not. */
#define PTRACE_FORBIDDEN \
	"a seccomp profile or a security module forbids ptrace here; in a container, add the " \
	"capability CAP_SYS_PTRACE (--cap-add=SYS_PTRACE), or a profile that allows ptrace"

const char *reason_proc(void)
{
	char self[32] = "";

	if (readlink("/proc/self", self, sizeof(self) - 1) <= 0)
		return "/proc is not mounted, where the kernel shows maps: mount -t proc proc /proc";
	if ((pid_t)strtol(self, NULL, 10) != getpid())
		return "/proc shows the processes of another PID namespace: mount one of this "
		       "(mount -t proc proc /proc; unshare --mount-proc)";
	return NULL;
}

/* Reads its state, a letter, and whether it is the kernel's own. False: /proc does not show it. */
static bool read_state(pid_t pid, char *state, bool *is_kernel_thread)
{
	char *text = kernel_read_file(pid, "stat");
	const char *after_name = text ? strrchr(text, ')') : NULL;
	unsigned long flags = 0;

	/* Parent, group, session, terminal and the group there stand before the flags. */
	if (after_name)
		sscanf(after_name, ") %c %*d %*d %*d %*d %*d %lu", state, &flags);
	*is_kernel_thread = flags & KERNEL_THREAD;
	free(text);
	return after_name;
}

static unsigned long status_number(pid_t pid, const char *key, unsigned long otherwise)
{
	return kernel_file_number(pid, "status", key, 10, otherwise);
}

/* Whether not only ptrace() is refused, but maps, which no seccomp profile or Yama takes away. */
static bool is_hidden(pid_t pid)
{
	char *maps = kernel_read_file(pid, "maps");
	const bool hidden = !maps && errno == EACCES;

	free(maps);
	return hidden;
}

static void tell_forbidden(pid_t pid, int error, char *text)
{
	const unsigned long tracer = status_number(pid, "TracerPid:", 0);
	const unsigned long user = status_number(pid, "Uid:", geteuid());
	/* Whom Yama lets trace: 0 is everybody whom others let, or there is no Yama. */
	const unsigned long yama = kernel_setting("kernel/yama/ptrace_scope");

	if (tracer && (pid_t)tracer != getpid())
		snprintf(text, REASON_SIZE, "it is traced already, by process %lu", tracer);
	else if (geteuid() != 0 && user != geteuid())
		snprintf(text, REASON_SIZE, "it is another user's: be root, or that user (%lu)",
			 user);
	else if (geteuid() != 0 && (error == -EACCES || is_hidden(pid)))
		snprintf(text, REASON_SIZE, "%s: this user may not read its program, or it has "
			 "changed users, so the kernel hides it: be root", strerror(-error));
	else if (geteuid() != 0 && yama > 0)
		snprintf(text, REASON_SIZE, "/proc/sys/kernel/yama/ptrace_scope is %lu and forbids "
			 "it: be root, or start the program under vmscope", yama);
	else
		snprintf(text, REASON_SIZE, "%s: %s", strerror(-error), PTRACE_FORBIDDEN);
}

static void tell_ended(pid_t pid, char *text)
{
	if (status_number(pid, "Threads:", 1) > 1)
		snprintf(text, REASON_SIZE, "its first thread has ended, without which the kernel "
			 "does not show the areas of the others");
	else
		snprintf(text, REASON_SIZE, "it has ended and has no address space: it is a zombie "
			 "until its parent, process %lu, waits for it",
			 status_number(pid, "PPid:", 0));
}

const char *reason_of(pid_t pid, int error, char text[REASON_SIZE])
{
	const char *proc = reason_proc();
	bool is_kernel_thread;
	char state = ' ';

	if (proc)
		snprintf(text, REASON_SIZE, "%s", proc);
	else if (!read_state(pid, &state, &is_kernel_thread))
		snprintf(text, REASON_SIZE, "%s", kill(pid, 0) != 0 && errno == ESRCH ?
			 "there is no such process" :
			 "it is another user's, and /proc hides it (hidepid): be root");
	else if (is_kernel_thread)
		snprintf(text, REASON_SIZE, "it is a thread of the kernel, without an address "
			 "space of its own");
	else if (state == 'Z' || state == 'X')
		tell_ended(pid, text);
	else if (error == -EPERM || error == -EACCES)
		tell_forbidden(pid, error, text);
	else if (kernel_is_gone(error))
		snprintf(text, REASON_SIZE, "it ended just now");
	else
		snprintf(text, REASON_SIZE, "%s", kernel_reason(-error));
	return text;
}

const char *reason_of_start(int error, char text[REASON_SIZE])
{
	const unsigned long tracer = status_number(getpid(), "TracerPid:", 0);

	if (error == -EPERM && tracer)
		snprintf(text, REASON_SIZE, "vmscope is traced itself, by process %lu, which traces "
			 "what it starts", tracer);
	else
		snprintf(text, REASON_SIZE, "%s%s%s", strerror(-error), error == -EPERM ? ": " : "",
			 error == -EPERM ? PTRACE_FORBIDDEN : "");
	return text;
}
