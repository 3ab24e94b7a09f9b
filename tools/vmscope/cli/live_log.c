/* SPDX-License-Identifier: MIT */
/* The log of a running process, made for a command that reads logs. */
#include "cli/live_log.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/session.h"
#include "log/log.h"
#include "log/log_space.h"
#include "mirror/kernel.h"
#include "mirror/reason.h"
#include "mirror/snapshot.h"

bool live_log_is_pid(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0' && strlen(text) < 10;
}

enum { TICKS = 20 };	/* a second: how often is looked whether the process has ended */

static volatile sig_atomic_t asked_to_stop;

static void stop(int signal)
{
	(void)signal;
	asked_to_stop = 1;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

static void restore(const struct sigaction *before)
{
	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
}

/* The tracer lets go when it is asked to and when we are killed, not by the Ctrl-C that is ours. */
static void trace(const char *pid, const char *log)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	setpgid(0, 0);
	execl("/proc/self/exe", "vmscope", "trace", "-q", "--verify=none", "-o", log, "-p", pid,
	      (char *)NULL);
	_exit(STATUS_CANNOT_RUN);
}

/*
 * Runs "vmscope trace -p PID -o @log" for a while, or until a signal that would end this program,
 * which then reads the log. Returns 0, or -1 after printing a message.
 */
static int follow(const char *pid, unsigned long seconds, const char *log)
{
	struct sigaction stops = { .sa_handler = stop }, before[SIGNALS];
	const struct timespec tick = { .tv_nsec = 1000000000 / TICKS };
	pid_t child, ended = 0;
	int status;

	for (int i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &stops, &before[i]);
	child = fork();
	if (child == 0) {
		restore(before);
		if (asked_to_stop) /* by then, when nothing was to be undone yet */
			_exit(0);
		trace(pid, log);
	}
	if (child < 0) {
		session_say("cannot start a tracer: %s", strerror(errno));
		restore(before);
		return -1;
	}
	/* The tracer ends by itself when the process does. */
	for (unsigned long i = 0; i < seconds * TICKS && !asked_to_stop && ended != child; i++) {
		nanosleep(&tick, NULL);
		ended = waitpid(child, &status, WNOHANG);
	}
	if (ended != child) {
		kill(child, SIGTERM);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	restore(before);
	/* Its status is that of a process that was killed meanwhile; what that did before is in the log. */
	if (WIFEXITED(status) && WEXITSTATUS(status) >= STATUS_FAILED &&
	    WEXITSTATUS(status) <= STATUS_NOT_FOUND) {
		session_say("process %s could not be followed", pid);
		return -1;
	}
	return 0;
}

bool live_log_was_stopped(void)
{
	return asked_to_stop;
}

/* Loads @pid's areas into a space of its own, and writes them as a log that attaches and detaches. */
static int write_areas(struct session *session, pid_t pid)
{
	const struct log_who who = { .pid = pid, .tid = pid, .space = 1 };
	struct json_object *record = json_object_new_object();
	struct vmspace_config config;
	struct vmspace *vm = NULL;
	char command[64];
	int rc;

	vmspace_config_init(&config);
	vmspace_config_read(&config, pid);
	rc = record ? vmspace_create(&vm, &config) : -ENOMEM;
	if (rc == 0)
		rc = snapshot_load(vm, pid, true, record);
	if (rc == 0) {
		kernel_read_command(pid, command, sizeof(command));
		log_space_begins(session, &who, vm, true, record);
		log_space_ends(session, &who, vm, command, "detach");
	} else {
		json_object_put(record);
	}
	vmspace_destroy(vm);
	return rc;
}

static int look(const char *pid, const char *log)
{
	const struct options options = { .attach = (pid_t)atoi(pid) };
	struct session session = { .options = &options };
	int rc = log_open(&session.log, log, &options);
	char why[REASON_SIZE];

	if (rc != 0) {
		session_say("cannot write %s: %s", log, strerror(-rc));
		return -1;
	}
	rc = write_areas(&session, options.attach);
	if (rc != 0)
		session_say("cannot look at process %s: %s", pid,
			    reason_of(options.attach, rc, why));
	else
		log_event(&session, "summary", NULL, log_summary_object(&session.totals, 0));
	log_close(&session);
	return rc != 0 || session.log_lost || session.failed ? -1 : 0;
}

/*
 * Nothing is left of it, however this program ends. The tracer that it starts has the descriptor,
 * too.
 */
static int open_without_name(void)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/vmscope-log-XXXXXX", folder && *folder ? folder : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		session_say("cannot make a file for the log, %s: %s", path, strerror(errno));
	else
		unlink(path);
	return fd;
}

int live_log_make(const char *pid, unsigned long seconds, char path[LIVE_LOG_PATH])
{
	int fd = open_without_name();

	if (fd < 0)
		return fd;
	snprintf(path, LIVE_LOG_PATH, "/proc/self/fd/%d", fd);
	if ((seconds ? follow(pid, seconds, path) : look(pid, path)) == 0)
		return fd;
	close(fd);
	return -1;
}
