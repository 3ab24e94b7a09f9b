/* SPDX-License-Identifier: MIT */
/*
 * layout_plan.c - decide how nodes are laid out anew, level by level, without changing anything.
 *
 * The rules are those of B-trees (Bayer and McCreight, 1972): what is too much for a node is
 * divided, and what is too little is joined with a neighbour. A run that is appended or prepended
 * to the whole tree leaves full nodes behind. Without readers, a node that is too full is laid out
 * together with its emptier neighbour, as in a B*-tree (Knuth, The Art of Computer Programming 3,
 * 6.2.4). Beside readers it is not, since each node that changes would have to be copied; nor is a
 * leaf of a small tree: layout_divides_alone().
 */
#include "layout.h"

#include "retire.h"

/*
 * The state of planning.
 * @kind: of the current level; @inner: of inner nodes.
 * @fresh: how many new nodes are needed besides the old ones, or in their place; @old: how many old
 *         ones there are.
 */
struct planner {
	struct mt_layout *l;
	struct maple_tree *mt;
	struct mt_layout_level *s;
	unsigned int level;
	enum node_kind kind;
	enum node_kind inner;
	bool rcu;
	unsigned int fresh;
	unsigned int old;
};

static bool same_node(const struct mt_layout_level *s)
{
	return s->left == s->right;
}

/* ---- the paths to both ends ------------------------------------------------------------------ */

/*
 * Makes a leaf with the content of a root word that is not a node: possibly an entry at 0, then a
 * gap.
 */
static void make_leaf_of_root(struct mt_layout *l, void *root, unsigned long first)
{
	struct mt_finger *way = &l->own_way[0];

	l->scratch.wide.slot[0] = root;
	node_pad(&l->scratch, KIND_LEAF, root ? 1 : 0, WIDE_PIVOTS);
	if (root) {
		l->scratch.pivot[0] = 0;
		l->scratch.wide.slot[1] = NULL;
	}
	way->min = 0;
	way->max = ULONG_MAX;
	way->height = 1;
	way->step[0] = step_make(&l->scratch, 0);
	l->left = l->right = way;
	l->low = root && first;
}

static void *entry_at(const struct mt_finger *way, unsigned int at)
{
	return step_node(way->step[0])->wide.slot[at];
}

static unsigned long first_at(const struct mt_finger *way, unsigned int at)
{
	return slot_first(step_node(way->step[0]), at, way->min);
}

static unsigned long last_at(const struct mt_finger *way, unsigned int at)
{
	return slot_last(step_node(way->step[0]), KIND_LEAF, at, way->max);
}

/*
 * Widens the store of NULL over [*@first, *@last] by a gap that lies directly before (behind) it,
 * also in another leaf; so a gap is always a single range.
 */
static void join_before(struct mt_layout *l, enum node_kind inner, unsigned long *first)
{
	const struct mt_finger *way = l->left;
	unsigned int at = l->low;

	if (!entry_at(way, at)) {
		*first = first_at(way, at);
		return;
	}
	if (*first == 0 || *first != first_at(way, at))
		return;
	if (!at--) {
		finger_copy(&l->own_way[0], way);
		way = &l->own_way[0];
		finger_move_down(&l->own_way[0], inner);
		at = step_offset(way->step[0]);
	}
	if (entry_at(way, at))
		return;
	l->left = way;
	l->low = at;
	*first = first_at(way, at);
}

static void join_behind(struct mt_layout *l, enum node_kind inner, unsigned long *last)
{
	const struct mt_finger *way = l->right;
	unsigned int at = l->high;

	if (!entry_at(way, at)) {
		*last = last_at(way, at);
		return;
	}
	if (*last == ULONG_MAX || *last != last_at(way, at))
		return;
	if (at++ == node_end(step_node(way->step[0]), KIND_LEAF)) {
		finger_copy(&l->own_way[2], way);
		way = &l->own_way[2];
		finger_move_up(&l->own_way[2], inner);
		at = 0;
	}
	if (entry_at(way, at))
		return;
	l->right = way;
	l->high = at;
	*last = last_at(way, at);
}

unsigned int layout_items(struct mt_items *items, const struct mt_ends *ends, unsigned long first,
			  unsigned long last, void *entry)
{
	struct mt_item *item = items->item;
	unsigned int own;

	assert(ends->first <= first && first <= last && last <= ends->last);
	if (ends->first < first)
		*item++ = (struct mt_item){ first - 1, ends->first_entry, 0 };
	own = (unsigned int)(item - items->item);
	*item++ = (struct mt_item){ last, entry, 0 };
	if (last < ends->last)
		*item++ = (struct mt_item){ ends->last, ends->last_entry, 0 };
	items->count = (unsigned int)(item - items->item);
	return own;
}

/* Finds both paths, and what goes into the leaves. Returns false if the write changes nothing. */
static bool plan_ends(struct mt_layout *l, struct maple_tree *mt, unsigned long first,
		      unsigned long last, void *entry, unsigned long step)
{
	struct mt_ends ends;

	l->left = l->right = &mt->ma_finger;
	l->low = step_offset(step);
	if (!step)
		make_leaf_of_root(l, mt->ma_root, first);
	if (last > l->left->max) {
		l->right = &l->own_way[1];
		l->high = step_offset(finger_descend(mt, &l->own_way[1], last));
	} else {
		l->high = step_offset(leaf_find(l->left->step[0], last));
	}
	if (!entry) {
		join_before(l, inner_kind(mt), &first);
		join_behind(l, inner_kind(mt), &last);
	}
	ends.first = first_at(l->left, l->low);
	ends.first_entry = entry_at(l->left, l->low);
	ends.last = last_at(l->right, l->high);
	ends.last_entry = entry_at(l->right, l->high);
	l->first = first;
	l->last = last;
	l->own = layout_items(&l->items, &ends, first, last, entry);
	return entry || ends.first_entry || l->left != l->right; /* one way leads to one gap */
}

/* ---- one level ------------------------------------------------------------------------------ */

/* A node of the level with fewer slots is joined with another one. */
static ALWAYS_INLINE unsigned int min_slots(const struct planner *p)
{
	return p->level ? kind_min_slots(p->kind) : leaf_min_slots(p->l->left->height);
}

static ALWAYS_INLINE void begin_level(const struct planner *p)
{
	struct mt_layout_level *s = p->s;
	unsigned long left = p->l->left->step[p->level], right = p->l->right->step[p->level];

	s->left = step_node(left);
	s->right = step_node(right);
	s->sibling = NULL;
	s->side = SIBLING_NONE;
	if (p->level) {
		s->inserted = s[-1].nodes;
		s->keep_left = step_offset(left) - (s[-1].side == SIBLING_LEFT);
		s->keep_right_from = step_offset(right) + 1 + (s[-1].side == SIBLING_RIGHT);
	} else {
		s->inserted = p->l->items.count;
		s->keep_left = p->l->low;
		s->keep_right_from = p->l->high + 1;
	}
	s->total = (s->keep_left + s->inserted + node_end(s->right, p->kind) + 1 -
				   s->keep_right_from);
}

/*
 * Where to divide what is too much for one node when it was appended (prepended) to the whole tree,
 * so that a full node is left behind. 0: the level is not at that end of the tree.
 */
static ALWAYS_INLINE unsigned int run_cut(const struct planner *p)
{
	const struct mt_layout_level *s = p->s;

	if (!same_node(s) || s->total <= kind_slots(p->kind))
		return 0;
	if (s->keep_right_from > node_end(s->right, p->kind) &&
	    finger_last(p->l->right, p->level, p->inner) == ULONG_MAX)
		return kind_slots(p->kind);
	if (!s->keep_left && finger_first(p->l->left, p->level) == 0)
		return s->total - kind_slots(p->kind);
	return 0;
}

/*
 * Whether the level needs a sibling, being too empty, or too full for one node. @run: see
 * run_cut().
 */
static ALWAYS_INLINE bool wants_sibling(const struct planner *p, unsigned int run)
{
	const struct mt_layout_level *s = p->s;

	if (p->level + 1 >= p->l->left->height)
		return false;
	if (s->total > kind_slots(p->kind))
		return same_node(s) && !run &&
		       !layout_divides_alone(p->l->left, p->inner, p->rcu);
	/* a level that loses no slots is left as it is, however empty it is */
	return s->total < min_slots(p) &&
	       (!same_node(s) || s->total <= node_end(s->left, p->kind));
}

/* Whether the nodes at both ends of the level have different parents. */
static ALWAYS_INLINE bool parents_differ(const struct planner *p)
{
	const struct mt_layout *l = p->l;

	assert(p->level + 1 < l->left->height);
	return step_node(l->left->step[p->level + 1]) != step_node(l->right->step[p->level + 1]);
}

/*
 * Two nodes usually remain two, and the boundary between them moves: see layout_boundary(). Returns
 * 0 if one node takes it all with some room to spare, or if a side would be too empty or too full.
 * If the two nodes have different parents, joining them would take a child from one parent; so a
 * side may then be nearly empty, since each node has siblings of its own to be joined with later.
 */
static ALWAYS_INLINE unsigned int boundary_cut(const struct planner *p)
{
	const struct mt_layout_level *s = p->s;
	unsigned int least = min_slots(p);

	if (same_node(s) || s->side != SIBLING_NONE)
		return 0;
	if (parents_differ(p))
		least = 1;
	else if (layout_joins(p->kind, s->total))
		return 0;
	if (p->level && s->inserted == 2) /* each of the two stays under its own parent */
		return layout_boundary(p->kind, s->keep_left + 1, 0, s->total, least);
	return layout_boundary(p->kind, s->keep_left, s->inserted, s->total, least);
}

/*
 * Decides how many nodes the level becomes and where they are divided: evenly, unless there is a
 * better cut.
 */
static ALWAYS_INLINE void cut_nodes(const struct planner *p, unsigned int run)
{
	struct mt_layout_level *s = p->s;
	unsigned int first = boundary_cut(p);

	s->nodes = layout_nodes(p->kind, s->total);
	/* two nodes stay two, rather than become one that the next insertion would split again */
	if (first || (s->nodes == 1 && !layout_joins(p->kind, s->total) && !same_node(s)))
		s->nodes = 2;
	if (s->nodes == 2 && s->side == SIBLING_NONE && run)
		first = run;
	if (first) {
		s->cut[0] = first;
		s->cut[1] = s->total - first;
	} else {
		layout_cut_evenly(s, p->kind);
	}
	assert(s->cut[0] > 0 && s->cut[0] <= kind_slots(p->kind));
	assert(s->nodes == 1 || (s->cut[1] > 0 && s->cut[1] <= kind_slots(p->kind)));
}

/* Whether the level covers the whole tree. */
static ALWAYS_INLINE bool covers_all(const struct planner *p)
{
	unsigned int before = p->s->side == SIBLING_LEFT, behind = p->s->side == SIBLING_RIGHT;
	unsigned int level;

	for (level = p->level + 1; level < p->l->left->height; level++) {
		unsigned long left = p->l->left->step[level], right = p->l->right->step[level];

		if (step_offset(left) != before ||
		    step_offset(right) + behind != node_end(step_node(right), p->inner))
			return false;
		before = behind = 0;
	}
	return true;
}

static ALWAYS_INLINE unsigned long level_last(const struct planner *p)
{
	unsigned long right;

	if (p->s->side != SIBLING_RIGHT)
		return p->level ? finger_last(p->l->right, p->level, p->inner) : p->l->right->max;
	right = p->l->right->step[p->level + 1];
	return finger_child_last(p->l->right, p->level + 1, p->inner, step_offset(right) + 1);
}

/*
 * Whether the tree's only slots, one or two, need no node: they are a gap, or one plain entry at 0.
 */
static bool needs_no_node(struct mt_layout *l)
{
	struct mt_content content;

	l->level[0].last = ULONG_MAX;
	content_gather(&content, &l->level[0], KIND_LEAF, &l->items);
	l->value = content.slot[0];
	if (content.count == 1)
		return !content.slot[0];
	return content.pivot[0] == 0 && !content.slot[1] && entry_fits_root(content.slot[0]);
}

/*
 * Whether the level, which is not that of the leaves, is one node that takes all that changes below
 * it and remains a valid node: the case of most writes.
 */
static ALWAYS_INLINE bool one_node_takes_it(const struct planner *p)
{
	const struct mt_layout_level *s = p->s;

	return same_node(s) && s->total <= kind_slots(p->kind) && s->total > 1 &&
	       (s->total >= kind_min_slots(p->kind) || s->total > node_end(s->left, p->kind));
}

/* Collects the nodes that the current level replaces, and counts those that it needs. */
static ALWAYS_INLINE void count_level(struct planner *p)
{
	struct mt_layout_level *s = p->s;
	unsigned int old = 0;

	if (s->left != &p->l->scratch) {
		if (s->side == SIBLING_LEFT)
			s->old[old++] = s->sibling;
		s->old[old++] = s->left;
		if (!same_node(s))
			s->old[old++] = s->right;
		if (s->side == SIBLING_RIGHT)
			s->old[old++] = s->sibling;
	}
	if (p->rcu)
		p->fresh += s->nodes;
	else if (s->nodes > old)
		p->fresh += s->nodes - old;
	s->old_count = old;
	p->old += old;
}

/* How a level becomes visible that was one node and remains one. */
static ALWAYS_INLINE enum write_kind kind_of_one(const struct planner *p)
{
	if (!p->rcu && p->s->left != &p->l->scratch)
		return WRITE_IN_NODE;
	return p->level + 1 == p->l->left->height ? WRITE_ROOT : WRITE_CHILD;
}

/*
 * Plans one level. Returns how the write becomes visible if this level decides it; WRITE_LAYOUT if
 * the level above changes, too.
 */
static ALWAYS_INLINE enum write_kind plan_level(struct planner *p)
{
	struct mt_layout_level *s = p->s;
	unsigned int run;

	begin_level(p);
	p->l->levels++;
	if (p->level && one_node_takes_it(p)) {
		s->nodes = 1;
		s->cut[0] = s->total;
		s->last = ULONG_MAX; /* no pivot above changes */
		count_level(p);
		return kind_of_one(p);
	}
	run = run_cut(p);
	if (wants_sibling(p, run))
		layout_take_sibling(s, p->l->left->step[p->level + 1],
				    p->l->right->step[p->level + 1], p->kind, p->inner);
	if (!p->level && s->total <= 2 && covers_all(p) && needs_no_node(p->l)) {
		p->l->levels = 0;
		return WRITE_VALUE;
	}
	cut_nodes(p, run);
	count_level(p);
	s->last = level_last(p);
	if (!p->level)
		p->l->min = s->side != SIBLING_LEFT ? p->l->left->min
				 : finger_child_first(p->l->left, 1,
						      step_offset(p->l->left->step[1]) - 1);
	if (same_node(s) && s->nodes == 1 && s->side == SIBLING_NONE)
		return kind_of_one(p);
	return covers_all(p) ? WRITE_ROOT : WRITE_LAYOUT;
}

/* ---- the memory that is needed --------------------------------------------------------------- */

unsigned int layout_dropped(const struct mt_layout *l, unsigned int level, enum node_kind inner)
{
	unsigned long left = l->left->step[level], right = l->right->step[level];

	if (!level || left == right)
		return 0;
	if (step_node(left) == step_node(right))
		return step_offset(right) - step_offset(left) - 1;
	return node_end(step_node(left), inner) - step_offset(left) + step_offset(right);
}

/*
 * The blocks needed for new nodes, and for the batches that hold replaced nodes until they are
 * freed.
 */
static unsigned int count_blocks(const struct planner *p)
{
	struct mt_layout *l = p->l;
	unsigned int level, here, dropped = 0;
	unsigned int fresh = p->fresh, old = p->old;

	l->drops = 0;
	for (level = 1; l->left != l->right && level < l->left->height; level++) {
		here = layout_dropped(l, level, p->inner);
		dropped += here;
		l->drops = here ? level : l->drops;
	}
	if (l->kind == WRITE_ROOT) {
		fresh += l->level[l->levels - 1].nodes > 1;
		for (level = l->levels; level < l->left->height; level++)
			old += 1 + (step_node(l->left->step[level]) !=
				    step_node(l->right->step[level]));
	} else if (l->kind == WRITE_VALUE) {
		old = root_is_node(p->mt->ma_root);
		dropped = 0;
	}
	return fresh + (p->rcu ? retire_batches_needed(p->mt, old + dropped) : 0);
}

/*
 * Plans all levels, from the leaves up to the one where a single node takes all items; both ends
 * are known.
 */
static void plan_levels(struct mt_layout *l, struct maple_tree *mt)
{
	struct planner p = { .l = l, .mt = mt, .s = l->level, .kind = KIND_LEAF,
			     .inner = inner_kind(mt), .rcu = mt_in_rcu(mt) };

	l->levels = 0;
	l->kind = plan_level(&p); /* of leaves: compiled for them alone */
	while (l->kind == WRITE_LAYOUT) {
		p.s++;
		p.level++;
		p.kind = p.inner;
		l->kind = plan_level(&p);
	}
	l->blocks = count_blocks(&p);
}

void layout_plan(struct mt_layout *l, struct maple_tree *mt, const struct mt_leaf_plan *leaf)
{
	struct mt_ends ends = { leaf->below + 1, leaf->top, leaf->leaf->wide.slot[leaf->low],
				leaf->leaf->wide.slot[leaf->high] };

	l->left = l->right = &mt->ma_finger;
	l->low = leaf->low;
	l->high = leaf->high;
	l->first = leaf->first;
	l->last = leaf->last;
	if (leaf->beside & GAP_BEFORE) {
		join_before(l, inner_kind(mt), &l->first);
		ends.first = l->first;
	}
	if (leaf->beside & GAP_BEHIND) {
		join_behind(l, inner_kind(mt), &l->last);
		ends.last = l->last;
	}
	l->own = layout_items(&l->items, &ends, l->first, l->last, leaf->entry);
	plan_levels(l, mt);
}

void layout_plan_before(struct mt_layout *l, struct maple_tree *mt, const struct mt_leaf_plan *leaf)
{
	const struct mt_ends ends = { leaf->below + 1, leaf->top, leaf->leaf->wide.slot[leaf->low],
				      leaf->leaf->wide.slot[leaf->high] };
	struct mt_finger *way = &l->own_way[0];
	struct mt_items items;

	assert(!leaf->low);
	finger_copy(way, &mt->ma_finger);
	finger_move_down(way, inner_kind(mt));
	l->left = way;
	l->right = &mt->ma_finger;
	l->low = step_offset(way->step[0]);
	l->high = leaf->high;
	l->first = leaf->first;
	l->last = leaf->last;
	l->own = 1 + layout_items(&items, &ends, leaf->first, leaf->last, leaf->entry);
	assert(items.count < LAYOUT_ITEMS);
	l->items.count = items.count + 1;
	l->items.item[0] = (struct mt_item){ leaf->below, entry_at(way, l->low), 0 };
	l->items.item[1] = items.item[0];
	l->items.item[2] = items.item[1];
	plan_levels(l, mt);
}

void layout_plan_span(struct mt_layout *l, struct maple_tree *mt, unsigned long first,
		      unsigned long last, void *entry, unsigned long step)
{
	l->kind = WRITE_NOTHING;
	l->blocks = 0;
	if (plan_ends(l, mt, first, last, entry, step))
		plan_levels(l, mt);
}
