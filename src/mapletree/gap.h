/* SPDX-License-Identifier: MIT */
/*
 * gap.h - the widest run of free indexes: of a node, kept up to date along a path, and searched
 * for.
 */
#ifndef MT_GAP_H
#define MT_GAP_H

#include "finger.h"

/* gap_widest - the widest free run below @node, which covers [min, max]; 0 if there is none. */
unsigned long gap_widest(struct mt_node *node, enum node_kind kind, unsigned long min,
			 unsigned long max);

/*
 * gap_of_leaf - the widest gap of @leaf, which covers [min, max], after a store of NULL that left a
 * gap @came wide, in this leaf if @own; it was @before. The leaf is searched only if its widest gap
 * may have moved to another leaf.
 */
static inline unsigned long gap_of_leaf(struct mt_node *leaf, unsigned long min, unsigned long max,
					unsigned long before, unsigned long came, bool own)
{
	if (own)
		return came > before ? came : before;
	return before > came ? before : gap_widest(leaf, KIND_LEAF, min, max);
}

/*
 * gap_raise - one of the gaps that the finger's node at @level records for its children went from
 * @was to @now: update the nodes above as far as they change. Lock held.
 */
void gap_raise(const struct mt_finger *finger, unsigned int level, unsigned long was,
	       unsigned long now);

/*
 * gap_tell - the widest gap of the finger's node at @level, which is not the root, went from @was,
 * the value in the node above, to @now: update that node and those above it. Lock held.
 */
static inline void gap_tell(const struct mt_finger *finger, unsigned int level, unsigned long was,
			    unsigned long now)
{
	unsigned long step = finger->step[level + 1];

	assert(level + 1 < finger->height);
	gap_set(step_node(step), step_offset(step), now);
	if (level + 2 < finger->height)
		gap_raise(finger, level + 1, was, now);
}

/* The result of a search, in two registers; @start is valid only if @found. */
struct mt_place_found {
	unsigned long start;
	unsigned long found;
};

/*
 * gap_find - the lowest or highest place for @want, whose members are valid: size > 0, min <= max,
 * align 0 or a power of two.
 * gap_find_lowest, gap_find_highest - the same, without an alignment.
 * Lock or read side; beside a writer the answer may be out of date.
 */
struct mt_place_found gap_find(struct maple_tree *mt, const struct mt_area *want);
struct mt_place_found gap_find_lowest(struct maple_tree *mt, unsigned long min,
				      unsigned long max, unsigned long size);
struct mt_place_found gap_find_highest(struct maple_tree *mt, unsigned long min,
				       unsigned long max, unsigned long size);

#endif
