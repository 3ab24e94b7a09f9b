/* SPDX-License-Identifier: MIT */
/*
 * rcu.c - the writer's side of userspace RCU, and what has to happen around a fork.
 */
#include "rcu.h"

#include <signal.h>

/* liburcu starts its callback thread when it is first needed, with the signal mask of whoever needs
 * it. The process's signals are not that thread's business. */
static void start_callback_thread(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	urcu_bp_get_default_call_rcu_data();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void rcu_defer(const struct mt_rcu *flavour, struct rcu_head *head,
	       void (*func)(struct rcu_head *head))
{
	static pthread_once_t started = PTHREAD_ONCE_INIT;

	if (flavour) {
		flavour->call(head, func);
		return;
	}
	pthread_once(&started, start_callback_thread);
	urcu_bp_call_rcu(head, func);
}

void rcu_wait(const struct mt_rcu *flavour)
{
	if (flavour)
		flavour->synchronize();
	else
		urcu_bp_synchronize_rcu();
}

/* The thread that runs callbacks stops first, as liburcu asks; it starts again last. */
void mt_before_fork(void)
{
	urcu_bp_call_rcu_before_fork();
	urcu_bp_before_fork();
}

void mt_after_fork_parent(void)
{
	urcu_bp_after_fork_parent();
	urcu_bp_call_rcu_after_fork_parent();
}

void mt_after_fork_child(void)
{
	urcu_bp_after_fork_child();
	urcu_bp_call_rcu_after_fork_child();
}
