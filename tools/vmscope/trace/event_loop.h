/* SPDX-License-Identifier: MIT */
/* The wait loop: hands each stop to who knows what to do, and starts and ends the tracing. */
#ifndef VMSCOPE_TRACE_EVENT_LOOP_H
#define VMSCOPE_TRACE_EVENT_LOOP_H

#include <sys/types.h>

#include "base/session.h"

/* How the traced program ended. */
struct trace_result {
	int wait_status;	/* of the first process, as waitpid() has it; valid if ended */
	bool ended;		/* false: detached, or vmscope failed */
	int exec_error;		/* errno if the command could not be executed */
};

/*
 * Starts the command or attaches to the process of session->options and follows it to its end.
 * signals_setup() comes first. When the session fails, started programs are killed and attached ones let go. Returns 0, or
 * -errno if it could not even start; a message says why.
 */
int event_loop_run(struct session *session, struct trace_result *result);

#endif
