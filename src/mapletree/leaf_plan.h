/* SPDX-License-Identifier: MIT */
/*
 * leaf_plan.h - a write that changes one leaf and keeps it one, as a value: part of write.c.
 *
 * Nearly all writes are such. Most change the leaf where it is, which takes no memory and cannot
 * fail. All others are planned in layout_plan.c, which would come to the same for these, too: what
 * stands here and in leaf_write.h is there because it is several times quicker, and debug builds
 * compare (see write.c).
 */
#ifndef MT_LEAF_PLAN_H
#define MT_LEAF_PLAN_H

#include "finger.h"
#include "write_kind.h"

/*
 * struct mt_leaf_plan - the write of @entry over [@first, @last] in one leaf. It touches slots
 * @low .. @high, which cover (@below, @top]; something may be left of both ends.
 *   left == (below + 1 < first), right == (last < top)
 *   new_end == end + left + right - (high - low)
 * @first, @last: for NULL as wide as the gap becomes, in this leaf.
 * @beside: whether it goes on in the leaf before this one, behind it.
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

/* plan_at - the slot that the new range comes to. */
static inline unsigned int plan_at(const struct mt_leaf_plan *p)
{
	return p->low + p->left;
}

/* A pivot of a leaf that is the tree's only reader and writer; the last slot has none. */
static inline unsigned long pivot_of(const struct mt_node *leaf, unsigned int i)
{
	return i < WIDE_PIVOTS ? leaf->pivot[i] : ULONG_MAX;
}

/* Where slot @offset ends, in a leaf that covers up to @max. */
static inline unsigned long last_of(const struct mt_node *leaf, unsigned int offset,
				    unsigned long max)
{
	unsigned long pivot = pivot_of(leaf, offset);

	return pivot < max ? pivot : max;
}

/* Whether the range behind (@up) or before the finger's leaf, which exists, is a gap. */
static __attribute__((noinline)) bool gap_beside(const struct maple_tree *mt, bool up)
{
	struct mt_finger beside;

	finger_copy(&beside, &mt->ma_finger);
	if (up)
		finger_move_up(&beside, inner_kind(mt));
	else
		finger_move_down(&beside, inner_kind(mt));
	return !step_node(beside.step[0])->wide.slot[step_offset(beside.step[0])];
}

/* Widens the store of NULL by the gaps at its ends. Returns where they go on in other leaves. */
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

/* How the leaf changes word by word: see inplace.h. WRITE_COPY: no order of single words does it. */
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
		return WRITE_CLEAR; /* of three slots the one between two gaps goes */
	return WRITE_COPY;
}

/* The kind of a write that leaves the leaf with as many slots as it has. */
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
 * Whether the leaf would be too full, or so empty that it is joined with one beside it under the same
 * parent, or maybe no node is needed then.
 */
static ALWAYS_INLINE bool needs_layout(const struct mt_leaf_plan *p, const struct maple_tree *mt)
{
	const struct mt_finger *finger = &mt->ma_finger;

	if (finger->height == 1 && p->new_end < 2)
		return true;
	if (p->new_end >= p->end)
		return p->new_end >= WIDE_SLOTS;
	return p->new_end + 1 < kind_min_slots(KIND_LEAF) && finger->height > 1 &&
	       node_end(step_node(finger->step[1]), inner_kind(mt)) > 0;
}

/*
 * leaf_plan - plan the store of @entry over [@first, @last] in the leaf of the tree's finger, which
 * led to @step. Returns the kind, which it also sets if the leaf remains one; after WRITE_SPAN nothing
 * of *@p means anything. Changes nothing but *@p. Lock held.
 */
static ALWAYS_INLINE enum write_kind leaf_plan(struct mt_leaf_plan *p, const struct maple_tree *mt,
					       unsigned long first, unsigned long last,
					       void *entry, unsigned long step)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned int low = step_offset(step), high = low, beside = 0;

	p->leaf = step_node(step);
	p->entry = entry;
	p->first = first;
	p->last = last;
	if (last > finger->max)
		return WRITE_SPAN;
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
	if (!p->entry)
		beside = join_gaps(p, mt);
	p->left = p->below + 1 != p->first;
	p->right = p->last != p->top;
	p->new_end = p->end + p->left + p->right - (p->high - p->low);
	if (UNLIKELY(beside) || needs_layout(p, mt)) {
		p->beside = beside;
		return WRITE_LAYOUT;
	}
	if (p->new_end == p->end)
		return p->kind = kind_of_same_size(p, mt_in_rcu(mt));
	return p->kind = mt_in_rcu(mt) ? kind_beside_readers(p) : WRITE_SPLICE;
}

#endif
