/* SPDX-License-Identifier: MIT */
/*
 * grace.c - grace periods that end when the test asks for it.
 */
#include "grace.h"

#include <stddef.h>
#include <string.h>
#include <urcu/urcu-bp.h>

void __wrap_urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *));

static struct waiting {
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

/* As many as it takes: a callback may defer others. */
void grace_pass(void)
{
	struct waiting ready[sizeof(waiting) / sizeof(waiting[0])];
	unsigned int i, among;

	while (count) {
		among = count;
		memcpy(ready, waiting, sizeof(ready));
		count = 0;
		for (i = 0; i < among; i++)
			ready[i].func(ready[i].head);
	}
}
