/* SPDX-License-Identifier: MIT */
/*
 * leaf_group.h - writes that divide a leaf or join it with one beside it; part of write.c.
 *
 * The leaves concerned have one parent, and what they hold is laid out anew in one leaf to three.
 * Without readers that is done where they are. Beside readers the new leaves and a copy of the
 * parent are filled first; one store above the parent, or of the root, then makes all of it
 * visible, as PUBLISH_SLOT and PUBLISH_ROOT do. A write that changes more of the inner nodes than
 * that goes through plan.c.
 */
#ifndef MT_LEAF_GROUP_H
#define MT_LEAF_GROUP_H

#include "leaf.h"
#include "retire.h"

/* ---- the plan -------------------------------------------------------------------------- */

/* Where child @at of the way's node at @level begins. False: too high up to be known. */
static inline bool child_first(const struct mt_way *way, unsigned int level, unsigned int at,
			       unsigned long *first)
{
	while (!at) {
		*first = 0;
		if (++level >= way->height)
			return true;
		if (level >= WAY_LEVELS)
			return false;
		at = step_offset(way->step[level]);
	}
	*first = step_node(way->step[level])->pivot[at - 1] + 1;
	return true;
}

/* Where it ends. */
static inline bool child_last(const struct mt_way *way, unsigned int level, enum node_kind kind,
			      unsigned int at, unsigned long *last)
{
	while (at == node_end(step_node(way->step[level]), kind)) {
		*last = ULONG_MAX;
		if (++level >= way->height)
			return true;
		if (level >= WAY_LEVELS)
			return false;
		at = step_offset(way->step[level]);
	}
	*last = step_node(way->step[level])->pivot[at];
	return true;
}

/* The slots in use of the child @at of @parent, a leaf; none if there is no such child. */
static inline unsigned int leaf_slots(struct mt_node *parent, enum node_kind kind, unsigned int at)
{
	if (at > node_end(parent, kind)) /* also left of the first one */
		return 0;
	return node_end(enode_node(slot_child(parent, kind, at)), KIND_LEAF) + 1;
}

/* The emptier one of the leaves beside the way's, under the same parent. */
static inline enum sibling_side emptier_side(const struct maple_tree *mt)
{
	enum node_kind kind = inner_kind(mt);
	struct mt_node *parent = step_node(mt->ma_way.step[1]);
	unsigned int at = step_offset(mt->ma_way.step[1]);
	unsigned int left = leaf_slots(parent, kind, at - 1);
	unsigned int right = leaf_slots(parent, kind, at + 1);

	if (left && (!right || left <= right))
		return SIBLING_LEFT;
	return right ? SIBLING_RIGHT : SIBLING_NONE;
}

/* Whether the parent remains a node as it should be, if it only changes by these leaves. */
static inline bool parent_takes(const struct mt_group *g, const struct mt_way *way,
				enum node_kind kind)
{
	unsigned int slots = node_end(step_node(way->step[1]), kind) + 1 + g->leaves - g->old;

	if (g->leaves < g->old)
		return slots >= (way->height > 2 ? kind_min_slots(kind) : 2);
	return slots <= kind_slots(kind);
}

/* Where an append or the like divides the leaf: what is left behind is full. */
static inline unsigned int append_cut(const struct mt_group *g, const struct mt_way *way,
				      const struct mt_leaf_plan *p)
{
	return plan_cut(g->total, WIDE_SLOTS, way->max == ULONG_MAX && p->high == p->end,
			way->min == 0 && p->low == 0);
}

/* Evenly, but for one leaf that is divided. */
static inline void cut_group(struct mt_group *g, const struct mt_way *way,
			     const struct mt_leaf_plan *p)
{
	unsigned int i;

	g->from[0] = 0;
	for (i = 1; i <= g->leaves; i++)
		g->from[i] = (g->total * i + g->leaves - 1) / g->leaves;
	if (g->old == 1 && g->leaves == 2)
		g->from[1] = append_cut(g, way, p);
}

/*
 * Whether a leaf that is too full shares what it holds with one beside it; see plan.c. Beside readers
 * it does not: there each leaf that changes so is a copy. Nor where the next write goes on behind it.
 */
static inline bool shares(const struct mt_group *g, const struct maple_tree *mt,
			  const struct mt_leaf_plan *p)
{
	const struct mt_way *way = &mt->ma_way;

	return !mt_in_rcu(mt) && append_cut(g, way, p) == (g->total + 1) / 2;
}

/*
 * group_plan - how the write @p, which is LEAF_GROUP, is done. False: more than the leaves and
 * their parent would change. Changes nothing but *@g.
 */
static inline bool group_plan(struct mt_group *g, struct maple_tree *mt,
			      const struct mt_leaf_plan *p)
{
	const struct mt_way *way = &mt->ma_way;
	enum node_kind kind = inner_kind(mt);
	unsigned int at = step_offset(way->step[1]);
	unsigned int most = WIDE_SLOTS;

	g->side = p->seam;
	g->total = p->new_end + 1;
	if (g->side == SIBLING_NONE && (g->total < WIDE_SLOTS || shares(g, mt, p)))
		g->side = emptier_side(mt);
	g->at = at - (g->side == SIBLING_LEFT);
	g->old = 1 + (g->side != SIBLING_NONE);
	g->min = way->min;
	g->max = way->max;
	if (g->side != SIBLING_NONE)
		g->total += leaf_slots(step_node(way->step[1]), kind,
				       g->side == SIBLING_LEFT ? at - 1 : at + 1);
	if (p->seam != SIBLING_NONE) {
		g->total--;
		most = PLAN_JOINED_SLOTS;
	}
	g->leaves = g->total <= most ? 1 : g->total <= 2 * WIDE_SLOTS ? 2 : 3;
	cut_group(g, way, p);
	return parent_takes(g, way, kind) &&
	       (g->side != SIBLING_LEFT || child_first(way, 1, at - 1, &g->min)) &&
	       (g->side != SIBLING_RIGHT || child_last(way, 1, kind, at + 1, &g->max));
}

/* group_blocks - what it takes from the pool. */
static inline unsigned int group_blocks(const struct mt_group *g, const struct maple_tree *mt)
{
	if (mt_in_rcu(mt))
		return g->leaves + 1 + retire_batches_needed(mt, g->old + 1);
	return g->leaves > g->old;
}

/* ---- the content ----------------------------------------------------------------------- */

/* What the leaves will hold. The last pivot is not set. */
struct contents {
	unsigned int count;
	unsigned long pivot[2 * WIDE_SLOTS + 2];
	void *slot[2 * WIDE_SLOTS + 2];
};

/* Adds slots @from .. @to - 1 of @leaf, which covers up to @max. */
static inline void add_slots(struct contents *all, const struct mt_node *leaf, unsigned int from,
			     unsigned int to, unsigned long max)
{
	if (from == to)
		return;
	memcpy(&all->slot[all->count], &leaf->wide.slot[from], (to - from) * sizeof(void *));
	memcpy(&all->pivot[all->count], &leaf->pivot[from], (to - from - 1) * sizeof(long));
	all->count += to - from;
	all->pivot[all->count - 1] = last_of(leaf, to - 1, max);
}

/* Adds what the leaf of the write holds after it; returns where the range written is. */
static inline unsigned int add_written(struct contents *all, const struct mt_leaf_plan *p,
				       unsigned long max)
{
	unsigned int own;

	add_slots(all, p->leaf, 0, p->low + p->left, max);
	if (p->left)
		all->pivot[all->count - 1] = p->first - 1;
	own = all->count++;
	all->slot[own] = p->entry;
	all->pivot[own] = p->last;
	add_slots(all, p->leaf, p->high + 1 - p->right, p->end + 1, max);
	return own;
}

/* Gathers it all; of a gap that two leaves share, one slot. Returns where the range written is. */
static inline unsigned int gather(struct contents *all, const struct mt_group *g,
				  const struct mt_leaf_plan *p, const struct mt_way *way,
				  struct mt_node *beside)
{
	unsigned int seam = p->seam != SIBLING_NONE, own;

	all->count = 0;
	if (g->side == SIBLING_LEFT)
		add_slots(all, beside, 0, node_end(beside, KIND_LEAF) + 1 - seam, way->min - 1);
	own = add_written(all, p, way->max);
	if (g->side == SIBLING_RIGHT) {
		all->count -= seam;
		add_slots(all, beside, 0, node_end(beside, KIND_LEAF) + 1, g->max);
	}
	assert(all->count == g->total);
	return own;
}

/* Fills a leaf with slots @from .. @to - 1. */
static inline void spread(struct mt_node *leaf, const struct contents *all, unsigned int from,
			  unsigned int to)
{
	unsigned int count = to - from, i;

	memcpy(leaf->pivot, &all->pivot[from], (count - 1) * sizeof(long));
	memcpy(leaf->wide.slot, &all->slot[from], count * sizeof(void *));
	for (i = count; i <= WIDE_PIVOTS; i++) {
		leaf->pivot[i - 1] = ULONG_MAX;
		leaf->wide.slot[i] = NULL;
	}
	node_set_end(leaf, KIND_LEAF, count - 1);
}

/* ---- the parent ------------------------------------------------------------------------ */

/* A leaf that takes part, where it ends, and its widest gap. */
struct group_leaf {
	struct mt_node *node;
	unsigned long last;
	unsigned long gap;
};

/* Makes room in @parent, which nobody else reads, for the new leaves in the place of the old ones. */
static inline void make_room(struct mt_node *parent, enum node_kind kind, const struct mt_group *g)
{
	unsigned int at = g->at, end = node_end(parent, kind);
	unsigned int tail = end + 1 - at - g->old; /* slots behind the old leaves */
	unsigned int now = end + g->leaves - g->old;
	void **slot = node_slots(parent, kind);

	if (now == end)
		return;
	memmove(&slot[at + g->leaves], &slot[at + g->old], tail * sizeof(void *));
	memmove(&parent->pivot[at + g->leaves - 1], &parent->pivot[at + g->old - 1],
		tail * sizeof(long));
	if (kind == KIND_GAPS)
		memmove(&parent->gaps.gap[at + g->leaves], &parent->gaps.gap[at + g->old],
			tail * sizeof(long));
	if (now < end) {
		parent->pivot[now] = ULONG_MAX;
		slot[end] = NULL;
		if (kind == KIND_GAPS)
			parent->gaps.gap[end] = 0;
	}
	node_set_end(parent, kind, now);
}

/* Puts the new leaves into @parent, with their gaps. */
static inline void replace_children(struct mt_node *parent, enum node_kind kind,
				    const struct mt_group *g, const struct group_leaf *leaf)
{
	void **slot = node_slots(parent, kind);
	unsigned int i;

	make_room(parent, kind, g);
	for (i = 0; i < g->leaves; i++) {
		slot[g->at + i] = enode_make(leaf[i].node, KIND_LEAF);
		if (i + 1 < g->leaves)
			parent->pivot[g->at + i] = leaf[i].last;
		if (kind == KIND_GAPS)
			parent->gaps.gap[g->at + i] = leaf[i].gap;
	}
}

/*
 * The widest of two gaps and @came, the gap that a write left: NULL makes one gap wider, and all
 * others stay what they were, so that none has to be looked for.
 */
static inline unsigned long widest_of(unsigned long a, unsigned long b, unsigned long came)
{
	a = a > b ? a : b;
	return a > came ? a : came;
}

/* Finds the gaps of the new leaves. @came: width of the gap written, 0 for an entry. @parent: before. */
static inline void find_gaps(struct group_leaf *leaf, const struct mt_group *g,
			     struct mt_node *parent, unsigned long came)
{
	unsigned long min = g->min;
	unsigned int i;

	if (g->leaves == 1 && g->old == 2 && came) {
		leaf[0].gap = widest_of(gap_load(parent, g->at), gap_load(parent, g->at + 1), came);
		return;
	}
	for (i = 0; i < g->leaves; i++) {
		leaf[i].gap = gap_widest(leaf[i].node, KIND_LEAF, min, leaf[i].last);
		min = leaf[i].last + 1;
	}
}

/* Lets @node take the place of the way's at @level, if it is another one: the store readers see. */
static inline void publish_inner(struct maple_tree *mt, unsigned int level, struct mt_node *node)
{
	struct mt_way *way = &mt->ma_way;
	struct maple_enode *enode = enode_make(node, inner_kind(mt));
	unsigned long above;

	if (node == step_node(way->step[level]))
		return;
	if (way->height == level + 1) {
		publish_root(mt, enode, way->height);
		return;
	}
	above = way->step[level + 1];
	slot_publish(step_node(above), inner_kind(mt), step_offset(above), enode);
}

/* The gaps above @node, the way's at @level, as far as they change. */
static inline void update_gaps_above(struct maple_tree *mt, unsigned int level,
				     struct mt_node *node, unsigned long came)
{
	const struct mt_way *way = &mt->ma_way;
	unsigned long was, now;

	if (way->height == level + 1)
		return;
	was = parent_gap(way, level);
	now = came ? widest_of(was, 0, came) : gap_widest(node, KIND_GAPS, 0, 0);
	if (was == now)
		return;
	set_parent_gap(way, level, now);
	raise_gaps(mt, level + 1, was, now);
}

/* ---- the write ------------------------------------------------------------------------- */

/* Leads the way to slot @own of all in the new leaves, under @parent, and *@place too. */
static inline void lead_way(struct maple_tree *mt, const struct mt_group *g, struct mt_node *parent,
			    const struct group_leaf *leaf, unsigned int own,
			    struct mt_place *place)
{
	struct mt_way *way = &mt->ma_way;
	unsigned int i = 0;

	while (own >= g->from[i + 1])
		i++;
	own -= g->from[i];
	way->min = i ? leaf[i - 1].last + 1 : g->min;
	way->max = leaf[i].last;
	way->step[0] = way_step(leaf[i].node, own);
	way->step[1] = way_step(parent, g->at + i);
	place->node = leaf[i].node;
	place->min = way->min;
	place->max = way->max;
	place->offset = (unsigned char)own;
	place->end = (unsigned char)node_end(leaf[i].node, KIND_LEAF);
}

/* The nodes that the leaves are filled in; a copy of the parent, if readers may be in it. */
static inline struct mt_node *take_nodes(struct maple_tree *mt, const struct mt_group *g,
					 struct mt_node *const old[2], struct group_leaf *leaf,
					 struct pool_list *reserve)
{
	struct mt_node *above = step_node(mt->ma_way.step[1]), *parent = above;
	unsigned int i;

	for (i = 0; i < g->leaves; i++)
		leaf[i].node = mt_in_rcu(mt) || i >= g->old ? pool_take(reserve) : old[i];
	if (mt_in_rcu(mt)) {
		parent = pool_take(reserve);
		memcpy(parent, above, sizeof(*parent));
	}
	return parent;
}

/*
 * group_write - carry out @p as @g says, with blocks of @reserve. The way leads to the range
 * written then, and *@place is where it is. Lock held.
 */
static inline void group_write(struct maple_tree *mt, const struct mt_leaf_plan *p,
			       const struct mt_group *g, struct pool_list *reserve,
			       struct mt_place *place)
{
	const struct mt_way *way = &mt->ma_way;
	enum node_kind kind = inner_kind(mt);
	struct mt_node *above = step_node(way->step[1]), *parent;
	struct mt_node *old[2] = { p->leaf, NULL };
	unsigned int i, own, at = step_offset(way->step[1]);
	struct group_leaf leaf[GROUP_LEAVES_MAX];
	unsigned long came = 0;
	struct contents all;

	if (g->side != SIBLING_NONE)
		old[1] = enode_node(slot_child(above, kind,
					       g->side == SIBLING_LEFT ? at - 1 : at + 1));
	parent = take_nodes(mt, g, old, leaf, reserve);
	own = gather(&all, g, p, way, old[1]);
	for (i = 0; i < g->leaves; i++) {
		leaf[i].last = i + 1 < g->leaves ? all.pivot[g->from[i + 1] - 1] : g->max;
		spread(leaf[i].node, &all, g->from[i], g->from[i + 1]);
	}
	if (tree_tracks_gaps(mt)) {
		came = p->entry ? 0 : all.pivot[own] - (own ? all.pivot[own - 1] : g->min - 1);
		find_gaps(leaf, g, above, came);
	}
	replace_children(parent, kind, g, leaf);
	for (i = 0; i < g->old && mt_in_rcu(mt); i++)
		dead_mark(old[i]);
	publish_inner(mt, 1, parent);
	lead_way(mt, g, parent, leaf, own, place);
	if (tree_tracks_gaps(mt))
		update_gaps_above(mt, 1, parent, came);
	for (i = 0; i < g->old; i++)
		if (parent != above || i >= g->leaves)
			retire_node(mt, old[i], reserve);
	if (parent != above)
		retire_node(mt, above, reserve);
}

#endif
