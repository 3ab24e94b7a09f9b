/* SPDX-License-Identifier: MIT */
/*
 * maple_tree_mutex.h - the lock of a tree: one word, one atomic operation to take it and one to
 * give it back while no other thread wants it.
 *
 * A thread that finds it taken looks again for some microseconds, ever more rarely, and then sleeps
 * (futex(2)), so that a thread that writes again and again is not slowed down by others that wait.
 * Of those that have slept several times without getting the lock one at a time gets it next: none
 * waits for ever.
 * Not recursive, and not robust: who has it must give it back. Not for signal handlers that may
 * have interrupted its holder. All 0 is a free lock; it owns nothing, and needs no destruction: who
 * has taken it may free the memory that it is in, as nobody who gave it back before writes to it.
 * In the child of a fork() the lock is as it was, but the other threads are not there: see
 * mt_before_fork().
 */
#ifndef MAPLETREE_MAPLE_TREE_MUTEX_H
#define MAPLETREE_MAPLE_TREE_MUTEX_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MT_PUBLIC __attribute__((visibility("default")))

/*
 * struct mt_mutex - bits of @word, all changed atomically:
 *   MT_MUTEX_LOCKED   a thread has the lock.
 *   MT_MUTEX_WAITERS  others may sleep: who gives it back wakes one.
 *   MT_MUTEX_HANDOFF  one that has slept too often gets it next; nobody else may take it.
 */
struct mt_mutex {
	unsigned int word;
};

enum { MT_MUTEX_LOCKED = 1, MT_MUTEX_WAITERS = 2, MT_MUTEX_HANDOFF = 4 };

#define MT_MUTEX_INIT { 0 }

/* Private to the functions below: what they do when the lock is contended. */
MT_PUBLIC void mt_mutex_wait(struct mt_mutex *mutex);
MT_PUBLIC void mt_mutex_wake(struct mt_mutex *mutex);

/*
 * mt_mutex_trylock - take the lock if it is free and promised to nobody who waits. Returns whether
 * it was. In a child of fork() it may be promised to a thread that is not there, until
 * mt_mutex_lock() was called. Any context.
 */
static inline bool mt_mutex_trylock(struct mt_mutex *mutex)
{
	unsigned int free = 0;

	return __atomic_compare_exchange_n(&mutex->word, &free, MT_MUTEX_LOCKED, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* mt_mutex_lock - take the lock; waits until it is free. */
static inline void mt_mutex_lock(struct mt_mutex *mutex)
{
	if (!mt_mutex_trylock(mutex))
		mt_mutex_wait(mutex);
}

/* mt_mutex_unlock - give it back. By its holder; a lock that nobody has ends the process. */
static inline void mt_mutex_unlock(struct mt_mutex *mutex)
{
	unsigned int held = MT_MUTEX_LOCKED;

	if (!__atomic_compare_exchange_n(&mutex->word, &held, 0, false, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED))
		mt_mutex_wake(mutex);
}

#ifdef __cplusplus
}
#endif

#endif
