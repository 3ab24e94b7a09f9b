/* SPDX-License-Identifier: MIT */
/* leaf_pair.c - see leaf_pair.h. */
#include "leaf_pair.h"

#include "retire.h"

/* ---- the plan ------------------------------------------------------------------------------- */

/* Whether a run that is appended (prepended) to the tree leaves a full leaf behind. */
static inline bool is_run(const struct mt_finger *finger, const struct mt_leaf_plan *p)
{
	return (p->high == p->end && finger->max == ULONG_MAX) || (!p->low && !finger->min);
}

/* What the side of the neighbour, which was chosen, decides. */
static inline void join(struct mt_leaf_pair *g, const struct mt_finger *finger,
			enum node_kind inner)
{
	unsigned int at = step_offset(finger->step[1]);
	struct mt_layout_level *s = &g->s;

	if (s->side == SIBLING_LEFT) {
		s->old[0] = s->sibling;
		s->old[1] = s->left;
		s->last = finger->max;
		g->at = at - 1;
		g->min = finger_child_first(finger, 1, at - 1);
		g->own += node_end(s->sibling, KIND_LEAF) + 1;
	} else {
		s->old[0] = s->left;
		s->old[1] = s->sibling;
		s->last = finger_child_last(finger, 1, inner, at + 1);
		g->at = at;
		g->min = finger->min;
	}
}

#ifndef NDEBUG
/* Whether a layout would make the same of the two leaves. */
static bool layout_agrees(const struct mt_leaf_pair *g, struct maple_tree *mt,
			  const struct mt_leaf_plan *p)
{
	const struct mt_layout_level *s = &g->s, *level;
	struct mt_layout l;

	layout_plan(&l, mt, p);
	level = &l.level[0];
	if (level->side != s->side || level->sibling != s->sibling || level->last != s->last ||
	    level->border != s->border || level->total != s->total || level->nodes != s->nodes)
		return false;
	for (unsigned int i = 0; i < s->nodes; i++)
		if (level->cut[i] != s->cut[i])
			return false;
	return l.first == p->first && l.last == p->last && l.blocks >= leaf_pair_blocks(g);
}
#endif

bool leaf_pair_plan(struct mt_leaf_pair *g, struct maple_tree *mt, const struct mt_leaf_plan *p)
{
	const struct mt_finger *finger = &mt->ma_finger;
	const struct mt_ends ends = { p->below + 1, p->top, p->leaf->wide.slot[p->low],
				      p->leaf->wide.slot[p->high] };
	enum node_kind inner = inner_kind(mt);
	struct mt_layout_level *s = &g->s;
	unsigned int parent_slots;

	assert(!p->beside);
	if (mt_in_rcu(mt) || tree_tracks_gaps(mt) || finger->height == 1 ||
	    (p->new_end >= WIDE_SLOTS && is_run(finger, p)))
		return false;
	s->left = s->right = p->leaf;
	s->side = SIBLING_NONE;
	s->keep_left = p->low;
	s->keep_right_from = p->high + 1;
	s->inserted = 1 + p->left + p->right;
	s->total = p->new_end + 1;
	layout_take_sibling(s, finger->step[1], finger->step[1], KIND_LEAF, inner);
	if (s->side == SIBLING_NONE)
		return false;
	s->nodes = layout_nodes(KIND_LEAF, s->total);
	layout_cut_evenly(s, KIND_LEAF);
	parent_slots = node_end(step_node(finger->step[1]), inner) + s->nodes - 1;
	if (parent_slots > kind_slots(inner) ||
	    (s->nodes == 1 && parent_slots < kind_min_slots(inner)))
		return false;
	g->own = p->low + p->left;
	join(g, finger, inner);
	layout_items(&g->items, &ends, p->first, p->last, p->entry);
	assert(layout_agrees(g, mt, p));
	return true;
}

/* ---- carry it out ---------------------------------------------------------------------------- */

void leaf_pair_write(const struct mt_leaf_pair *g, struct maple_tree *mt,
		     struct pool_list *reserve)
{
	struct mt_finger *finger = &mt->ma_finger;
	struct mt_node *parent = step_node(finger->step[1]);
	const struct mt_layout_level *s = &g->s;
	unsigned long min = g->min;
	struct mt_item item[LAYOUT_NODES];
	struct mt_content content;
	unsigned int i, from = 0;

	WORK(LEAVES_PAIRED);
	content_gather(&content, s, KIND_LEAF, &g->items);
	for (i = 0; i < s->nodes; i++) {
		struct mt_node *leaf = i < 2 ? s->old[i] : pool_take(reserve);
		unsigned int to = from + s->cut[i];

		item[i].last = i + 1 < s->nodes ? content.pivot[to - 1] : s->last;
		item[i].slot = enode_make(leaf, KIND_LEAF);
		content_fill(leaf, KIND_LEAF, &content, from, to);
		if (g->own >= from && g->own < to) {
			finger->step[0] = step_make(leaf, g->own - from);
			finger->step[1] = step_make(parent, g->at + i);
			finger->min = min;
			finger->max = item[i].last;
		}
		from = to;
		min = item[i].last + 1;
	}
	if (s->nodes == 2) {
		parent->pivot[g->at] = item[0].last;
		assert(node_is_valid(parent, inner_kind(mt)));
		return;
	}
	splice_node(parent, inner_kind(mt), g->at, g->at + 2, item, s->nodes);
	if (s->nodes == 1)
		retire_node(mt, s->old[1], reserve);
}
