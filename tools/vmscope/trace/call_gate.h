/* SPDX-License-Identifier: MIT */
/* Lets the threads of an address space into the calls that change it one at a time. */
#ifndef VMSCOPE_TRACE_CALL_GATE_H
#define VMSCOPE_TRACE_CALL_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/tracer.h"

/* @task has stopped at a system call: by the filter, or at its entry or exit. */
void call_gate_stop(struct tracer *tracer, struct task *task);

/*
 * The call of @task has returned @result; or, unless @completed, its thread was killed inside it.
 * @task no longer owns its address space.
 */
void call_gate_leave(struct tracer *tracer, struct task *task, bool completed, int64_t result);

/* Lets the next thread in that waits for @space, unless there is an owner. */
void call_gate_admit_next(struct tracer *tracer, struct space *space);

/*
 * On every tick: if an owner has been blocked for long, lets the next thread in nevertheless. The
 * owner may be waiting for that thread.
 */
void call_gate_break_stalls(struct tracer *tracer);

#endif
