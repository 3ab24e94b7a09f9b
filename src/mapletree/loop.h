/* SPDX-License-Identifier: MIT */
/*
 * loop.h - mt_for_each()'s way from leaf to leaf.
 *
 * The loop is in no read-side section between its steps. What it knows of nodes, where the leaf
 * behind is, is used like what it has read of a leaf: as long as the tree has the stamp that was
 * loaded before, when no write was in progress. Nothing was stored since then; and if the stamp is
 * the same inside a section, what is retired later is not freed before that section ends.
 */
#ifndef MT_LOOP_H
#define MT_LOOP_H

#include <mapletree/maple_tree.h>

/*
 * loop_find_anew - mt_loop_find(), from the root.
 * loop_without_zeros - what is left of a batch without the zero entries, which the normal API does
 * not show.
 */
unsigned long loop_find_anew(unsigned long *batch, unsigned long left, struct maple_tree *mt,
			     unsigned long index, unsigned long max);
unsigned long loop_without_zeros(const unsigned long *batch, unsigned long left);

/* loop_last - the end of the last range that a batch still has. @left > 0. */
static inline unsigned long loop_last(const unsigned long *batch, unsigned long left)
{
	return batch[MAS_BATCH_LAST + MAS_BATCH_HIGHEST(left)];
}

#endif
