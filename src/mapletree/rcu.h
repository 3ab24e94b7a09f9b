/* SPDX-License-Identifier: MIT */
/*
 * rcu.h - the interface to userspace RCU.
 *
 * The default flavour, liburcu-bp, needs no registration of threads, so mtree_load() works from any
 * thread. A tree of another flavour names it in ma_rcu. All this costs lookups in trees of the
 * default flavour is one test of a word in the tree's own cache line.
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
	if (__builtin_expect(!section.flavour, 1))
		urcu_bp_read_lock();
	else
		section.flavour->read_lock();
	return section;
}

static inline void read_leave(struct read_section section)
{
	if (!section.entered)
		return;
	if (__builtin_expect(!section.flavour, 1))
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
	return __builtin_expect(!mt->ma_rcu, 1) ? urcu_bp_read_ongoing()
						: mt->ma_rcu->read_ongoing();
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

/* rcu_retry - defer what could not be deferred before. Returns false if something still waits. */
bool rcu_retry(void);

/* rcu_wait - wait for a grace period; not inside a read-side section. */
void rcu_wait(const struct mt_rcu *flavour);

#endif
