/* SPDX-License-Identifier: MIT */
/*
 * gap.h - the widest run of free indexes: of a node, kept along a path, and searched for.
 */
#ifndef MT_GAP_H
#define MT_GAP_H

#include "path.h"

/* gap_widest - the widest free run below @node, which covers [min, max]; 0 if there is none. */
unsigned long gap_widest(struct mt_node *node, enum node_kind kind, unsigned long min,
			 unsigned long max);

/*
 * gap_may_change - whether a node's widest gap, @widest so far, may be another one after one of
 * those it is the widest of went from @was to @now: either can be 0, for none.
 */
static inline bool gap_may_change(unsigned long widest, unsigned long was, unsigned long now)
{
	return now > widest || (was >= widest && now != was);
}

/*
 * gap_update_steps - after the node at @step of a way down changed: bring the gaps above it up to
 * date, as far as they change. Those were right before. @left: from the root to the node, at least.
 * gap_update_path - the same for the left side of @path. Lock held; gap-tracking trees only.
 */
void gap_update_steps(const struct mt_step *left, unsigned int step);

static inline void gap_update_path(struct mt_path *path, unsigned int step)
{
	gap_update_steps(path->left, step);
}

/* The answer of a search, in two registers; @start means something only if @found. */
struct mt_place_found {
	unsigned long start;
	unsigned long found;
};

/*
 * gap_find - the lowest or highest place for @want, whose members are sound: size > 0, min <= max,
 * align 0 or a power of two.
 * gap_find_lowest, gap_find_highest - the same for areas that may lie anywhere.
 * Lock or read side; beside a writer the answer may be a moment old.
 */
struct mt_place_found gap_find(struct maple_tree *mt, const struct mt_area *want);
struct mt_place_found gap_find_lowest(struct maple_tree *mt, unsigned long min,
				      unsigned long max, unsigned long size);
struct mt_place_found gap_find_highest(struct maple_tree *mt, unsigned long min,
				       unsigned long max, unsigned long size);

#endif
