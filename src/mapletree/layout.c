/* SPDX-License-Identifier: MIT */
/*
 * layout.c - carry out a layout: gather the content of each level, spread it over nodes, and make
 * them visible.
 */
#include "layout.h"

#include "dead.h"
#include "gap.h"
#include "publish.h"
#include "retire.h"

/* ---- spread ---------------------------------------------------------------------------------- */

/* Fills a fresh node with @count items. */
static inline void fill_with_items(struct mt_node *node, enum node_kind kind,
				   const struct mt_item *item, unsigned int count)
{
	WORK(NODE_BUILT);
	put_items(node, kind, 0, item, count, count - 1);
	node_pad(node, kind, count - 1, kind_slots(kind) - 1);
	assert(node_is_valid(node, kind));
}

/*
 * A layout in progress.
 * @items: what goes into the current level.
 * @own: which slot of that level lies on the path to the range written.
 * @way: that path, in the new nodes.
 * @came: the width of the gap that is written in a tree that tracks gaps; 0 for an entry.
 */
struct layout_run {
	const struct mt_layout *l;
	struct maple_tree *mt;
	struct pool_list *reserve;
	struct mt_items items;
	unsigned int own;
	unsigned long came;
	bool rcu;
	struct mt_finger way;
};

/* The widest gap that the node above, at @step, records for the old leaf. */
static inline unsigned long recorded_gap(const struct layout_run *run, unsigned long step)
{
	return run->came && run->l->left->height > 1
		       ? gap_load(step_node(step), step_offset(step))
		       : ULONG_MAX;
}

/*
 * The widest gap of a node laid out. For a leaf, @before is its former widest gap, or ULONG_MAX if
 * that is unknown. @own: the gap that is written is in this leaf.
 */
static inline unsigned long gap_of(const struct layout_run *run, enum node_kind kind,
				   struct mt_node *node, unsigned long min, unsigned long last,
				   unsigned long before, bool own)
{
	if (!tree_tracks_gaps(run->mt))
		return 0;
	if (before == ULONG_MAX)
		return gap_widest(node, kind, min, last);
	return gap_of_leaf(node, min, last, before, run->came, own);
}

/*
 * Records node @i of a level, filled with the slots @from .. @to - 1, as an item of the level
 * above. Returns whether it lies on the path to the range written.
 */
static ALWAYS_INLINE bool note_node(struct layout_run *run, unsigned int level, enum node_kind kind,
		      struct mt_node *node, unsigned int i, unsigned long min, unsigned long last,
		      unsigned int from, unsigned int to, unsigned long gap_before)
{
	struct mt_item *item = &run->items.item[i];
	bool own = run->own >= from && run->own < to;

	item->last = last;
	item->slot = enode_make(node, kind);
	item->gap = gap_of(run, kind, node, min, last, gap_before, own);
	if (!own)
		return false;
	run->way.step[level] = step_make(node, run->own - from);
	if (!level) {
		run->way.min = min;
		run->way.max = last;
	}
	return true;
}

/* Calls @give_up for each child between the two paths at @level. */
static void each_dropped(struct layout_run *run, unsigned int level,
			 void (*give_up)(struct layout_run *run, struct maple_enode *child))
{
	enum node_kind kind = inner_kind(run->mt);
	unsigned long left = run->l->left->step[level], right = run->l->right->step[level];
	unsigned int i, end = step_offset(right);

	if (!layout_dropped(run->l, level, kind))
		return;
	if (step_node(left) != step_node(right)) {
		for (i = 0; i < end; i++)
			give_up(run, slot_child(step_node(right), kind, i));
		end = node_end(step_node(left), kind) + 1;
	}
	for (i = step_offset(left) + 1; i < end; i++)
		give_up(run, slot_child(step_node(left), kind, i));
}

static void retire_child(struct layout_run *run, struct maple_enode *child)
{
	retire_subtree(run->mt, child, run->reserve);
}

static void mark_child(struct layout_run *run, struct maple_enode *child)
{
	dead_mark_below(run->mt, child);
}

/*
 * Whether each node of the level keeps its own slots and takes a share of the items. This is so for
 * a single node that remains one; for two nodes between which the boundary moves; and for a node
 * that moves what it has no room for, at its end, to a new node.
 */
static inline bool keep_their_own(const struct mt_layout_level *s, enum node_kind kind)
{
	if (s->side != SIBLING_NONE || s->nodes > 2)
		return false;
	if (s->nodes == 1)
		return s->left == s->right;
	return s->cut[0] >= s->keep_left && s->cut[0] <= s->keep_left + s->inserted &&
	       (s->left != s->right || s->keep_right_from > node_end(s->left, kind));
}

/* The old node itself, or a copy of it if somebody may be reading it. */
static inline struct mt_node *renew(struct layout_run *run, struct mt_node *node)
{
	struct mt_node *fresh = node;

	if (run->rcu || node == &run->l->scratch) {
		fresh = pool_take(run->reserve);
		memcpy(fresh, node, sizeof(*fresh));
	}
	return fresh;
}

/* Lays out a level for which keep_their_own() is true. */
static ALWAYS_INLINE void lay_out_each(struct layout_run *run, unsigned int level,
				       enum node_kind kind)
{
	const struct mt_layout_level *s = &run->l->level[level];
	unsigned int cut = s->cut[0], left = cut - s->keep_left;
	struct mt_node *node = renew(run, s->left);
	unsigned long border, gap_left = ULONG_MAX, gap_right = ULONG_MAX;
	struct mt_items items;

	if (!level && run->came) {
		gap_left = recorded_gap(run, run->l->left->step[1]);
		gap_right = recorded_gap(run, run->l->right->step[1]);
	}
	if (s->nodes == 1) {
		splice_node(node, kind, s->keep_left, s->keep_right_from, run->items.item,
			    s->inserted);
		note_node(run, level, kind, node, 0, run->l->min, s->last, 0, s->total,
			  gap_left);
		run->own = 0;
		return;
	}
	items = run->items;
	border = left ? items.item[left - 1].last : node->pivot[s->keep_left - 1];
	splice_node(node, kind, s->keep_left, node_end(node, kind) + 1, items.item, left);
	note_node(run, level, kind, node, 0, run->l->min, border, 0, cut, gap_left);
	if (s->left == s->right) {
		node = pool_take(run->reserve);
		fill_with_items(node, kind, &items.item[left], s->inserted - left);
	} else {
		node = renew(run, s->right);
		splice_node(node, kind, 0, s->keep_right_from, &items.item[left],
			    s->inserted - left);
	}
	note_node(run, level, kind, node, 1, border + 1, s->last, cut, s->total,
		  s->left == s->right ? ULONG_MAX : gap_right);
	run->own = run->own >= cut;
}

/* The widest gap of those old leaves of a level that become one. */
static inline unsigned long widest_recorded(const struct layout_run *run,
					    const struct mt_layout_level *s)
{
	unsigned long left = run->l->left->step[1], right = run->l->right->step[1];
	unsigned long widest = recorded_gap(run, left), other = recorded_gap(run, right);

	if (other > widest)
		widest = other;
	if (s->side == SIBLING_NONE)
		return widest;
	other = recorded_gap(run, s->side == SIBLING_LEFT ? left - 1 : right + 1);
	return other > widest ? other : widest;
}

/*
 * Spreads the content of a level evenly over nodes; without readers over its old nodes, as far as
 * they suffice.
 */
static ALWAYS_INLINE void lay_out_evenly(struct layout_run *run, unsigned int level,
					 enum node_kind kind)
{
	const struct mt_layout_level *s = &run->l->level[level];
	unsigned int i, from = 0, own = 0, used = run->rcu ? 0 : s->old_count;
	unsigned long min = run->l->min, gap = ULONG_MAX;
	struct mt_content content;

	WORK(LEVEL_SPREAD);
	if (!level && s->nodes == 1)
		gap = widest_recorded(run, s);
	content_gather(&content, s, kind, &run->items);
	for (i = 0; i < s->nodes; i++) {
		struct mt_node *node = i < used ? s->old[i] : pool_take(run->reserve);
		unsigned int to = from + s->cut[i];
		unsigned long last = i + 1 < s->nodes ? content.pivot[to - 1] : s->last;

		content_fill(node, kind, &content, from, to);
		if (note_node(run, level, kind, node, i, min, last, from, to, gap))
			own = i;
		from = to;
		min = last + 1;
	}
	for (; i < used; i++)
		retire_node(run->mt, s->old[i], run->reserve);
	run->own = own;
}

/*
 * Lays out one level. Without readers its unused old nodes are retired here, with the children that
 * the write covers; beside readers that happens when no new reader can reach them any more.
 */
static ALWAYS_INLINE void lay_out_level(struct layout_run *run, unsigned int level,
					enum node_kind kind)
{
	const struct mt_layout_level *s = &run->l->level[level];

	if (!level)
		WORK(LEAVES_LAID_OUT);
	run->own += s->keep_left;
	if (s->side == SIBLING_LEFT)
		run->own += node_end(s->sibling, kind) + 1;
	if (run->l->drops && !run->rcu)
		each_dropped(run, level, retire_child);
	if (keep_their_own(s, kind))
		lay_out_each(run, level, kind);
	else
		lay_out_evenly(run, level, kind);
	run->items.count = s->nodes;
}

/*
 * ---- make it visible, and retire the old nodes ------------------------------------------------
 */

/* Before the store: marks the leaves that are removed from the tree. */
static void mark_dead(struct layout_run *run)
{
	const struct mt_layout_level *s = &run->l->level[0];
	unsigned int level, i;

	for (i = 0; i < s->old_count; i++)
		dead_mark(s->old[i]);
	for (level = 1; run->l->drops && level < run->l->left->height; level++)
		each_dropped(run, level, mark_child);
}

/* Stores the root word. If several nodes were laid out, adds a node above them. */
static void publish_top(struct layout_run *run)
{
	unsigned int height = run->l->levels;
	void *root = run->items.item[0].slot;

	if (run->items.count > 1) {
		enum node_kind kind = inner_kind(run->mt);
		struct mt_node *node = pool_take(run->reserve);

		fill_with_items(node, kind, run->items.item, run->items.count);
		run->way.step[height++] = step_make(node, run->own);
		root = enode_make(node, kind);
	}
	run->way.height = height;
	publish_root(run->mt, root, height);
}

/*
 * After the store: retires all that it replaced and that is not retired yet. Dropped subtrees may
 * have many nodes, so they do not wait for a batch to fill.
 */
static void retire_replaced(struct layout_run *run)
{
	const struct mt_layout *l = run->l;
	unsigned int level = run->rcu ? 0 : l->levels, i;

	for (; level < l->levels; level++) {
		if (run->l->drops)
			each_dropped(run, level, retire_child);
		for (i = 0; i < l->level[level].old_count; i++)
			retire_node(run->mt, l->level[level].old[i], run->reserve);
	}
	for (; l->kind == WRITE_ROOT && level < l->left->height; level++) {
		each_dropped(run, level, retire_child);
		if (step_node(l->right->step[level]) != step_node(l->left->step[level]))
			retire_node(run->mt, step_node(l->right->step[level]), run->reserve);
		retire_node(run->mt, step_node(l->left->step[level]), run->reserve);
	}
	if (l->drops > 1)
		retire_hand_over(run->mt);
}

/*
 * Makes the tree's finger lead to the range written, through the new nodes and the old ones above
 * them.
 */
static void move_finger(struct layout_run *run)
{
	struct mt_finger *finger = &run->mt->ma_finger;
	const struct mt_finger *left = run->l->left;
	unsigned int level, levels = run->l->levels;

	if (run->l->kind == WRITE_ROOT) {
		finger_copy(finger, &run->way);
		return;
	}
	if (left != finger)
		finger_copy(finger, left);
	finger->min = run->way.min;
	finger->max = run->way.max;
	for (level = 0; level < levels; level++)
		finger->step[level] = run->way.step[level];
}

/* Updates the gap of the topmost node laid out, and those above it, as far as they change. */
static void raise_gaps(const struct layout_run *run)
{
	const struct mt_finger *finger = &run->mt->ma_finger;
	unsigned int top = run->l->levels;
	unsigned long was;

	if (run->l->kind == WRITE_ROOT || top >= finger->height)
		return;
	was = gap_load(step_node(finger->step[top]), step_offset(finger->step[top]));
	if (was != run->items.item[0].gap)
		gap_tell(finger, top - 1, was, run->items.item[0].gap);
}

static void write_value(const struct mt_layout *l, struct maple_tree *mt, struct pool_list *reserve)
{
	struct maple_enode *root = mt->ma_root;

	if (root_is_node(root) && mt_in_rcu(mt))
		dead_mark_below(mt, root);
	publish_root(mt, l->value, 0);
	if (root_is_node(root))
		retire_subtree(mt, root, reserve);
	retire_hand_over(mt); /* an empty tree keeps no batch */
}

void layout_write(const struct mt_layout *l, struct maple_tree *mt, struct pool_list *reserve)
{
	enum node_kind inner = inner_kind(mt);
	struct layout_run run;
	unsigned int level;

	assert(reserve->count >= l->blocks);
	if (l->kind == WRITE_NOTHING)
		return;
	if (l->kind == WRITE_VALUE) {
		write_value(l, mt, reserve);
		return;
	}
	run.l = l;
	run.mt = mt;
	run.reserve = reserve;
	run.items = l->items;
	run.own = l->own;
	run.came = 0;
	if (tree_tracks_gaps(mt) && !l->items.item[l->own].slot)
		run.came = l->last - l->first + 1; /* 0 if all indexes become free */
	run.rcu = mt_in_rcu(mt);
	lay_out_level(&run, 0, KIND_LEAF);
	for (level = 1; level < l->levels; level++)
		lay_out_level(&run, level, inner);
	if (run.rcu)
		mark_dead(&run);
	if (l->kind == WRITE_ROOT)
		publish_top(&run);
	else if (l->kind == WRITE_CHILD)
		slot_publish(step_node(l->left->step[level]), inner,
			     step_offset(l->left->step[level]), run.items.item[0].slot);
	retire_replaced(&run);
	move_finger(&run);
	if (tree_tracks_gaps(mt))
		raise_gaps(&run);
}
