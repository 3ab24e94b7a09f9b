/* SPDX-License-Identifier: MIT */
/*
 * polled.h - what is freed without liburcu's thread: by whoever has the time to wait for readers.
 *
 * Trees of the flavour rcu_polled push their batches to a queue. poll_queue() takes all of it,
 * waits for one grace period, and runs the callbacks. mt_poll() does the same for what else waits
 * because no thread runs that would free it (rcu_take_waiting()).
 */
#ifndef MT_POLLED_H
#define MT_POLLED_H

#include "rcu.h"

/*
 * How many callbacks the queue holds before a writer frees them: one grace period for about half a
 * mebibyte of nodes.
 */
#define POLL_CALLBACKS 64

/* How many callbacks are in the queue. Atomic. */
extern unsigned long poll_queued __attribute__((visibility("hidden")));

/* poll_is_due - whether there are enough for a grace period. */
static inline bool poll_is_due(void)
{
	return __atomic_load_n(&poll_queued, __ATOMIC_RELAXED) >= POLL_CALLBACKS;
}

/*
 * poll_queue - free what is in the queue. Returns false if nothing is, another thread is about it,
 * or this one may not wait.
 */
bool poll_queue(void);

/* poll_barrier - free what waits now, in the queue or with liburcu, and wait until it is freed. */
void poll_barrier(void);

/* poll_before_fork, poll_after_fork_parent, poll_after_fork_child - of the queue, and of rcu.c. */
void poll_before_fork(void);
void poll_after_fork_parent(void);
void poll_after_fork_child(void);

#endif
