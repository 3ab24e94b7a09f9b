/* SPDX-License-Identifier: MIT */
/*
 * leaf_short.h - the most frequent writes of one leaf: part of write.c.
 *
 * An entry replaces another one; an entry grows into the gap after it or shrinks before it, as a
 * heap does; an entry is added inside a gap; an entry is removed. leaf_write.h would produce the
 * same: WRITE_SLOT, WRITE_PIVOT, and WRITE_FILL, WRITE_CLEAR or a WRITE_SPLICE. The code here
 * checks only what these cases need.
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

/* Whether the tree may need no node after a store in @leaf, the finger's. */
static inline bool leaf_is_tiny(const struct maple_tree *mt, const struct mt_node *leaf)
{
	return mt->ma_finger.height == 1 && node_end(leaf, KIND_LEAF) < 2;
}

/* The stores of fill_gap() beside readers. @way: 1 if some of the gap is left before, 2 behind. */
static __attribute__((noinline)) void fill_beside_readers(struct mt_node *leaf, unsigned int at,
							  unsigned int way, unsigned long first,
							  unsigned long last, void *entry)
{
	const struct mt_leaf_plan p = {
		.kind = WRITE_FILL,
		.leaf = leaf,
		.entry = entry,
		.first = first,
		.last = last,
		.low = at,
		.left = way & 1,
		.right = way >> 1,
		.end = node_end(leaf, KIND_LEAF),
	};

	fill(&p);
}

/*
 * Whether a store up to @last in the gap that is slot @at, of a leaf whose last slot is @end, is
 * one for fill_tail(); else it is one for fill_gap().
 */
static inline bool fills_tail(const struct maple_tree *mt, unsigned int at, unsigned int end,
			      unsigned long last)
{
	return at == end && last < mt->ma_finger.max;
}

/*
 * Stores @entry over [first, last] inside the gap that is the last slot, *@end, of @leaf; a part of
 * the gap remains at its end. No slot has to be moved.
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

	if (at + 1 >= WIDE_SLOTS)
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
 * Stores @entry over [@first, @last] inside the gap that is slot @at of @leaf; *@end is the last
 * slot. Returns the slot of the entry, or -1, having changed nothing, if there is no room.
 */
static ALWAYS_INLINE int fill_gap(struct maple_tree *mt, struct mt_node *leaf, unsigned int at,
				  unsigned long first, unsigned long last, void *entry,
				  unsigned int *end)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned long min = first_of(leaf, at, finger), max = last_of(leaf, at, finger->max);
	unsigned long before = first - min, behind = max - last;
	unsigned int left = before > 0, right = behind > 0, old_end = *end;
	struct leaf_writer writer;

	if (last > max || old_end + left + right >= WIDE_SLOTS)
		return -1;
	*end = old_end + left + right;
	if (!mt_in_rcu(mt)) {
		WORK(WRITE_IN_PLACE);
		if (left | right)
			slots_up(leaf, at, old_end, left + right);
		if (left)
			leaf->pivot[at] = first - 1;
		if (right)
			leaf->pivot[at + left] = last;
		leaf->wide.slot[at + left] = entry;
		leaf->wide.meta += left + right;
	} else if (left | right) {
		fill_beside_readers(leaf, at, left | right << 1, first, last, entry);
	} else {
		writer = leaf_writer_begin(leaf, 0);
		put_slot(&writer, at, entry);
		leaf_writer_end(&writer);
	}
	return short_done(mt, leaf, at + left, max - min + 1, before > behind ? before : behind);
}

/*
 * Removes the entry that is slot @at of @leaf; *@end is the last slot. Sets *@first and *@last to
 * the bounds of the gap that is left. Returns its slot, or -1, having changed nothing, if the gap
 * would go on in another leaf, or the leaf become too empty.
 */
static ALWAYS_INLINE int clear_slot(struct maple_tree *mt, struct mt_node *leaf, unsigned int at,
				    unsigned long *first, unsigned long *last, unsigned int *end)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned int old_end = *end, before = at && !leaf->wide.slot[at - 1];
	unsigned int behind = at < old_end && !leaf->wide.slot[at + 1];
	unsigned long low, high, gone;
	struct leaf_writer writer;

	if ((!at && finger->min && gap_beside(mt, false)) ||
	    (at == old_end && finger->max != ULONG_MAX && gap_beside(mt, true)))
		return -1;
	*end = old_end - before - behind;
	if ((before | behind) &&
	    *end + 1 < (finger->height > 1 ? leaf_min_slots(finger->height) : 3))
		return -1;
	low = first_of(leaf, at - before, finger);
	high = last_of(leaf, at + behind, finger->max);
	gone = *first - low > high - *last ? *first - low : high - *last;
	*first = low;
	*last = high;
	if (mt_in_rcu(mt)) {
		if (before | behind) {
			clear(leaf, at - before, at + behind, old_end);
		} else {
			writer = leaf_writer_begin(leaf, 0);
			put_slot(&writer, at, NULL);
			leaf_writer_end(&writer);
		}
	} else {
		WORK(WRITE_IN_PLACE);
		leaf->wide.slot[at] = NULL;
		if (before | behind) {
			slots_copy(leaf, at - before, leaf, at + behind, old_end + 1 - at - behind);
			slots_pad(leaf, *end, old_end);
		}
		leaf->wide.meta -= before + behind;
	}
	return short_done(mt, leaf, at - before, gone, high - low + 1);
}

/* The same out of line, for callers whose other short writes need fewer registers. */
static __attribute__((noinline)) int fill_gap_apart(struct maple_tree *mt, unsigned long step,
						    unsigned long first, unsigned long last,
						    void *entry)
{
	struct mt_node *leaf = step_node(step);
	unsigned int end = node_end(leaf, KIND_LEAF);

	return fill_gap(mt, leaf, step_offset(step), first, last, entry, &end);
}

static __attribute__((noinline)) int clear_slot_apart(struct maple_tree *mt, unsigned long step,
						      unsigned long *first, unsigned long *last)
{
	struct mt_node *leaf = step_node(step);
	unsigned int end = node_end(leaf, KIND_LEAF);

	return clear_slot(mt, leaf, step_offset(step), first, last, &end);
}

/*
 * leaf_short - store @entry over [*@first, *@last], beginning in the slot of @step, which holds
 * *@first, if this is one of the writes above. Sets *@end to the leaf's new end, and for NULL
 * *@first and *@last to the gap, which is wider than what was asked for; and lets the tree's finger
 * lead to what was written. Returns its slot, or -1, having changed nothing in the tree, if it is
 * not such a write. Lock held.
 */
static ALWAYS_INLINE int leaf_short(struct maple_tree *mt, unsigned long step,
				    unsigned long *first, unsigned long *last, void *entry,
				    unsigned int *end)
{
	const struct mt_finger *finger = &mt->ma_finger;
	struct mt_node *leaf = step_node(step);
	unsigned int at = step_offset(step);
	unsigned long was, now, top, from, to;
	void *held = leaf->wide.slot[at];
	struct leaf_writer writer;
	bool begins;
	int at_new;

	*end = node_end(leaf, KIND_LEAF);
	if (leaf_is_tiny(mt, leaf))
		return -1;
	if (!held) {
		if (!entry)
			return -1;
		if (fills_tail(mt, at, *end, *last))
			return fill_tail(mt, leaf, *first, *last, entry, end);
		at_new = fill_gap_apart(mt, step, *first, *last, entry);
		*end = node_end(leaf, KIND_LEAF);
		return at_new;
	}
	was = last_of(leaf, at, finger->max);
	begins = first_of(leaf, at, finger) == *first;
	if (entry) {
		if (!begins)
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
		if (begins) {
			if (*last != was)
				return -1;
			from = *first;
			to = was;
			at_new = clear_slot_apart(mt, step, &from, &to);
			*first = from;
			*last = to;
			*end = node_end(leaf, KIND_LEAF);
			return at_new;
		}
		if (at == *end || leaf->wide.slot[at + 1])
			return -1;
		top = last_of(leaf, at + 1, finger->max);
		if (*last < was || *last > top)
			return -1;
		now = *first - 1;
		*last = top;
	}
	writer = leaf_writer_begin(leaf, 0);
	put_pivot(&writer, at, now);
	leaf_writer_end(&writer);
	return short_done(mt, leaf, at + !entry, top - was, top - now);
}

#endif
