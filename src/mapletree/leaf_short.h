/* SPDX-License-Identifier: MIT */
/*
 * leaf_short.h - the most frequent writes of one leaf, in two to six stores: part of write.c.
 *
 * An entry replaces another one; an entry grows into the gap after it or shrinks before it, as a
 * heap does; an entry is added in the gap at the end of a leaf, as areas are that are mapped one
 * above the other. leaf_write.h would produce the same: WRITE_SLOT, WRITE_PIVOT, or WRITE_FILL
 * without a slot to move. The code here checks only what these cases need.
 */
#ifndef MT_LEAF_SHORT_H
#define MT_LEAF_SHORT_H

#include "leaf_write.h"

/*
 * The start of slot @offset of the finger's leaf. Computed without a branch, which would be
 * mispredicted where writes come at random.
 */
static ALWAYS_INLINE unsigned long first_of(const struct mt_node *leaf, unsigned int offset,
					    const struct mt_finger *finger)
{
	const unsigned long *below = offset ? &leaf->pivot[offset - 1] : &finger->min;

	return *below + (offset > 0);
}

/*
 * Finishes the write: the finger leads to slot @at of @leaf, and the gaps above are updated. Returns
 * @at.
 */
static ALWAYS_INLINE int short_done(struct maple_tree *mt, struct mt_node *leaf, unsigned int at,
				     unsigned long gone, unsigned long came)
{
	mt->ma_finger.step[0] = step_make(leaf, at);
	if (tree_tracks_gaps(mt) && mt->ma_finger.height > 1)
		update_gaps(mt, leaf, (struct gap_change){ gone, came });
	return (int)at;
}

/*
 * Stores @entry over [first, last] inside the gap that is the last slot, *@end, of @leaf; a part of
 * the gap remains at its end.
 */
static ALWAYS_INLINE int fill_tail(struct maple_tree *mt, struct mt_node *leaf,
				    unsigned long first, unsigned long last, void *entry,
				    unsigned int *end)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned long min = first_of(leaf, *end, finger);
	unsigned int at = *end + (min != first);
	unsigned long before = first - min, behind = finger->max - last;
	struct leaf_writer writer;

	if (last >= finger->max || at + 1 >= WIDE_SLOTS)
		return -1;
	writer = leaf_writer_begin(leaf, at + 1 - (long)*end);
	if (before)
		put_pivot(&writer, *end, first - 1);
	put_pivot(&writer, at, last);
	put_slot(&writer, at, entry);
	leaf_writer_end(&writer);
	*end = at + 1;
	return short_done(mt, leaf, at, finger->max - min + 1,
			  before > behind ? before : behind);
}

/*
 * leaf_short - store @entry over [@first, @last], beginning in the slot of @step, which holds
 * @first, if this is one of the writes above. Sets *@end to the leaf's new end and *@last to the
 * end of the range written, a gap's being wider than what was asked for; and lets the tree's finger
 * lead to what was written. Returns its slot, or -1, having changed nothing, if it is not such a
 * write. Lock held.
 */
static ALWAYS_INLINE int leaf_short(struct maple_tree *mt, unsigned long step,
				    unsigned long first, unsigned long *last, void *entry,
				    unsigned int *end)
{
	const struct mt_finger *finger = &mt->ma_finger;
	struct mt_node *leaf = step_node(step);
	unsigned int at = step_offset(step);
	unsigned long was, now, top;
	void *held = leaf->wide.slot[at];
	struct leaf_writer writer;

	*end = node_end(leaf, KIND_LEAF);
	if (finger->height == 1 && *end < 2) /* the tree may need no node after the store */
		return -1;
	if (!held)
		return entry && at == *end ? fill_tail(mt, leaf, first, *last, entry, end) : -1;
	if (entry) {
		was = last_of(leaf, at, finger->max);
		if (first_of(leaf, at, finger) != first)
			return -1;
		if (*last == was) {
			writer = leaf_writer_begin(leaf, 0);
			put_slot(&writer, at, entry);
			leaf_writer_end(&writer);
			mt->ma_finger.step[0] = step;
			return (int)at;
		}
		if (entry != held || *last < was || at == *end || leaf->wide.slot[at + 1])
			return -1;
		top = last_of(leaf, at + 1, finger->max);
		if (*last >= top)
			return -1;
		now = *last;
	} else {
		if (first_of(leaf, at, finger) == first || at == *end || leaf->wide.slot[at + 1])
			return -1;
		was = leaf->pivot[at];
		top = last_of(leaf, at + 1, finger->max);
		if (*last < was || *last > top)
			return -1;
		now = first - 1;
		*last = top;
	}
	writer = leaf_writer_begin(leaf, 0);
	put_pivot(&writer, at, now);
	leaf_writer_end(&writer);
	return short_done(mt, leaf, at + !entry, top - was, top - now);
}

#endif
