/* SPDX-License-Identifier: MIT */
/*
 * sync.h - the locks of a space that several threads use: the space's own and one per area.
 *
 * A space without pages has none of them (space->sync is NULL): every function here then tests one
 * pointer. docs/concurrency.md says who takes which lock, and why the memory orders suffice.
 *
 * An area's lock is one word, `vma->lock`:
 *
 *	seq << SYNC_SEQ_SHIFT | SYNC_WAITER | SYNC_DETACHED | readers
 *
 *   The area is write-locked  <=>  its sequence number is the space's, and it is not detached.
 *   SYNC_DETACHED: it is in no tree, and cannot be locked.
 *   SYNC_WAITER: a writer sleeps until the readers have left.
 *
 * Who reads an area says so in the slot of its thread, if that is free (sync_share), and otherwise
 * counts itself in the word (sync_read_lock). A writer changes the word first, then waits for both.
 *
 * When a call that locked areas ends, it increments the space's sequence number: that unlocks all
 * of them at once, as in Linux's per-VMA locks.
 */
#ifndef VMSPACE_SYNC_H
#define VMSPACE_SYNC_H

#include <limits.h>
#include <pthread.h>

#include <mapletree/maple_tree_mutex.h>

#include "slots.h"
#include "space.h"

#define SYNC_READERS   0xffful /* the most counted in the word; others take the slow path */
#define SYNC_DETACHED  VMA_LOCK_DETACHED
#define SYNC_WAITER    0x2000ul
#define SYNC_SEQ_SHIFT 14
#define SYNC_SEQ_MASK  (ULONG_MAX >> SYNC_SEQ_SHIFT)

struct vmspace_begun; /* of begin.c */

struct sync {
	/* Written under `lock`, read by all: */
	unsigned long seq;           /* the sequence number, 1 .. SYNC_SEQ_MASK */
	unsigned long huge_size;     /* config.pmd_size, or 0 with VMSPACE_THP_NEVER */
	bool huge_always;
	const struct vmspace_hooks *hooks; /* space->config.hooks */
	_Alignas(SLOTS_LINE) struct mt_mutex lock; /* the space's lock */
	bool locked;                 /* areas are write-locked with this `seq`; under `lock` */
	pthread_mutex_t drain;       /* between a writer that waits and a reader that leaves */
	pthread_cond_t drained;
	struct vmspace_begun *begun; /* calls that have begun, the first first; under `lock` */
	unsigned int ends;           /* how many have ended: a futex. Raised under `lock` */
	unsigned int waiting;        /* threads that wait for that; under `lock` */
	_Alignas(SLOTS_LINE) struct slots slots; /* who reads which area, and counts of faults */
};

/* The locks of all snapshots: there is nothing to lock. */
extern struct sync sync_still;

/* 0 or -ENOMEM. From then on several threads may use the space. */
int sync_create(struct vmspace *space);
void sync_destroy(struct vmspace *space);
/* Publish to faults what space->config says of huge pages and hooks. The space's lock is held. */
void sync_configure(struct vmspace *space);
/* `space` takes over the areas of `fresh`, which no other thread has seen. */
void sync_adopt(struct vmspace *space, const struct vmspace *fresh);

static inline const struct vmspace_hooks *sync_hooks(const struct vmspace *space)
{
	return __atomic_load_n(&space->sync->hooks, __ATOMIC_ACQUIRE);
}

/*
 * Take and release the space's lock; releasing it also unlocks all areas. The space is const
 * because readers take the lock, too, where they have to.
 */
void sync_enter_slow(const struct vmspace *space);
void sync_leave_slow(const struct vmspace *space);
static inline void sync_enter(const struct vmspace *space)
{
	if (__builtin_expect(space->sync != NULL, 0))
		sync_enter_slow(space);
}
static inline void sync_leave(const struct vmspace *space)
{
	if (__builtin_expect(space->sync != NULL, 0))
		sync_leave_slow(space);
}

/* Unlock all areas; the space's lock is held. */
void sync_unlock_areas(struct vmspace *space);

/*
 * Write-lock an area before it is changed or removed from the tree, until the space's lock is
 * released. New faults in it then take the slow path; this waits for those in progress.
 */
void sync_write_lock_slow(struct vmspace *space, struct vma *vma);
static inline void sync_write_lock(struct vmspace *space, struct vma *vma)
{
	if (__builtin_expect(space->sync != NULL, 0))
		sync_write_lock_slow(space, vma);
}
void sync_write_lock_all(struct vmspace *space);
/* For assertions: is the area write-locked, or is there no lock? */
bool sync_write_locked(const struct vmspace *space, const struct vma *vma);

/* A new area, which no reader can know yet, is about to enter the tree: write-lock it. */
void sync_attach_slow(struct vmspace *space, struct vma *vma);
static inline void sync_attach(struct vmspace *space, struct vma *vma)
{
	if (__builtin_expect(space->sync != NULL, 0) && vma)
		sync_attach_slow(space, vma);
}

/*
 * Try to lock an area for reading. Either `vma` was found in the tree within the present RCU
 * read-side section, or the space's lock is held. False: it is detached, write-locked, or has too
 * many readers. True: it is in the tree and does not change until sync_read_unlock(), but need not
 * cover the address where it was found. The lock may be kept beyond the RCU section.
 */
bool sync_read_lock(const struct vmspace *space, struct vma *vma);
void sync_read_unlock(const struct vmspace *space, struct vma *vma);

/*
 * The same, by the slot of the calling thread if that is free: then nothing is written that other
 * threads read. *slot is that slot, or NULL if the reader was counted in the area's lock.
 */
bool sync_share(const struct vmspace *space, struct vma *vma, struct slot **slot);
void sync_unshare(const struct vmspace *space, struct vma *vma, struct slot *slot);
/* For assertions: has the calling thread locked the area for reading by its slot? */
bool sync_shared(const struct vmspace *space, const struct vma *vma);

/* Count a fault of a thread that owns the slot (or NULL: none); one that takes the space's lock. */
void sync_count_fault(const struct vmspace *space, struct slot *slot);
void sync_count_locked(const struct vmspace *space);
void sync_sum(const struct vmspace *space, unsigned long *faults, unsigned long *faults_locked);

#endif
