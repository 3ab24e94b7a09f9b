/* SPDX-License-Identifier: MIT */
/* The options of "vmscope trace" and "vmscope watch", and their exit statuses. */
#ifndef VMSCOPE_BASE_OPTIONS_H
#define VMSCOPE_BASE_OPTIONS_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/wait.h>

/* Exit statuses of vmscope itself, the same as those of env(1). */
enum {
	STATUS_DIFFERENT = 1,
	STATUS_FAILED = 125,	/* vmscope itself failed */
	STATUS_CANNOT_RUN = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_INTERRUPTED = 130,	/* by SIGINT, as a shell has it: what was said is partial */
};

/* The status of a program that has ended, as a shell has it: 128 + n for signal n. */
static inline int status_of_program(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

/* The status where a command could not be executed for @error. */
static inline int status_of_exec(int error)
{
	return error == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN;
}

enum inject_kind { INJECT_NOTHING, INJECT_DROP, INJECT_DOUBLE, INJECT_ALTER };

struct options {
	char **command;			/* NULL-terminated; NULL when attaching */
	pid_t attach;			/* 0 when starting a command */
	unsigned long verify_every;	/* compare after every so many calls; 0: never */
	bool verify_nearby;		/* ... mostly only where the call may have changed areas */
	bool verify_end;		/* compare at exec and exit */
	const char *log_path;		/* NULL: none */
	const char *maps_path;		/* NULL: none */
	const char *summary_path;	/* NULL: standard error */
	bool sites;			/* log the call site of each call; watch: and its stack */
	bool json;
	bool quiet;
	unsigned long max_differences;	/* per process, before it is no longer compared */
	enum inject_kind inject;
	unsigned long inject_at;	/* which call, from 1 */
};

#endif
