/* SPDX-License-Identifier: MIT */
/* The passage of a thread through a call: one at a time in each address space. */
#ifndef VMSCOPE_TRACE_CALL_GATE_H
#define VMSCOPE_TRACE_CALL_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/tracer.h"

/* @task has stopped at a call: by the filter, or at an entry or exit. */
void call_gate_stop(struct tracer *tracer, struct task *task);

/* The call of @task has returned @result, or ended without if !@completed; gives up the space. */
void call_gate_leave(struct tracer *tracer, struct task *task, bool completed, int64_t result);

/* Lets in the next thread that waits for @space, if nobody is inside. */
void call_gate_admit_next(struct tracer *tracer, struct space *space);

/*
 * Lets in those who have waited long beside whoever is inside: that one may wait for one of them.
 */
void call_gate_break_stalls(struct tracer *tracer);

#endif
