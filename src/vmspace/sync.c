/* SPDX-License-Identifier: MIT */
/*
 * sync.c - the locks of a space that several threads use.
 *
 * A write-locked area carries the space's sequence number, so that the end of the call unlocks all
 * of them with one store: this is how Linux's per-VMA locks work
 * (Documentation/mm/process_addrs.rst).
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "past.h"
#include "sync.h"

/* How often a writer polls before it sleeps: a fault that allocates nothing ends sooner. */
#define SPINS 200

int sync_create(struct vmspace *space)
{
	struct sync *sync = aligned_alloc(SLOTS_LINE, sizeof(*sync));

	if (!sync)
		return -ENOMEM;
	memset(sync, 0, sizeof(*sync));
	sync->seq = 1;
	pthread_mutex_init(&sync->drain, NULL);
	pthread_cond_init(&sync->drained, NULL);
	space->sync = sync;
	sync_configure(space);
	return 0;
}

void sync_destroy(struct vmspace *space)
{
	struct sync *sync = space->sync;

	if (!sync)
		return;
	assert(!sync->lock.word && !sync->begun);
	pthread_mutex_destroy(&sync->drain);
	pthread_cond_destroy(&sync->drained);
	free(sync);
	space->sync = NULL;
}

void sync_configure(struct vmspace *space)
{
	const struct vmspace_config *c = &space->config;
	struct sync *sync = space->sync;

	if (!sync)
		return;
	__atomic_store_n(&sync->huge_size, c->thp == VMSPACE_THP_NEVER ? 0 : c->pmd_size,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&sync->hooks, c->hooks, __ATOMIC_RELEASE);
	__atomic_store_n(&sync->huge_always, c->thp == VMSPACE_THP_ALWAYS, __ATOMIC_RELAXED);
}

static unsigned long seq_of(unsigned long word)
{
	return word >> SYNC_SEQ_SHIFT;
}

/* The lock word of an area without readers that is write-locked until `seq` changes. */
static unsigned long locked_word(const struct sync *sync)
{
	return sync->seq << SYNC_SEQ_SHIFT;
}

/*
 * The sequence number wraps around (on 32 bits after some hundred thousand calls): no area may keep
 * one that will be used again. 0 never is.
 */
static void reset_seqs(const struct vmspace *space)
{
	struct maple_tree *tree = (struct maple_tree *)&space->tree; /* only read */
	MA_STATE(mas, tree, 0, 0);
	struct vma *vma;

	mas_for_each(&mas, vma, ULONG_MAX)
		__atomic_fetch_and(&vma->lock, ~(SYNC_SEQ_MASK << SYNC_SEQ_SHIFT),
				   __ATOMIC_RELEASE);
}

static void next_seq(const struct vmspace *space, unsigned long seq)
{
	struct sync *sync = space->sync;

	assert(seq && seq <= SYNC_SEQ_MASK);
	if (seq == SYNC_SEQ_MASK) {
		reset_seqs(space);
		seq = 0;
	}
	/* Release: whoever sees the new number sees all changes made under the locks. */
	__atomic_store_n(&sync->seq, seq + 1, __ATOMIC_RELEASE);
	sync->locked = false;
}

void sync_adopt(struct vmspace *space, const struct vmspace *fresh)
{
	if (space->sync)
		next_seq(space, fresh->sync->seq);
}

struct sync sync_still;

void sync_enter_slow(const struct vmspace *space)
{
	if (space_is_snapshot(space))
		return;
	mt_mutex_lock(&space->sync->lock);
}

void sync_unlock_areas(struct vmspace *space)
{
	if (space->sync->locked)
		next_seq(space, space->sync->seq);
}

/* A call that has changed areas frees, now and then, what the tree has retired. */
void sync_leave_slow(const struct vmspace *space)
{
	bool changed, full;

	if (space_is_snapshot(space))
		return;
	changed = space->sync->locked;
	full = past_is_full(space);
	if (changed)
		next_seq(space, space->sync->seq);
	mt_mutex_unlock(&space->sync->lock);
	if (changed)
		mt_wait_retired((struct maple_tree *)(uintptr_t)&space->tree);
	if (full)
		mt_poll(); /* areas were replaced that took no node */
}

static unsigned long readers(const struct vma *vma)
{
	/* Acquire: what a reader did in the area happens before the writer changes it. */
	return __atomic_load_n(&vma->lock, __ATOMIC_ACQUIRE) & SYNC_READERS;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/* Wait for the readers that the area's lock counts. */
static void wait_for_counted(struct sync *sync, struct vma *vma)
{
	for (int i = 0; i < SPINS; i++) {
		if (!readers(vma))
			return;
		relax();
	}
	pthread_mutex_lock(&sync->drain);
	__atomic_fetch_or(&vma->lock, SYNC_WAITER, __ATOMIC_ACQ_REL);
	while (readers(vma))
		pthread_cond_wait(&sync->drained, &sync->drain);
	__atomic_fetch_and(&vma->lock, ~SYNC_WAITER, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&sync->drain);
}

/* What the slot says of vma (NULL: of any area); 0: not that it is read. */
static uintptr_t said(const struct slot *slot, const struct vma *vma)
{
	/*
	 * After the area's lock was changed: a reader that says so later sees that. Acquire: what a
	 * reader did happens before the writer changes the area.
	 */
	uintptr_t area = __atomic_load_n(&slot->area, __ATOMIC_SEQ_CST);

	return !vma || (area & ~SLOT_WAITED) == (uintptr_t)vma ? area : 0;
}

static void sleep_until_left(struct sync *sync, struct slot *slot, const struct vma *vma)
{
	uintptr_t area;

	pthread_mutex_lock(&sync->drain);
	while ((area = said(slot, vma)))
		/* The owner that finds the mark wakes us; it has to take `drain` for that. */
		if (area & SLOT_WAITED ||
		    __atomic_compare_exchange_n(&slot->area, &area, area | SLOT_WAITED, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			pthread_cond_wait(&sync->drained, &sync->drain);
	pthread_mutex_unlock(&sync->drain);
}

/* Wait for readers of vma (NULL: of all areas), which is write-locked, that say so in slots. */
static void wait_for_slots(struct sync *sync, const struct vma *vma)
{
	for (struct slot *slot = NULL; (slot = slots_next(&sync->slots, slot));) {
		int i = 0;

		while (i < SPINS && said(slot, vma)) {
			relax();
			i++;
		}
		if (i == SPINS)
			sleep_until_left(sync, slot, vma);
	}
}

/*
 * From now on no reader gets in. False: it was write-locked already. Readers that say so in slots
 * are still to be waited for.
 */
static bool keep_readers_out(struct vmspace *space, struct vma *vma)
{
	struct sync *sync = space->sync;
	unsigned long word = __atomic_load_n(&vma->lock, __ATOMIC_RELAXED);

	assert(!(word & SYNC_DETACHED));
	if (seq_of(word) == sync->seq)
		return false;
	/*
	 * Only the writer changes the upper bits and readers the lower ones: nothing carries.
	 * Sequentially consistent, as a reader's store to its slot: it sees this, or we that.
	 */
	word = __atomic_add_fetch(&vma->lock, (sync->seq - seq_of(word)) << SYNC_SEQ_SHIFT,
				  __ATOMIC_SEQ_CST);
	sync->locked = true;
	if (word & SYNC_READERS)
		wait_for_counted(sync, vma);
	assert(sync_write_locked(space, vma) && !readers(vma));
	return true;
}

void sync_write_lock_slow(struct vmspace *space, struct vma *vma)
{
	if (keep_readers_out(space, vma))
		wait_for_slots(space->sync, vma);
}

void sync_write_lock_all(struct vmspace *space)
{
	MA_STATE(mas, &space->tree, 0, 0);
	struct vma *vma;

	if (!space->sync)
		return;
	mas_for_each(&mas, vma, ULONG_MAX)
		keep_readers_out(space, vma);
	/* One look for all: what is read now was read before, or is found to be locked. */
	wait_for_slots(space->sync, NULL);
}

bool sync_write_locked(const struct vmspace *space, const struct vma *vma)
{
	return !space->sync ||
	       seq_of(__atomic_load_n(&vma->lock, __ATOMIC_RELAXED)) == space->sync->seq;
}

void sync_attach_slow(struct vmspace *space, struct vma *vma)
{
	struct sync *sync = space->sync;

	if (!(__atomic_load_n(&vma->lock, __ATOMIC_RELAXED) & SYNC_DETACHED))
		return;
	/*
	 * Nobody changes the lock of a detached area. A reader that still holds a pointer to what
	 * the area was before cannot lock it until the sequence number changes, and then the
	 * release of that store lets it see what the area is now.
	 */
	__atomic_store_n(&vma->lock, locked_word(sync), __ATOMIC_RELEASE);
	sync->locked = true;
	assert(sync_write_locked(space, vma));
}

bool sync_read_lock(const struct vmspace *space, struct vma *vma)
{
	const struct sync *sync = space->sync;
	/* Acquire: the space's number below is not older than the one in this word. */
	unsigned long word = __atomic_load_n(&vma->lock, __ATOMIC_ACQUIRE);

	do {
		if (word & SYNC_DETACHED || (word & SYNC_READERS) == SYNC_READERS)
			return false;
		/* Acquire: sees all changes made before the number was incremented. */
		if (seq_of(word) == __atomic_load_n(&sync->seq, __ATOMIC_ACQUIRE))
			return false;
		/* Fails if a writer has locked it since, as that changes the word. */
	} while (!__atomic_compare_exchange_n(&vma->lock, &word, word + 1, true, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return true;
}

void sync_read_unlock(const struct vmspace *space, struct vma *vma)
{
	/* Release: the reader's accesses happen before the writer sees it leave. */
	unsigned long word = __atomic_fetch_sub(&vma->lock, 1, __ATOMIC_RELEASE);
	struct sync *sync = space->sync;

	assert(word & SYNC_READERS);
	if (!(word & SYNC_WAITER) || (word & SYNC_READERS) != 1)
		return;
	pthread_mutex_lock(&sync->drain);
	pthread_cond_signal(&sync->drained);
	pthread_mutex_unlock(&sync->drain);
}

static void leave_slot(struct sync *sync, struct slot *slot)
{
	if (!slot_leave(slot))
		return;
	pthread_mutex_lock(&sync->drain);
	pthread_cond_signal(&sync->drained);
	pthread_mutex_unlock(&sync->drain);
}

bool sync_share(const struct vmspace *space, struct vma *vma, struct slot **slot)
{
	struct sync *sync = space->sync;
	unsigned long word;

	*slot = slots_mine(&sync->slots);
	if (!slot_take(*slot, vma)) {
		*slot = NULL;
		return sync_read_lock(space, vma);
	}
	/* After the slot was taken. Acquire, for the rest: as in sync_read_lock(). */
	word = __atomic_load_n(&vma->lock, __ATOMIC_SEQ_CST);
	if (!(word & SYNC_DETACHED) &&
	    seq_of(word) != __atomic_load_n(&sync->seq, __ATOMIC_ACQUIRE))
		return true;
	leave_slot(sync, *slot);
	return false;
}

void sync_unshare(const struct vmspace *space, struct vma *vma, struct slot *slot)
{
	if (!slot) {
		sync_read_unlock(space, vma);
		return;
	}
	assert(said(slot, vma));
	leave_slot(space->sync, slot);
}

bool sync_shared(const struct vmspace *space, const struct vma *vma)
{
	return said(slots_mine(&space->sync->slots), vma);
}

void sync_count_fault(const struct vmspace *space, struct slot *slot)
{
	if (slot)
		slot_count_fault(slot);
	else
		__atomic_fetch_add(&slots_mine(&space->sync->slots)->other_faults, 1,
				   __ATOMIC_RELAXED);
}

void sync_count_locked(const struct vmspace *space)
{
	__atomic_fetch_add(&slots_mine(&space->sync->slots)->faults_locked, 1, __ATOMIC_RELAXED);
}

void sync_sum(const struct vmspace *space, unsigned long *faults, unsigned long *faults_locked)
{
	*faults = *faults_locked = 0;
	if (!space->sync)
		return;
	for (struct slot *slot = NULL; (slot = slots_next(&space->sync->slots, slot));) {
		*faults += __atomic_load_n(&slot->faults, __ATOMIC_RELAXED) +
			   __atomic_load_n(&slot->other_faults, __ATOMIC_RELAXED);
		*faults_locked += __atomic_load_n(&slot->faults_locked, __ATOMIC_RELAXED);
	}
}
