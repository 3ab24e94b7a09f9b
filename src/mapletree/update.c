/* SPDX-License-Identifier: MIT */
/*
 * update.c - each piece of a stretch gets what a function of the user's makes of it.
 *
 * First the function is asked for all pieces, and what changes is listed, pieces that become one
 * joined. Then memory is reserved for all of it; then it is stored, which cannot fail any more: all
 * that lies in one leaf at once, if the leaf remains one (rewrite.h), the rest range by range.
 */
#include <errno.h>

#include "cursor.h"
#include "retire.h"
#include "rewrite.h"
#include "spot.h"
#include "trace.h"
#include "write.h"

/*
 * The update.
 * @list: what changes, in ascending order.
 * @pieces: how many pieces there are.
 * @run: the range that is being put together; @run_ranges: of how many ranges of the tree; the
 *       first of these is @run_old.
 */
struct update {
	struct maple_tree *mt;
	mt_same_fn *same;
	bool may;
	struct mt_range_list list;
	unsigned long pieces;
	struct mt_range run;
	unsigned long run_ranges;
	struct mt_range run_old;
};

/* ---- what changes ---------------------------------------------------------------------------- */

/* Lists the run, unless it is what the tree holds already. False: no memory. */
static bool end_run(struct update *u)
{
	if (!u->run_ranges || (u->run_ranges == 1 && u->run.first == u->run_old.first &&
			       u->run.last == u->run_old.last && u->run.entry == u->run_old.entry))
		return true;
	return range_list_add(&u->list, u->mt->ma_alloc, u->may, u->run);
}

/* Begins the first run, at @first in @spot, with what it is joined with below. */
static void begin_first(struct update *u, const struct mt_spot *spot, unsigned long first,
			void *entry)
{
	struct mt_below below;

	u->run.first = first;
	if (spot->first < first) {
		if (spot_same(spot->entry, entry, u->same))
			u->run.first = spot->first;
		return;
	}
	if (!first)
		return;
	below = spot_below(spot);
	if (!spot_same(below.entry, entry, u->same))
		return;
	u->run.first = below.first;
	u->run_ranges++;
}

/* Adds the piece of @spot, with its new @entry, which begins at @first. False: no memory. */
static bool add_piece(struct update *u, const struct mt_spot *spot, unsigned long first,
		      void *entry)
{
	if (u->run_ranges && spot_same(entry, u->run.entry, u->same)) {
		u->run.last = spot->last;
		u->run_ranges++;
		return true;
	}
	if (!end_run(u))
		return false;
	u->run = (struct mt_range){ spot->first, spot->last, entry };
	u->run_old = (struct mt_range){ spot->first, spot->last, spot->entry };
	u->run_ranges = 1;
	if (!u->pieces)
		begin_first(u, spot, first, entry);
	return true;
}

/* Ends the last run, at @last in @spot, with what it is joined with above. False: no memory. */
static bool end_last(struct update *u, struct mt_spot *spot, unsigned long last)
{
	u->run.last = last;
	if (spot->last > last) {
		if (spot_same(spot->entry, u->run.entry, u->same))
			u->run.last = spot->last;
	} else if (last != ULONG_MAX) {
		spot_up(spot);
		if (spot_same(spot->entry, u->run.entry, u->same)) {
			u->run.last = spot->last;
			u->run_ranges++;
		}
	}
	return end_run(u);
}

static int list_changes(struct update *u, unsigned long first, unsigned long last,
			mt_update_fn *fn, void *ctx)
{
	unsigned long from = first;
	struct mt_spot spot;

	for (spot_at(&spot, u->mt, first);; from = spot.last + 1, spot_up(&spot)) {
		void *entry = fn(spot.entry, from, spot.last < last ? spot.last : last, ctx);

		if (entry_reserved(entry))
			return -EINVAL;
		if (!add_piece(u, &spot, from, entry))
			return -ENOMEM;
		u->pieces++;
		if (spot.last >= last)
			return end_last(u, &spot, last) ? 0 : -ENOMEM;
	}
}

/* ---- storing it ------------------------------------------------------------------------------ */

/*
 * What is to be done, how many leaves are rewritten and how many ranges are stored by themselves.
 */
struct effort {
	unsigned int leaves;
	unsigned long stores;
};

/* A range of the list that is done with. */
static inline bool is_done(const struct mt_range *range)
{
	return range->first > range->last;
}

static void set_done(struct mt_range_at from, const struct mt_range_at *to)
{
	for (; from.number < to->number; range_list_next(&from))
		*range_list_look(&from) = (struct mt_range){ 1, 0, NULL };
}

/*
 * Goes through the leaves in which ranges of the list lie. Without @reserve it only counts; with
 * it, leaves that remain leaves are rewritten, and their ranges are done with. It decides the same
 * both times, since a leaf that is rewritten keeps its bounds.
 */
static struct effort visit_leaves(struct update *u, struct pool_list *reserve)
{
	struct mt_range_at at = range_list_begin(&u->list), begin;
	struct effort effort = { 0, 0 };
	struct mt_content content;
	struct mt_range *range;

	while ((range = range_list_look(&at)) != NULL) {
		unsigned long step = finger_to(u->mt, range->first);

		begin = at;
		if (!step || !rewrite_allowed(u->mt) || range->last > u->mt->ma_finger.max) {
			range_list_next(&at);
			effort.stores++;
		} else if (!rewrite_plan(&content, u->mt, step, &at)) {
			effort.stores += at.number - begin.number;
		} else {
			effort.leaves++;
			if (reserve) {
				rewrite_leaf(u->mt, &content, reserve);
				set_done(begin, &at);
			}
		}
	}
	return effort;
}

/* Stores what is not done yet, with what the cursor has reserved. */
static void store_rest(struct update *u, struct ma_state *mas)
{
	struct mt_range_at at = range_list_begin(&u->list);
	struct mt_range *range;
	int error;

	for (; (range = range_list_look(&at)) != NULL; range_list_next(&at)) {
		if (is_done(range))
			continue;
		mas_set_range(mas, range->first, range->last);
		TRACE_WRITE(mas, range->entry);
		error = write_store(mas, range->entry, false, NULL);
		assert(!error);
		(void)error;
	}
}

/*
 * Stores all of the list at once, if it lies in one leaf that remains one: returns whether it does.
 */
static bool store_in_leaf(struct update *u, int *error)
{
	struct mt_range_at at = range_list_begin(&u->list);
	struct pool_list reserve = { NULL, 0 };
	struct mt_content content;
	unsigned int blocks;
	unsigned long step;

	if (!rewrite_allowed(u->mt))
		return false;
	step = finger_to(u->mt, u->list.head.range[0].first);
	if (!step || range_list_last(&u->list)->last > u->mt->ma_finger.max ||
	    !rewrite_plan(&content, u->mt, step, &at))
		return false;
	assert(!range_list_look(&at));
	blocks = rewrite_blocks(u->mt, 1);
	if (blocks && (!u->may || !retire_reserve(u->mt, &reserve, blocks))) {
		*error = -ENOMEM;
		return true;
	}
	rewrite_leaf(u->mt, &content, &reserve);
	pool_release(u->mt->ma_alloc, &reserve);
	*error = 0;
	return true;
}

/* Stores all of it in any case. Reserves first: 0, or -ENOMEM and nothing is changed. */
static int store_all(struct update *u, struct ma_state *mas)
{
	struct effort effort = visit_leaves(u, NULL);
	unsigned int blocks = rewrite_blocks(u->mt, effort.leaves);
	struct pool_list reserve = { NULL, 0 };

	if (!u->may && (blocks || effort.stores))
		return -ENOMEM;
	if (blocks && !retire_reserve(u->mt, &reserve, blocks))
		return -ENOMEM;
	if (effort.stores && mas_reserve(mas, effort.stores + u->pieces / 64, 2)) {
		pool_release(u->mt->ma_alloc, &reserve);
		return -ENOMEM;
	}
	if (effort.leaves)
		visit_leaves(u, &reserve);
	pool_release(u->mt->ma_alloc, &reserve);
	if (effort.stores)
		store_rest(u, mas);
	mas_destroy(mas);
	return 0;
}

int mas_update_range(struct ma_state *mas, mt_update_fn *fn, void *ctx, mt_same_fn *same,
		     gfp_t gfp)
{
	unsigned long first = mas->index, last = mas->last;
	struct mt_range *only;
	struct update u;
	int error;

	if (first > last)
		return fail(mas, -EINVAL);
	u.mt = mas->tree;
	u.same = same;
	u.may = gfp & __GFP_DIRECT_RECLAIM;
	u.pieces = u.run_ranges = 0;
	range_list_init(&u.list);
	error = list_changes(&u, first, last, fn, ctx);
	if (!error && u.list.head.count == 1) {
		only = &u.list.head.range[0];
		mas_set_range(mas, only->first, only->last);
		TRACE_WRITE(mas, only->entry);
		error = write_store(mas, only->entry, u.may, NULL);
	} else if (!error && u.list.head.count && !store_in_leaf(&u, &error)) {
		error = store_all(&u, mas);
	}
	range_list_free(&u.list, mas->tree->ma_alloc);
	mas_set_range(mas, first, last);
	return error ? fail(mas, error) : 0;
}
