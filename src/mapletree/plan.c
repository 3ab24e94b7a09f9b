/* SPDX-License-Identifier: MIT */
/*
 * plan.c - decide what a write does, level by level, without doing any of it.
 *
 * Splits and joins follow the usual B-tree rules (Bayer and McCreight, 1972); a run that is
 * appended or prepended fills nodes completely instead of leaving them half full. Without readers a
 * node that is too full is laid out anew together with the one beside it, as in a B*-tree (Knuth, The
 * Art of Computer Programming 3, 6.2.4).
 */
#include "plan.h"

static void fill_items(struct mt_plan *plan, const struct mt_step *left,
		       const struct mt_step *right, unsigned long first, unsigned long last,
		       void *entry)
{
	unsigned long left_first = slot_first(left->node, left->offset, left->min);
	unsigned long right_last = slot_last(right->node, right->kind, right->offset, right->max);
	struct mt_item *item = plan->items.item;

	if (left_first < first)
		*item++ = (struct mt_item){ first - 1, left->node->wide.slot[left->offset], 0 };
	plan->own = (unsigned int)(item - plan->items.item);
	*item++ = (struct mt_item){ last, entry, 0 };
	if (last < right_last)
		*item++ = (struct mt_item){ right_last, right->node->wide.slot[right->offset], 0 };
	plan->items.count = (unsigned int)(item - plan->items.item);
}

static bool same_node(const struct mt_splice *s)
{
	return s->left->node == s->right->node;
}

/* Whether the level's result is all there is of the tree. */
static bool covers_all(const struct mt_splice *s)
{
	return s->min == 0 && s->max == ULONG_MAX;
}

/* The i-th range of the leaf after the write: where it ends, if another follows, and its slot. */
static struct mt_item content_item(const struct mt_plan *plan, unsigned int i)
{
	const struct mt_splice *s = &plan->level[0];
	struct mt_node *left = s->left->node;
	struct mt_node *right = s->right->node;

	if (s->side == SIBLING_LEFT) {
		struct mt_node *sibling = enode_node(s->sibling);
		unsigned int end = node_end(sibling, KIND_LEAF);

		if (i <= end)
			return (struct mt_item){ slot_last(sibling, KIND_LEAF, i, s->left->min - 1),
						 sibling->wide.slot[i], 0 };
		i -= end + 1;
	}
	if (i < s->keep_left)
		return (struct mt_item){ left->pivot[i], left->wide.slot[i], 0 };
	i -= s->keep_left;
	if (i < plan->items.count)
		return plan->items.item[i];
	i += s->keep_right_from - plan->items.count;
	assert(i <= s->right->end); /* a leaf as empty as that joins no right sibling */
	return (struct mt_item){ slot_last(right, KIND_LEAF, i, s->right->max),
				 right->wide.slot[i], 0 };
}

/* A tree that needs no node: empty, or one plain entry at 0. */
static bool plan_value(struct mt_plan *plan)
{
	const struct mt_splice *s = &plan->level[0];
	struct mt_item first;

	if (!covers_all(s) || s->total > 2)
		return false;
	first = content_item(plan, 0);
	if (s->total == 1 ? first.slot != NULL
			  : first.last != 0 || !entry_fits_root(first.slot) ||
				    content_item(plan, 1).slot != NULL)
		return false;
	plan->publish = PUBLISH_VALUE;
	plan->value = first.slot;
	return true;
}

static void begin_level(struct mt_splice *s, const struct mt_step *left,
			const struct mt_step *right, unsigned int inserted)
{
	s->left = left;
	s->right = right;
	s->min = left->min;
	s->max = right->max;
	s->sibling = NULL;
	s->side = SIBLING_NONE;
	s->keep_left = left->offset;
	s->keep_right_from = right->offset + 1;
	s->inserted = (unsigned char)inserted;
}

/* What is spliced above @below: the nodes it builds for those it takes. */
static void begin_parent(struct mt_splice *s, const struct mt_splice *below,
			 const struct mt_step *left, const struct mt_step *right)
{
	begin_level(s, left, right, below->nodes);
	s->keep_left -= below->side == SIBLING_LEFT;
	s->keep_right_from += below->side == SIBLING_RIGHT;
}

static void count_total(struct mt_splice *s)
{
	s->total = (unsigned char)(s->keep_left + s->inserted + s->right->end + 1 -
				   s->keep_right_from);
}

/* Exactly one slot of a live node gets another value, its bounds unchanged. */
static bool replaces_slot(const struct mt_splice *s)
{
	return same_node(s) && s->inserted == 1 && s->keep_right_from - s->keep_left == 1;
}

/* Whether the level loses slots; one that grows is left alone, however empty it is. */
static bool shrinks(const struct mt_splice *s)
{
	return !same_node(s) || s->total < s->left->end + 1;
}

/* Whether the level goes on at the end (the beginning) of all there is, as the next write may. */
static bool appends(const struct mt_splice *s)
{
	return same_node(s) && s->max == ULONG_MAX && s->keep_right_from > s->right->end;
}

static bool prepends(const struct mt_splice *s)
{
	return same_node(s) && s->min == 0 && s->keep_left == 0;
}

/* Whether the level became too empty, or too full for one node, to stay alone: see shares(). */
static bool wants_company(const struct mt_splice *s, const struct maple_tree *mt)
{
	if (s->total > kind_slots(s->left->kind))
		return same_node(s) && !mt_in_rcu(mt) && !appends(s) && !prepends(s);
	return s->total < kind_min_slots(s->left->kind) && shrinks(s);
}

/* The same, and there is a neighbour under the same parent. */
static bool wants_sibling(const struct mt_splice *s, const struct maple_tree *mt,
			  struct mt_path *path, unsigned int step)
{
	if (!step || !wants_company(s, mt))
		return false;
	return path_left(path, step - 1)->offset > 0 ||
	       path_right(path, step - 1)->offset < path_right(path, step - 1)->end;
}

static unsigned int child_slots(const struct mt_step *parent, unsigned int offset,
				enum node_kind kind)
{
	return node_end(enode_node(slot_child(parent->node, parent->kind, offset)), kind) + 1;
}

/* Joins a too empty level with its left neighbour, if there is one; a too full one with the emptier. */
static bool takes_left(const struct mt_splice *s, const struct mt_step *left_parent,
		       const struct mt_step *right_parent)
{
	enum node_kind kind = s->left->kind;

	if (!left_parent->offset || right_parent->offset == right_parent->end)
		return left_parent->offset;
	return s->total <= kind_slots(kind) ||
	       child_slots(left_parent, left_parent->offset - 1u, kind) <=
		       child_slots(right_parent, right_parent->offset + 1u, kind);
}

static void take_sibling(struct mt_splice *s, const struct mt_step *left_parent,
			 const struct mt_step *right_parent)
{
	bool left = takes_left(s, left_parent, right_parent);
	const struct mt_step *parent = left ? left_parent : right_parent;
	unsigned int offset = left ? parent->offset - 1u : parent->offset + 1u;

	s->side = left ? SIBLING_LEFT : SIBLING_RIGHT;
	s->sibling = slot_child(parent->node, parent->kind, offset);
	if (s->side == SIBLING_LEFT)
		s->min = slot_first(parent->node, offset, parent->min);
	else
		s->max = slot_last(parent->node, parent->kind, offset, parent->max);
	s->total += (unsigned char)(node_end(enode_node(s->sibling), s->left->kind) + 1);
}

static void cut_nodes(struct mt_splice *s)
{
	unsigned int slots = kind_slots(s->left->kind);
	unsigned int i, rest = s->total;

	s->nodes = (unsigned char)((s->total + slots - 1) / slots);
	/* what came from two nodes stays two rather than one that the next insertion splits again */
	if (s->total > slots - slots / 8 && s->nodes == 1 && !same_node(s))
		s->nodes = 2;
	assert(s->nodes >= 1 && s->nodes <= PLAN_MAX_ITEMS);
	if (s->nodes == 2 && s->side == SIBLING_NONE && (appends(s) || prepends(s))) {
		s->cut[0] = (unsigned char)plan_cut(rest, slots, appends(s), prepends(s));
		s->cut[1] = (unsigned char)(rest - s->cut[0]);
		return;
	}
	for (i = 0; i < s->nodes; i++) {
		s->cut[i] = (unsigned char)((rest + s->nodes - i - 1) / (s->nodes - i));
		rest -= s->cut[i];
	}
}

/* What goes away with the nodes on the path: see retire_replaced(). */
static unsigned int count_retired(const struct mt_plan *plan, struct mt_path *path)
{
	unsigned int replaced = plan_replaced_levels(plan, path);
	unsigned int level, count = 0;

	for (level = 0; level < replaced; level++) {
		unsigned int step = path->depth - 1 - level;

		count += step <= path->parted ? 1 : 2;
		if (level <= plan->top && plan->level[level].side != SIBLING_NONE)
			count++;
		count += path_dropped_children(path, step);
	}
	return count;
}

/* Whether planning stops at this level, above the leaf, and how. */
static bool plan_top(struct mt_plan *plan, const struct maple_tree *mt,
		     const struct mt_splice *s, bool join)
{
	if (replaces_slot(s)) {
		plan->publish = PUBLISH_SLOT;
		return true;
	}
	if (same_node(s) && s->total <= kind_slots(s->left->kind) && !join && !mt_in_rcu(mt)) {
		plan->publish = PUBLISH_SPLICE;
		return true;
	}
	return false;
}

static void plan_levels(struct mt_plan *plan, const struct maple_tree *mt, struct mt_path *path)
{
	struct mt_splice *s = plan->level;

	for (plan->top = 0;; plan->top++, s++) {
		unsigned int step = path->depth - 1 - plan->top;
		bool join;

		if (plan->top)
			begin_parent(s, s - 1, path_left(path, step), path_right(path, step));
		count_total(s);
		if (plan->top == 0 && plan_value(plan))
			return;
		join = wants_sibling(s, mt, path, step);
		if (plan->top && plan_top(plan, mt, s, join))
			return;
		if (join)
			take_sibling(s, path_left(path, step - 1), path_right(path, step - 1));
		if (join && plan->top == 0 && plan_value(plan))
			return;
		cut_nodes(s);
		plan->nodes += s->nodes;
		if (!covers_all(s))
			continue;
		plan->publish = s->nodes == 1 ? PUBLISH_ROOT : PUBLISH_GROW;
		plan->nodes += s->nodes > 1;
		return;
	}
}

void plan_make(struct mt_plan *plan, const struct maple_tree *mt, struct mt_path *path,
	       unsigned long first, unsigned long last, void *entry)
{
	const struct mt_step *left = path_left(path, path->depth - 1);
	const struct mt_step *right = path_right(path, path->depth - 1);

	plan->nodes = 0;
	plan->retired = 0;
	plan->top = 0;
	plan->publish = PUBLISH_NOTHING;
	fill_items(plan, left, right, first, last, entry);
	if (!entry && plan->items.count == 1 && left->node == right->node &&
	    left->offset == right->offset && !left->node->wide.slot[left->offset])
		return;
	begin_level(&plan->level[0], left, right, plan->items.count);
	plan_levels(plan, mt, path);
	if (mt_in_rcu(mt))
		plan->retired = count_retired(plan, path);
}
