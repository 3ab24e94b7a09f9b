/* SPDX-License-Identifier: MIT */
/*
 * race_readers.c - reads of all kinds beside a write: each returns what was wrong, or NULL.
 *
 * docs/concurrency.md says what a read may return: each answer is from the tree before the write or after it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "race.h"

/* A cursor claims to stand on a node only if it does. */
static bool is_whole(const struct ma_state *mas)
{
	return mas->status != ma_active || mas->node;
}

static bool same(const struct range *r, const struct ma_state *mas, const void *entry)
{
	return r ? r->entry == entry && r->first == mas->index && r->last == mas->last : !entry;
}

/* Whether the cursor stands on a range of @l; a gap may be shown in parts. */
static bool stands_in(const struct listing *l, const struct ma_state *mas, const void *entry,
		      unsigned long index)
{
	const struct range *r = range_at(l, index);

	if (entry)
		return same(r, mas, entry);
	return !r->entry && mas->index <= index && index <= mas->last &&
	       r->first <= mas->index && mas->last <= r->last;
}

static bool stands(const struct ma_state *mas, const void *entry, unsigned long index)
{
	return is_whole(mas) && (stands_in(&race.old, mas, entry, index) ||
				 stands_in(&race.new, mas, entry, index));
}

/* What a step gives was in the tree while it was made. */
static void begin_step(void)
{
	race.done_before = race.done;
}

static bool is_next(const struct ma_state *mas, const void *entry, unsigned long index, int step)
{
	if (!is_whole(mas))
		return false;
	return (!race.done_before && same(entry_from(&race.old, index, step), mas, entry)) ||
	       same(entry_from(&race.new, index, step), mas, entry);
}

static const char *load(unsigned long index)
{
	void *entry = mtree_load(&race.mt, index);

	if (entry == range_at(&race.old, index)->entry ||
	    entry == range_at(&race.new, index)->entry)
		return NULL;
	return "mtree_load() gives an entry of another state";
}

static const char *walk(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_walk(&mas);

	return stands(&mas, entry, index) ? NULL : "mas_walk() shows a range of another state";
}

static const char *load_range(unsigned long index)
{
	MA_STATE(mas, &race.mt, 0, 0);
	void *entry = mtree_load_range(&race.mt, index, &mas.index, &mas.last);

	return stands(&mas, entry, index) ? NULL : "mtree_load_range() shows a range of another state";
}

static const char *gap_around(unsigned long index)
{
	MA_STATE(mas, &race.mt, 0, 0);

	if (mtree_gap_around(&race.mt, index, &mas.index, &mas.last))
		return stands(&mas, NULL, index) ? NULL : "mtree_gap_around() shows another gap";
	if (range_at(&race.old, index)->entry || range_at(&race.new, index)->entry)
		return NULL;
	return "mtree_gap_around() sees an entry where none is";
}

typedef void *(*step_call)(struct ma_state *, unsigned long limit);

/* All entries from @index upwards; from those behind its range if the cursor @walks there first. */
static const char *up(unsigned long index, step_call step, bool walks)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = walks ? mas_walk(&mas) : NULL;

	if (walks && !stands(&mas, entry, index))
		return "mas_walk() shows a range of another state";
	if (walks)
		index = mas.last + 1;
	while (index || !walks) {
		begin_step();
		entry = step(&mas, ULONG_MAX);
		if (!is_next(&mas, entry, index, 1))
			return "an iteration upwards skips an entry or makes one up";
		if (!entry || mas.last == ULONG_MAX)
			return NULL;
		index = mas.last + 1;
	}
	return step(&mas, ULONG_MAX) ? "mas_next() goes on behind the last index" : NULL;
}

static const char *down(unsigned long index, step_call step, bool walks)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = walks ? mas_walk(&mas) : NULL;

	if (walks && !stands(&mas, entry, index))
		return "mas_walk() shows a range of another state";
	if (walks)
		index = mas.index - 1;
	while (index < ULONG_MAX || !walks) {
		begin_step();
		entry = step(&mas, 0);
		if (!is_next(&mas, entry, index, -1))
			return "an iteration downwards skips an entry or makes one up";
		if (!entry || mas.index == 0)
			return NULL;
		index = mas.index - 1;
	}
	return step(&mas, 0) ? "mas_prev() goes on below 0" : NULL;
}

static const char *find(unsigned long index)
{
	return up(index, mas_find, false);
}

/* The same by the loop, which reads leaves ahead. */
static const char *each(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry;

	begin_step();
	mas_for_each(&mas, entry, ULONG_MAX) {
		if (!is_next(&mas, entry, index, 1))
			return "a loop upwards skips an entry or makes one up";
		index = mas.last + 1;
		begin_step();
	}
	return !index || is_next(&mas, NULL, index, 1) ? NULL : "a loop upwards misses an entry";
}

static const char *each_rev(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry;

	begin_step();
	mas_for_each_rev(&mas, entry, 0) {
		if (!is_next(&mas, entry, index, -1))
			return "a loop downwards skips an entry or makes one up";
		index = mas.index - 1;
		begin_step();
	}
	return index == ULONG_MAX || is_next(&mas, NULL, index, -1)
		       ? NULL
		       : "a loop downwards misses an entry";
}

/* A mt_for_each() that has begun before the write. */
static struct {
	unsigned long batch[MAS_BATCH_WORDS] __attribute__((aligned(64)));
	unsigned long step[2];
	unsigned long index;
} loop;

static void *loop_next(void)
{
	return mt_loop_next(loop.batch, loop.step, &race.mt, &loop.index, ULONG_MAX);
}

static void begin_loop(unsigned long index)
{
	loop.index = loop.step[1] = 0;
	loop.step[0] = mt_loop_begin(loop.batch);
	while (loop.index <= index && loop_next())
		;
}

static bool is_next_of_loop(const struct listing *l, const void *entry, unsigned long from)
{
	const struct range *r = entry_from(l, from, 1);

	return r ? entry == r->entry && loop.index == r->last + 1 : !entry && loop.index == from;
}

static const char *loop_on(unsigned long index)
{
	unsigned long from;
	void *entry;

	(void)index;
	do {
		from = loop.index;
		begin_step();
		entry = loop_next();
		if (!is_next_of_loop(&race.new, entry, from) &&
		    (race.done_before || !is_next_of_loop(&race.old, entry, from)))
			return "a loop without a cursor skips an entry or makes one up";
	} while (entry && loop.index);
	return NULL;
}

static const char *find_rev(unsigned long index)
{
	return down(index, mas_find_rev, false);
}

static const char *next(unsigned long index)
{
	return up(index, mas_next, true);
}

static const char *prev(unsigned long index)
{
	return down(index, mas_prev, true);
}

/* Whether an entry that the write leaves alone lies in @low .. @high. */
static bool stays_in(unsigned long low, unsigned long high)
{
	unsigned int i;

	for (i = 0; i < race.old.ranges; i++) {
		const struct range *was = &race.old.range[i];
		const struct range *is = range_at(&race.new, was->first);

		if (was->entry && low <= was->first && was->last <= high &&
		    is->entry == was->entry && is->first == was->first && is->last == was->last)
			return true;
	}
	return false;
}

/* From a cursor that has not been anywhere: entries of one state or the other, none skipped. */
static const char *next_of(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_next(&mas, ULONG_MAX);

	if (index < ULONG_MAX && stays_in(index + 1, entry ? mas.index - 1 : ULONG_MAX))
		return "mas_next() skips an entry";
	if (entry && (mas.last <= index || !stands(&mas, entry, mas.index)))
		return "mas_next() shows a range of another state";
	return NULL;
}

static const char *prev_of(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_prev(&mas, 0);

	if (index > 0 && stays_in(entry ? mas.last + 1 : 0, index - 1))
		return "mas_prev() skips an entry";
	if (entry && (mas.index >= index || !stands(&mas, entry, mas.index)))
		return "mas_prev() shows a range of another state";
	return NULL;
}

/* Nothing but gaps from @index on, before the write or after it. */
static bool ends(unsigned long index, int step)
{
	return !entry_from(&race.old, index, step) || !entry_from(&race.new, index, step);
}

/* All ranges upwards, gaps too. */
static const char *ranges_up(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_walk(&mas);

	while (stands(&mas, entry, index)) {
		if (mas.last == ULONG_MAX)
			return NULL;
		index = mas.last + 1;
		entry = mas_next_range(&mas, ULONG_MAX);
		if (!entry && mas.status == ma_none)
			return ends(index, 1) ? NULL : "mas_next_range() misses an entry";
	}
	return "mas_next_range() shows a range of another state";
}

static const char *ranges_down(unsigned long index)
{
	MA_STATE(mas, &race.mt, index, index);
	void *entry = mas_walk(&mas);

	while (stands(&mas, entry, index)) {
		if (mas.index == 0)
			return NULL;
		index = mas.index - 1;
		entry = mas_prev_range(&mas, 0);
	}
	return "mas_prev_range() shows a range of another state";
}

static bool is_free(const struct listing *l, unsigned long first, unsigned long last)
{
	const struct range *r = range_at(l, first);

	return !r->entry && last <= r->last;
}

/* A place of @size indexes: advice, but free before the write or after it. */
static const char *area(unsigned long size)
{
	int highest;

	if (!(race.mt.ma_flags & MT_FLAGS_ALLOC_RANGE) || !size)
		return NULL;
	for (highest = 0; highest < 2; highest++) {
		MA_STATE(mas, &race.mt, 0, 0);
		int error = highest ? mas_empty_area_rev(&mas, 0, ULONG_MAX, size)
				    : mas_empty_area(&mas, 0, ULONG_MAX, size);

		if (error && fits(&race.old, size) && fits(&race.new, size))
			return "a search finds no place, though there always is one";
		if (!error && mas.last - mas.index != size - 1)
			return "a search finds a place of another size";
		if (!error && !is_free(&race.old, mas.index, mas.last) &&
		    !is_free(&race.new, mas.index, mas.last))
			return "a search finds a place that was never free";
	}
	return NULL;
}

const struct race_reader race_readers[] = {
	{ "load", load, NULL },
	{ "walk", walk, NULL },
	{ "find", find, NULL },
	{ "each", each, NULL },
	{ "each_rev", each_rev, NULL },
	{ "loop_on", loop_on, begin_loop },
	{ "find_rev", find_rev, NULL },
	{ "next", next, NULL },
	{ "prev", prev, NULL },
	{ "next_of", next_of, NULL },
	{ "prev_of", prev_of, NULL },
	{ "ranges_up", ranges_up, NULL },
	{ "ranges_down", ranges_down, NULL },
	{ "area", area, NULL },
	{ "load_range", load_range, NULL },
	{ "gap_around", gap_around, NULL },
};

const size_t race_readers_count = LENGTH(race_readers);
