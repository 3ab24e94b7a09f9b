/* SPDX-License-Identifier: MIT */
/* world.c - the guest's threads, and how they are stopped. */
#include <pthread.h>

#include "process.h"
#include "world.h"

/*
 * Invariants, with the lock held:
 *   inside == the threads in the list that are inside.   stopping  =>  at most the stopper goes on.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct thread *threads;
static unsigned int inside;
static bool stopping;
static bool several;         /* there has been more than one: it is never taken back but by fork */

void world_begin(struct thread *first)
{
	threads = first;
	first->next = NULL;
	inside = 1;
}

void world_add(struct thread *thread)
{
	pthread_mutex_lock(&lock);
	thread->next = threads;
	threads = thread;
	inside++;
	__atomic_store_n(&several, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

bool world_leave(struct thread *thread)
{
	struct thread **at = &threads;
	bool last;

	pthread_mutex_lock(&lock);
	last = threads == thread && !thread->next;
	if (!last) {
		while (*at != thread)
			at = &(*at)->next;
		*at = thread->next;
		inside--;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return last;
}

/* The lock is held. */
static void wait_inside(void)
{
	while (stopping)
		pthread_cond_wait(&changed, &lock);
	inside++;
}

void world_outside(void)
{
	if (!__atomic_load_n(&several, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	inside--;
	if (stopping)
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void world_inside(void)
{
	if (!__atomic_load_n(&several, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	wait_inside();
	pthread_mutex_unlock(&lock);
}

void world_pause(void)
{
	if (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE))
		return;
	world_outside();
	world_inside();
}

void world_stop(struct thread *thread)
{
	pthread_mutex_lock(&lock);
	if (stopping) { /* another one has been quicker */
		inside--;
		pthread_cond_broadcast(&changed);
		wait_inside();
	}
	__atomic_store_n(&stopping, true, __ATOMIC_RELEASE);
	for (struct thread *other = threads; other; other = other->next)
		if (other != thread)
			__atomic_store_n(&other->cpu.attention, 1, __ATOMIC_SEQ_CST);
	while (inside > 1)
		pthread_cond_wait(&changed, &lock);
	/* The lock is kept, so that it is this thread's in the child as well. */
}

void world_go_on(void)
{
	__atomic_store_n(&stopping, false, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void world_in_child(struct thread *thread)
{
	struct thread *other = threads, *next;

	for (; other; other = next) {
		next = other->next;
		if (other != thread)
			thread_free(other);
	}
	pthread_cond_init(&changed, NULL); /* those who waited are not there */
	stopping = several = false;
	world_begin(thread);
	pthread_mutex_unlock(&lock);
}
