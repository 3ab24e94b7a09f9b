/* SPDX-License-Identifier: MIT */
/*
 * grace.c - grace periods that end when the test asks for it.
 */
#include "grace.h"

#include <stddef.h>
#include <urcu/urcu-bp.h>

void __wrap_urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *));

static struct {
	struct rcu_head *head;
	void (*func)(struct rcu_head *);
} waiting[64];
static unsigned int count;

void __wrap_urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *))
{
	if (count == sizeof(waiting) / sizeof(waiting[0]))
		grace_pass();
	waiting[count].head = head;
	waiting[count++].func = func;
}

void grace_pass(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		waiting[i].func(waiting[i].head);
	count = 0;
}
