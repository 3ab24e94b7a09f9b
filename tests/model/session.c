/* SPDX-License-Identifier: MIT */
/*
 * session.c - random uses of a cursor: it is made, read, written through, paused and set again.
 */
#include "model.h"
#include "reading.h"

#include <stdlib.h>
#include <urcu-bp.h>

#define STEPS_MAX 12

/* A cursor of the tree and where it must stand. */
struct session {
	struct run *run;
	struct ma_state mas;
	struct oracle_cursor place;
};

static void set(struct session *s)
{
	struct run *run = s->run;
	unsigned long first, last;

	draw_range(run, &first, &last);
	if (chance(run, 50))
		last = first;
	record(run, "mas_set_range", first, last, 0, NULL);
	mas_set_range(&s->mas, first, last);
	s->place = (struct oracle_cursor){ first, last, ma_start };
}

static void *call_read(struct ma_state *mas, enum read_kind kind, unsigned long limit)
{
	switch (kind) {
	case read_walk: return mas_walk(mas);
	case read_find: return mas_find(mas, limit);
	case read_find_range: return mas_find_range(mas, limit);
	case read_find_rev: return mas_find_rev(mas, limit);
	case read_find_range_rev: return mas_find_range_rev(mas, limit);
	case read_next: return mas_next(mas, limit);
	case read_next_range: return mas_next_range(mas, limit);
	case read_prev: return mas_prev(mas, limit);
	default: return mas_prev_range(mas, limit);
	}
}

static bool goes_up(enum read_kind kind)
{
	return kind == read_find || kind == read_find_range || kind == read_next ||
	       kind == read_next_range;
}

static void read_step(struct session *s)
{
	struct run *run = s->run;
	enum read_kind kind = below(run, read_kinds);
	unsigned long limit = draw_limit(run, s->place.index, goes_up(kind));
	struct reading expected;
	void *entry;

	if (!oracle_read(&run->oracle, &s->place, kind, limit, &expected)) {
		set(s);
		return;
	}
	record(run, read_name(kind), s->place.index, s->place.last, limit, NULL);
	entry = call_read(&s->mas, kind, limit);
	expect_entry(run, entry, expected.entry);
	if (expected.place_known) {
		expect_number(run, "index", s->mas.index, expected.index);
		expect_number(run, "last", s->mas.last, expected.last);
	}
	if (expected.status_known)
		expect_number(run, "status", s->mas.status, expected.status);
	if (!expected.usable)
		set(s);
	else
		s->place = (struct oracle_cursor){ expected.index, expected.last,
						   expected.status };
}

/* Stores through the cursor at its index..last, in one of the ways there are. */
static void store_step(struct session *s)
{
	struct run *run = s->run;
	const struct oracle *oracle = &run->oracle;
	unsigned long first = s->place.index;
	unsigned long last = s->place.last;
	const struct oracle_range old = oracle->ranges[oracle_at(oracle, first)];
	void *entry = chance(run, 40) ? NULL : draw_entry(run);
	bool was_empty = oracle_empty(oracle);
	void *returned;

	switch (below(run, 3)) {
	case 0:
		record(run, "mas_store", first, last, 0, entry);
		returned = mas_store(&s->mas, entry);
		if (last <= old.last)
			expect_entry(run, returned, old.entry);
		if (mas_is_err(&s->mas))
			fail(run, "mas_store failed");
		break;
	case 1:
		record(run, "mas_store_gfp", first, last, 0, entry);
		expect_error(run, mas_store_gfp(&s->mas, entry, GFP_KERNEL), 0);
		break;
	default:
		record(run, "mas_preallocate", first, last, 0, entry);
		expect_error(run, mas_preallocate(&s->mas, entry, GFP_KERNEL), 0);
		if (chance(run, 10)) {
			mas_destroy(&s->mas);
			set(s);
			return;
		}
		mas_store_prealloc(&s->mas, entry);
		break;
	}
	oracle_store(&run->oracle, first, last, entry);
	if (!entry) { /* the cursor stands on the whole gap, as Linux's does */
		first = oracle->ranges[oracle_at(oracle, first)].first;
		last = oracle->ranges[oracle_at(oracle, first)].last;
	}
	expect_number(run, "index", s->mas.index, first);
	expect_number(run, "last", s->mas.last, last);
	s->place = (struct oracle_cursor){ first, last, ma_active };
	if (was_empty || oracle->lone != lone_no || oracle->count == 1)
		set(s);
}

static void erase_step(struct session *s)
{
	struct run *run = s->run;
	const struct oracle *oracle = &run->oracle;
	size_t at = oracle_at(oracle, s->place.index);
	const struct oracle_range range = oracle->ranges[at];
	bool beside_gap = (at > 0 && !oracle->ranges[at - 1].entry) ||
			  (at + 1 < oracle->count && !oracle->ranges[at + 1].entry);

	record(run, "mas_erase", s->place.index, s->place.last, 0, NULL);
	expect_entry(run, mas_erase(&s->mas), range.entry);
	if (!range.entry) {
		set(s);
		return;
	}
	if (!beside_gap) {
		expect_number(run, "index", s->mas.index, range.first);
		expect_number(run, "last", s->mas.last, range.last);
	}
	oracle_erase(&run->oracle, range.first);
	s->place = (struct oracle_cursor){ range.first, range.last, ma_active };
	if (oracle->lone != lone_no || oracle->count == 1)
		set(s);
}

/* Narrows or moves an active cursor, as a caller does before a store. */
static void position(struct session *s)
{
	struct run *run = s->run;
	unsigned long width = s->place.last - s->place.index;
	unsigned long first = s->place.index + (chance(run, 50) ? 0 : below(run, width | 1));
	unsigned long last = draw_end(run, s->place.last);

	if (chance(run, 60) && s->place.last > first)
		last = first + below(run, s->place.last - first);
	if (last < first)
		last = first;
	s->mas.index = s->place.index = first;
	s->mas.last = s->place.last = last;
}

static void write_step(struct session *s)
{
	struct run *run = s->run;
	enum maple_status status = s->place.status;
	unsigned long first, last;

	if (status != ma_start && status != ma_pause && status != ma_active)
		set(s);
	if (chance(run, 25)) {
		first = run->oracle.ranges[oracle_at(&run->oracle, s->place.index)].first;
		last = run->oracle.ranges[oracle_at(&run->oracle, s->place.index)].last;
		erase_step(s);
	} else {
		if (s->place.status == ma_active && chance(run, 70))
			position(s);
		first = s->place.index;
		last = s->place.last;
		store_step(s);
	}
	mtree_unlock(&run->mt); /* neither the cursor nor the tree is used meanwhile */
	compare_change(run, first, last);
	mtree_lock(&run->mt);
}

/* The cursor's searches for free indexes; the two of the kernel know no alignment. */
static void area_step(struct session *s)
{
	struct run *run = s->run;
	struct mt_area area = draw_area(run);
	bool aligned = chance(run, 50);
	unsigned long start = 0;
	int expected, error;

	if (!aligned)
		area.align = 0;
	set(s);
	record(run,
	       aligned			   ? "find_area"
	       : area.fit == MT_FIT_HIGHEST ? "empty_area_rev"
					   : "empty_area",
	       area.min, area.max, area.size, (void *)area.align);
	expected = oracle_area(&run->oracle, &area, &start);
	if (aligned)
		error = mas_find_area(&s->mas, &area);
	else if (area.fit == MT_FIT_HIGHEST)
		error = mas_empty_area_rev(&s->mas, area.min, area.max, area.size);
	else
		error = mas_empty_area(&s->mas, area.min, area.max, area.size);
	expect_error(run, error, expected);
	if (expected == 0) {
		expect_number(run, "index", s->mas.index, start);
		expect_number(run, "last", s->mas.last, start + (area.size - 1));
		s->place = (struct oracle_cursor){ start, start + (area.size - 1), ma_active };
		if (chance(run, 60))
			store_step(s);
	}
	set(s);
}

static void pause_step(struct session *s)
{
	struct run *run = s->run;
	bool exact = s->place.status == ma_active && run->oracle.lone == lone_no;

	if (exact && chance(run, 70)) {
		record(run, "mas_pause", s->place.index, s->place.last, 0, NULL);
		mas_pause(&s->mas);
		s->place.status = ma_pause;
		mtree_unlock(&run->mt);
		mtree_lock(&run->mt);
	} else {
		record(run, "mas_reset", s->place.index, s->place.last, 0, NULL);
		mas_reset(&s->mas);
		s->place.status = ma_start;
	}
}

static void step(struct session *s, bool writing)
{
	unsigned long kind = below(s->run, 100);

	if (!writing || kind < 65)
		read_step(s);
	else if (kind < 85)
		write_step(s);
	else if (kind < 90)
		area_step(s);
	else
		pause_step(s);
}

void random_session(struct run *run)
{
	struct session s = { .run = run };
	unsigned long steps = below(run, STEPS_MAX) + 1;
	unsigned long index = draw_index(run);
	bool writing = chance(run, 80);

	record(run, "mas_init", index, writing, 0, NULL);
	if (writing)
		mtree_lock(&run->mt);
	else
		urcu_bp_read_lock();
	mas_init(&s.mas, &run->mt, index);
	s.place = (struct oracle_cursor){ index, index, ma_start };
	for (unsigned long i = 0; i < steps; i++)
		step(&s, writing);
	if (writing)
		mas_destroy(&s.mas);
	if (writing)
		mtree_unlock(&run->mt);
	else
		urcu_bp_read_unlock();
}

void bulk_fill(struct run *run, size_t entries)
{
	MA_STATE(mas, &run->mt, 0, 0);
	unsigned long index = run->mix->low;

	if (mt_in_rcu(&run->mt)) /* bulk mode is not for trees that are read meanwhile */
		return;
	record(run, "bulk_fill", entries, 0, 0, NULL);
	mtree_destroy(&run->mt);
	oracle_clear(&run->oracle);
	mtree_lock(&run->mt);
	expect_error(run, mas_expected_entries(&mas, entries), 0);
	for (size_t i = 0; i < entries && index < run->mix->high; i++) {
		unsigned long first = index + below(run, 2) * below(run, 64);
		unsigned long last = first + below(run, 16);
		void *entry = draw_entry(run);

		mas.index = first;
		mas.last = last;
		expect_entry(run, mas_store(&mas, entry), NULL);
		if (mas_is_err(&mas))
			fail(run, "mas_store failed in bulk mode");
		oracle_store(&run->oracle, first, last, entry);
		index = last + 1;
	}
	mas_destroy(&mas);
	mtree_unlock(&run->mt);
	compare_all(run, &run->mt, &run->oracle);
}
