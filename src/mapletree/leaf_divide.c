/* SPDX-License-Identifier: MIT */
/* leaf_divide.c - see leaf_divide.h. */
#include "leaf_divide.h"

#include "leaf_write.h"
#include "retire.h"

#ifndef NDEBUG
/* Whether a layout would divide the leaf in the same way. */
static bool agrees(struct maple_tree *mt, const struct mt_leaf_plan *p, unsigned int cut)
{
	struct mt_layout l;

	layout_plan(&l, mt, p);
	return l.level[0].side == SIBLING_NONE && l.level[0].nodes == 2 &&
	       l.level[0].cut[0] == cut && l.level[0].total == p->new_end + 1 &&
	       l.first == p->first && l.last == p->last && l.blocks >= leaf_divide_blocks(mt);
}
#endif

unsigned int leaf_divide_plan(const struct maple_tree *mt, const struct mt_leaf_plan *p)
{
	const struct mt_finger *finger = &mt->ma_finger;
	enum node_kind inner = inner_kind(mt);
	struct mt_layout_level s;

	assert(leaf_divides(mt, p));
	if (finger->height > 1 &&
	    node_end(step_node(finger->step[1]), inner) + 1 == kind_slots(inner))
		return 0;
	if (leaf_is_run(finger, p))
		return leaf_is_appended(finger, p) ? WIDE_SLOTS : 0;
	s.side = SIBLING_NONE;
	s.keep_left = p->low;
	s.inserted = 1 + p->left + p->right;
	s.total = p->new_end + 1;
	s.nodes = 2;
	layout_cut_evenly(&s, KIND_LEAF);
	assert(s.nodes == 2);
	return s.cut[0];
}

unsigned int leaf_divide_blocks(const struct maple_tree *mt)
{
	bool root = mt->ma_finger.height == 1;

	return mt_in_rcu(mt) ? 3 + retire_batches_needed(mt, root ? 1 : 2) : root ? 2 : 1;
}

/* Opens slot @at + 1 of @node, an inner one of @kind that no reader sees and that has room. */
static inline void open_above(struct mt_node *node, enum node_kind kind, size_t at)
{
	size_t i = node_end(node, kind);

	WORK(NODE_BUILT);
	if (kind == KIND_INNER) {
		slots_up(node, at, i, 1);
	} else {
		node->gaps.slot[i + 1] = node->gaps.slot[i];
		node->gaps.gap[i + 1] = node->gaps.gap[i];
		for (; i > at; i--) {
			node->pivot[i] = node->pivot[i - 1];
			node->gaps.slot[i] = node->gaps.slot[i - 1];
			node->gaps.gap[i] = node->gaps.gap[i - 1];
		}
	}
	(*node_meta(node, kind))++;
}

/*
 * The widest gap of both leaves together, if it is known from @was, that of the leaf before; else
 * GAP_UNKNOWN.
 */
static inline unsigned long foresee_gap(const struct mt_leaf_plan *p, unsigned long was)
{
	struct gap_change m = measure_gaps(p);

	if (p->entry)
		return m.before < was ? was : GAP_UNKNOWN;
	return m.after > was ? m.after : was;
}

/*
 * A leaf that is divided: the two that come out; where the first one ends; and which of them is
 * written, at which slot.
 */
struct halves {
	struct mt_node *left;
	struct mt_node *right;
	unsigned long border;
	bool second;
	unsigned int own;
};

/*
 * Fills both leaves, of which the first gets @cut slots, and writes what @p says into one of them.
 * @h has both, and the rest is set.
 */
static ALWAYS_INLINE void fill_halves(struct halves *h, const struct mt_leaf_plan *p,
				      unsigned int cut)
{
	struct mt_node *old = p->leaf;
	bool second = p->low + 1 + p->left + p->right > cut;
	unsigned int from = second ? cut : cut - (p->new_end - p->end);
	struct mt_leaf_plan into = *p;

	WORK(NODE_BUILT);
	WORK(NODE_BUILT);
	h->border = old->pivot[from - 1];
	h->second = second;
	slots_copy(h->right, 0, old, from, p->end + 1 - from);
	slots_cut_off(h->right, p->end - from, WIDE_PIVOTS);
	if (h->left != old)
		slots_copy(h->left, 0, old, 0, from);
	slots_cut_off(h->left, from - 1, WIDE_PIVOTS);
	into.leaf = second ? h->right : h->left;
	into.low -= second ? from : 0;
	into.high -= second ? from : 0;
	into.end = node_end(into.leaf, KIND_LEAF);
	into.new_end = into.end + p->new_end - p->end;
	splice(&into);
	h->own = plan_at(&into);
	assert(node_is_valid(h->left, KIND_LEAF) && node_is_valid(h->right, KIND_LEAF));
}

/*
 * The same where @p ends the tree: what the first leaf has no room for, at most two slots, begins
 * the second one.
 */
static ALWAYS_INLINE void fill_run(struct halves *h, const struct mt_leaf_plan *p)
{
	unsigned long last[3] = { p->first - 1, p->last, ULONG_MAX };
	void *slot[3] = { p->leaf->wide.slot[p->low], p->entry, p->leaf->wide.slot[p->high] };
	unsigned int i = !p->left, end = 1 + p->right, at = p->low, own = p->low + p->left;

	WORK(NODE_BUILT);
	WORK(NODE_BUILT);
	assert(at && p->high == p->end && p->new_end >= WIDE_SLOTS);
	if (h->left != p->leaf)
		slots_copy(h->left, 0, p->leaf, 0, at + 1);
	for (; at < WIDE_PIVOTS; at++, i++) {
		h->left->wide.slot[at] = slot[i];
		h->left->pivot[at] = last[i];
	}
	h->left->wide.slot[at] = slot[i];
	h->border = last[i++];
	node_set_end(h->left, KIND_LEAF, WIDE_PIVOTS);
	h->second = own >= WIDE_SLOTS;
	h->own = h->second ? own - WIDE_SLOTS : own;
	slots_pad(h->right, end - i, WIDE_PIVOTS);
	for (at = 0; i <= end; at++, i++) {
		h->right->wide.slot[at] = slot[i];
		h->right->pivot[at] = last[i];
	}
	node_set_end(h->right, KIND_LEAF, at - 1);
	assert(node_is_valid(h->left, KIND_LEAF) && node_is_valid(h->right, KIND_LEAF));
}

/*
 * The node above both leaves, which no reader sees: a new root, with one slot that is still to be
 * filled, or a copy of @old beside readers, else @old itself.
 */
static ALWAYS_INLINE struct mt_node *begin_parent(struct mt_node *old, enum node_kind kind,
						  bool rcu, struct pool_list *reserve)
{
	struct mt_node *parent = old;

	if (!old) {
		parent = pool_take(reserve);
		node_pad(parent, kind, 0, kind_slots(kind) - 1);
	} else if (rcu) {
		parent = pool_take(reserve);
		memcpy(parent, old, sizeof(*parent));
		node_set_end(parent, kind, node_end(parent, kind));
	}
	return parent;
}

/* Puts both leaves in the place of one at slot @at. */
static ALWAYS_INLINE void link_halves(struct mt_node *parent, enum node_kind kind, unsigned int at,
				      const struct halves *h)
{
	open_above(parent, kind, at);
	parent->pivot[at] = h->border;
	node_slots(parent, kind)[at] = enode_make(h->left, KIND_LEAF);
	node_slots(parent, kind)[at + 1] = enode_make(h->right, KIND_LEAF);
}

/* The same of their gaps. @known: see foresee_gap(). Returns the wider one. */
static ALWAYS_INLINE unsigned long tell_gaps(struct mt_node *parent, unsigned int at,
					     const struct halves *h, const struct mt_finger *finger,
					     unsigned long known)
{
	unsigned long first = gap_widest(h->left, KIND_LEAF, finger->min, h->border);
	unsigned long second = known;

	if (known == GAP_UNKNOWN || first == known)
		second = gap_widest(h->right, KIND_LEAF, h->border + 1, finger->max);
	gap_set(parent, at, first);
	gap_set(parent, at + 1, second);
	return first > second ? first : second;
}

void leaf_divide(struct maple_tree *mt, const struct mt_leaf_plan *p, unsigned int cut,
		 struct pool_list *reserve)
{
	struct mt_finger *finger = &mt->ma_finger;
	bool root = finger->height == 1;
	struct mt_node *old = root ? NULL : step_node(finger->step[1]), *parent;
	unsigned int at = root ? 0 : step_offset(finger->step[1]);
	enum node_kind inner = inner_kind(mt);
	bool rcu = mt_in_rcu(mt);
	unsigned long was = 0, now = 0, known = GAP_UNKNOWN;
	struct halves h = { p->leaf, pool_take(reserve), 0, false, 0 };

	assert(agrees(mt, p, cut));
	WORK(LEAVES_PAIRED);
	if (inner == KIND_GAPS && !root) {
		was = gap_load(old, at);
		known = foresee_gap(p, was);
	}
	if (rcu)
		h.left = pool_take(reserve);
	parent = begin_parent(old, inner, rcu, reserve);
	if (leaf_is_appended(finger, p))
		fill_run(&h, p);
	else
		fill_halves(&h, p, cut);
	link_halves(parent, inner, at, &h);
	if (inner == KIND_GAPS)
		now = tell_gaps(parent, at, &h, finger, known);
	assert(node_is_valid(parent, inner));
	finger->step[0] = step_make(h.second ? h.right : h.left, h.own);
	finger->step[1] = step_make(parent, at + h.second);
	if (rcu)
		dead_mark(p->leaf);
	if (root)
		publish_new_height(mt, enode_make(parent, inner), 2);
	else if (rcu)
		publish_node(mt, finger, 1, enode_make(parent, inner));
	if (h.second)
		finger->min = h.border + 1;
	else
		finger->max = h.border;
	if (was != now && finger->height > 2)
		gap_raise(finger, 1, was, now);
	if (rcu)
		retire_node(mt, p->leaf, reserve);
	if (rcu && old)
		retire_node(mt, old, reserve);
}
