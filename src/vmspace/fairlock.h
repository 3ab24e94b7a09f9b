/* SPDX-License-Identifier: MIT */
/*
 * fairlock.h - a mutex that nobody waits for forever: whoever waits is passed by a bounded number
 * of others that came later.
 *
 * A thread that finds it free takes it, though others wait (so it is not handed to one that has yet
 * to wake up); after FAIR_PASSES times in a row those that come queue up behind the first that
 * waits.
 */
#ifndef VMSPACE_FAIRLOCK_H
#define VMSPACE_FAIRLOCK_H

#include <pthread.h>
#include <stdbool.h>

/*
 * How many later threads may take the lock before the one that waits longest. It takes as long as
 * hundreds of calls until a thread is awake; with fewer passes the others soon all queue up behind
 * it, and each call then waits for a thread to wake: two threads that map and unmap made 0.40 calls
 * a microsecond with 8 passes, 0.56 with 64, and 2.07 with 512.
 */
#define FAIR_PASSES 512

struct fair_waiter;

/*
 * All fields are covered by `inner`, which is held for a few instructions only.
 *   passed: how often the lock was taken by others since the first waiter is the first.
 *   last: where the next waiter is linked; &first if there is none.
 */
struct fairlock {
	pthread_mutex_t inner;
	bool held;
	unsigned int passed;
	struct fair_waiter *first, **last;
};

void fairlock_init(struct fairlock *lock);
void fairlock_destroy(struct fairlock *lock);
/* Not recursive. */
void fairlock_lock(struct fairlock *lock);
void fairlock_unlock(struct fairlock *lock);

#endif
