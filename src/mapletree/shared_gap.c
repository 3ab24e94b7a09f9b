/* SPDX-License-Identifier: MIT */
/* shared_gap.c - see shared_gap.h. */
#include "shared_gap.h"

#include "content.h"
#include "dead.h"
#include "gap.h"
#include "layout.h"
#include "publish.h"
#include "retire.h"
#include "splice.h"

/* The slots of both leaves after the write. */
static inline unsigned int total_slots(const struct mt_shared_gap *g)
{
	return g->keep_left + 1 + node_end(g->right, KIND_LEAF) + 1 - g->keep_right_from;
}

bool shared_gap_plan(struct mt_shared_gap *g, const struct maple_tree *mt,
		     const struct mt_leaf_plan *p)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned int at = step_offset(finger->step[1]), cut;
	struct mt_node *parent = step_node(finger->step[1]), *beside;
	enum node_kind inner = inner_kind(mt);
	bool behind = p->beside == GAP_BEHIND;

	assert(!p->entry && p->beside);
	if ((p->left | p->right) || p->beside == (GAP_BEFORE | GAP_BEHIND) ||
	    (behind ? at == node_end(parent, inner) : !at))
		return false;
	g->min = finger->min;
	g->max = finger->max;
	g->first = p->first;
	g->last = p->last;
	if (behind) {
		beside = enode_node(slot_child(parent, inner, at + 1));
		g->at = at;
		g->left = p->leaf;
		g->right = beside;
		g->keep_left = p->low;
		g->keep_right_from = 1;
		g->max = finger_child_last(finger, 1, inner, at + 1);
		g->last = slot_last(beside, KIND_LEAF, 0, g->max);
	} else {
		beside = enode_node(slot_child(parent, inner, at - 1));
		g->at = at - 1;
		g->left = beside;
		g->right = p->leaf;
		g->keep_left = node_end(beside, KIND_LEAF);
		g->keep_right_from = p->high + 1;
		g->min = finger_child_first(finger, 1, at - 1);
		g->first = slot_first(beside, g->keep_left, g->min);
	}
	if (layout_joins(KIND_LEAF, total_slots(g)))
		return false;
	cut = layout_boundary(KIND_LEAF, g->keep_left, 1, total_slots(g),
			      leaf_min_slots(finger->height));
	g->left_takes = cut > g->keep_left;
	return cut;
}

unsigned int shared_gap_blocks(const struct maple_tree *mt)
{
	return mt_in_rcu(mt) ? 3 + retire_batches_needed(mt, 3) : 0;
}

/* ---- debug builds: a layout must come to the same -------------------------------------------- */

#ifdef NDEBUG

struct expected {
	char none;
};

static inline void expect(struct expected *e, const struct mt_shared_gap *g)
{
	(void)e, (void)g;
}

#else

/* What a layout of the two leaves would gather and spread. */
struct expected {
	struct mt_content content;
	unsigned int cut;
};

static void expect(struct expected *e, const struct mt_shared_gap *g)
{
	const struct mt_items items = {1, {{g->last, NULL, 0}}};
	const struct mt_layout_level s = {.left = g->left,
					  .right = g->right,
					  .last = g->max,
					  .keep_left = g->keep_left,
					  .inserted = 1,
					  .keep_right_from = g->keep_right_from,
					  .total = total_slots(g)};

	content_gather(&e->content, &s, KIND_LEAF, &items);
	e->cut = g->keep_left + g->left_takes;
}

/* Whether @leaf, which ends at @last, holds the slots from @from on. Returns how many, or 0. */
static unsigned int holds(const struct expected *e, struct mt_node *leaf, unsigned int from,
			  unsigned long last)
{
	unsigned int i, end = node_end(leaf, KIND_LEAF);

	for (i = 0; i <= end; i++)
		if (from + i >= e->content.count ||
		    slot_last(leaf, KIND_LEAF, i, last) != e->content.pivot[from + i] ||
		    leaf->wide.slot[i] != e->content.slot[from + i])
			return 0;
	return end + 1;
}

static bool is_met(const struct expected *e, struct mt_node *left, struct mt_node *right)
{
	return holds(e, left, 0, e->content.pivot[e->cut - 1]) == e->cut &&
	       holds(e, right, e->cut, e->content.pivot[e->content.count - 1]) ==
		       e->content.count - e->cut;
}

#endif

/* ---- carry it out ---------------------------------------------------------------------------- */

/* The node itself, or a copy of it if somebody may be reading it. */
static inline struct mt_node *renew(struct mt_node *node, bool rcu, struct pool_list *reserve)
{
	struct mt_node *fresh = rcu ? pool_take(reserve) : node;

	if (rcu) {
		WORK(NODE_COPIED);
		memcpy(fresh, node, sizeof(*fresh));
	}
	return fresh;
}

/* Updates the gaps of the two leaves in @parent, which no reader need see, and those above it. */
static inline void update_gaps(const struct mt_shared_gap *g, const struct maple_tree *mt,
			       struct mt_node *parent, struct mt_node *left, struct mt_node *right,
			       unsigned long border)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned long came = g->last - g->first + 1, was;

	gap_set(parent, g->at,
		gap_of_leaf(left, g->min, border, gap_load(parent, g->at), came, g->left_takes));
	gap_set(parent, g->at + 1,
		gap_of_leaf(right, border + 1, g->max, gap_load(parent, g->at + 1), came,
			    !g->left_takes));
	if (finger->height == 2)
		return;
	/* What has gone is a part of what came, so the widest gap below the parent does not shrink. */
	was = gap_load(step_node(finger->step[2]), step_offset(finger->step[2]));
	if (came > was)
		gap_tell(finger, 1, was, came);
}

void shared_gap_write(const struct mt_shared_gap *g, struct maple_tree *mt,
		      struct pool_list *reserve)
{
	const struct mt_item gap = {g->last, NULL, 0};
	struct mt_finger *finger = &mt->ma_finger;
	struct mt_node *old = step_node(finger->step[1]);
	unsigned long border = g->left_takes ? g->last : g->first - 1;
	bool rcu = mt_in_rcu(mt);
	struct mt_node *left = renew(g->left, rcu, reserve);
	struct mt_node *right = renew(g->right, rcu, reserve);
	struct mt_node *parent = renew(old, rcu, reserve);
	struct expected expected;

	WORK(BOUNDARY_MOVED);
	expect(&expected, g);
	splice_node(left, KIND_LEAF, g->keep_left, node_end(left, KIND_LEAF) + 1, &gap,
		    g->left_takes);
	splice_node(right, KIND_LEAF, 0, g->keep_right_from, &gap, !g->left_takes);
	assert(is_met(&expected, left, right));
	(void)expected;
	parent->pivot[g->at] = border;
	finger->step[0] = g->left_takes ? step_make(left, g->keep_left) : step_make(right, 0);
	finger->min = g->left_takes ? g->min : border + 1;
	finger->max = g->left_takes ? border : g->max;
	finger->step[1] = step_make(parent, g->at + !g->left_takes);
	if (rcu) {
		node_slots(parent, inner_kind(mt))[g->at] = enode_make(left, KIND_LEAF);
		node_slots(parent, inner_kind(mt))[g->at + 1] = enode_make(right, KIND_LEAF);
		dead_mark(g->left);
		dead_mark(g->right);
	}
	if (tree_tracks_gaps(mt))
		update_gaps(g, mt, parent, left, right, border);
	assert(node_is_valid(parent, inner_kind(mt)));
	if (!rcu)
		return;
	publish_node(mt, finger, 1, enode_make(parent, inner_kind(mt)));
	retire_node(mt, g->left, reserve);
	retire_node(mt, g->right, reserve);
	retire_node(mt, old, reserve);
}
