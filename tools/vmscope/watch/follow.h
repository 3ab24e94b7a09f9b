/* SPDX-License-Identifier: MIT */
/* A program that is watched, from its start, or from now, to its end. */
#ifndef VMSCOPE_WATCH_FOLLOW_H
#define VMSCOPE_WATCH_FOLLOW_H

#include <stdbool.h>

#include "base/session.h"

struct watch_run {
	struct session *session;
	bool (*stop)(void);		/* whether the user has asked to stop */
	void (*started)(pid_t pid);	/* the command runs: signals are for it */
	void (*in_child)(void);		/* before its exec; async-signal-safe */
	/* Told afterwards: */
	bool ended;			/* the command has ended, with wait_status */
	int wait_status;
	int exec_error;			/* errno if the command could not be executed */
};

/*
 * Watches the command or the process of run->session->options. Returns 0 or, after a message,
 * -errno if it could not begin. A process is followed until run->stop(), or until all of it, with
 * its children, has ended.
 */
int follow_run(struct watch_run *run);

#endif
