/* SPDX-License-Identifier: MIT */
/*
 * write.c - drive one write: in its leaf, or through the stages.
 */
#include "write.h"

#include <errno.h>

#include "cursor.h"
#include "dead.h"
#include "leaf.h"
#include "leaf_group.h"
#include "leaf_seam.h"
#include "leaf_short.h"
#include "publish.h"
#include "retire.h"
#include "walk.h"

static void plan_nodes(struct mt_write *w, unsigned long first, unsigned long last, void *entry)
{
	struct maple_tree *mt = w->mt;
	const struct mt_step *leaf;

	w->verdict = LEAF_NOT_ALONE;
	path_walk(&w->path, mt, first, last);
	leaf = path_left(&w->path, w->path.depth - 1);
	w->old = leaf->node->wide.slot[leaf->offset];
	if (!entry)
		path_join_gaps(&w->path, mt, &first, &last);
	plan_make(&w->plan, mt, &w->path, first, last, entry);
	w->blocks = w->plan.nodes + retire_batches_needed(mt, w->plan.retired);
}

/* A write that concerns two leaves, or divides one. False: it is done neither way. */
static __attribute__((noinline)) bool plan_leaves(struct mt_write *w)
{
	if (w->verdict == LEAF_SEAM && seam_plan(&w->seam, w->mt, &w->leaf)) {
		w->blocks = seam_blocks(&w->leaf, w->mt);
		return true;
	}
	if (w->verdict == LEAF_SEAM && w->leaf.seam_level > 1)
		return false;
	w->verdict = LEAF_GROUP;
	if (!group_plan(&w->group, w->mt, &w->leaf))
		return false;
	w->blocks = group_blocks(&w->group, w->mt);
	return true;
}

/* The rest of a plan: w->leaf and w->verdict are known. */
static void plan_rest(struct mt_write *w, unsigned long first, unsigned long last, void *entry)
{
	w->blocks = 0;
	if (w->verdict == LEAF_COPY)
		w->blocks = 1 + retire_batches_needed(w->mt, 1);
	else if (w->verdict == LEAF_NOT_ALONE ||
		 (w->verdict != LEAF_IN_PLACE && !plan_leaves(w)))
		plan_nodes(w, first, last, entry);
}

void write_plan(struct mt_write *w, struct maple_tree *mt, unsigned long first,
		unsigned long last, void *entry)
{
	unsigned long step = way_to(mt, first);

	assert(first <= last);
	w->mt = mt;
	w->verdict = LEAF_NOT_ALONE; /* as long as there is no node */
	if (step)
		w->verdict = leaf_plan(&w->leaf, mt, first, last, entry, step);
	plan_rest(w, first, last, entry);
}

static void commit_copy(struct mt_write *w, struct pool_list *reserve, struct mt_place *place)
{
	leaf_copy(w->mt, &w->leaf, pool_take(reserve), place);
	retire_node(w->mt, w->leaf.leaf, reserve);
}

static void commit_nodes(struct mt_write *w, struct pool_list *reserve, struct mt_place *place)
{
	struct mt_items buffer;
	const struct mt_items *built;

	place->node = NULL;
	way_forget(w->mt);
	built = build_levels(&w->plan, w->mt, reserve, &buffer, place);
	dead_mark_replaced(w->mt, &w->plan, &w->path);
	publish_write(w->mt, &w->plan, &w->path, built, reserve, place);
	retire_replaced(w->mt, &w->plan, &w->path, reserve);
}

void write_commit(struct mt_write *w, struct pool_list *reserve, struct mt_place *place)
{
	assert(w->verdict != LEAF_IN_PLACE && reserve->count >= w->blocks);
	if (w->verdict == LEAF_COPY)
		commit_copy(w, reserve, place);
	else if (w->verdict == LEAF_GROUP)
		group_write(w->mt, &w->leaf, &w->group, reserve, place);
	else if (w->verdict == LEAF_SEAM)
		seam_write(w->mt, &w->leaf, &w->seam, reserve, place);
	else
		commit_nodes(w, reserve, place);
}

/* ---- through a cursor ------------------------------------------------------------------- */

/* Puts the cursor on what was written. */
static void stand_at(struct ma_state *mas, const struct mt_place *place, const void *entry)
{
	mas->gap_written = !entry;
	mas->parent = NULL; /* it may be gone */
	mas->batch = NULL;
	if (!place->node) {
		mas->node = NULL;
		mas->status = mas->index == 0 && mas->tree->ma_root ? ma_root : ma_none;
		return;
	}
	mas->node = enode_make(place->node, KIND_LEAF);
	mas->min = place->min;
	mas->max = place->max;
	mas->offset = place->offset;
	mas->end = place->end;
	watch_tree(mas);
	mas->status = ma_active;
}

/* A store that does not change its leaf in place, but as @verdict says of @leaf. */
static __attribute__((noinline)) int store_by_stages(struct ma_state *mas,
						     const struct mt_leaf_plan *leaf,
						     enum leaf_verdict verdict, void *entry,
						     bool may, void **old)
{
	struct mt_write w;
	struct mt_place place;
	struct pool_list reserve;

	w.mt = mas->tree;
	w.verdict = verdict;
	w.leaf = *leaf;
	plan_rest(&w, mas->index, mas->last, entry);
	if (old && w.verdict == LEAF_NOT_ALONE)
		*old = w.old;
	reserve = take_reserve(mas);
	if (reserve.count < w.blocks &&
	    (!may || !pool_grow(mas->tree->ma_alloc, &reserve, w.blocks))) {
		keep_reserve(mas, &reserve);
		mas->reserve_wanted = w.blocks;
		return fail(mas, -ENOMEM);
	}
	write_commit(&w, &reserve, &place);
	keep_reserve(mas, &reserve);
	stand_at(mas, &place, entry);
	return 0;
}

/*
 * The cursor stands on the very range that is stored to, and an entry takes the place of an entry:
 * no way down, no gap and no pivot changes. False: it is not so; nor may a leaf be trusted that the
 * cursor found in a read-side section, for who held the lock then may have replaced it.
 */
static __attribute__((noinline)) bool replace_here(struct ma_state *mas, void *entry, void **old)
{
	struct mt_node *leaf = enode_node(mas->node);
	unsigned int offset = mas->offset, end;
	struct pen pen;

	if (!entry || !mas->node || mas->gap_written || mas->watch != &mas->tree->ma_writes ||
	    !watch_holds(mas))
		return false;
	if (slot_first(leaf, offset, mas->min) != mas->index ||
	    slot_last(leaf, KIND_LEAF, offset, mas->max) != mas->last || !leaf->wide.slot[offset])
		return false;
	end = node_end(leaf, KIND_LEAF);
	if (end < 2) /* maybe no node is needed any more */
		return false;
	if (old)
		*old = leaf->wide.slot[offset];
	tree_changes(mas->tree);
	pen = pen_begin(leaf, end);
	put_slot(&pen, offset, entry);
	pen_end(&pen);
	watch_tree(mas);
	mas->batch = NULL;
	return true;
}

/* Puts the cursor on slot @offset of @leaf, the way's, whose last one is @end. */
static ALWAYS_INLINE void stand_in_way(struct ma_state *mas, struct mt_node *leaf,
				       unsigned int offset, unsigned int end, const void *entry)
{
	const struct mt_way *way = &mas->tree->ma_way;

	mas->node = enode_make(leaf, KIND_LEAF);
	mas->parent = NULL; /* of another leaf, maybe */
	mas->batch = NULL;
	mas->min = way->min;
	mas->max = way->max;
	watch_tree(mas);
	mas->offset = (unsigned char)offset;
	mas->end = (unsigned char)end;
	mas->status = ma_active;
	mas->gap_written = !entry;
}

/* A store that leaf_short() left over, where @step leads. */
static inline int store_at(struct ma_state *mas, unsigned long step, void *entry, bool may,
				  void **old)
{
	struct maple_tree *mt = mas->tree;
	struct mt_leaf_plan p;
	enum leaf_verdict verdict = leaf_plan(&p, mt, mas->index, mas->last, entry, step);

	if (old)
		*old = p.leaf->wide.slot[step_offset(step)];
	if (verdict != LEAF_IN_PLACE) {
		struct mt_leaf_plan copy = p; /* so that p need not be in memory otherwise */

		return store_by_stages(mas, &copy, verdict, entry, may, old);
	}
	leaf_write(mt, &p);
	stand_in_way(mas, p.leaf, plan_at(&p), p.new_end, entry);
	return 0;
}

int write_store(struct ma_state *mas, void *entry, bool may, void **old)
{
	struct maple_tree *mt = mas->tree;
	unsigned long step;
	unsigned int end;
	void *held;

	if (mas->status == ma_active && replace_here(mas, entry, old))
		return 0;
	if (mas->index > mas->last)
		return fail(mas, -EINVAL);
	tree_changes(mt);
	step = way_to(mt, mas->index);
	if (!step) { /* the tree has no node */
		const struct mt_leaf_plan none = { 0 };

		return store_by_stages(mas, &none, LEAF_NOT_ALONE, entry, may, old);
	}
	held = step_node(step)->wide.slot[step_offset(step)];
	if (!leaf_short(mt, step, mas->index, mas->last, entry, &end))
		return store_at(mas, step, entry, may, old);
	if (old)
		*old = held;
	stand_in_way(mas, step_node(step), step_offset(mt->ma_way.step[0]), end, entry);
	return 0;
}
