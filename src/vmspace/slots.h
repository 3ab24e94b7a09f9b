/* SPDX-License-Identifier: MIT */
/*
 * slots.h - what each thread uses of a space at the moment, where only it writes and others look.
 *
 * A word that counts readers goes from processor to processor with every reader. Instead a thread
 * says in a cache line of its own what it reads; who is going to change that looks through the
 * lines of all threads, which is rare. docs/concurrency.md has the argument.
 *
 * More threads than slots share them: who finds its slot in use counts itself in the area's lock.
 *
 * Uses nothing of libvmspace.
 */
#ifndef VMSPACE_SLOTS_H
#define VMSPACE_SLOTS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS_LINE  64 /* bytes of a cache line */
#define SLOTS_COUNT (sizeof(long) * CHAR_BIT) /* as many as `used` has bits */

/* In `area`: a writer sleeps until the area is left. */
#define SLOT_WAITED ((uintptr_t)1)

/*
 * Owned by the thread that has set `area`; all words are atomic.
 * Invariants: frame != 0  =>  area != 0, as a frame is looked at in an area that is locked.
 */
struct slot {
	_Alignas(SLOTS_LINE) uintptr_t area; /* read-locked by the owner, or about to be; or 0 */
	uintptr_t frame;             /* looked at by the owner without a table's lock; or 0 */
	unsigned long faults;        /* written by the owner alone */
	unsigned long other_faults;  /* of threads that did not get the slot; relaxed */
	unsigned long faults_locked; /* relaxed */
};

struct slots {
	unsigned long used;          /* bit n: slot n was used by a thread. Never cleared */
	struct slot slot[SLOTS_COUNT];
};

/* The calling thread's number; its slot is slot[number % SLOTS_COUNT]. */
unsigned int slots_number(void);

/* The slot of the calling thread, and perhaps of others. From now on all others look at it. */
static inline struct slot *slots_mine(struct slots *slots)
{
	unsigned int number = slots_number() % SLOTS_COUNT;
	unsigned long bit = 1UL << number;

	if (!(__atomic_load_n(&slots->used, __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(&slots->used, bit, __ATOMIC_SEQ_CST);
	return &slots->slot[number];
}

/*
 * Say that the slot's owner, which the caller becomes, reads the area. False: another thread has
 * the slot. Ordered before the look at the area's lock that must follow.
 */
static inline bool slot_take(struct slot *slot, const void *area)
{
	uintptr_t none = 0;

	return __atomic_compare_exchange_n(&slot->area, &none, (uintptr_t)area, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* The owner leaves the area. True: a writer sleeps until it does. */
static inline bool slot_leave(struct slot *slot)
{
	/* Release: the reader's accesses happen before the writer sees it leave. */
	return __atomic_exchange_n(&slot->area, 0, __ATOMIC_ACQ_REL) & SLOT_WAITED;
}

/* Count a fault of the slot's owner. */
static inline void slot_count_fault(struct slot *slot)
{
	unsigned long faults = __atomic_load_n(&slot->faults, __ATOMIC_RELAXED);

	__atomic_store_n(&slot->faults, faults + 1, __ATOMIC_RELAXED);
}

/* Say that the owner looks at a frame; then it has to make sure that it is still to be had. */
static inline void slot_look_at(struct slot *slot, const void *frame)
{
	__atomic_store_n(&slot->frame, (uintptr_t)frame, __ATOMIC_SEQ_CST);
}

static inline void slot_look_away(struct slot *slot)
{
	__atomic_store_n(&slot->frame, 0, __ATOMIC_RELEASE);
}

/* The first slot, or the one after `slot`, that a thread has ever used; NULL: none. */
struct slot *slots_next(struct slots *slots, const struct slot *slot);
/*
 * Wait until nobody looks at the frame any more, which can no longer be found: the store that took
 * it away is sequentially consistent. Owners look for some instructions, and wait for nothing.
 */
void slots_wait_for_frame(struct slots *slots, const void *frame);

#endif
