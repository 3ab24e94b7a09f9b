/* SPDX-License-Identifier: MIT */
/*
 * grace.c - a flavour of RCU whose grace periods end when they are told to.
 */
#include "grace.h"

#include <err.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <urcu/urcu-bp.h>

/* The callbacks that wait; the main thread's but between the two semaphores. */
static struct rcu_head *waiting;
static sem_t to_run, done;

static void grace_call(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	head->func = func;
	head->next.next = (struct cds_wfcq_node *)waiting;
	waiting = head;
}

static void run_waiting(void)
{
	while (waiting) {
		struct rcu_head *head = waiting;

		waiting = (struct rcu_head *)head->next.next;
		head->func(head);
	}
}

static void *run(void *unused)
{
	for (;;) {
		while (sem_wait(&to_run))
			;
		run_waiting();
		sem_post(&done);
	}
	return unused;
}

void grace_start(void)
{
	pthread_t thread;

	if (sem_init(&to_run, 0, 0) || sem_init(&done, 0, 0) ||
	    pthread_create(&thread, NULL, run, NULL))
		errx(1, "no thread for callbacks");
}

void grace_end(void)
{
	if (!waiting)
		return;
	sem_post(&to_run);
	while (sem_wait(&done))
		;
}

static void nothing(void)
{
}

/* The collected parts run outside of any section: the cursor watches the tree's stamp there. */
static int reading(void)
{
	return 0;
}

const struct mt_rcu grace_flavour = { grace_call, grace_end, nothing, nothing, reading };
