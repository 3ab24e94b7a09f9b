/* SPDX-License-Identifier: MIT */
/* slots.c - the slots of threads: whose is which, and waiting for what is said in them. */
#include <sched.h>

#include "slots.h"

/* How often to poll before other threads of this processor are let on: one may be the owner. */
#define SPINS 100

unsigned int slots_number(void)
{
	static unsigned int threads; /* atomic, relaxed */
	static _Thread_local unsigned int mine; /* 0: none yet */

	if (__builtin_expect(!mine, 0))
		mine = 1 + __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % SLOTS_COUNT;
	return mine - 1;
}

struct slot *slots_next(struct slots *slots, const struct slot *slot)
{
	unsigned long next = slot ? (unsigned long)(slot - slots->slot) + 1 : 0;
	/* After what the caller has stored: an owner that sees the old value has set its bit. */
	unsigned long used = __atomic_load_n(&slots->used, __ATOMIC_SEQ_CST);

	if (next == SLOTS_COUNT || !(used >> next))
		return NULL;
	return &slots->slot[next + (unsigned long)__builtin_ctzl(used >> next)];
}

void slots_wait_for_frame(struct slots *slots, const void *frame)
{
	for (struct slot *slot = NULL; (slot = slots_next(slots, slot));)
		for (int i = 0; __atomic_load_n(&slot->frame, __ATOMIC_SEQ_CST) ==
				(uintptr_t)frame; i++)
			if (i >= SPINS)
				sched_yield();
}
