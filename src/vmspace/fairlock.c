/* SPDX-License-Identifier: MIT */
/* fairlock.c - a mutex without starvation. */
#include <assert.h>
#include <stddef.h>

#include "fairlock.h"

/* On the stack of the waiting thread. */
struct fair_waiter {
	pthread_cond_t wake;
	struct fair_waiter *next;
};

void fairlock_init(struct fairlock *lock)
{
	pthread_mutex_init(&lock->inner, NULL);
	lock->held = false;
	lock->passed = 0;
	lock->first = NULL;
	lock->last = &lock->first;
}

void fairlock_destroy(struct fairlock *lock)
{
	assert(!lock->held && !lock->first);
	pthread_mutex_destroy(&lock->inner);
}

/* Queue up, and wait until the lock is free and this thread is the first. */
static void queue_up(struct fairlock *lock)
{
	struct fair_waiter self = { .wake = PTHREAD_COND_INITIALIZER };

	*lock->last = &self;
	lock->last = &self.next;
	do
		pthread_cond_wait(&self.wake, &lock->inner);
	while (lock->held || lock->first != &self);
	lock->first = self.next;
	if (!lock->first)
		lock->last = &lock->first;
	lock->passed = 0;
	pthread_cond_destroy(&self.wake);
}

void fairlock_lock(struct fairlock *lock)
{
	pthread_mutex_lock(&lock->inner);
	if (lock->held || (lock->first && lock->passed >= FAIR_PASSES))
		queue_up(lock);
	else if (lock->first)
		lock->passed++;
	lock->held = true;
	pthread_mutex_unlock(&lock->inner);
}

void fairlock_unlock(struct fairlock *lock)
{
	pthread_mutex_lock(&lock->inner);
	assert(lock->held);
	lock->held = false;
	if (lock->first)
		pthread_cond_signal(&lock->first->wake);
	pthread_mutex_unlock(&lock->inner);
}
