/* SPDX-License-Identifier: MIT */
/*
 * leaf.h - writes that stay in one leaf, nearly all of them: part of write.c.
 *
 * The leaf is reached by the tree's way, and the write needs no other node but, in trees that
 * track gaps, the parents for their gaps. Mostly the leaf is changed where it is, which takes no
 * memory and cannot fail; else a changed copy takes its place. Where a leaf is divided, or joined
 * with one beside it, leaf_group.h goes on; where two leaves share a gap, leaf_seam.h.
 */
#ifndef MT_LEAF_H
#define MT_LEAF_H

#include "build.h"
#include "dead.h"
#include "gap.h"
#include "inplace.h"
#include "path.h"
#include "publish.h"
#include "way.h"

/* Where slot @offset ends, in a leaf that covers up to @max. */
static inline unsigned long last_of(const struct mt_node *leaf, unsigned int offset,
				    unsigned long max)
{
	unsigned long pivot = pivot_of(leaf, offset);

	return pivot < max ? pivot : max;
}

/*
 * Whether the range beside the way's leaf, which is not the first (last) one of the tree, is a gap:
 * the level of the lowest node above both; WAY_LEVELS, if that is none the way knows; 0: an entry.
 */
static inline unsigned int gap_beside(struct maple_tree *mt, enum sibling_side side)
{
	const struct mt_way *way = &mt->ma_way;
	enum node_kind kind = inner_kind(mt);
	bool right = side == SIBLING_RIGHT;
	unsigned int level = 1, at, down;
	struct mt_node *node;

	for (;; level++) {
		if (level == WAY_LEVELS)
			return path_gap_at(mt, right ? way->max + 1 : way->min - 1) ? level : 0;
		node = step_node(way->step[level]);
		at = step_offset(way->step[level]);
		if (right ? at < node_end(node, kind) : at > 0)
			break;
	}
	at = right ? at + 1 : at - 1;
	for (down = level;; at = right ? 0 : node_end(node, kind)) {
		node = enode_node(slot_child(node, kind, at));
		if (!--down)
			break;
	}
	return node->wide.slot[right ? 0 : node_end(node, KIND_LEAF)] ? 0 : level;
}

/* Notes that the gap goes on in the leaf at that side. False: it cannot be said so. */
static __attribute__((noinline)) bool join_beside(struct mt_leaf_plan *p, struct maple_tree *mt,
						  enum sibling_side side)
{
	unsigned int level = gap_beside(mt, side);

	if (!level)
		return true;
	if (level == WAY_LEVELS || p->seam != SIBLING_NONE)
		return false;
	p->seam = side;
	p->seam_level = level;
	return true;
}

/* Widens the store of NULL by the gaps at its ends. False: it cannot be said how. */
static ALWAYS_INLINE bool join_gaps(struct mt_leaf_plan *p, struct maple_tree *mt)
{
	const struct mt_way *way = &mt->ma_way;
	void **slot = p->leaf->wide.slot;

	if (!slot[p->low]) {
		p->first = p->below + 1;
	} else if (p->first == p->below + 1) {
		if (p->low && !slot[p->low - 1]) {
			p->low--;
			p->first = slot_first(p->leaf, p->low, way->min);
			p->below = p->first - 1;
		} else if (!p->low && p->first && !join_beside(p, mt, SIBLING_LEFT)) {
			return false;
		}
	}
	if (!slot[p->high]) {
		p->last = p->top;
	} else if (p->last == p->top) {
		if (p->high < p->end && !slot[p->high + 1]) {
			p->high++;
			p->last = p->top = last_of(p->leaf, p->high, way->max);
		} else if (p->high == p->end && p->top != ULONG_MAX &&
			   !join_beside(p, mt, SIBLING_RIGHT)) {
			return false;
		}
	}
	return true;
}

/*
 * How the leaf changes beside readers: see inplace.h. False: no order of single words does it.
 */
static ALWAYS_INLINE bool plan_beside_readers(struct mt_leaf_plan *p)
{
	void **slot = &p->leaf->wide.slot[p->low];
	unsigned int slots = p->high - p->low + 1;

	if (slots == 1) {
		p->publish = *slot ? PUBLISH_CUT : PUBLISH_FILL;
		return !*slot || (p->left != p->right && plan_at(p));
	}
	if ((p->left | p->right) || slots > 3)
		return false;
	p->publish = p->entry ? PUBLISH_ABSORB : PUBLISH_CLEAR;
	if (!p->entry) /* with three, the one between two gaps goes */
		return slots == 2 ? !slot[0] || !slot[1] : !slot[0] && !slot[2];
	return slots == 2 && (p->entry == slot[0] || (p->entry == slot[1] && p->low));
}

/*
 * leaf_plan - plan the store of @entry over [@first, @last] in the leaf of the tree's way, which
 * led to @step. Leaves beside it take part if it is too full, or so empty that it fits into one
 * of them. Changes nothing but *@p.
 */
static ALWAYS_INLINE enum leaf_verdict leaf_plan(struct mt_leaf_plan *p, struct maple_tree *mt,
						 unsigned long first, unsigned long last,
						 void *entry, unsigned long step)
{
	const struct mt_way *way = &mt->ma_way;
	unsigned int low = step_offset(step), high = low;

	p->leaf = step_node(step);
	p->seam = SIBLING_NONE;
	p->entry = entry;
	p->first = first;
	p->last = last;
	if (last > way->max)
		return LEAF_NOT_ALONE;
	if (pivot_of(p->leaf, low) < p->last) { /* most writes touch one slot or two */
		high++;
		if (pivot_of(p->leaf, high) < p->last)
			high = step_offset(way_in_leaf(step, p->last));
	}
	p->low = low;
	p->high = high;
	p->below = slot_first(p->leaf, low, way->min) - 1;
	p->top = last_of(p->leaf, high, way->max);
	p->end = node_end(p->leaf, KIND_LEAF);
	if (!p->entry && !join_gaps(p, mt))
		return LEAF_NOT_ALONE;
	p->left = p->below + 1 != p->first;
	p->right = p->last != p->top;
	p->new_end = p->end + p->left + p->right - (p->high - p->low);
	if (way->height == 1 && p->new_end < 2)
		return LEAF_NOT_ALONE;
	if (p->seam != SIBLING_NONE)
		return LEAF_SEAM;
	if (p->new_end == p->end) {
		void **slot = &p->leaf->wide.slot[p->low];

		p->publish = PUBLISH_PIVOT;
		if (p->low == p->high)
			p->publish = p->entry || *slot ? PUBLISH_SLOT : PUBLISH_NOTHING;
		else if (p->high != p->low + 1 || p->entry != slot[p->left])
			p->publish = PUBLISH_SPLICE;
		return p->publish != PUBLISH_SPLICE || !mt_in_rcu(mt) ? LEAF_IN_PLACE : LEAF_COPY;
	}
	if (p->new_end >= WIDE_SLOTS)
		return way->height > 1 ? LEAF_GROUP : LEAF_NOT_ALONE;
	if (p->new_end < p->end && p->new_end + 1 < kind_min_slots(KIND_LEAF) && way->height > 1)
		return LEAF_GROUP;
	p->publish = PUBLISH_SPLICE;
	return !mt_in_rcu(mt) || plan_beside_readers(p) ? LEAF_IN_PLACE : LEAF_COPY;
}

/* ---- gaps ------------------------------------------------------------------------------ */

/* The widest gap among those a write touches, before and after it. */
struct measure {
	unsigned long gone;
	unsigned long came;
};

/* Of slots low .. high: gaps are never neighbours, so of two slots one at most is a gap. */
static ALWAYS_INLINE struct measure measure_gaps(const struct mt_leaf_plan *p)
{
	struct measure m = { 0, p->entry ? 0 : p->last - p->first + 1 };
	void **slot = p->leaf->wide.slot;
	unsigned long below = p->below;
	unsigned int i = p->low;

	if (p->publish == PUBLISH_PIVOT) {
		unsigned long was = p->leaf->pivot[i], now = p->left ? p->first - 1 : p->last;

		/* A gap behind an entry that keeps its place is leaf_short.h's. */
		assert(slot[i + 1]);
		if (!slot[i])
			return (struct measure){ was - below, now - below };
		return (struct measure){ 0, 0 };
	}
	if (!slot[i] && p->left)
		m.came = p->first - 1 - below;
	if (!slot[p->high] && p->right && p->top - p->last > m.came)
		m.came = p->top - p->last;
	for (; i < p->high; i++) {
		unsigned long last = p->leaf->pivot[i];

		if (!slot[i] && last - below > m.gone)
			m.gone = last - below;
		below = last;
	}
	if (!slot[i] && p->top - below > m.gone)
		m.gone = p->top - below;
	return m;
}

static inline unsigned long parent_gap(const struct mt_way *way, unsigned int level)
{
	unsigned long step = way->step[level + 1];

	return gap_load(step_node(step), step_offset(step));
}

static inline void set_parent_gap(const struct mt_way *way, unsigned int level, unsigned long gap)
{
	unsigned long step = way->step[level + 1];

	gap_set(step_node(step), step_offset(step), gap);
}

/* A gap in the way's node at @level went from @was to @now: those above, as far as they change. */
static __attribute__((noinline)) void raise_gaps(struct maple_tree *mt, unsigned int level,
						 unsigned long was, unsigned long now)
{
	const struct mt_way *way = &mt->ma_way;

	for (; level + 1 < way->height; level++) {
		struct mt_node *node = step_node(way->step[level]);
		unsigned long above;

		if (level + 1 == WAY_LEVELS) {
			path_update_gaps(mt, way->min, level);
			return;
		}
		above = parent_gap(way, level);
		if (now < above) {
			if (was < above)
				return;
			now = gap_widest(node, KIND_GAPS, 0, 0);
		}
		if (now == above)
			return;
		set_parent_gap(way, level, now);
		was = above;
	}
}

/*
 * After the write. The leaf is looked through only if its widest gap may have gone, and what
 * came is not wider than all the rest together.
 */
static ALWAYS_INLINE void update_gaps(struct maple_tree *mt, struct mt_node *leaf, struct measure m)
{
	const struct mt_way *way = &mt->ma_way;
	unsigned long was, now = m.came;

	was = parent_gap(way, 0);
	if (now < was) {
		if (m.gone < was)
			return;
		if (now <= (way->max - way->min) / 2)
			now = gap_widest(leaf, KIND_LEAF, way->min, way->max);
	}
	if (now == was)
		return;
	set_parent_gap(way, 0, now);
	if (way->height > 2)
		raise_gaps(mt, 1, was, now);
}

/* ---- the write ------------------------------------------------------------------------- */

/* leaf_write - do it in place, and set the gaps above. Lock held. */
static ALWAYS_INLINE void leaf_write(struct maple_tree *mt, const struct mt_leaf_plan *p)
{
	struct mt_way *way = &mt->ma_way;
	struct measure m = { 0, 0 };
	bool gaps = tree_tracks_gaps(mt) && way->height > 1;

	if (gaps)
		m = measure_gaps(p);
	inplace_write(p);
	way->step[0] = way_step(p->leaf, plan_at(p));
	if (gaps)
		update_gaps(mt, p->leaf, m);
}

/*
 * leaf_copy - make @fresh what the leaf becomes and let it take its place. Sets *@place. The caller
 * retires p->leaf. Lock held.
 */
static inline void leaf_copy(struct maple_tree *mt, const struct mt_leaf_plan *p,
			     struct mt_node *fresh, struct mt_place *place)
{
	struct mt_way *way = &mt->ma_way;
	struct maple_enode *enode = enode_make(fresh, KIND_LEAF);
	struct measure m = measure_gaps(p);
	struct mt_leaf_plan copy = *p;

	memcpy(fresh, p->leaf, sizeof(*fresh));
	copy.leaf = fresh;
	splice(&copy);
	place->node = fresh;
	place->min = way->min;
	place->max = way->max;
	place->offset = (unsigned char)plan_at(p);
	place->end = (unsigned char)p->new_end;
	if (mt_in_rcu(mt))
		dead_mark(p->leaf);
	if (way->height == 1) {
		publish_root(mt, enode, 1);
		return;
	}
	slot_publish(step_node(way->step[1]), inner_kind(mt), step_offset(way->step[1]), enode);
	way->step[0] = way_step(fresh, plan_at(p));
	if (tree_tracks_gaps(mt))
		update_gaps(mt, fresh, m);
}

#endif
