/* SPDX-License-Identifier: MIT */
/*
 * leaf_seam.h - a gap that goes on in the leaf beside the one of the write; part of write.c.
 *
 * Gaps are never neighbours, across leaves neither. So the leaf of the write gives its part of the
 * gap, with all the slots it covers, to the leaf beside it, and the boundary between the two
 * moves. That is a pivot of the lowest node above both, their parent mostly; no node gains or loses a
 * child. Without readers the leaf is shortened where it is and the pivot is set.
 *
 * Beside readers no leaf may get other bounds: a reader on its way to it would take an entry that is
 * stored there later for one that is cut at the old bound. So both leaves and all nodes up to that
 * one above them are copied, and one store above that, or of the root, publishes them.
 */
#ifndef MT_LEAF_SEAM_H
#define MT_LEAF_SEAM_H

#include "leaf_group.h"

/* Finds the way to the gap beside, and what the leaf there covers. False: not all of it is known. */
static inline bool find_beside(struct mt_seam *s, struct maple_tree *mt,
			       const struct mt_leaf_plan *p)
{
	const struct mt_way *way = &mt->ma_way;
	enum node_kind kind = inner_kind(mt);
	bool right = p->seam == SIBLING_RIGHT;
	unsigned int level = p->seam_level, at = step_offset(way->step[level]);
	struct mt_node *node = step_node(way->step[level]);

	s->min = p->first;
	s->max = p->last;
	if (right ? !child_last(way, level, kind, at + 1, &s->max) :
		    !child_first(way, level, at - 1, &s->min))
		return false;
	at = right ? at + 1 : at - 1;
	for (;;) {
		node = enode_node(slot_child(node, kind, at));
		level--;
		at = right ? 0 : node_end(node, level ? kind : KIND_LEAF);
		s->beside[level] = way_step(node, at);
		if (!level)
			break;
		if (right)
			s->max = slot_last(node, kind, 0, s->max);
		else
			s->min = slot_first(node, at, s->min);
	}
	s->first = right ? p->first : slot_first(node, at, s->min);
	s->last = right ? slot_last(node, KIND_LEAF, 0, s->max) : p->last;
	return true;
}

/*
 * seam_plan - how the write @p, which has a seam, is done. False: not so, since the way does not know
 * enough or a leaf is so empty that what both hold is better laid out anew. (Else the next entry in
 * the gap and its erase would divide and join the leaf beside, over and over.) Changes nothing
 * but *@s.
 */
static inline bool seam_plan(struct mt_seam *s, struct maple_tree *mt, const struct mt_leaf_plan *p)
{
	unsigned int level = p->seam_level, least = kind_min_slots(KIND_LEAF), beside;

	s->kept = p->seam == SIBLING_RIGHT ? p->low + p->left : p->end - p->high + p->right;
	if (s->kept < (level > 1 ? 1 : least) || /* it has other siblings, to be joined with later */
	    (level + 1 >= WAY_LEVELS && level + 1 < mt->ma_way.height) || !find_beside(s, mt, p))
		return false;
	beside = node_end(step_node(s->beside[0]), KIND_LEAF) + 1;
	return beside >= least && (level > 1 || s->kept + beside > PLAN_JOINED_SLOTS);
}

/* seam_blocks - what it takes from the pool. */
static inline unsigned int seam_blocks(const struct mt_leaf_plan *p, const struct maple_tree *mt)
{
	unsigned int copied = 2 * p->seam_level + 1;

	return mt_in_rcu(mt) ? copied + retire_batches_needed(mt, copied) : 0;
}

/* A copy of @node, where readers may be in it; else @node. */
static inline struct mt_node *renew(struct maple_tree *mt, struct mt_node *node,
				    struct pool_list *reserve)
{
	struct mt_node *fresh = node;

	if (mt_in_rcu(mt)) {
		fresh = pool_take(reserve);
		memcpy(fresh, node, sizeof(*fresh));
	}
	return fresh;
}

/* Takes the slots that go from @leaf, which nobody else reads. */
static inline void shorten(struct mt_node *leaf, const struct mt_leaf_plan *p, unsigned int kept)
{
	unsigned int gone = p->end + 1 - kept, i;

	if (p->seam == SIBLING_LEFT) {
		for (i = 0; i + 1 < kept; i++) {
			leaf->wide.slot[i] = leaf->wide.slot[i + gone];
			leaf->pivot[i] = leaf->pivot[i + gone];
		}
		leaf->wide.slot[i] = leaf->wide.slot[i + gone];
	}
	for (i = kept; i <= p->end; i++) {
		leaf->pivot[i - 1] = ULONG_MAX;
		leaf->wide.slot[i] = NULL;
	}
	node_set_end(leaf, KIND_LEAF, kept - 1);
}

/* The widest gap among the slots that the write covers. */
static inline unsigned long widest_gone(const struct mt_leaf_plan *p)
{
	unsigned long below = p->below, widest = 0;
	unsigned int i;

	for (i = p->low; i <= p->high; i++) {
		unsigned long last = i < p->high ? p->leaf->pivot[i] : p->top;

		if (!p->leaf->wide.slot[i] && last - below > widest)
			widest = last - below;
		below = last;
	}
	return widest;
}

/* The leaf of the write without the slots that go. Returns its widest gap, if the tree tracks gaps. */
static inline unsigned long renew_leaf(struct maple_tree *mt, const struct mt_leaf_plan *p,
				       const struct mt_seam *s, struct mt_node **leaf)
{
	const struct mt_way *way = &mt->ma_way;
	bool right = p->seam == SIBLING_RIGHT, gaps = tree_tracks_gaps(mt);
	unsigned long was = gaps ? parent_gap(way, 0) : 0;
	bool shrinks = gaps && widest_gone(p) == was;

	shorten(*leaf, p, s->kept);
	if (!shrinks)
		return was;
	return gap_widest(*leaf, KIND_LEAF, right ? way->min : p->last + 1,
			  right ? p->first - 1 : way->max);
}

/*
 * The way's nodes from the leaf up to below the one above both leaves. Returns the topmost, and its
 * widest gap in *@gap.
 */
static inline struct maple_enode *renew_way(struct maple_tree *mt, const struct mt_leaf_plan *p,
					    const struct mt_seam *s, struct pool_list *reserve,
					    unsigned long *gap)
{
	const struct mt_way *way = &mt->ma_way;
	enum node_kind kind = inner_kind(mt);
	struct mt_node *node = renew(mt, p->leaf, reserve);
	struct maple_enode *below = enode_make(node, KIND_LEAF);
	unsigned int level;

	*gap = renew_leaf(mt, p, s, &node);
	for (level = 1; level < p->seam_level; level++) {
		unsigned int at = step_offset(way->step[level]);

		node = renew(mt, step_node(way->step[level]), reserve);
		node_slots(node, kind)[at] = below;
		below = enode_make(node, kind);
		if (kind == KIND_GAPS) {
			unsigned long was = parent_gap(way, level), gone = node->gaps.gap[at];

			node->gaps.gap[at] = *gap;
			*gap = gone < was ? was : gap_widest(node, kind, 0, 0);
		}
	}
	return below;
}

/* A child at one end of the gap's way has been renewed, and its gap is now as wide as @came at least. */
static inline void put_beside(struct mt_node *node, enum node_kind kind, unsigned int at,
			      struct maple_enode *child, unsigned long came)
{
	node_slots(node, kind)[at] = child;
	if (kind == KIND_GAPS && node->gaps.gap[at] < came)
		node->gaps.gap[at] = came;
}

/* The nodes on the way to the gap, likewise; *@lead becomes that way. */
static inline struct maple_enode *renew_beside(struct maple_tree *mt, const struct mt_leaf_plan *p,
					       const struct mt_seam *s,
					       struct pool_list *reserve, unsigned long *lead)
{
	enum node_kind kind = inner_kind(mt);
	struct mt_node *node = renew(mt, step_node(s->beside[0]), reserve);
	struct maple_enode *below = enode_make(node, KIND_LEAF);
	unsigned int level;

	lead[0] = way_step(node, step_offset(s->beside[0]));
	for (level = 1; level < p->seam_level; level++) {
		unsigned int at = step_offset(s->beside[level]);

		node = renew(mt, step_node(s->beside[level]), reserve);
		put_beside(node, kind, at, below, s->last - s->first + 1);
		below = enode_make(node, kind);
		lead[level] = way_step(node, at);
	}
	return below;
}

/* What was copied. */
static inline void retire_both(struct maple_tree *mt, const struct mt_leaf_plan *p,
			       const struct mt_seam *s, struct pool_list *reserve)
{
	unsigned int level;

	for (level = 0; level < p->seam_level; level++) {
		retire_node(mt, step_node(mt->ma_way.step[level]), reserve);
		retire_node(mt, step_node(s->beside[level]), reserve);
	}
	retire_node(mt, step_node(mt->ma_way.step[level]), reserve);
}

/*
 * seam_write - carry out @p as @s says, with blocks of @reserve. The way leads to the gap then, and
 * *@place is where it is. Lock held.
 */
static inline void seam_write(struct maple_tree *mt, const struct mt_leaf_plan *p,
			      const struct mt_seam *s, struct pool_list *reserve,
			      struct mt_place *place)
{
	struct mt_way *way = &mt->ma_way;
	enum node_kind kind = inner_kind(mt);
	bool right = p->seam == SIBLING_RIGHT;
	unsigned int level = p->seam_level, at = step_offset(way->step[level]);
	unsigned int beside = right ? at + 1 : at - 1;
	unsigned long came = s->last - s->first + 1, gap;
	unsigned long lead[WAY_LEVELS];
	struct mt_node *node = renew(mt, step_node(way->step[level]), reserve);

	node_slots(node, kind)[at] = renew_way(mt, p, s, reserve, &gap);
	if (kind == KIND_GAPS)
		node->gaps.gap[at] = gap;
	put_beside(node, kind, beside, renew_beside(mt, p, s, reserve, lead), came);
	node->pivot[right ? at : beside] = right ? s->first - 1 : s->last;
	if (mt_in_rcu(mt)) {
		dead_mark(p->leaf);
		dead_mark(step_node(s->beside[0]));
	}
	publish_inner(mt, level, node);
	if (kind == KIND_GAPS)
		update_gaps_above(mt, level, node, came);
	if (mt_in_rcu(mt))
		retire_both(mt, p, s, reserve);
	way->step[level] = way_step(node, beside);
	memcpy(way->step, lead, level * sizeof(*lead));
	way->min = s->min;
	way->max = s->max;
	place->node = step_node(lead[0]);
	place->min = s->min;
	place->max = s->max;
	place->offset = (unsigned char)step_offset(lead[0]);
	place->end = (unsigned char)node_end(place->node, KIND_LEAF);
}

#endif
