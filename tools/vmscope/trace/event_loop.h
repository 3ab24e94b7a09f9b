/* SPDX-License-Identifier: MIT */
/* The event loop of a trace: starts or attaches, dispatches each ptrace stop, and lets go. */
#ifndef VMSCOPE_TRACE_EVENT_LOOP_H
#define VMSCOPE_TRACE_EVENT_LOOP_H

#include <sys/types.h>

#include "base/session.h"

/* How the traced program has ended. */
struct trace_result {
	int wait_status;	/* of the first process, from waitpid(); valid if ended */
	bool ended;		/* false: detached, or vmscope failed */
	int exec_error;		/* as tracee_exec_error() has it */
};

/*
 * Starts the command or attaches to the process in session->options, and follows it to its end.
 * signals_setup() must have been called. If the session fails, a started program is killed and an
 * attached one is detached from. Returns 0, or -errno after a message if it could not begin.
 */
int event_loop_run(struct session *session, struct trace_result *result);

#endif
