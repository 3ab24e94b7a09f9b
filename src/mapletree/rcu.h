/* SPDX-License-Identifier: MIT */
/*
 * rcu.h - the interface to userspace RCU.
 *
 * The default flavour, liburcu-bp, needs no registration of threads, so mtree_load() works from any
 * thread. A tree of another flavour names it in ma_rcu. All this costs lookups in trees of the
 * default flavour is one test of a word in the tree's own cache line. One of these flavours is the
 * library's: rcu_polled, of which only the writers differ from the default (polled.h).
 */
#ifndef MT_RCU_H
#define MT_RCU_H

/*
 * Inlines liburcu's read side in release builds. Not in others: liburcu 0.13 keeps its readers at
 * addresses less aligned than it declares, which is harmless but makes UBSan fail.
 */
#if defined(NDEBUG) && !defined(_LGPL_SOURCE)
#define _LGPL_SOURCE
#endif
#include <mapletree/maple_tree.h>
#include <urcu/urcu-bp.h>

/* The flavour mt_rcu_polled(). */
extern const struct mt_rcu rcu_polled __attribute__((visibility("hidden")));

/* Whether who reads @flavour reads liburcu-bp. */
static inline bool flavour_is_bp(const struct mt_rcu *flavour)
{
	return __builtin_expect(!flavour, 1) || flavour == &rcu_polled;
}

/* What read_enter() entered, for read_leave(): the tree's mode may change in between. */
struct read_section {
	const struct mt_rcu *flavour;
	bool entered;
};

/* read_enter - begin a read-side section, if the tree needs one. Nests. */
static inline struct read_section read_enter(const struct maple_tree *mt)
{
	struct read_section section = { mt->ma_rcu, mt_in_rcu(mt) };

	if (!section.entered)
		return section;
	if (flavour_is_bp(section.flavour))
		urcu_bp_read_lock();
	else
		section.flavour->read_lock();
	return section;
}

static inline void read_leave(struct read_section section)
{
	if (!section.entered)
		return;
	if (flavour_is_bp(section.flavour))
		urcu_bp_read_unlock();
	else
		section.flavour->read_unlock();
}

/*
 * read_ongoing_known - whether @mt's flavour can tell whether a thread is inside a section.
 * read_ongoing - whether the calling thread is inside a read-side section of that flavour.
 */
static inline bool read_ongoing_known(const struct maple_tree *mt)
{
	return !mt->ma_rcu || mt->ma_rcu->read_ongoing;
}

static inline bool read_ongoing(const struct maple_tree *mt)
{
	return flavour_is_bp(mt->ma_rcu) ? urcu_bp_read_ongoing() : mt->ma_rcu->read_ongoing();
}

/* Whether this thread has succeeded in rcu_prepare_thread(). */
extern _Thread_local bool rcu_prepared
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

bool rcu_prepare_thread(void);

/*
 * rcu_prepare - obtain what a later rcu_defer() of this thread needs. Returns false if there is not
 * enough memory, or a thread cannot be started.
 */
static inline bool rcu_prepare(const struct mt_rcu *flavour)
{
	return rcu_prepared || flavour || rcu_prepare_thread();
}

/*
 * rcu_defer - call @func with @head after a grace period of the tree's flavour. Cannot fail: if
 * rcu_prepare() does, @head waits until rcu_prepare() succeeds in a later call of some thread.
 */
void rcu_defer(const struct mt_rcu *flavour, struct rcu_head *head,
	       void (*func)(struct rcu_head *head));

/*
 * rcu_retire - the same for what belongs to no tree: if no helper runs, @head waits until one does,
 * or rcu_take_waiting().
 */
void rcu_retire(struct rcu_head *head, void (*func)(struct rcu_head *head));

/* rcu_retry - defer what could not be deferred before. Returns false if something still waits. */
bool rcu_retry(void);

/*
 * rcu_take_waiting - the caller frees, after a grace period, what could not be deferred: a list
 * linked by rcu_next(), the last one first.
 */
struct rcu_head *rcu_take_waiting(void);

/* rcu_nothing_waits - whether that list is empty. */
bool rcu_nothing_waits(void);

/* rcu_memory_available - whether there is the memory now that liburcu asks for. */
bool rcu_memory_available(void);

/*
 * rcu_may_wait - whether the calling thread may wait for a grace period: 0; -EDEADLK: it is inside
 * a section, or frees what was retired; -ENOMEM: it cannot be registered.
 */
int rcu_may_wait(void);

/*
 * Whether this thread is in a function that frees: it must not wait for callbacks. Each callback
 * that calls such functions says so itself, in whatever thread it runs: a flavour's may be one of
 * the program's.
 */
extern _Thread_local bool rcu_in_callback
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* rcu_push - put @head, for @func, on a list that other threads push to and take from. */
void rcu_push(struct rcu_head **list, struct rcu_head *head, void (*func)(struct rcu_head *head));

/* rcu_next - what was pushed to the list of @head before it. */
static inline struct rcu_head *rcu_next(const struct rcu_head *head)
{
	return (struct rcu_head *)(void *)head->next.next;
}

/* rcu_before_fork, rcu_after_fork_parent, rcu_after_fork_child - liburcu's part of a fork. */
void rcu_before_fork(void);
void rcu_after_fork_parent(void);
void rcu_after_fork_child(void);

/* rcu_wait - wait for a grace period; not inside a read-side section. */
void rcu_wait(const struct mt_rcu *flavour);

#endif
