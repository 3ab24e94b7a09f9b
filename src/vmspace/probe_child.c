/* SPDX-License-Identifier: MIT */
/* probe_child.c - runs probes in a child process that does no harm whatever happens in it. */
#include "probe_child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Probing takes some milliseconds; so long only where a call blocks. */
enum { SECONDS = 10 };

_Noreturn void probe_child_end(void)
{
	for (;;)
		syscall(SYS_exit_group, 0);
}

/*
 * Is a new child of this thread an ordinary one? Without /proc that cannot be told, except that a
 * /proc that knows no PID namespaces is that of a kernel without them.
 */
static bool child_is_ordinary(void)
{
	char own[64], childs[64];
	ssize_t length = readlink("/proc/thread-self/ns/pid", own, sizeof(own));

	if (length < 0)
		return errno == ENOENT && !access("/proc/thread-self/stat", F_OK);
	/* This link cannot be read as long as a new namespace has no process. */
	return readlink("/proc/thread-self/ns/pid_for_children", childs, sizeof(childs)) ==
		       length && !memcmp(own, childs, (size_t)length);
}

/*
 * Be killed when the time is over. SIGKILL, because a copy of the caller has its handlers, and
 * blocks all other signals. The C library's timers would do, but some of them use malloc().
 */
static bool limit_time(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	const struct { long interval[2], value[2]; } when = { .value = { SECONDS, 0 } };
	int timer;

#if defined(SYS_timer_create) && defined(SYS_timer_settime)
	return !syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) &&
	       !syscall(SYS_timer_settime, (long)timer, 0L, &when, NULL);
#else
	return false;
#endif
}

/* If memory runs out all the same, the child is what the kernel kills. */
static void be_killed_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "1000", 4) != 4) {
		/* Then it is as likely to be killed as the caller is. */
	}
	close(fd);
}

static void raise_limits(void)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK, RLIMIT_NOFILE,
				      RLIMIT_FSIZE };
	struct rlimit limit;

	for (unsigned int i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit((__rlimit_resource_t)limits[i], &limit))
			continue;
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit((__rlimit_resource_t)limits[i], &limit);
	}
}

static void wait_for(pid_t child)
{
	while (waitpid(child, NULL, __WCLONE) < 0 && errno == EINTR)
		;
}

void probe_child_run(void (*work)(volatile unsigned char *shared), volatile unsigned char *shared)
{
	pid_t caller = getpid();
	sigset_t all, before;
	long child;

	if (!child_is_ordinary())
		return;
	/* The child must run none of this program's handlers, and its end must not be noticed. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	child = syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != caller || !limit_time())
			probe_child_end();
		be_killed_first();
		raise_limits();
		work(shared);
		probe_child_end();
	}
	if (child > 0)
		wait_for((pid_t)child);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
