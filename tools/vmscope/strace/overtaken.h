/* SPDX-License-Identifier: MIT */
/* Calls of which strace(1) prints the end later than that of others, which came after them. */
#ifndef VMSCOPE_STRACE_OVERTAKEN_H
#define VMSCOPE_STRACE_OVERTAKEN_H

#include "strace/steps.h"

/*
 * Queues each unfinished munmap() of other threads whose range the kernel has given a part of to
 * @req, a call of @task that is going to be queued: that part must have been free by then.
 */
void strace_push_overtaken(struct strace_reader *from, const struct strace_task *task,
			   const struct vmspace_request *req);

#endif
