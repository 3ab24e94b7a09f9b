/* SPDX-License-Identifier: MIT */
/*
 * boundary.h - an entry that grows into the gap behind it, or shrinks before it: part of write.c.
 *
 * As a heap does. leaf.h would come to the same, PUBLISH_PIVOT; here nothing else is asked.
 */
#ifndef MT_BOUNDARY_H
#define MT_BOUNDARY_H

#include "leaf.h"

/*
 * boundary_move - store @entry over [@first, @last], if this moves one boundary: that between the
 * entry at the slot of @step, where @first lies, and the gap behind it in the same leaf. Sets
 * *@end, the leaf's, and lets the tree's way lead to what was written. False, and nothing has
 * changed: it is not so. Lock held.
 */
static ALWAYS_INLINE bool boundary_move(struct maple_tree *mt, unsigned long step,
					unsigned long first, unsigned long last,
					const void *entry, unsigned int *end)
{
	struct mt_way *way = &mt->ma_way;
	struct mt_node *leaf = step_node(step);
	unsigned int at = step_offset(step);
	unsigned long was, now, top;
	struct pen pen;

	if (!step || at + 1 >= WIDE_PIVOTS || leaf->wide.slot[at + 1] || !leaf->wide.slot[at])
		return false;
	was = leaf->pivot[at];
	top = last_of(leaf, at + 1, way->max);
	*end = node_end(leaf, KIND_LEAF);
	if (at >= *end || last < was || (way->height == 1 && *end < 2))
		return false;
	now = last;
	if (entry) {
		if (leaf->wide.slot[at] != entry || last == was || last >= top ||
		    slot_first(leaf, at, way->min) != first)
			return false;
	} else {
		if (last > top || slot_first(leaf, at, way->min) == first)
			return false;
		now = first - 1;
	}
	pen = pen_begin(leaf, *end);
	put_pivot(&pen, at, now);
	way->step[0] = step + !entry;
	if (tree_tracks_gaps(mt) && way->height > 1)
		update_gaps(mt, leaf, (struct measure){ top - was, top - now });
	return true;
}

#endif
