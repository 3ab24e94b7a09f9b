/* SPDX-License-Identifier: MIT */
/*
 * retry.h - bound the number of times that a reader tries to read one leaf, whatever writers do.
 *
 * A leaf changes in place while readers use it. A try to read it fails if a store to the leaf
 * becomes visible during the try. So a writer that keeps changing one leaf could hold a reader
 * there as long as it continues. Therefore a reader announces itself after RETRY_QUICK failed
 * tries: it adds itself to mt->ma_retrying and continues. While that counter is not zero, writers
 * change no leaf in place: they replace the leaf by a copy (readers_retry()), and the old leaf, now
 * retired, is never written again except for its mark (dead.h). Nobody waits: a preempted or dead
 * reader only makes writers copy.
 *
 * Once the addition has reached memory, tries can still fail because of
 *   - the stores of the change in progress, whose writer had checked before. A change stores at
 *     most IN_PLACE_WORDS_MAX words, with a version before each, one more version at the end, and
 *     then the mark of a leaf that is replaced;
 *   - stores of earlier changes that have not reached memory yet, since a processor may load
 *     ma_retrying ahead of them. There are as many as its store buffer holds, some dozens. (C11
 *     gives no such number: it only says that stores become visible "in a reasonable amount of
 *     time".)
 * Each of these stores fails at most one try. With S for the entries of a store buffer, reading a
 * leaf therefore takes at most
 *
 * 	RETRY_QUICK + 2 * IN_PLACE_WORDS_MAX + S + 3
 *
 * tries, and a lookup beside a writer that stores single words takes RETRY_QUICK + 5 + S / 2. A
 * full barrier in each write would remove S, but costs up to a third of a short write. A write that
 * takes the tree's own lock has such a barrier on most processors.
 *
 * The exception: a writer that finds no memory for a copy changes the leaf in place, because a
 * write that needs no memory must not fail when readers are slow. Stores after mas_preallocate()
 * always have the memory.
 */
#ifndef MT_RETRY_H
#define MT_RETRY_H

#include "node.h"

/* Failed tries before a reader announces itself to the writers. */
#define RETRY_QUICK 8

/*
 * The most words that one change of a leaf in place stores: two slots are opened or closed at the
 * leaf's lower end, and five more words change.
 */
#define IN_PLACE_WORDS_MAX (4 * (WIDE_SLOTS - 3) + 5)

/*
 * retry - count a failed try, after @failed others at the same leaf, and return the new number.
 * Call it until a try succeeds, then retry_end(). Any thread and signal handler; read side or lock.
 */
unsigned int retry(struct maple_tree *mt, unsigned int failed);

static inline void retry_end(struct maple_tree *mt, unsigned int failed)
{
	if (UNLIKELY(failed >= RETRY_QUICK))
		__atomic_fetch_sub(&mt->ma_retrying, 1, __ATOMIC_RELAXED);
}

/*
 * leaf_version_lasts - whether another change in place can give the leaf a version that it has
 * never had. If a version were used twice, a reader would take two states of the leaf for one, and
 * a writer uses all of them up within a second. Without readers they may begin anew:
 * leaf_begin_anew(). The leaf is the tree's own. Every short store asks, so the lower half of the
 * meta word is compared as it is.
 */
static inline bool leaf_version_lasts(const struct mt_node *leaf)
{
	return (uint32_t)__atomic_load_n(&leaf->wide.meta, __ATOMIC_RELAXED) <
	       (META_VERSION_MAX - IN_PLACE_WORDS_MAX) << META_VERSION_SHIFT;
}

/*
 * leaf_begin_anew - give a leaf of the tree's own, which nobody may be reading, version 0, before
 * its versions reach the count of references above them. Lock held.
 */
static inline void leaf_begin_anew(struct mt_node *leaf)
{
	leaf->wide.meta &= META_END_MASK;
}

/*
 * readers_retry - whether leaves of the tree must not change in place. Checked once before each
 * change; if so, or if the leaf's versions are used up, a copy with version 0 replaces the leaf.
 * Lock held.
 */
static inline bool readers_retry(const struct maple_tree *mt)
{
	return UNLIKELY(__atomic_load_n(&mt->ma_retrying, __ATOMIC_RELAXED) &
			~(TREE_SHARED | TREE_COUNTED));
}

/* retrying_or_shared - whether a store has more to ask than its leaf. Lock held. */
static inline bool retrying_or_shared(const struct maple_tree *mt)
{
	return UNLIKELY(__atomic_load_n(&mt->ma_retrying, __ATOMIC_RELAXED));
}

#endif
