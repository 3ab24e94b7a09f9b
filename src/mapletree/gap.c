/* SPDX-License-Identifier: MIT */
/*
 * gap.c - upkeep of the widest gap per child.
 *
 * Word by word, unlike the search: the words were stored a moment ago, one by one, and a vector
 * that reaches over such words waits until they have left the processor's store buffer.
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
 * The gaps of a node are looked through only if its widest one shrank: all it needs else is the gap
 * that changed and the one that stands for the node in its parent.
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
