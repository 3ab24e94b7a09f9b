/* SPDX-License-Identifier: MIT */
/*
 * gap.c - keep the widest gap of each child up to date.
 *
 * The code works word by word, unlike the search: the words were stored a moment ago, one at a
 * time, and a vector load across such words would wait until they have left the processor's store
 * buffer.
 */
#include "gap.h"

static unsigned long widest_in_leaf(const struct mt_node *leaf, unsigned long min,
				    unsigned long max)
{
	unsigned int end = node_end(leaf, KIND_LEAF);
	unsigned long below = min - 1, widest = 0, width;
	unsigned int i;

	WORK(GAPS_MEASURED);
	for (i = 0; i < end; i++) {
		width = leaf->wide.slot[i] ? 0 : leaf->pivot[i] - below;
		widest = width > widest ? width : widest;
		below = leaf->pivot[i];
	}
	width = leaf->wide.slot[end] ? 0 : max - below;
	return width > widest ? width : widest;
}

static unsigned long widest_of_gaps(const struct mt_node *node)
{
	unsigned long widest = 0;
	unsigned int i;

#pragma GCC unroll 16
	for (i = 0; i < GAPS_SLOTS; i++) /* gaps past the end are 0 */
		widest = node->gaps.gap[i] > widest ? node->gaps.gap[i] : widest;
	return widest;
}

unsigned long gap_widest(struct mt_node *node, enum node_kind kind, unsigned long min,
			 unsigned long max)
{
	return kind == KIND_LEAF ? widest_in_leaf(node, min, max) : widest_of_gaps(node);
}

/*
 * The gaps of a node are searched only if its widest one shrank. Otherwise the gap that changed and
 * the one that its parent records for the node are enough.
 */
void gap_raise(const struct mt_finger *finger, unsigned int level, unsigned long was,
	       unsigned long now)
{
	for (; level + 1 < finger->height; level++) {
		unsigned long above = finger->step[level + 1];
		unsigned long widest = gap_load(step_node(above), step_offset(above));

		if (now < widest) {
			if (was < widest)
				return;
			now = widest_of_gaps(step_node(finger->step[level]));
		}
		if (now == widest)
			return;
		gap_set(step_node(above), step_offset(above), now);
		was = widest;
	}
}
