/* SPDX-License-Identifier: MIT */
/*
 * world.c - what the tree under torture holds, and what any reader can know of it.
 */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quarantine.h"

void complain(const struct worker *me, const char *what, const char *file, int line,
	      const char *format, ...)
{
	va_list args;

	fprintf(stderr, "torture: seed %llu, thread %u: %s:%d: not true: %s\n  ",
		(unsigned long long)me->world->seed, me->number, file, line, what);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

static void put(struct worker *me, unsigned int zone, unsigned int first, unsigned int last)
{
	struct world *w = me->world;
	void *entry = tag_entry((struct tag){ zone, first, last, 0 });
	int error = mtree_store_range(&w->mt, offset_first(zone, first), offset_last(w, zone, last),
				      entry, GFP_KERNEL);
	unsigned int i;

	expect(me, !error, "store: %d", error);
	for (i = first; i <= last; i++) {
		w->zone[zone].entry[i] = entry;
		w->zone[zone].range[i] = w->zone[zone].ranges + 1;
	}
	w->zone[zone].ranges++;
}

/* How many references there are to all entries that share a place; in the world under torture. */
static unsigned long references[1 << 16];
static struct world *tortured;

static unsigned long *place_of(const void *entry)
{
	uint64_t mixed = (uint64_t)(uintptr_t)entry * 0x9e3779b97f4a7c15u;

	return &references[mixed >> 48];
}

static void get(void *entry)
{
	__atomic_fetch_add(place_of(entry), 1, __ATOMIC_RELAXED);
}

static void drop(void *entry)
{
	struct worker me = { .world = tortured };

	expect(&me, __atomic_fetch_sub(place_of(entry), 1, __ATOMIC_RELAXED), "%p: no reference",
	       entry);
}

bool entry_lives(const void *entry)
{
	return __atomic_load_n(place_of(entry), __ATOMIC_RELAXED);
}

void world_init_tree(struct world *w, struct maple_tree *mt)
{
	static const struct mt_entry_ops counting = { get, drop };
	struct worker me = { .world = w };

	mt_init_flags(mt, w->flags);
	expect(&me, !mt_set_allocator(mt, &quarantine), "empty tree");
	expect(&me, !w->polled || !mt_set_rcu_flavour(mt, mt_rcu_polled()), "empty tree");
	expect(&me, !w->counted || !mt_set_entry_ops(mt, &counting), "empty tree");
}

void world_begin(struct world *w, unsigned int flags, bool tiny, bool counted)
{
	struct worker me = { .world = w };
	unsigned int zone, i;

	w->zones = tiny ? 0 : ZONES;
	w->flags = flags;
	w->gaps = flags & MT_FLAGS_ALLOC_RANGE;
	w->counted = counted;
	tortured = w;
	world_init_tree(w, &w->mt);
	for (zone = 0; zone < w->zones; zone++) {
		if (zone_kind(w, zone) == ZONE_STILL) {
			for (i = 0; i + 4 < ZONE_WIDTH; i += 4)
				put(&me, zone, i, i + 2);
			put(&me, zone, i, i + 3);
			continue;
		}
		put(&me, zone, 0, COUNTER - 1);
		put(&me, zone, COUNTER, COUNTER_LAST);
	}
}

/* All leaves are marked as dead then, since the first tree has left them. */
void world_become_snapshot(struct world *w)
{
	struct worker me = { .world = w };
	struct maple_tree other;

	world_init_tree(w, &other);
	expect(&me, !mtree_snapshot(&w->mt, &other, GFP_KERNEL), "snapshot");
	mtree_destroy(&w->mt);
	expect(&me, !mtree_snapshot(&other, &w->mt, GFP_KERNEL), "snapshot");
	mtree_destroy(&other);
}

/* All zones that one thread writes must hold what that thread thinks. */
static void check_content(struct worker *me)
{
	struct world *w = me->world;
	unsigned int zone, i;

	for (zone = 0; zone < w->zones; zone++)
		for (i = 0; i < ZONE_WIDTH; i++) {
			void *entry = mtree_load(&w->mt, offset_first(zone, i));

			expect(me, entry == w->zone[zone].entry[i],
			       "zone %u, offset %u: %p, not %p", zone, i, entry,
			       w->zone[zone].entry[i]);
		}
}

void world_end(struct world *w)
{
	struct worker me = { .world = w };
	const char *reason;

	expect(&me, mt_check(&w->mt, &reason), "%s", reason);
	check_content(&me);
	mtree_destroy(&w->mt);
	expect(&me, !mt_barrier(), "no section, and memory");
	expect(&me, !quarantine_live(), "%lu nodes leaked", quarantine_live());
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++)
		expect(&me, !references[i], "%lu references leaked", references[i]);
}

bool permanent_from(const struct world *w, unsigned long index, struct permanent *p)
{
	unsigned int zone = zone_of(w, index);
	unsigned int offset = (unsigned int)(index % ZONE_WIDTH), width = COUNTER;

	if (zone >= w->zones)
		return false;
	if (zone_kind(w, zone) == ZONE_STILL) {
		offset = offset % 4 == 3 && offset < ZONE_WIDTH - 1 ? offset + 1 : offset & ~3u;
		width = offset == ZONE_WIDTH - 4 ? 4 : 3;
	} else {
		zone += offset >= COUNTER;
		offset = 0;
		width = zone_kind(w, zone) == ZONE_STILL ? 3 : COUNTER;
	}
	if (zone >= w->zones)
		return false;
	p->first = offset_first(zone, offset);
	p->last = p->first + width - 1;
	p->entry = tag_entry((struct tag){ zone, offset, offset + width - 1, 0 });
	return true;
}

bool permanent_upto(const struct world *w, unsigned long index, struct permanent *p)
{
	unsigned int zone = zone_of(w, index);
	unsigned long at;

	if (!w->zones)
		return false;
	if (zone == w->zones)
		at = offset_first(zone, 0) - 4;
	else if (zone_kind(w, zone) == ZONE_STILL)
		at = index & ~3ul;
	else
		at = offset_first(zone, 0);
	return permanent_from(w, at, p) && p->first <= index;
}
