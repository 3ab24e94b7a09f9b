/* SPDX-License-Identifier: MIT */
/*
 * leaf_plan.h - the plan of a write that changes one leaf and keeps it one leaf: part of write.c.
 *
 * Nearly all writes are like this. Most change the leaf in place, which needs no memory and cannot
 * fail. All others are planned in layout_plan.c, which would produce the same result for these,
 * too: the code here and in leaf_write.h exists because it is several times faster, and debug
 * builds compare the results (see write.c).
 */
#ifndef MT_LEAF_PLAN_H
#define MT_LEAF_PLAN_H

#include "finger.h"
#include "write_kind.h"

/*
 * struct mt_leaf_plan - the write of @entry over [@first, @last] in one leaf. It touches the slots
 * @low .. @high, which cover (@below, @top]; a part may remain at both ends.
 *   left == (below + 1 < first), right == (last < top)
 *   new_end == end + left + right - (high - low)
 * @first, @last: for NULL, the bounds of the resulting gap within this leaf.
 * @beside: whether that gap continues in the leaf before this one, or in the one after it.
 * @end, @new_end: the last slot in use, before and after.
 */
enum { GAP_BEFORE = 1, GAP_BEHIND = 2 };

struct mt_leaf_plan {
	struct mt_node *leaf;
	void *entry;
	unsigned long first;
	unsigned long last;
	unsigned long below;
	unsigned long top;
	enum write_kind kind;
	unsigned int beside;
	unsigned int low;
	unsigned int high;
	unsigned int left;
	unsigned int right;
	unsigned int end;
	unsigned int new_end;
};

/* plan_at - the slot of the new range. */
static inline unsigned int plan_at(const struct mt_leaf_plan *p)
{
	return p->low + p->left;
}

/* A pivot of a leaf, for the writer: loaded plainly. The last slot has none. */
static inline unsigned long pivot_of(const struct mt_node *leaf, unsigned int i)
{
	return i < WIDE_PIVOTS ? leaf->pivot[i] : ULONG_MAX;
}

/* The end of slot @offset in a leaf that covers indexes up to @max. */
static inline unsigned long last_of(const struct mt_node *leaf, unsigned int offset,
				    unsigned long max)
{
	unsigned long pivot = pivot_of(leaf, offset);

	return pivot < max ? pivot : max;
}

/* The entry of the last range of @leaf, or of the first one. */
static inline void *end_entry(const struct mt_node *leaf, bool last)
{
	return leaf->wide.slot[last ? node_end(leaf, KIND_LEAF) : 0];
}

/*
 * entry_beside - the entry of the range after (@up) or before the finger's leaf. That range must
 * exist, so the leaf is not the root.
 */
static __attribute__((noinline)) void *entry_beside(const struct maple_tree *mt, bool up)
{
	unsigned long step = mt->ma_finger.step[1];
	struct mt_node *parent = step_node(step);
	enum node_kind inner = inner_kind(mt);
	unsigned int at = step_offset(step);
	struct mt_finger beside;

	if (up ? at < node_end(parent, inner) : at)
		return end_entry(enode_node(slot_child(parent, inner, up ? at + 1 : at - 1)), !up);
	beside = mt->ma_finger; /* whole, since gcc's -O3 does not see which levels are in use */
	if (up)
		finger_move_up(&beside, inner);
	else
		finger_move_down(&beside, inner);
	return end_entry(step_node(beside.step[0]), !up);
}

/* Whether that range is a gap. */
static inline bool gap_beside(const struct maple_tree *mt, bool up)
{
	return !entry_beside(mt, up);
}

/*
 * Widens a store of NULL by the gaps at its ends. Returns at which ends the gap continues in
 * another leaf.
 */
static ALWAYS_INLINE unsigned int join_gaps(struct mt_leaf_plan *p, const struct maple_tree *mt)
{
	const struct mt_finger *finger = &mt->ma_finger;
	void **slot = p->leaf->wide.slot;
	unsigned int beside = 0;

	if (!slot[p->low]) {
		p->first = p->below + 1;
	} else if (p->first == p->below + 1) {
		if (p->low && !slot[p->low - 1]) {
			p->low--;
			p->first = slot_first(p->leaf, p->low, finger->min);
			p->below = p->first - 1;
		} else if (!p->low && p->first && gap_beside(mt, false)) {
			beside |= GAP_BEFORE;
		}
	}
	if (!slot[p->high]) {
		p->last = p->top;
	} else if (p->last == p->top) {
		if (p->high < p->end && !slot[p->high + 1]) {
			p->high++;
			p->last = p->top = last_of(p->leaf, p->high, finger->max);
		} else if (p->high == p->end && p->top != ULONG_MAX && gap_beside(mt, true)) {
			beside |= GAP_BEHIND;
		}
	}
	return beside;
}

/*
 * How the leaf can be changed word by word (see inplace.h). WRITE_COPY: no sequence of single words
 * does it.
 */
static ALWAYS_INLINE enum write_kind kind_beside_readers(const struct mt_leaf_plan *p)
{
	void **slot = &p->leaf->wide.slot[p->low];
	unsigned int slots = p->high - p->low + 1;

	if (slots == 1) {
		if (!*slot)
			return WRITE_FILL;
		return p->left != p->right && plan_at(p) ? WRITE_CUT : WRITE_COPY;
	}
	if ((p->left | p->right) || slots > 3)
		return WRITE_COPY;
	if (p->entry)
		return slots == 2 && (p->entry == slot[0] || (p->entry == slot[1] && p->low))
			       ? WRITE_ABSORB
			       : WRITE_COPY;
	if (slots == 2 ? !slot[0] || !slot[1] : !slot[0] && !slot[2])
		return WRITE_CLEAR; /* of three slots, the one between two gaps is removed */
	return WRITE_COPY;
}

/* The kind of a write that does not change the number of slots. */
static ALWAYS_INLINE enum write_kind kind_of_same_size(const struct mt_leaf_plan *p, bool rcu)
{
	void **slot = &p->leaf->wide.slot[p->low];

	if (p->low == p->high)
		return p->entry || *slot ? WRITE_SLOT : WRITE_NOTHING;
	if (p->high == p->low + 1 && p->entry == slot[p->left])
		return WRITE_PIVOT;
	return rcu ? WRITE_COPY : WRITE_SPLICE;
}

/*
 * Whether the leaf would become too full, or so empty that it is joined with a neighbour under the
 * same parent, or that the tree may not need a node at all.
 */
static ALWAYS_INLINE bool needs_layout(const struct mt_leaf_plan *p, const struct maple_tree *mt)
{
	const struct mt_finger *finger = &mt->ma_finger;

	if (finger->height == 1 && p->new_end < 2)
		return true;
	if (p->new_end >= p->end)
		return p->new_end >= WIDE_SLOTS;
	return p->new_end + 1 < leaf_min_slots(finger->height) && finger->height > 1 &&
	       node_end(step_node(finger->step[1]), inner_kind(mt)) > 0;
}

/*
 * leaf_first_slot - whether @p, which is a WRITE_COPY, could be done in place if its slot were not
 * the leaf's first one: an entry takes over all of the range before it, or loses its beginning.
 */
static inline bool leaf_first_slot(const struct mt_leaf_plan *p, const struct maple_tree *mt)
{
	if (p->low || p->left || !mt->ma_finger.min)
		return false;
	return p->high ? p->high == 1 && !p->right && p->entry == p->leaf->wide.slot[1] : p->right;
}

/*
 * leaf_plan_slots - begin a plan: the slots of [@first, @last] in the leaf of @step, which is that
 * of @first. Returns false if the range does not end in this leaf.
 */
static ALWAYS_INLINE bool leaf_plan_slots(struct mt_leaf_plan *p, const struct maple_tree *mt,
					  unsigned long first, unsigned long last, void *entry,
					  unsigned long step)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned int low = step_offset(step), high = low;

	p->leaf = step_node(step);
	p->entry = entry;
	p->first = first;
	p->last = last;
	if (last > finger->max)
		return false;
	if (pivot_of(p->leaf, low) < p->last) { /* most writes touch one slot or two */
		high++;
		if (pivot_of(p->leaf, high) < p->last)
			high = step_offset(leaf_find(step, p->last));
	}
	p->low = low;
	p->high = high;
	p->below = slot_first(p->leaf, low, finger->min) - 1;
	p->top = last_of(p->leaf, high, finger->max);
	p->end = node_end(p->leaf, KIND_LEAF);
	return true;
}

/* leaf_plan_kind - end a plan of which all but that is known. @beside: see p->beside. */
static ALWAYS_INLINE enum write_kind leaf_plan_kind(struct mt_leaf_plan *p,
						    const struct maple_tree *mt,
						    unsigned int beside)
{
	p->left = p->below + 1 != p->first;
	p->right = p->last != p->top;
	p->new_end = p->end + p->left + p->right - (p->high - p->low);
	if (UNLIKELY(beside) || needs_layout(p, mt)) {
		p->beside = beside;
		return p->kind = WRITE_LAYOUT;
	}
	if (p->new_end == p->end)
		return p->kind = kind_of_same_size(p, mt_in_rcu(mt));
	return p->kind = mt_in_rcu(mt) ? kind_beside_readers(p) : WRITE_SPLICE;
}

/*
 * leaf_plan - plan the store of @entry over [@first, @last] in the leaf of the tree's finger, which
 * led to @step. Returns the kind, which is also p->kind; after WRITE_SPAN *@p is undefined. Changes
 * nothing but *@p. Lock held.
 */
static ALWAYS_INLINE enum write_kind leaf_plan(struct mt_leaf_plan *p, const struct maple_tree *mt,
					       unsigned long first, unsigned long last,
					       void *entry, unsigned long step)
{
	if (!leaf_plan_slots(p, mt, first, last, entry, step))
		return WRITE_SPAN;
	return leaf_plan_kind(p, mt, p->entry ? 0 : join_gaps(p, mt));
}

#endif
