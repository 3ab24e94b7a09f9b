/* SPDX-License-Identifier: MIT */
/*
 * sync.c - the locks of a space that several threads use.
 *
 * That an area carries the number of the call that locked it, so that the end of the call unlocks
 * all of them with one store, is the idea of Linux's per-VMA locks
 * (Documentation/mm/process_addrs.rst).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "sync.h"

/* Looks at a lock before its writer goes to sleep: a fault that allocates nothing takes less. */
#define SPINS 200

int sync_create(struct vmspace *space)
{
	struct sync *sync = aligned_alloc(SYNC_LINE, sizeof(*sync));

	if (!sync)
		return -ENOMEM;
	*sync = (struct sync){ .turn = 1 };
	fairlock_init(&sync->lock);
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
	fairlock_destroy(&sync->lock);
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

static unsigned long turn_of(unsigned long word)
{
	return word >> SYNC_TURN_SHIFT;
}

/* The word of an area that nobody has locked, and that is write-locked until the turn ends. */
static unsigned long locked_word(const struct sync *sync)
{
	return sync->turn << SYNC_TURN_SHIFT;
}

/*
 * The turns begin anew (on 32 bits after some hundred thousand calls): no area may have one that
 * will come again. 0 never does.
 */
static void forget_turns(const struct vmspace *space)
{
	struct maple_tree *tree = (struct maple_tree *)&space->tree; /* only read */
	MA_STATE(mas, tree, 0, 0);
	struct vma *vma;

	mas_for_each(&mas, vma, ULONG_MAX)
		__atomic_fetch_and(&vma->lock, ~(SYNC_TURN_MASK << SYNC_TURN_SHIFT),
				   __ATOMIC_RELEASE);
}

static void next_turn(const struct vmspace *space, unsigned long turn)
{
	struct sync *sync = space->sync;

	if (turn == SYNC_TURN_MASK) {
		forget_turns(space);
		turn = 0;
	}
	/* Release: who sees the new turn sees all that was changed under the locks. */
	__atomic_store_n(&sync->turn, turn + 1, __ATOMIC_RELEASE);
	sync->locked = false;
}

void sync_adopt(struct vmspace *space, const struct vmspace *fresh)
{
	if (space->sync)
		next_turn(space, fresh->sync->turn);
}

void sync_enter_slow(const struct vmspace *space)
{
	fairlock_lock(&space->sync->lock);
}

void sync_unlock_areas(struct vmspace *space)
{
	if (space->sync->locked)
		next_turn(space, space->sync->turn);
}

void sync_leave_slow(const struct vmspace *space)
{
	if (space->sync->locked)
		next_turn(space, space->sync->turn);
	fairlock_unlock(&space->sync->lock);
}

static unsigned long readers(const struct vma *vma)
{
	/* Acquire: what a reader did in the area happened before it is changed. */
	return __atomic_load_n(&vma->lock, __ATOMIC_ACQUIRE) & SYNC_READERS;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static void wait_for_readers(struct sync *sync, struct vma *vma)
{
	for (int i = 0; i < SPINS; i++) {
		if (!readers(vma))
			return;
		relax();
	}
	pthread_mutex_lock(&sync->drain);
	__atomic_fetch_or(&vma->lock, SYNC_AWAITED, __ATOMIC_ACQ_REL);
	while (readers(vma))
		pthread_cond_wait(&sync->drained, &sync->drain);
	__atomic_fetch_and(&vma->lock, ~SYNC_AWAITED, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&sync->drain);
}

void sync_write_lock_slow(struct vmspace *space, struct vma *vma)
{
	struct sync *sync = space->sync;
	unsigned long word = __atomic_load_n(&vma->lock, __ATOMIC_RELAXED);

	assert(!(word & SYNC_GONE));
	if (turn_of(word) == sync->turn)
		return;
	/* Only writers change the turn, and only readers what is below it: adding meets no carry. */
	word = __atomic_add_fetch(&vma->lock, (sync->turn - turn_of(word)) << SYNC_TURN_SHIFT,
				  __ATOMIC_ACQ_REL);
	sync->locked = true;
	if (word & SYNC_READERS)
		wait_for_readers(sync, vma);
}

void sync_write_lock_all(struct vmspace *space)
{
	MA_STATE(mas, &space->tree, 0, 0);
	struct vma *vma;

	if (!space->sync)
		return;
	mas_for_each(&mas, vma, ULONG_MAX)
		sync_write_lock_slow(space, vma);
}

bool sync_write_locked(const struct vmspace *space, const struct vma *vma)
{
	return !space->sync ||
	       turn_of(__atomic_load_n(&vma->lock, __ATOMIC_RELAXED)) == space->sync->turn;
}

void sync_attach_slow(struct vmspace *space, struct vma *vma)
{
	struct sync *sync = space->sync;

	if (!(__atomic_load_n(&vma->lock, __ATOMIC_RELAXED) & SYNC_GONE))
		return;
	/*
	 * Nobody changes the word of an area that is gone. A reader that still holds a pointer to
	 * what the area was before comes here only once the turn has ended, by whose release it
	 * sees what the area is now.
	 */
	__atomic_store_n(&vma->lock, locked_word(sync), __ATOMIC_RELEASE);
	sync->locked = true;
}

bool sync_read_lock(const struct vmspace *space, struct vma *vma)
{
	const struct sync *sync = space->sync;
	/* Acquire: the turn below is not older than the one that the word tells of. */
	unsigned long word = __atomic_load_n(&vma->lock, __ATOMIC_ACQUIRE);

	do {
		if (word & SYNC_GONE || (word & SYNC_READERS) == SYNC_READERS)
			return false;
		/* Acquire: sees all that was changed before the turn became another. */
		if (turn_of(word) == __atomic_load_n(&sync->turn, __ATOMIC_ACQUIRE))
			return false;
		/* Fails if a writer has locked it since: then its turn is another. */
	} while (!__atomic_compare_exchange_n(&vma->lock, &word, word + 1, true, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return true;
}

void sync_read_unlock(const struct vmspace *space, struct vma *vma)
{
	/* Release: the reader is through with the area before the writer finds it so. */
	unsigned long word = __atomic_fetch_sub(&vma->lock, 1, __ATOMIC_RELEASE);
	struct sync *sync = space->sync;

	assert(word & SYNC_READERS);
	if (!(word & SYNC_AWAITED) || (word & SYNC_READERS) != 1)
		return;
	pthread_mutex_lock(&sync->drain);
	pthread_cond_signal(&sync->drained);
	pthread_mutex_unlock(&sync->drain);
}

struct sync_shard *sync_my_shard(const struct vmspace *space)
{
	static unsigned int threads; /* atomic, relaxed */
	static _Thread_local unsigned int mine; /* 0: none yet */

	if (!mine)
		mine = 1 + __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % SYNC_SHARDS;
	return &space->sync->shard[mine - 1];
}

void sync_sum(const struct vmspace *space, unsigned long *faults, unsigned long *faults_locked)
{
	*faults = *faults_locked = 0;
	if (!space->sync)
		return;
	for (int i = 0; i < SYNC_SHARDS; i++) {
		const struct sync_shard *shard = &space->sync->shard[i];

		*faults += __atomic_load_n(&shard->faults, __ATOMIC_RELAXED);
		*faults_locked += __atomic_load_n(&shard->faults_locked, __ATOMIC_RELAXED);
	}
}
