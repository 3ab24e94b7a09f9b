/* SPDX-License-Identifier: MIT */
/*
 * polled.c - free what was retired without liburcu's thread; userspace RCU under the library's names.
 */
#include "polled.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

unsigned long poll_queued;

/* What polled trees have retired: the last first, linked by rcu_next(). */
static struct rcu_head *queue;

/*
 * Held while what was retired is freed outside liburcu's thread, from when it is taken off a list
 * until all of it is freed: who then gets it knows that nothing older is left. Taken before the
 * mutex of rcu.c.
 */
static pthread_mutex_t freeing = PTHREAD_MUTEX_INITIALIZER;

static void polled_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	__atomic_fetch_add(&poll_queued, 1, __ATOMIC_RELAXED);
	rcu_push(&queue, head, func);
}

const struct mt_rcu rcu_polled = {
	polled_call, urcu_bp_synchronize_rcu, urcu_bp_read_lock, urcu_bp_read_unlock,
	urcu_bp_read_ongoing,
};

const struct mt_rcu *mt_rcu_polled(void)
{
	return &rcu_polled;
}

/* Takes all of the queue; a callback is counted until it is taken, at least. */
static struct rcu_head *take_queue(void)
{
	struct rcu_head *list, *head;
	unsigned long count = 0;

	if (!__atomic_load_n(&queue, __ATOMIC_RELAXED))
		return NULL;
	list = __atomic_exchange_n(&queue, NULL, __ATOMIC_ACQUIRE);
	for (head = list; head; head = rcu_next(head))
		count++;
	__atomic_fetch_sub(&poll_queued, count, __ATOMIC_RELAXED);
	return list;
}

/* Runs the callbacks of a list, in the order in which they were pushed. */
static void run_callbacks(struct rcu_head *list)
{
	struct rcu_head *head, *next, *first = NULL;

	for (head = list; head; head = next) {
		next = rcu_next(head);
		head->next.next = (struct cds_wfcq_node *)(void *)first;
		first = head;
	}
	for (head = first; head; head = next) {
		next = rcu_next(head);
		head->func(head);
	}
}

/* The mutex is held. Returns whether there was anything. */
static bool free_lists(struct rcu_head *polled, struct rcu_head *waited)
{
	if (!polled && !waited)
		return false;
	urcu_bp_synchronize_rcu();
	run_callbacks(polled);
	run_callbacks(waited);
	return true;
}

bool poll_queue(void)
{
	bool any;

	if (!__atomic_load_n(&queue, __ATOMIC_RELAXED) || rcu_may_wait() ||
	    pthread_mutex_trylock(&freeing))
		return false;
	any = free_lists(take_queue(), NULL);
	pthread_mutex_unlock(&freeing);
	return any;
}

/* What waits for a helper that runs, or can be started again, is handed to that. */
static bool free_all(void)
{
	return free_lists(take_queue(), rcu_retry() ? NULL : rcu_take_waiting());
}

bool mt_poll(void)
{
	bool any;

	if (!__atomic_load_n(&queue, __ATOMIC_RELAXED) && rcu_nothing_waits())
		return false;
	if (rcu_may_wait() || pthread_mutex_trylock(&freeing))
		return false;
	any = free_all();
	pthread_mutex_unlock(&freeing);
	return any;
}

void poll_barrier(void)
{
	pthread_mutex_lock(&freeing);
	free_all();
	pthread_mutex_unlock(&freeing);
	urcu_bp_barrier();
}

int mt_synchronize(void)
{
	int error = rcu_may_wait();

	if (!error)
		urcu_bp_synchronize_rcu();
	return error;
}

void mt_read_lock(void)
{
	urcu_bp_read_lock();
}

void mt_read_unlock(void)
{
	urcu_bp_read_unlock();
}

/* An object of the user's that is retired. */
struct retired {
	struct rcu_head rcu;
	void *object;
	void (*free)(void *object);
};

static void free_retired(struct rcu_head *head)
{
	struct retired *retired = caa_container_of(head, struct retired, rcu);
	bool before = rcu_in_callback;

	rcu_in_callback = true;
	retired->free(retired->object);
	free(retired);
	rcu_in_callback = before;
}

int mt_retire(void *object, void (*free)(void *object))
{
	struct retired *retired = malloc(sizeof(*retired));

	if (!retired)
		return -ENOMEM;
	retired->object = object;
	retired->free = free;
	rcu_retire(&retired->rcu, free_retired);
	return 0;
}

/* Nobody is in the middle of freeing when the process forks: the child can go on with it. */
void poll_before_fork(void)
{
	pthread_mutex_lock(&freeing);
	rcu_before_fork();
}

void poll_after_fork_parent(void)
{
	rcu_after_fork_parent();
	pthread_mutex_unlock(&freeing);
}

void poll_after_fork_child(void)
{
	rcu_after_fork_child();
	pthread_mutex_unlock(&freeing);
}
