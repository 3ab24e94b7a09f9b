/* SPDX-License-Identifier: MIT */
/* The passage of a thread through a call: one at a time in each address space. */
#ifndef VMSCOPE_PASSAGE_H
#define VMSCOPE_PASSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer.h"

/* @task has stopped at a call: by the filter, or at an entry or exit. */
void passage_stop(struct tracer *tracer, struct task *task);

/* The call of @task has returned @result, or ended without if !@completed; gives up the space. */
void passage_leave(struct tracer *tracer, struct task *task, bool completed, int64_t result);

/* Lets in the next thread that waits for @space, if nobody is inside. */
void passage_admit(struct tracer *tracer, struct space *space);

/*
 * Lets in those who have waited long beside whoever is inside: that one may wait for one of them.
 */
void passage_relieve(struct tracer *tracer);

#endif
