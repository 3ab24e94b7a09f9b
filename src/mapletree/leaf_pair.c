/* SPDX-License-Identifier: MIT */
/* leaf_pair.c - see leaf_pair.h. */
#include "leaf_pair.h"

#include "leaf_write.h"
#include "retire.h"

/* ---- the plan ------------------------------------------------------------------------------- */

/* What the side of the neighbour, which was chosen, decides. */
static inline void join(struct mt_leaf_pair *g, const struct mt_finger *finger,
			enum node_kind inner)
{
	unsigned int at = step_offset(finger->step[1]);
	struct mt_layout_level *s = &g->s;

	g->at = at;
	g->min = finger->min;
	s->last = finger->max;
	s->old_count = 2;
	assert(s->side != SIBLING_NONE);
	if (s->side == SIBLING_LEFT) {
		s->old[0] = s->sibling;
		s->old[1] = s->left;
		g->at = at - 1;
		g->min = finger_child_first(finger, 1, at - 1);
		g->own += node_end(s->sibling, KIND_LEAF) + 1;
	} else {
		s->old[0] = s->left;
		s->old[1] = s->sibling;
		s->last = finger_child_last(finger, 1, inner, at + 1);
	}
}

/* The wider one of the gaps that @parent records for the leaves at @at and behind it. */
static inline unsigned long wider_gap(struct mt_node *parent, unsigned int at)
{
	unsigned long first = gap_load(parent, at), second = gap_load(parent, at + 1);

	return first > second ? first : second;
}

/*
 * What is known of the widest gap of all leaves together from those recorded before, one of which
 * may be among the slots that are replaced.
 */
static inline void foresee_gap(struct mt_leaf_pair *g, const struct mt_finger *finger,
			       const struct mt_leaf_plan *p)
{
	struct mt_node *parent = step_node(finger->step[1]);
	struct gap_change m = measure_gaps(p);
	unsigned long widest = wider_gap(parent, g->at);

	g->gap_before = widest;
	if (!p->entry && m.after >= widest)
		g->gap_after = m.after;
	else if (m.before < widest || !p->entry)
		g->gap_after = widest;
	else
		g->gap_after = GAP_UNKNOWN;
}

/* Whether the node above has room for what comes out, and keeps enough. */
static inline bool parent_takes_it(const struct mt_leaf_pair *g, const struct mt_finger *finger,
				   enum node_kind inner)
{
	unsigned int nodes = g->s.nodes;
	unsigned int slots = node_end(step_node(finger->step[1]), inner) + 1 + nodes - 2;

	if (slots > kind_slots(inner))
		return false;
	if (slots == 1 && finger->height == 2) /* the leaf becomes the root, if it needs to be one */
		return g->s.total > 2;
	return nodes >= 2 || slots >= (finger->height == 2 ? 2 : kind_min_slots(inner));
}

#ifndef NDEBUG
/* Whether a layout, which is @l, would make the same of the leaves. */
static bool layout_agrees(const struct mt_leaf_pair *g, const struct maple_tree *mt,
			  const struct mt_layout *l)
{
	const struct mt_layout_level *s = &g->s, *level = &l->level[0];

	if (level->side != s->side || level->last != s->last || level->total != s->total ||
	    level->nodes != s->nodes || level->left != s->left || level->right != s->right)
		return false;
	if (s->side != SIBLING_NONE && (level->sibling != s->sibling || level->border != s->border))
		return false;
	for (unsigned int i = 0; i < s->nodes; i++)
		if (level->cut[i] != s->cut[i])
			return false;
	return l->first == g->first && l->last == g->last && l->blocks >= leaf_pair_blocks(g, mt);
}

static bool agrees(const struct mt_leaf_pair *g, struct maple_tree *mt,
		   const struct mt_leaf_plan *p)
{
	struct mt_layout l;

	layout_plan(&l, mt, p);
	return layout_agrees(g, mt, &l);
}

static bool agrees_before(const struct mt_leaf_pair *g, struct maple_tree *mt,
			  const struct mt_leaf_plan *p)
{
	struct mt_layout l;

	layout_plan_before(&l, mt, p);
	return layout_agrees(g, mt, &l);
}

static bool agrees_span(const struct mt_leaf_pair *g, struct maple_tree *mt, void *entry,
			unsigned long step)
{
	struct mt_layout l;

	layout_plan_span(&l, mt, g->first, g->last, entry, step);
	return layout_agrees(g, mt, &l);
}
#endif

bool leaf_pair_plan(struct mt_leaf_pair *g, struct maple_tree *mt, const struct mt_leaf_plan *p)
{
	const struct mt_finger *finger = &mt->ma_finger;
	enum node_kind inner = inner_kind(mt);
	struct mt_layout_level *s = &g->s;
	bool full = p->new_end >= WIDE_SLOTS;

	assert(!p->beside);
	if (finger->height == 1 ||
	    (full && (leaf_is_run(finger, p) ||
		      layout_divides_alone(finger, inner, mt_in_rcu(mt)))))
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
	if (!parent_takes_it(g, finger, inner))
		return false;
	g->own = p->low + p->left;
	join(g, finger, inner);
	g->p = p;
	g->first = p->first;
	g->last = p->last;
	if (tree_tracks_gaps(mt))
		foresee_gap(g, finger, p);
	assert(agrees(g, mt, p));
	return true;
}

/*
 * Two leaves below one node, of which @at is the slot of the first: @low in it is the first slot
 * that is replaced, @high in the other the last. Of gaps that are overwritten nothing is known.
 */
static bool plan_two(struct mt_leaf_pair *g, struct maple_tree *mt, unsigned int at,
		     unsigned int low, unsigned int high, void *entry)
{
	const struct mt_finger *finger = &mt->ma_finger;
	enum node_kind inner = inner_kind(mt);
	struct mt_node *parent = step_node(finger->step[1]);
	struct mt_layout_level *s = &g->s;
	unsigned long came = entry ? 0 : g->last - g->first + 1;
	unsigned int least = leaf_min_slots(finger->height), cut;
	struct mt_ends ends;

	s->side = SIBLING_NONE;
	s->old[0] = s->left = enode_node(slot_child(parent, inner, at));
	s->old[1] = s->right = enode_node(slot_child(parent, inner, at + 1));
	s->old_count = 2;
	s->last = finger_child_last(finger, 1, inner, at + 1);
	g->min = finger_child_first(finger, 1, at);
	ends = (struct mt_ends){ slot_first(s->left, low, g->min),
				 slot_last(s->right, KIND_LEAF, high, s->last),
				 s->left->wide.slot[low], s->right->wide.slot[high] };
	g->own = low + layout_items(&g->items, &ends, g->first, g->last, entry);
	s->keep_left = low;
	s->keep_right_from = high + 1;
	s->inserted = g->items.count;
	s->total = low + s->inserted + node_end(s->right, KIND_LEAF) - high;
	if (s->total < least)
		return false;
	s->nodes = layout_nodes(KIND_LEAF, s->total);
	cut = layout_joins(KIND_LEAF, s->total)
		      ? 0
		      : layout_boundary(KIND_LEAF, low, s->inserted, s->total, least);
	if (cut || (s->nodes == 1 && !layout_joins(KIND_LEAF, s->total)))
		s->nodes = 2;
	if (cut) {
		s->cut[0] = cut;
		s->cut[1] = s->total - cut;
	} else {
		layout_cut_evenly(s, KIND_LEAF);
	}
	if (!parent_takes_it(g, finger, inner))
		return false;
	g->p = NULL;
	g->at = at;
	if (!tree_tracks_gaps(mt))
		return true;
	g->gap_before = wider_gap(parent, at);
	g->gap_after = entry ? GAP_UNKNOWN : came > g->gap_before ? came : g->gap_before;
	return true;
}

bool leaf_pair_plan_border(struct mt_leaf_pair *g, struct maple_tree *mt,
			   const struct mt_leaf_plan *p)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned int at = step_offset(finger->step[1]), low = p->low, high = 0;
	enum node_kind inner = inner_kind(mt);
	struct mt_node *parent = step_node(finger->step[1]), *beside;

	g->first = p->first;
	g->last = p->last;
	if (p->beside == GAP_BEHIND && at < node_end(parent, inner)) {
		beside = enode_node(slot_child(parent, inner, at + 1));
		g->last = slot_last(beside, KIND_LEAF, 0,
				    finger_child_last(finger, 1, inner, at + 1));
	} else if (p->beside == GAP_BEFORE && at) {
		beside = enode_node(slot_child(parent, inner, --at));
		low = node_end(beside, KIND_LEAF);
		high = p->high;
		g->first = slot_first(beside, low, finger_child_first(finger, 1, at));
	} else {
		return false;
	}
	if (!plan_two(g, mt, at, low, high, p->entry))
		return false;
	assert(agrees(g, mt, p));
	return true;
}

bool leaf_pair_plan_span(struct mt_leaf_pair *g, struct maple_tree *mt, unsigned long first,
			 unsigned long last, void *entry, unsigned long step)
{
	const struct mt_finger *finger = &mt->ma_finger;
	enum node_kind inner = inner_kind(mt);
	struct mt_node *parent, *right;
	unsigned int at, high;

	if (!entry || !step || finger->height == 1)
		return false;
	parent = step_node(finger->step[1]);
	at = step_offset(finger->step[1]);
	if (at == node_end(parent, inner) || last > finger_child_last(finger, 1, inner, at + 1))
		return false;
	right = enode_node(slot_child(parent, inner, at + 1));
	g->first = first;
	g->last = last;
	high = step_offset(leaf_find(step_make(right, 0), last));
	if (!plan_two(g, mt, at, step_offset(step), high, entry))
		return false;
	assert(agrees_span(g, mt, entry, step));
	return true;
}

bool leaf_pair_plan_before(struct mt_leaf_pair *g, struct maple_tree *mt,
			   const struct mt_leaf_plan *p)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned int at = step_offset(finger->step[1]);
	struct mt_node *before;

	assert(!p->low && !p->left);
	if (!at--)
		return false;
	before = enode_node(slot_child(step_node(finger->step[1]), inner_kind(mt), at));
	g->first = p->first;
	g->last = p->last;
	if (!plan_two(g, mt, at, node_end(before, KIND_LEAF), p->high, p->entry))
		return false;
	assert(agrees_before(g, mt, p));
	return true;
}

/* Whether the leaf that comes out is all that is left of the tree. */
static inline bool becomes_root(const struct mt_leaf_pair *g, const struct maple_tree *mt)
{
	return g->s.nodes == 1 && mt->ma_finger.height == 2 &&
	       node_end(step_node(mt->ma_finger.step[1]), inner_kind(mt)) == 1;
}

unsigned int leaf_pair_blocks(const struct mt_leaf_pair *g, const struct maple_tree *mt)
{
	const struct mt_layout_level *s = &g->s;

	if (mt_in_rcu(mt))
		return s->nodes + !becomes_root(g, mt) +
		       retire_batches_needed(mt, s->old_count + 1);
	return s->nodes > s->old_count ? s->nodes - s->old_count : 0;
}

/* ---- carry it out ---------------------------------------------------------------------------- */

/*
 * The leaves that come out: their nodes, and where each but the last ends.
 */
struct outcome {
	struct mt_node *leaf[LAYOUT_NODES];
	unsigned long last[LAYOUT_NODES];
};

/* All slots are gathered and spread: what the cases below leave. */
static __attribute__((noinline)) void spread(const struct mt_leaf_pair *g, struct outcome *out)
{
	const struct mt_layout_level *s = &g->s;
	struct mt_items items = g->items;
	struct mt_content content;
	unsigned int i, from, to;

	WORK(LEVEL_SPREAD);
	if (g->p) {
		const struct mt_leaf_plan *p = g->p;
		const struct mt_ends ends = { p->below + 1, p->top, p->leaf->wide.slot[p->low],
					      p->leaf->wide.slot[p->high] };

		layout_items(&items, &ends, p->first, p->last, p->entry);
	}
	content_gather(&content, s, KIND_LEAF, &items);
	for (i = 0, from = 0; i < s->nodes; i++, from = to) {
		to = from + s->cut[i];
		content_fill(out->leaf[i], KIND_LEAF, &content, from, to);
		out->last[i] = content.pivot[to - 1];
	}
}

/* Does in @leaf, at slot @at, what the plan does in a leaf that it belongs to. */
static inline void splice_in(const struct mt_leaf_pair *g, struct mt_node *leaf, unsigned int at)
{
	struct mt_leaf_plan p = *g->p;

	p.leaf = leaf;
	p.low = at;
	p.high = at + g->p->high - g->p->low;
	p.end = node_end(leaf, KIND_LEAF);
	p.new_end = p.end + g->p->new_end - g->p->end;
	splice(&p);
	assert(node_is_valid(leaf, KIND_LEAF));
}

/* Two leaves: of all their slots the first keeps, or gets, @cut. */
static inline void share(const struct mt_leaf_pair *g, struct outcome *out, unsigned int cut)
{
	struct mt_node *left = out->leaf[0], *right = out->leaf[1];
	unsigned int left_end = node_end(left, KIND_LEAF), right_end = node_end(right, KIND_LEAF);
	unsigned long border = g->s.border;
	unsigned int count;

	assert(cut != left_end + 1);
	if (cut <= left_end) {
		count = left_end + 1 - cut;
		slots_up(right, 0, right_end, count);
		slots_copy(right, 0, left, cut, count);
		right->pivot[count - 1] = border;
		node_set_end(right, KIND_LEAF, right_end + count);
		out->last[0] = left->pivot[cut - 1];
		slots_cut_off(left, cut - 1, left_end);
	} else {
		count = cut - left_end - 1;
		left->pivot[left_end] = border;
		slots_copy(left, left_end + 1, right, 0, count);
		node_set_end(left, KIND_LEAF, left_end + count);
		out->last[0] = right->pivot[count - 1];
		slots_copy(right, 0, right, count, right_end + 1 - count);
		slots_cut_off(right, right_end - count, right_end);
	}
}

/* A leaf that is too full hands over slots before it takes more. */
static inline void relieve(const struct mt_leaf_pair *g, struct outcome *out)
{
	const struct mt_layout_level *s = &g->s;
	unsigned int more = g->p->new_end - g->p->end;
	unsigned int at = s->keep_left +
			  (s->side == SIBLING_LEFT ? node_end(s->sibling, KIND_LEAF) + 1 : 0);
	bool first = at + s->inserted <= s->cut[0];
	unsigned int cut = first ? s->cut[0] - more : s->cut[0];

	WORK(NODE_BUILT);
	WORK(NODE_BUILT);
	share(g, out, cut);
	splice_in(g, out->leaf[!first], first ? at : at - cut);
}

/* The leaves that come out begin as copies of those that were: beside readers these stay. */
static inline void begin_as(struct mt_node *leaf, const struct mt_node *old)
{
	if (leaf == old)
		return;
	memcpy(leaf, old, sizeof(*leaf));
	node_set_end(leaf, KIND_LEAF, node_end(leaf, KIND_LEAF));
}

/* A leaf that is too empty gets slots of the one beside it after what goes in there. */
static inline void even_out(const struct mt_leaf_pair *g, struct outcome *out)
{
	WORK(NODE_BUILT);
	WORK(NODE_BUILT);
	begin_as(out->leaf[0], g->s.old[0]);
	begin_as(out->leaf[1], g->s.old[1]);
	splice_in(g, out->leaf[g->s.side == SIBLING_LEFT], g->s.keep_left);
	share(g, out, g->s.cut[0]);
	assert(node_is_valid(out->leaf[0], KIND_LEAF) && node_is_valid(out->leaf[1], KIND_LEAF));
}

/* Two leaves become one, of which the first is part. @rcu: both stay as they are, for readers. */
static inline void merge(const struct mt_leaf_pair *g, struct outcome *out, bool rcu)
{
	struct mt_node *into = out->leaf[0], *from = g->s.old[1], copy;
	unsigned int end, count;

	WORK(NODE_BUILT);
	begin_as(into, g->s.old[0]);
	if (g->s.side == SIBLING_RIGHT) {
		splice_in(g, into, g->s.keep_left);
	} else {
		if (rcu) {
			memcpy(&copy, from, sizeof(copy));
			from = &copy;
		}
		splice_in(g, from, g->s.keep_left);
	}
	end = node_end(into, KIND_LEAF);
	count = node_end(from, KIND_LEAF) + 1;
	into->pivot[end] = g->s.border;
	slots_copy(into, end + 1, from, 0, count);
	node_set_end(into, KIND_LEAF, end + count);
	assert(node_is_valid(into, KIND_LEAF));
}

/* The same where what goes in lies over both. */
static inline void bring_together(const struct mt_leaf_pair *g, struct outcome *out)
{
	const struct mt_layout_level *s = &g->s;
	struct mt_node *into = out->leaf[0];
	unsigned int at = s->keep_left + s->inserted;

	begin_as(into, s->left);
	splice_node(into, KIND_LEAF, s->keep_left, node_end(into, KIND_LEAF) + 1, g->items.item,
		    s->inserted);
	if (at == s->total)
		return;
	into->pivot[at - 1] = g->items.item[s->inserted - 1].last;
	slots_copy(into, at, s->right, s->keep_right_from, s->total - at);
	node_set_end(into, KIND_LEAF, s->total - 1);
	assert(node_is_valid(into, KIND_LEAF));
}

/*
 * Two leaves that stay two, where what goes in lies over both: the first keeps all its slots that
 * stay, gets what goes in, and slots of the second.
 */
static inline void extend_first(const struct mt_leaf_pair *g, struct outcome *out)
{
	const struct mt_layout_level *s = &g->s;
	struct mt_node *left = out->leaf[0], *right = out->leaf[1];
	unsigned int at = s->keep_left + s->inserted, more = s->cut[0] - at;
	unsigned int left_end = node_end(left, KIND_LEAF), right_end = node_end(right, KIND_LEAF);
	unsigned int from = s->keep_right_from + more;

	put_items(left, KIND_LEAF, s->keep_left, g->items.item, s->inserted, s->cut[0] - 1);
	out->last[0] = g->items.item[s->inserted - 1].last;
	if (more) {
		slots_copy(left, at, right, s->keep_right_from, more);
		out->last[0] = right->pivot[from - 1];
	}
	slots_cut_off(left, s->cut[0] - 1, left_end);
	slots_copy(right, 0, right, from, right_end + 1 - from);
	slots_cut_off(right, right_end - from, right_end);
}

/* The same where slots of the first, or some of what goes in, come to the second. */
static inline void extend_second(const struct mt_leaf_pair *g, struct outcome *out)
{
	const struct mt_layout_level *s = &g->s;
	struct mt_node *left = out->leaf[0], *right = out->leaf[1];
	unsigned int cut = s->cut[0], kept = cut < s->keep_left ? cut : s->keep_left;
	unsigned int moved = s->keep_left - kept, taken = cut - kept;
	unsigned int before = moved + s->inserted - taken, end = s->total - cut - 1;
	unsigned int left_end = node_end(left, KIND_LEAF), right_end = node_end(right, KIND_LEAF);
	unsigned int from = s->keep_right_from;

	if (from <= right_end && before > from)
		slots_up(right, from, right_end, before - from);
	else if (from <= right_end && before < from)
		slots_copy(right, before, right, from, right_end + 1 - from);
	if (moved) {
		slots_copy(right, 0, left, cut, moved);
		right->pivot[moved - 1] = left->pivot[s->keep_left - 1];
	}
	put_items(right, KIND_LEAF, moved, &g->items.item[taken], s->inserted - taken, end);
	slots_cut_off(right, end, right_end);
	out->last[0] = taken ? g->items.item[taken - 1].last : left->pivot[cut - 1];
	put_items(left, KIND_LEAF, kept, g->items.item, taken, cut - 1);
	slots_cut_off(left, cut - 1, left_end);
}

static inline void move_border(const struct mt_leaf_pair *g, struct outcome *out)
{
	WORK(NODE_BUILT);
	WORK(NODE_BUILT);
	begin_as(out->leaf[0], g->s.left);
	begin_as(out->leaf[1], g->s.right);
	if (g->s.cut[0] >= g->s.keep_left + g->s.inserted)
		extend_first(g, out);
	else
		extend_second(g, out);
	assert(node_is_valid(out->leaf[0], KIND_LEAF) && node_is_valid(out->leaf[1], KIND_LEAF));
}

/*
 * The widest gap of the next of the leaves, which covers [@min, @max]; *@known is that of all of
 * them that are left, if it is known.
 */
static inline unsigned long gap_of_next(const struct mt_leaf_pair *g, struct mt_node *leaf,
					unsigned int i, unsigned long min, unsigned long max,
					unsigned long *known)
{
	unsigned long gap = *known;

	if (gap == GAP_UNKNOWN || i + 1 < g->s.nodes)
		gap = gap_widest(leaf, KIND_LEAF, min, max);
	if (gap == *known) /* nothing is known of the others */
		*known = GAP_UNKNOWN;
	return gap;
}

/*
 * Fills the leaves and describes them in @item. Lets the lowest step of the finger lead to the
 * range written. Returns in which of the leaves it is.
 */
static ALWAYS_INLINE unsigned int fill_leaves(const struct mt_leaf_pair *g, struct maple_tree *mt,
					      struct pool_list *reserve, struct mt_item *item)
{
	struct mt_finger *finger = &mt->ma_finger;
	const struct mt_layout_level *s = &g->s;
	bool gaps = tree_tracks_gaps(mt), rcu = mt_in_rcu(mt);
	unsigned int i, from = 0, own = 0, used = rcu ? 0 : s->old_count;
	unsigned long min = g->min, known = gaps ? g->gap_after : 0;
	struct outcome out;

	for (i = 0; i < s->nodes; i++)
		out.leaf[i] = i < used ? s->old[i] : pool_take(reserve);
	if (s->nodes == LAYOUT_NODES)
		spread(g, &out);
	else if (!g->p && s->nodes == 2)
		move_border(g, &out);
	else if (!g->p)
		bring_together(g, &out);
	else if (s->nodes == 1)
		merge(g, &out, rcu);
	else if (g->p->new_end >= WIDE_SLOTS)
		relieve(g, &out);
	else
		even_out(g, &out);
	for (i = 0; i < s->nodes; i++) {
		unsigned long last = i + 1 < s->nodes ? out.last[i] : s->last;

		item[i].last = last;
		item[i].slot = enode_make(out.leaf[i], KIND_LEAF);
		item[i].gap = gaps ? gap_of_next(g, out.leaf[i], i, min, last, &known) : 0;
		if (g->own - from < s->cut[i]) {
			own = i;
			finger->step[0] = step_make(out.leaf[i], g->own - from);
			finger->min = min;
			finger->max = last;
		}
		from += s->cut[i];
		min = last + 1;
	}
	return own;
}

/* What is wider than all others below the parent may not be any more, or has come. */
static inline void raise_gaps(const struct mt_leaf_pair *g, const struct mt_finger *finger,
			      const struct mt_item *item)
{
	unsigned long widest = item[0].gap;

	if (finger->height == 2)
		return;
	for (unsigned int i = 1; i < g->s.nodes; i++)
		widest = item[i].gap > widest ? item[i].gap : widest;
	if (widest != g->gap_before)
		gap_raise(finger, 1, g->gap_before, widest);
}

/* Retires the leaves that have left the tree, and @parent, unless it is NULL. */
static void retire_olds(const struct mt_leaf_pair *g, struct maple_tree *mt,
			struct mt_node *parent, struct pool_list *reserve)
{
	const struct mt_layout_level *s = &g->s;
	unsigned int i = mt_in_rcu(mt) ? 0 : s->nodes;

	for (; i < s->old_count; i++)
		retire_node(mt, s->old[i], reserve);
	if (parent)
		retire_node(mt, parent, reserve);
}

void leaf_pair_write(const struct mt_leaf_pair *g, struct maple_tree *mt,
		     struct pool_list *reserve)
{
	struct mt_finger *finger = &mt->ma_finger;
	struct mt_node *old = step_node(finger->step[1]), *parent = old;
	const struct mt_layout_level *s = &g->s;
	enum node_kind inner = inner_kind(mt);
	bool rcu = mt_in_rcu(mt), root = becomes_root(g, mt);
	struct mt_item item[LAYOUT_NODES];
	unsigned int i, own;

	WORK(LEAVES_PAIRED);
	own = fill_leaves(g, mt, reserve, item);
	for (i = 0; rcu && i < s->old_count; i++)
		dead_mark(s->old[i]);
	if (root) {
		publish_new_height(mt, item[0].slot, 1);
		retire_olds(g, mt, old, reserve);
		return;
	}
	if (rcu) {
		parent = pool_take(reserve);
		memcpy(parent, old, sizeof(*parent));
	}
	if (s->nodes == s->old_count)
		put_items(parent, inner, g->at, item, s->nodes, node_end(parent, inner));
	else
		splice_node(parent, inner, g->at, g->at + s->old_count, item, s->nodes);
	finger->step[1] = step_make(parent, g->at + own);
	if (rcu)
		publish_node(mt, finger, 1, enode_make(parent, inner));
	if (tree_tracks_gaps(mt))
		raise_gaps(g, finger, item);
	retire_olds(g, mt, rcu ? old : NULL, reserve);
}
