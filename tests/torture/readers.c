/* SPDX-License-Identifier: MIT */
/*
 * readers.c - every kind of read, and what must be true of its answers whatever writers do.
 */
#include <errno.h>
#include <urcu/urcu-bp.h>

#include "world.h"

/*
 * One way through a stretch of the tree, upwards or downwards, in which every permanent entry
 * must be met.
 * @next: up: no index below it is still to come; down: none above it.
 * @done: how many writes of each zone were done at the beginning.
 */
struct sweep {
	struct worker *me;
	unsigned long low;
	unsigned long high;
	unsigned long next;
	bool started;
	bool finished; /* met the end of the index space */
	unsigned long first;
	unsigned long last;
	unsigned long done[ZONES + 1];
};

static unsigned int offset_of(const struct world *w, unsigned int zone, unsigned long index)
{
	unsigned long offset = index - (unsigned long)zone * ZONE_WIDTH;

	return zone == w->zones && offset > ZONE_WIDTH - 1 ? ZONE_WIDTH - 1 : (unsigned int)offset;
}

static unsigned long begun_in(struct world *w, unsigned int zone)
{
	const unsigned long *begun = zone == w->zones ? &w->open_begun : &w->zone[zone].begun;

	return __atomic_load_n(begun, __ATOMIC_ACQUIRE);
}

static unsigned long done_in(struct world *w, unsigned int zone)
{
	const unsigned long *done = zone == w->zones ? &w->open_done : &w->zone[zone].done;

	return __atomic_load_n(done, __ATOMIC_ACQUIRE);
}

/* An entry found over first .. last: it was stored there, and not in the future. */
static void check_entry(struct worker *me, unsigned long first, unsigned long last, void *entry)
{
	struct world *w = me->world;
	struct tag tag = entry_tag(entry);
	unsigned int zone = zone_of(w, first);

	expect(me, xa_is_value(entry) && tag.zone == zone && zone_of(w, last) == zone,
	       "%p at %#lx..%#lx", entry, first, last);
	expect(me, first <= last && offset_of(w, zone, first) >= tag.first &&
	       offset_of(w, zone, last) <= tag.last, "%p of %u..%u at %#lx..%#lx", entry,
	       tag.first, tag.last, first, last);
	expect(me, tag.number <= begun_in(w, zone) || !numbers_ordered(),
	       "%p at %#lx: write %lu of %lu", entry, first, tag.number, begun_in(w, zone));
	expect(me, !w->counted || !urcu_bp_read_ongoing() || entry_lives(entry),
	       "%p at %#lx is gone", entry, first);
}

static void check_gap(struct worker *me, unsigned long first, unsigned long last)
{
	unsigned int zone = zone_of(me->world, first);
	struct permanent p;

	expect(me, first <= last, "gap %#lx..%#lx", first, last);
	expect(me, zone_kind(me->world, zone) != ZONE_LIVE || first % ZONE_WIDTH > COUNTER_LAST,
	       "gap %#lx..%#lx over a counter", first, last);
	expect(me, !permanent_from(me->world, first, &p) || p.first > last,
	       "gap %#lx..%#lx over the entry at %#lx", first, last, p.first);
}

/* ---- single lookups ---------------------------------------------------------------------- */

/* The number of writes to the counter of the zone of @index that were done when it was asked. */
static unsigned long counted_at(struct world *w, unsigned long index)
{
	unsigned int zone = zone_of(w, index);

	return zone < w->zones ? __atomic_load_n(&w->zone[zone].counted, __ATOMIC_ACQUIRE) : 0;
}

/* @entry was found at @index when @counted counts were done. */
static void check_look(struct worker *me, unsigned long index, unsigned long counted, void *entry)
{
	struct world *w = me->world;
	unsigned int zone = zone_of(w, index);
	struct permanent p;

	if (permanent_from(w, index, &p) && p.first <= index) {
		expect(me, entry == p.entry, "%p at %#lx, not %p", entry, index, p.entry);
		return;
	}
	if (entry)
		check_entry(me, index, index, entry);
	else
		check_gap(me, index, index);
	if (zone < w->zones && zone_kind(w, zone) == ZONE_STILL)
		expect(me, !entry, "%p at %#lx", entry, index);
	if (zone == w->zones || zone_kind(w, zone) != ZONE_LIVE || index % ZONE_WIDTH != COUNTER)
		return;
	expect(me, entry && entry_tag(entry).first == COUNTER, "counter %p", entry);
	if (!numbers_ordered())
		return;
	expect(me, entry_tag(entry).number >= me->seen[zone], "counter %lu after %lu",
	       entry_tag(entry).number, me->seen[zone]);
	expect(me, entry_tag(entry).number >= counted, "counter %lu after %lu",
	       entry_tag(entry).number, counted);
	me->seen[zone] = entry_tag(entry).number;
}

static void look_up(struct worker *me, unsigned long index)
{
	unsigned long counted = counted_at(me->world, index);

	check_look(me, index, counted, mtree_load(&me->world->mt, index));
}

/* Two groups and a bit; the same indexes may come twice, and counters among them. */
static void look_up_many(struct worker *me)
{
	struct world *w = me->world;
	unsigned long keys[40], counted[40];
	size_t count = 1 + below(me, 40), i;
	void *entries[40];

	for (i = 0; i < count; i++) {
		unsigned int offset = below(me, 4) ? below(me, ZONE_WIDTH) : COUNTER;

		keys[i] = offset_first(below(me, w->zones + 1), offset);
		counted[i] = counted_at(w, keys[i]);
	}
	mtree_load_many(&w->mt, keys, entries, count);
	for (i = 0; i < count; i++)
		check_look(me, keys[i], counted[i], entries[i]);
}

static void walk(struct worker *me, unsigned long index)
{
	struct world *w = me->world;
	MA_STATE(mas, &w->mt, index, index);
	struct permanent p;
	void *entry;

	urcu_bp_read_lock();
	entry = mas_walk(&mas);
	urcu_bp_read_unlock();
	expect(me, mas.index <= index && index <= mas.last, "%#lx..%#lx for %#lx", mas.index,
	       mas.last, index);
	if (!entry)
		check_gap(me, mas.index, mas.last);
	else
		check_entry(me, mas.index, mas.last, entry);
	if (permanent_from(w, index, &p) && p.first <= index)
		expect(me, entry == p.entry && mas.index == p.first && mas.last == p.last,
		       "%p at %#lx..%#lx", entry, mas.index, mas.last);
	else if (zone_kind(w, zone_of(w, index)) == ZONE_STILL)
		expect(me, !entry && mas.index == index && mas.last == index, "%p at %#lx..%#lx",
		       entry, mas.index, mas.last);
}

static void neighbours(struct worker *me)
{
	struct world *w = me->world;
	unsigned int zone = below(me, ZONES);
	unsigned long start = offset_first(zone, 0);
	struct permanent p;
	void *entry;

	if (!w->zones || zone_kind(w, zone) != ZONE_LIVE)
		return;
	entry = mt_next(&w->mt, start, ULONG_MAX);
	expect(me, entry && entry_tag(entry).zone == zone && entry_tag(entry).first == COUNTER,
	       "after the fence: %p", entry);
	entry = mt_prev(&w->mt, start + COUNTER, 0);
	expect(me, permanent_upto(w, start + 1, &p) && entry == p.entry, "before the counter: %p",
	       entry);
	entry = mt_prev(&w->mt, start, 0);
	expect(me, zone ? entry && entry_tag(entry).zone == zone - 1 : !entry,
	       "before the fence: %p", entry);
}

/* ---- sweeps ------------------------------------------------------------------------------ */

static void sweep_begin(struct sweep *s, struct worker *me, bool up)
{
	struct world *w = me->world;
	unsigned int zone = below(me, w->zones + 1), to = zone + below(me, 3);
	unsigned int i;

	s->me = me;
	s->low = offset_first(zone, below(me, ZONE_WIDTH));
	s->high = to < w->zones && below(me, 8) ? offset_first(to, ZONE_WIDTH - 1) : ULONG_MAX;
	if (!below(me, 8))
		s->low = 0;
	s->next = up ? s->low : s->high;
	s->started = s->finished = false;
	for (i = 0; i <= w->zones; i++)
		s->done[i] = done_in(w, i);
}

/* Ranges overlap only where something was written since the sweep began. */
static void check_overlap(struct sweep *s, unsigned long first, unsigned long last)
{
	struct world *w = s->me->world;
	unsigned int zone = zone_of(w, first), to = zone_of(w, last);

	__atomic_fetch_add(&w->overlaps, 1, __ATOMIC_RELAXED);
	while (zone <= to && begun_in(w, zone) == s->done[zone])
		zone++;
	expect(s->me, zone <= to, "%#lx..%#lx beside %#lx..%#lx, but nothing was written", first,
	       last, s->first, s->last);
}

static void meet_up(struct sweep *s, unsigned long first, unsigned long last, void *entry)
{
	struct permanent p;

	if (s->started) {
		expect(s->me, last > s->last, "%#lx..%#lx after %#lx..%#lx", first, last, s->first,
		       s->last);
		if (first <= s->last)
			check_overlap(s, first, last);
	}
	if (entry)
		check_entry(s->me, first, last, entry);
	if (permanent_from(s->me->world, s->next, &p) && p.first <= last)
		expect(s->me, entry == p.entry && first == p.first && last == p.last,
		       "%p at %#lx..%#lx instead of the one at %#lx", entry, first, last, p.first);
	s->first = first;
	s->last = last;
	s->next = last + 1;
	s->finished = last == ULONG_MAX;
	s->started = true;
}

static void meet_down(struct sweep *s, unsigned long first, unsigned long last, void *entry)
{
	struct permanent p;

	if (s->started) {
		expect(s->me, first < s->first, "%#lx..%#lx before %#lx..%#lx", first, last,
		       s->first, s->last);
		if (last >= s->first)
			check_overlap(s, first, last);
	}
	if (entry)
		check_entry(s->me, first, last, entry);
	if (permanent_upto(s->me->world, s->next, &p) && p.last >= first)
		expect(s->me, entry == p.entry && first == p.first && last == p.last,
		       "%p at %#lx..%#lx instead of the one at %#lx", entry, first, last, p.first);
	s->first = first;
	s->last = last;
	s->next = first - 1;
	s->finished = first == 0;
	s->started = true;
}

static void end_up(struct sweep *s)
{
	struct permanent p;

	expect(s->me,
	       s->finished || !permanent_from(s->me->world, s->next, &p) || p.first > s->high,
	       "the entry at %#lx was missed between %#lx and %#lx", p.first, s->low, s->high);
}

static void end_down(struct sweep *s)
{
	struct permanent p;

	expect(s->me, s->finished || !permanent_upto(s->me->world, s->next, &p) || p.last < s->low,
	       "the entry at %#lx was missed between %#lx and %#lx", p.first, s->low, s->high);
}

/* Leaves the read side for a moment, as a long iteration should. */
static void breathe(struct ma_state *mas)
{
	mas_pause(mas);
	urcu_bp_read_unlock();
	urcu_bp_read_lock();
}

static void find_up(struct worker *me, bool pauses)
{
	struct sweep s;
	void *entry;

	sweep_begin(&s, me, true);
	MA_STATE(mas, &me->world->mt, s.low, s.low);
	urcu_bp_read_lock();
	mas_for_each(&mas, entry, s.high) {
		meet_up(&s, mas.index, mas.last, entry);
		if (pauses && !below(me, 4))
			breathe(&mas);
	}
	urcu_bp_read_unlock();
	end_up(&s);
}

static void find_down(struct worker *me, bool pauses)
{
	struct sweep s;
	void *entry;

	sweep_begin(&s, me, false);
	MA_STATE(mas, &me->world->mt, s.high, s.high);
	urcu_bp_read_lock();
	mas_for_each_rev(&mas, entry, s.low) {
		meet_down(&s, mas.index, mas.last, entry);
		if (pauses && !below(me, 4))
			breathe(&mas);
	}
	urcu_bp_read_unlock();
	end_down(&s);
}

/* What lies between two ranges that follow each other was part of a gap that grew. */
static void check_hole(struct worker *me, unsigned long first, unsigned long last)
{
	if (first <= last)
		check_gap(me, first, last);
}

/* Entries or all ranges, from a walk on; ranges follow each other without a hole. */
static void step_up(struct worker *me, bool ranges)
{
	struct sweep s;
	void *entry;

	sweep_begin(&s, me, true);
	MA_STATE(mas, &me->world->mt, s.low, s.low);
	urcu_bp_read_lock();
	for (entry = mas_walk(&mas);;) {
		if (entry || ranges) {
			if (ranges && s.started && mas.index > s.last)
				check_hole(me, s.last + 1, mas.index - 1);
			meet_up(&s, mas.index, mas.last, entry);
		}
		entry = ranges ? mas_next_range(&mas, s.high) : mas_next(&mas, s.high);
		if (!entry && (!ranges || mas.status == ma_overflow || mas.status == ma_none))
			break;
	}
	urcu_bp_read_unlock();
	end_up(&s);
}

static void step_down(struct worker *me, bool ranges)
{
	struct sweep s;
	void *entry;

	sweep_begin(&s, me, false);
	MA_STATE(mas, &me->world->mt, s.high, s.high);
	urcu_bp_read_lock();
	for (entry = mas_walk(&mas);;) {
		if (entry || ranges) {
			if (ranges && s.started && mas.last < s.first)
				check_hole(me, mas.last + 1, s.first - 1);
			meet_down(&s, mas.index, mas.last, entry);
		}
		entry = ranges ? mas_prev_range(&mas, s.low) : mas_prev(&mas, s.low);
		if (!entry && (!ranges || mas.status == ma_underflow || mas.status == ma_none))
			break;
	}
	urcu_bp_read_unlock();
	end_down(&s);
}

/* The normal API returns entries and where they end. */
static void for_each(struct worker *me)
{
	unsigned long index;
	struct sweep s;
	void *entry;

	sweep_begin(&s, me, true);
	index = s.low;
	mt_for_each(&me->world->mt, entry, index, s.high) {
		unsigned long last = index - 1, first = last;
		struct permanent p;

		if (permanent_from(me->world, last, &p) && p.last == last)
			first = p.first;
		meet_up(&s, first, last, entry);
	}
	end_up(&s);
}

/* ---- gaps -------------------------------------------------------------------------------- */

static void search_gap(struct worker *me)
{
	struct world *w = me->world;
	unsigned int zone = below(me, w->zones + 1);
	unsigned long min = offset_first(zone, below(me, ZONE_WIDTH - 8));
	unsigned long max = offset_last(w, zone, ZONE_WIDTH - 1);
	unsigned long size = 1 + below(me, 4);
	bool lowest = below(me, 2), still = zone_kind(w, zone) == ZONE_STILL;
	MA_STATE(mas, &w->mt, 0, 0);
	int error;

	urcu_bp_read_lock();
	error = lowest ? mas_empty_area(&mas, min, max, size)
		       : mas_empty_area_rev(&mas, min, max, size);
	urcu_bp_read_unlock();
	expect(me, error == 0 || error == -EBUSY, "error %d", error);
	expect(me, !still || error == (size > 1 ? -EBUSY : 0), "error %d for %lu", error, size);
	if (error)
		return;
	expect(me, mas.index >= min && mas.last <= max && mas.last - mas.index == size - 1,
	       "%#lx..%#lx for %lu in %#lx..%#lx", mas.index, mas.last, size, min, max);
	check_gap(me, mas.index, mas.last);
	expect(me, !still || mas.index == (lowest ? min | 3 : max - 4), "%#lx from %#lx",
	       mas.index, min);
}

static void gap_around(struct worker *me, unsigned long index)
{
	unsigned long first, last, around[2];
	struct permanent p;
	bool found = mtree_gap_around(&me->world->mt, index, &first, &last);

	mtree_load_range(&me->world->mt, index, &around[0], &around[1]);
	expect(me, around[0] <= index && index <= around[1], "%#lx..%#lx at %#lx", around[0],
	       around[1], index);
	if (permanent_from(me->world, index, &p) && p.first <= index)
		expect(me, !found, "%#lx..%#lx at %#lx", first, last, index);
	if (!found)
		return;
	expect(me, first <= index && index <= last, "%#lx..%#lx at %#lx", first, last, index);
	check_gap(me, first, last);
}

static void read_once(struct worker *me)
{
	struct world *w = me->world;
	unsigned long index = offset_first(below(me, w->zones + 1), below(me, ZONE_WIDTH));

	if (!below(me, 20))
		index = ULONG_MAX;
	switch (below(me, 17)) {
	case 0:
		find_up(me, false);
		break;
	case 1:
		find_up(me, true);
		break;
	case 2:
		find_down(me, false);
		break;
	case 3:
		find_down(me, true);
		break;
	case 4:
		step_up(me, false);
		break;
	case 5:
		step_up(me, true);
		break;
	case 6:
		step_down(me, false);
		break;
	case 7:
		step_down(me, true);
		break;
	case 8:
		for_each(me);
		break;
	case 9:
		neighbours(me);
		break;
	case 10:
		if (w->gaps)
			search_gap(me);
		break;
	case 11:
		gap_around(me, index);
		break;
	case 12:
		look_up(me, offset_first(below(me, w->zones + 1), COUNTER));
		break;
	case 13:
		walk(me, index);
		break;
	case 14:
		look_up_many(me);
		break;
	default:
		look_up(me, index);
		break;
	}
}

void *reader_run(void *arg)
{
	struct worker *me = arg;
	unsigned long reads = 0;

	for (; !stopped(me->world); reads++)
		read_once(me);
	__atomic_fetch_add(&me->world->reads, reads, __ATOMIC_RELAXED);
	return NULL;
}
