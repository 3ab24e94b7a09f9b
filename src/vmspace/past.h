/* SPDX-License-Identifier: MIT */
/*
 * past.h - areas that are in the tree no longer, and that others may still look at: readers without
 * a lock, until a grace period has passed, and snapshots, until they are closed.
 *
 * An area is freed by the space's writer alone, under its lock, as it is allocated. The callback of
 * RCU only says that the grace period is over, and who closes a snapshot gives its areas back. When the space has
 * gone, or has got other areas by exec, those who close the snapshots free them.
 */
#ifndef VMSPACE_PAST_H
#define VMSPACE_PAST_H

#include <pthread.h>
#include <urcu/urcu-bp.h>

#include "inherited.h"

/*
 * A snapshot. What there is of a space besides its areas is copied, so all functions that only read
 * work on `space`. Nothing of that changes; the rest is protected by past->lock.
 */
struct snapshot {
	struct vmspace space;        /* first: it is what the user has */
	struct vmspace_stats stats;  /* of the moment, what `space` does not tell: faults, pages */
	struct snapshot *older, *newer; /* open ones of the same past, or NULL */
	struct vma *kept;            /* areas that have died, and this is the newest to show them */
};

/*
 * Invariants: waiting => under_way.   under_way => over, or a callback is on its way.
 *   count == length of `dying`.
 *   An area that has left the tree, and that open snapshots show, is on the list of the newest of
 *   them, and on no other.   newest and sync  =>  next.
 * Lives as long as the space, a grace period or a snapshot needs it.
 */
struct past {
	unsigned int users;          /* atomic: the space, its snapshots, a grace period under way */
	struct vma_store vmas;       /* the space's, when that has gone */
	struct vma *dying;           /* areas that readers may have found */
	unsigned long count;         /* their number */
	struct vma *waiting;         /* those of before the grace period began */
	bool under_way;              /* `rcu` is in use, or was until `over` */
	bool over;                   /* atomic: the grace period has ended */
	struct rcu_head rcu;
	/* Under `lock`, which is taken under the space's lock, or by who closes a snapshot: */
	pthread_mutex_t lock;
	struct snapshot *newest;     /* of the open snapshots. Atomic, to ask whether there are any */
	uint32_t newest_number;      /* its number, or 0. Atomic */
	struct vma *closed;          /* areas of snapshots that were closed. Atomic, as above */
	bool alone;                  /* the space has gone, or has others: `vmas` is set */
	bool related;                /* a snapshot was cloned: other spaces have its backings */
	struct past *next;           /* the space's then: exec cannot fail. The space's lock */
};

/* So many areas are worth a wait for a grace period: 50 KiB. */
#define PAST_MOST 512

/* For a space that several threads use, or that has snapshots. 0 or -ENOMEM. */
int past_create(struct past **out);

/*
 * Does nobody but the holder of the space's lock look at the fields of areas, so that they may be
 * changed? (In a child that has areas of its parent, nobody looks at others: change_begin().)
 */
static inline bool past_is_private(const struct vmspace *space)
{
	return !space->past && !space->origin;
}

/*
 * May a snapshot show the area, which is the space's own? If not, and if there are no readers without
 * a lock either, it is still private. One that is being closed may or may not count.
 */
static inline bool past_shows(const struct past *past, const struct vma *vma)
{
	return vma->born < __atomic_load_n(&past->newest_number, __ATOMIC_ACQUIRE);
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

/* With no reader in the space: an area leaves the tree, which is about to be emptied. */
void past_bury(struct vmspace *space, struct vma *vma);
/* With no reader in the space: free all that waits. */
void past_empty(struct vmspace *space);
/*
 * The same when no area is left in the tree; then free their memory. If snapshots are open, that
 * passes to them, and the space gets another past.
 */
void past_end_areas(struct vmspace *space);
/* The space goes, or gets others: no area is left of it but in a grace period's hands. */
void past_leave(struct vmspace *space);

/* A snapshot is opened, under the space's lock; is closed, by any thread. */
void past_open(struct past *past, struct snapshot *snapshot);
/* True: its space has gone, or has got others. */
bool past_close(struct past *past, struct snapshot *snapshot);
/* Another space gets backings and names of a snapshot. */
void past_relate(struct past *past);
/* Who was counted as a user needs it no longer. */
void past_release(struct past *past);

#endif
