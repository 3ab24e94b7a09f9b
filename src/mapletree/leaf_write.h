/* SPDX-License-Identifier: MIT */
/*
 * leaf_write.h - carry out a write that changes one leaf, and update the gaps above: part of
 * write.c.
 *
 * Updating gaps is the most expensive part of such a write, so it reads as little as it can: the
 * gaps that the write touches are measured on the way, and the rest of the leaf is searched only if
 * its widest gap may be among those that disappeared.
 */
#ifndef MT_LEAF_WRITE_H
#define MT_LEAF_WRITE_H

#include "dead.h"
#include "gap.h"
#include "inplace.h"
#include "publish.h"

/* The widest of the gaps that a write touches, before and after the write. */
struct gap_change {
	unsigned long before;
	unsigned long after;
};

/* Measures the slots low .. high. Gaps are never adjacent, so at most one of two slots is a gap. */
static ALWAYS_INLINE struct gap_change measure_gaps(const struct mt_leaf_plan *p)
{
	struct gap_change m = { 0, p->entry ? 0 : p->last - p->first + 1 };
	void **slot = p->leaf->wide.slot;
	unsigned long below = p->below;
	unsigned int i = p->low;

	if (p->kind == WRITE_PIVOT) {
		unsigned long was = p->leaf->pivot[i], now = p->left ? p->first - 1 : p->last;

		if (!slot[i])
			return (struct gap_change){ was - below, now - below };
		if (!slot[i + 1]) /* mostly handled by leaf_short.h */
			return (struct gap_change){ p->top - was, p->top - now };
		return (struct gap_change){ 0, 0 };
	}
	if (!slot[i] && p->left)
		m.after = p->first - 1 - below;
	if (!slot[p->high] && p->right && p->top - p->last > m.after)
		m.after = p->top - p->last;
	for (; i < p->high; i++) {
		unsigned long last = p->leaf->pivot[i];

		if (!slot[i] && last - below > m.before)
			m.before = last - below;
		below = last;
	}
	if (!slot[i] && p->top - below > m.before)
		m.before = p->top - below;
	return m;
}

/*
 * update_gaps - after a write into @leaf, the finger's leaf, which is not the root: update the gaps
 * above. The leaf is searched only if its widest gap may have disappeared and the new gap may be
 * narrower than one of the others.
 */
static ALWAYS_INLINE void update_gaps(struct maple_tree *mt, struct mt_node *leaf,
				      struct gap_change m)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned long step = finger->step[1];
	unsigned long was = gap_load(step_node(step), step_offset(step)), now = m.after;

	if (now < was) {
		if (m.before < was)
			return;
		if (now <= (finger->max - finger->min) / 2)
			now = gap_widest(leaf, KIND_LEAF, finger->min, finger->max);
	}
	if (now != was)
		gap_tell(finger, 0, was, now);
}

/* leaf_write - carry out @p, whose kind is not WRITE_COPY, in place. Lock held. */
static ALWAYS_INLINE void leaf_write(struct maple_tree *mt, const struct mt_leaf_plan *p)
{
	struct gap_change m = { 0, 0 };
	bool gaps = tree_tracks_gaps(mt) && mt->ma_finger.height > 1;

	if (gaps)
		m = measure_gaps(p);
	inplace_write(p);
	assert(node_is_valid(p->leaf, KIND_LEAF));
	mt->ma_finger.step[0] = step_make(p->leaf, plan_at(p));
	if (gaps)
		update_gaps(mt, p->leaf, m);
}

/*
 * leaf_copy - make @fresh, an allocated block, a copy of p->leaf changed as @p says, and replace
 * p->leaf by it. The caller retires p->leaf. Lock held.
 */
static inline void leaf_copy(struct maple_tree *mt, const struct mt_leaf_plan *p,
			     struct mt_node *fresh)
{
	struct mt_finger *finger = &mt->ma_finger;
	struct gap_change m = measure_gaps(p);
	struct mt_leaf_plan copy = *p;

	WORK(NODE_COPIED);
	memcpy(fresh, p->leaf, sizeof(*fresh));
	copy.leaf = fresh;
	splice(&copy);
	assert(node_is_valid(fresh, KIND_LEAF));
	finger->step[0] = step_make(fresh, plan_at(p));
	if (mt_in_rcu(mt))
		dead_mark(p->leaf);
	publish_node(mt, finger, 0, enode_make(fresh, KIND_LEAF));
	if (tree_tracks_gaps(mt) && finger->height > 1)
		update_gaps(mt, fresh, m);
}

#endif
