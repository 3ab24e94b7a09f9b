/* SPDX-License-Identifier: MIT */
/*
 * fairlock.h - a mutex without starvation: a waiter is overtaken a bounded number of times.
 *
 * A thread that finds the lock free takes it even if others are waiting, which avoids handing it to
 * a thread that has yet to wake up. After FAIR_PASSES times in a row, later threads queue up behind
 * the first waiter.
 */
#ifndef VMSPACE_FAIRLOCK_H
#define VMSPACE_FAIRLOCK_H

#include <pthread.h>
#include <stdbool.h>

/*
 * How often the longest waiter may be overtaken. Waking a thread takes as long as hundreds of
 * calls; with fewer passes all threads soon queue up, and each call waits for a wake-up: two
 * threads that map and unmap made 0.40 calls per microsecond with 8 passes, 0.56 with 64, and 2.07
 * with 512.
 */
#define FAIR_PASSES 512

struct fair_waiter;

/* All fields are protected by `inner`, which is held for a few instructions only. */
struct fairlock {
	pthread_mutex_t inner;
	bool held;
	unsigned int passed;         /* how often the first waiter has been overtaken */
	struct fair_waiter *first;   /* the queue of waiters */
	struct fair_waiter **last;   /* its last link; &first if it is empty */
};

void fairlock_init(struct fairlock *lock);
void fairlock_destroy(struct fairlock *lock);
/* Not recursive. */
void fairlock_lock(struct fairlock *lock);
void fairlock_unlock(struct fairlock *lock);

#endif
