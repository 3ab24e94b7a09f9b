/* SPDX-License-Identifier: MIT */
/*
 * past.h - areas that are in the tree no longer, and that readers without a lock may still be looking
 * at, until a grace period has passed.
 *
 * An area is freed by the space's writer alone, under its lock, as it is allocated: with its
 * references to names and files, which are not counted atomically. The callback of RCU only says
 * that the grace period is over.
 */
#ifndef VMSPACE_PAST_H
#define VMSPACE_PAST_H

#include <urcu/urcu-bp.h>

#include "space.h"

/*
 * Invariants: waiting => under_way.   over => under_way.   count == length of `dying`.
 * Lives as long as the space or a grace period needs it.
 */
struct past {
	unsigned int users;          /* atomic: the space, and a grace period that is under way */
	struct vma_store vmas;       /* the space's, when that has gone */
	struct vma *dying;           /* areas that readers may have found */
	unsigned long count;         /* their number */
	struct vma *waiting;         /* those of before the grace period began */
	bool under_way;              /* `rcu` is in use, or was until `over` */
	bool over;                   /* atomic: the grace period has ended */
	struct rcu_head rcu;
};

/* So many areas are worth a wait for a grace period: 50 KiB. */
#define PAST_MOST 512

/* For a space that several threads use. 0 or -ENOMEM. */
int past_create(struct vmspace *space);

/*
 * Does nobody but the holder of the space's lock look at the fields of areas, so that they may be
 * changed?
 */
static inline bool past_is_private(const struct vmspace *space)
{
	return !space->past;
}

/* The area has left the tree: free it when nobody looks at it any more. */
void past_retire_slow(struct vmspace *space, struct vma *vma);
static inline void past_retire(struct vmspace *space, struct vma *vma)
{
	if (__builtin_expect(past_is_private(space), 1))
		vma_free(&space->vmas, vma);
	else
		past_retire_slow(space, vma);
}

/* Free what nobody looks at any more. At the end of calls, under the space's lock. */
void past_poll_slow(struct vmspace *space);
static inline void past_poll(struct vmspace *space)
{
	if (space->past)
		past_poll_slow(space);
}

/* Have so many areas died that somebody should wait for their grace period (mt_poll())? */
static inline bool past_is_full(const struct vmspace *space)
{
	return space->past && space->past->count >= PAST_MOST;
}

/* With no reader in the space: free all that waits. */
void past_empty(struct vmspace *space);
/* The space goes, or gets others: no area is left of it but in a grace period's hands. */
void past_leave(struct vmspace *space);

#endif
