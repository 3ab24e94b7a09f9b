/* SPDX-License-Identifier: MIT */
/* own.c - see own.h. */
#include "own.h"

#include "dead.h"
#include "publish.h"
#include "retire.h"
#include "share.h"

static enum node_kind kind_at(const struct maple_tree *mt, unsigned int level)
{
	return level ? inner_kind(mt) : KIND_LEAF;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/*
 * How many nodes of the path, down to @level, are not the tree's own: the highest one to which
 * others refer, and all below it.
 */
static unsigned int foreign_nodes(const struct maple_tree *mt, const struct mt_finger *way,
				  unsigned int level)
{
	unsigned int top;

	for (top = way->height; top-- > level;)
		if (node_shares(step_node(way->step[top]), kind_at(mt, top)))
			return top - level + 1;
	return 0;
}

bool own_has_leaf(const struct maple_tree *mt)
{
	struct mt_node *leaf = step_node(mt->ma_finger.step[0]);

	return !foreign_nodes(mt, &mt->ma_finger, 0) && !(leaf_version(leaf) & META_DEAD);
}

static void add_path(struct mt_own *own, unsigned long index, unsigned int level,
		     unsigned int foreign)
{
	assert(own->count < OWN_PATHS_MAX);
	own->path[own->count++] = (struct mt_own_path){ index, level };
	own->blocks += foreign;
	own->dropped += foreign > 0;
}

/* How many nodes of the right path are not on the left one and not the tree's own. */
static unsigned int foreign_of_right(const struct maple_tree *mt, const struct mt_layout *l)
{
	unsigned int foreign = foreign_nodes(mt, l->right, 0), apart = 0;

	while (step_node(l->left->step[apart]) != step_node(l->right->step[apart]))
		apart++;
	return foreign < apart ? foreign : apart;
}

/* The sibling that takes part at a level; the node above it becomes the tree's own before. */
static void add_sibling(struct mt_own *own, const struct maple_tree *mt, const struct mt_layout *l,
			unsigned int level)
{
	const struct mt_layout_level *s = &l->level[level];
	bool left = s->side == SIBLING_LEFT;
	bool foreign = node_shares(s->sibling, kind_at(mt, level)) ||
		       foreign_nodes(mt, left ? l->left : l->right, level + 1);

	add_path(own, left ? s->border : s->border + 1, level, foreign);
}

/* The nodes that a layout changes: both paths, and the siblings that take part. */
static void add_layout(struct mt_own *own, const struct maple_tree *mt, const struct mt_layout *l)
{
	unsigned int level;

	assert(l->kind != WRITE_NOTHING);
	if (l->kind == WRITE_VALUE) /* all nodes are dropped */
		return;
	add_path(own, l->left->min, 0, foreign_nodes(mt, l->left, 0));
	if (l->right != l->left)
		add_path(own, l->right->min, 0, foreign_of_right(mt, l));
	for (level = 0; level < l->levels; level++)
		if (l->level[level].side != SIBLING_NONE)
			add_sibling(own, mt, l, level);
}

/* The references that change with the slots @from .. @to - 1 of a leaf, which are replaced. */
static void slots_go(struct mt_refs *refs, const struct mt_node *leaf, unsigned int from,
		     unsigned int to)
{
	for (; from < to; from++)
		refs_go(refs, leaf->wide.slot[from]);
}

static void items_come(struct mt_refs *refs, const struct mt_items *items)
{
	unsigned int i;

	for (i = 0; i < items->count; i++)
		refs_come(refs, items->item[i].slot);
}

static void refs_of_leaf(struct mt_refs *refs, const struct mt_leaf_plan *p)
{
	struct mt_ends ends = { p->below + 1, p->top, p->leaf->wide.slot[p->low],
				p->leaf->wide.slot[p->high] };
	struct mt_items items;

	layout_items(&items, &ends, p->first, p->last, p->entry);
	items_come(refs, &items);
	slots_go(refs, p->leaf, p->low, p->high + 1);
}

/* In a layout, both leaves at the ends lose slots; those between are dropped as a whole. */
static void refs_of_layout(struct mt_refs *refs, const struct maple_tree *mt,
			   const struct mt_layout *l)
{
	const struct mt_layout_level *s = &l->level[0];
	unsigned int from = s->keep_left;

	if (l->kind == WRITE_VALUE) {
		refs_come(refs, l->value);
		if (!root_is_node(mt->ma_root))
			refs_go(refs, mt->ma_root);
		return;
	}
	items_come(refs, &l->items);
	if (s->left != s->right) {
		slots_go(refs, s->left, from, node_end(s->left, KIND_LEAF) + 1);
		from = 0;
	}
	slots_go(refs, s->right, from, s->keep_right_from);
}

/* The store is planned as store_planned() will do it; own->total becomes what it takes itself. */
static void plan_store(struct mt_own *own, struct maple_tree *mt, unsigned long first,
		       unsigned long last, void *entry)
{
	unsigned long step = finger_to(mt, first);
	enum write_kind kind = WRITE_SPAN;
	struct mt_leaf_plan p;
	struct mt_layout l;

	if (step)
		kind = leaf_plan(&p, mt, first, last, entry, step);
	if (kind == WRITE_NOTHING)
		return;
	if (kind < WRITE_LAYOUT) {
		if (tree_is_shared(mt))
			add_path(own, mt->ma_finger.min, 0, foreign_nodes(mt, &mt->ma_finger, 0));
		if (tree_is_counted(mt))
			refs_of_leaf(&own->refs, &p);
		if (kind == WRITE_COPY || mt_in_rcu(mt))
			own->total = retire_replace_blocks(mt);
		return;
	}
	if (kind == WRITE_LAYOUT)
		layout_plan(&l, mt, &p);
	else
		layout_plan_span(&l, mt, first, last, entry, step);
	if (l.kind == WRITE_NOTHING)
		return;
	if (step && tree_is_shared(mt))
		add_layout(own, mt, &l);
	if (tree_is_counted(mt))
		refs_of_layout(&own->refs, mt, &l);
	own->total = l.blocks;
}

void own_plan(struct mt_own *own, struct maple_tree *mt, unsigned long first, unsigned long last,
	      void *entry)
{
	assert((tree_is_shared(mt) || tree_is_counted(mt)) && first <= last);
	own->count = 0;
	own->blocks = 0;
	own->dropped = 0;
	own->total = 0;
	own->refs.gets = own->refs.puts = 0;
	plan_store(own, mt, first, last, entry);
	if (mt_in_rcu(mt)) {
		unsigned int puts = own->refs.puts;

		own->blocks += retire_batches_needed(mt, own->dropped);
		/* what is dropped before and after may fill the batch that the write counts on */
		own->total += own->dropped > 0;
		own->total += puts ? 1 + retire_batches_needed(mt, puts) : 0;
	}
	own->total += own->blocks;
}

/* ---- carry it out ---------------------------------------------------------------------------- */

/*
 * The copy refers to what @node refers to, too: to all children but the one at @but, of which there
 * will be a copy as well. @but: WIDE_SLOTS if there is none.
 */
static void share_children(const struct maple_tree *mt, struct mt_node *node, unsigned int but)
{
	enum node_kind kind = inner_kind(mt);
	unsigned int i, end = node_end(node, kind);

	for (i = 0; i <= end; i++) {
		struct maple_enode *child = slot_child(node, kind, i);

		if (i != but)
			node_share(enode_node(child), enode_kind(child));
	}
}

/*
 * Replaces the @count lowest nodes of @way down to @level, which are not the tree's own, by copies.
 * They become visible with the highest of them, when all are complete.
 */
static void copy_path(struct maple_tree *mt, struct mt_finger *way, unsigned int level,
		      unsigned int count, struct pool_list *reserve)
{
	unsigned int top = level + count - 1, at;
	struct mt_node *old = step_node(way->step[top]), *first = NULL;

	for (at = top + 1; at-- > level;) {
		struct mt_node *node = step_node(way->step[at]), *fresh = pool_take(reserve);
		unsigned int offset = step_offset(way->step[at]);
		enum node_kind kind = kind_at(mt, at);

		WORK(NODE_COPIED);
		node_copy_shared(fresh, node, kind);
		if (at)
			share_children(mt, node, at > level ? offset : WIDE_SLOTS);
		else if (mt_in_rcu(mt) && !tree_is_stamped(mt))
			dead_mark_shared(node);
		if (!at && tree_is_counted(mt))
			refs_get_leaf(mt->ma_entry_ops, fresh);
		if (first)
			node_slots(step_node(way->step[at + 1]), inner_kind(mt))
				[step_offset(way->step[at + 1])] = enode_make(fresh, kind);
		else
			first = fresh;
		way->step[at] = step_make(fresh, offset);
		assert(node_is_valid(fresh, kind));
	}
	publish_node(mt, way, top, enode_make(first, kind_at(mt, top)));
	retire_subtree(mt, enode_make(old, kind_at(mt, top)), reserve);
}

static void make_path(struct maple_tree *mt, struct mt_finger *way, unsigned int level,
		      struct pool_list *reserve)
{
	unsigned int count = foreign_nodes(mt, way, level);
	struct mt_node *leaf;

	if (count)
		copy_path(mt, way, level, count, reserve);
	leaf = step_node(way->step[0]);
	if (!level && leaf_version(leaf) & META_DEAD)
		dead_clear(leaf);
	assert(!foreign_nodes(mt, way, level));
}

void own_make(const struct mt_own *own, struct maple_tree *mt, struct pool_list *reserve)
{
	const struct mt_own_path *path = own->path;
	struct mt_finger way;
	unsigned int i;

	for (i = 0; i < own->refs.gets; i++)
		mt->ma_entry_ops->get(own->refs.get[i]);
	if (own->count == 1) { /* the finger leads there, and is needed next */
		assert(!path->level);
		make_path(mt, &mt->ma_finger, 0, reserve);
		return;
	}
	if (!own->count)
		return;
	for (i = 0; i < own->count; i++) {
		finger_descend(mt, &way, path[i].index);
		make_path(mt, &way, path[i].level, reserve);
	}
	finger_forget(mt);
}

void own_end(const struct mt_own *own, struct maple_tree *mt, struct pool_list *reserve)
{
	unsigned int i;

	for (i = 0; i < own->refs.puts; i++)
		retire_entry(mt, own->refs.put[i], reserve);
	if (tree_is_counted(mt))
		retire_gather(mt); /* what is not referred to must not wait for the next write */
}
