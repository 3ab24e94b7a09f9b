/* SPDX-License-Identifier: MIT */
/*
 * retry.h - how often a reader tries to read one leaf: a bounded number of times, whatever writers
 * do.
 *
 * A leaf changes in place beside its readers. A try to read it fails if a store to the leaf becomes
 * visible during the try. So a writer that changes one leaf over and over could keep a reader in it
 * for as long as it goes on. Hence the reader says so after RETRY_QUICK failed tries: it adds
 * itself to mt->ma_retrying, and goes on. As long as that is not zero writers change no leaf in
 * place: a copy takes the place of the leaf (readers_retry()), and the leaf itself, retired, is
 * never written again but for its mark (dead.h). Nobody waits: a reader that is preempted, or dead, only makes writers copy.
 *
 * What can still fail, once the addition has reached memory, are tries that meet
 *   - the stores of the change that is in progress: the writer asked before. A change stores at
 *     most IN_PLACE_WORDS_MAX words, the version before each, and once more at the end; then the
 *     mark of a leaf that is replaced;
 *   - stores of earlier changes that are still on their way to memory, since a processor may load
 *     ma_retrying before these. They are as many as its store buffer holds, some dozens. (C11 knows
 *     no such number: it only says that stores become visible "in a reasonable amount of time".)
 * Each of these stores fails one try at most. So with S for the entries of a store buffer a look at
 * a leaf takes at most
 *
 *	RETRY_QUICK + 2 * IN_PLACE_WORDS_MAX + S + 3
 *
 * tries, and a lookup beside a writer that stores single words RETRY_QUICK + 5 + S / 2. A full
 * barrier in each write would take S out of it, and is as much as a third of a short one; a write
 * that takes the tree's own lock has it on most processors.
 *
 * The exception: a writer that finds no memory for a copy changes the leaf in place, for a write
 * that needs no memory does not fail because readers are slow. Stores after mas_preallocate()
 * always find it.
 */
#ifndef MT_RETRY_H
#define MT_RETRY_H

#include "node.h"

/* Failed tries before a reader says so to the writers. */
#define RETRY_QUICK 8

/*
 * At most as many words does one change of a leaf in place store: two slots are opened, or closed,
 * at its lower end, and five more words change.
 */
#define IN_PLACE_WORDS_MAX (4 * (WIDE_SLOTS - 3) + 5)

/*
 * retry - a try has failed, after @failed others at the same leaf. Returns the number with it. To
 * be called until a try succeeds; then retry_end(). Any thread and signal handler; read side or
 * lock.
 */
unsigned int retry(struct maple_tree *mt, unsigned int failed);

static inline void retry_end(struct maple_tree *mt, unsigned int failed)
{
	if (UNLIKELY(failed >= RETRY_QUICK))
		__atomic_fetch_sub(&mt->ma_retrying, 1, __ATOMIC_RELAXED);
}

/*
 * leaf_version_lasts - whether another change in place leaves the leaf a version that it never had
 * before: a reader takes two states of one version for one. With 32 bits a writer would otherwise
 * come round within a second.
 */
static inline bool leaf_version_lasts(const struct maple_tree *mt, const struct mt_node *leaf)
{
	return META_VERSION_BITS > 48 || !mt_in_rcu(mt) ||
	       leaf->wide.meta >> META_VERSION_SHIFT <= META_VERSION_MAX - IN_PLACE_WORDS_MAX - 1;
}

/*
 * readers_retry - whether no leaf of the tree is to change in place. To be asked once before each
 * change; if so, or if the leaf's version does not last, a copy takes the place of the leaf, with
 * the version 0. Lock held.
 */
static inline bool readers_retry(const struct maple_tree *mt)
{
	return UNLIKELY(__atomic_load_n(&mt->ma_retrying, __ATOMIC_RELAXED));
}

#endif
