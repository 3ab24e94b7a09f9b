/* SPDX-License-Identifier: MIT */
/*
 * tsan.c - tell ThreadSanitizer what liburcu, which is not compiled with it, guarantees.
 *
 * The linker redirects calls of liburcu-bp to this file (--wrap), which announces exactly what RCU
 * guarantees: what a thread did before it left its outermost read-side section happens before any
 * callback that runs, or any wait that ends, afterwards; and what happened before call_rcu()
 * happens before the callback. A section that has not been left when the callback runs announces
 * nothing, so a node freed under a reader is still reported.
 */
#include <sanitizer/tsan_interface.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

void __real_urcu_bp_read_lock(void);
void __real_urcu_bp_read_unlock(void);
void __real_urcu_bp_synchronize_rcu(void);
void __real_urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *));
void __wrap_urcu_bp_read_lock(void);
void __wrap_urcu_bp_read_unlock(void);
void __wrap_urcu_bp_synchronize_rcu(void);
void __wrap_urcu_bp_barrier(void);
void __wrap_urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *));

static char sections_left; /* its address stands for the order of sections and callbacks */
static unsigned long queued, done; /* callbacks; atomic */
static _Thread_local unsigned int depth;
static void (*callback[2])(struct rcu_head *); /* atomic */

void __wrap_urcu_bp_read_lock(void)
{
	__real_urcu_bp_read_lock();
	depth++;
}

void __wrap_urcu_bp_read_unlock(void)
{
	if (--depth == 0)
		__tsan_release(&sections_left);
	__real_urcu_bp_read_unlock();
}

void __wrap_urcu_bp_synchronize_rcu(void)
{
	__real_urcu_bp_synchronize_rcu();
	__tsan_acquire(&sections_left);
}

/* liburcu's own passes memory from thread to thread unseen; this one is the same by counting. */
void __wrap_urcu_bp_barrier(void)
{
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(&queued, __ATOMIC_ACQUIRE))
		usleep(1000);
}

static void run_callback(unsigned int which, struct rcu_head *head)
{
	__tsan_acquire(&sections_left);
	__tsan_acquire(head);
	__atomic_load_n(&callback[which], __ATOMIC_RELAXED)(head);
	__atomic_fetch_add(&done, 1, __ATOMIC_ACQ_REL);
}

static void run_first(struct rcu_head *head)
{
	run_callback(0, head);
}

static void run_second(struct rcu_head *head)
{
	run_callback(1, head);
}

/* The library has one callback function, a test maybe one of its own. */
void __wrap_urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	void (*first)(struct rcu_head *) = NULL;
	bool second = !__atomic_compare_exchange_n(&callback[0], &first, func, false,
						   __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
		      first != func;

	if (second)
		__atomic_store_n(&callback[1], func, __ATOMIC_RELAXED);
	__atomic_fetch_add(&queued, 1, __ATOMIC_ACQ_REL);
	__tsan_release(head);
	__real_urcu_bp_call_rcu(head, second ? run_second : run_first);
}
