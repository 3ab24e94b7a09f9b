/* SPDX-License-Identifier: MIT */
/*
 * sync.h - the locks of a space that several threads use: the space's own and that of each area.
 *
 * A space without memory has none of it (space->sync is NULL): every function here is then a test
 * of one pointer. docs/concurrency.md tells who takes which lock, and why the orders are enough.
 *
 * An area's lock is one word, `vma->lock`:
 *
 *	turn << SYNC_TURN_SHIFT | SYNC_AWAITED | SYNC_GONE | readers
 *
 *   The area is write-locked   <=>   its turn is the space's turn (and it is not gone).
 *   SYNC_GONE: it is in no tree; nobody can lock it.
 *   SYNC_AWAITED: the writer sleeps until the readers have left.
 *
 * The turn of a space grows when a call that locked areas ends: that unlocks all of them at once.
 */
#ifndef VMSPACE_SYNC_H
#define VMSPACE_SYNC_H

#include <limits.h>

#include "fairlock.h"
#include "space.h"

#define SYNC_READERS    0xffful          /* so many readers of one area; more take the slow path */
#define SYNC_GONE       VMA_LOCK_GONE
#define SYNC_AWAITED    0x2000ul
#define SYNC_TURN_SHIFT 14
#define SYNC_TURN_MASK  (ULONG_MAX >> SYNC_TURN_SHIFT)

#define SYNC_LINE   64 /* bytes that processors pass around as a whole */
#define SYNC_SHARDS 16

/* Faults counted by some of the threads. Atomic, relaxed. */
struct sync_shard {
	_Alignas(SYNC_LINE) unsigned long faults;
	unsigned long faults_locked;
};

struct sync {
	unsigned long turn;          /* 1 .. SYNC_TURN_MASK; written under `lock`, read by all */
	unsigned long huge_size;     /* config.pmd_size, or 0 with VMSPACE_THP_NEVER; the same */
	bool huge_always;
	const struct vmspace_hooks *hooks; /* space->config.hooks; the same */
	_Alignas(SYNC_LINE) struct fairlock lock; /* the space's lock */
	bool locked;                 /* some area was write-locked in this turn; covered by `lock` */
	pthread_mutex_t drain;       /* the writer that waits, and the reader that wakes it */
	pthread_cond_t drained;
	struct sync_shard shard[SYNC_SHARDS];
};

/* 0 or -ENOMEM. A space that has it is used by several threads from then on. */
int sync_create(struct vmspace *space);
void sync_destroy(struct vmspace *space);
/* Tell the faults what space->config says of huge pages and hooks. Under the space's lock. */
void sync_configure(struct vmspace *space);
/* `space` takes over areas and all from `fresh`, which no other thread has seen. */
void sync_adopt(struct vmspace *space, const struct vmspace *fresh);

static inline const struct vmspace_hooks *sync_hooks(const struct vmspace *space)
{
	return __atomic_load_n(&space->sync->hooks, __ATOMIC_ACQUIRE);
}

/* The space's lock. Const: readers take it too, where they must. leave also unlocks all areas. */
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

/* Unlock all areas, the space's lock being held. */
void sync_unlock_areas(struct vmspace *space);

/*
 * Write-lock an area before it is changed or taken out of the tree, until the space's lock is left:
 * faults that come then take the slow path, those under way in this area are waited for.
 */
void sync_write_lock_slow(struct vmspace *space, struct vma *vma);
static inline void sync_write_lock(struct vmspace *space, struct vma *vma)
{
	if (__builtin_expect(space->sync != NULL, 0))
		sync_write_lock_slow(space, vma);
}
void sync_write_lock_all(struct vmspace *space);
/* For assertions: it is write-locked, or nothing has to be. */
bool sync_write_locked(const struct vmspace *space, const struct vma *vma);

/* A new area, which no reader can have found yet, is about to come into the tree, write-locked. */
void sync_attach_slow(struct vmspace *space, struct vma *vma);
static inline void sync_attach(struct vmspace *space, struct vma *vma)
{
	if (__builtin_expect(space->sync != NULL, 0) && vma)
		sync_attach_slow(space, vma);
}

/*
 * Lock an area for reading. `vma` was found in the tree inside the present read-side section, or
 * the space's lock is held. False: it is gone, or being changed, or has too many readers.
 * If true, it is in the tree and stays as it is until sync_read_unlock(). It need not lie where
 * it was found. May be called in a section of RCU; the area may be kept locked beyond it.
 */
bool sync_read_lock(const struct vmspace *space, struct vma *vma);
void sync_read_unlock(const struct vmspace *space, struct vma *vma);

/* The counters that the calling thread adds to; and the sums of all. */
struct sync_shard *sync_my_shard(const struct vmspace *space);
void sync_sum(const struct vmspace *space, unsigned long *faults, unsigned long *faults_locked);

#endif
