/* SPDX-License-Identifier: MIT */
/*
 * world.h - what the tree under torture holds, and what any reader can know about it.
 *
 * The indexes are divided into zones of ZONE_WIDTH, and a last, open zone up to ULONG_MAX.
 *
 *   still zone  every 4th: entries over offsets 4i .. 4i+2, the last up to the zone's end;
 *               never changes
 *   live zone   offset 0..1   the fence: an entry that is never touched
 *               offset 2..7   the counter: stores over 2..k; so 2..7 are always occupied, and
 *                             the number at offset 2 only grows
 *               offset 8..    anything, written by one thread alone
 *   open zone   anything, written by all; a tiny world is a single open zone from 0
 *
 * An entry is a number that encodes its zone, where in the zone it may ever be found, and how many
 * writes the zone had seen. So a reader can tell for any entry whether it was ever in that place.
 */
#ifndef TORTURE_WORLD_H
#define TORTURE_WORLD_H

#include <mapletree/maple_tree.h>
#include <stdint.h>

#include "random.h"

#define ZONES 24
#define ZONE_WIDTH 128u
#define COUNTER 2u
#define COUNTER_LAST 7u
#define FREE_FIRST 8u

enum zone_kind { ZONE_STILL, ZONE_LIVE, ZONE_OPEN };

/*
 * struct zone - the owner's view of a live zone. Written by the owner alone.
 * @begun, @done: writes; atomic: begun grows before the tree changes, done after it.
 * @counted: the number of the last counter store that is done; atomic.
 * @entry, @range: what is at each offset; equal neighbours in @range are one range.
 */
struct zone {
	unsigned long begun;
	unsigned long done;
	unsigned long counted;
	unsigned long ranges;
	void *entry[ZONE_WIDTH];
	unsigned long range[ZONE_WIDTH];
};

struct world {
	struct maple_tree mt;
	unsigned int zones; /* without the open one */
	unsigned int writers;
	unsigned int flags;
	bool gaps;
	bool counted; /* references to entries are */
	bool polled; /* no helper frees what the trees retire */
	bool stop; /* atomic */
	uint64_t seed;
	unsigned long reads;  /* atomic */
	unsigned long writes; /* atomic */
	unsigned long overlaps; /* atomic: see check_overlap() */
	unsigned long snapshots; /* atomic: looks at one, or writes to one */
	unsigned long open_begun; /* atomic: writes to the open zone */
	unsigned long open_done;  /* atomic */
	struct zone zone[ZONES];
};

/* A thread and its own random numbers. */
struct worker {
	struct world *world;
	unsigned int number;
	struct random random;
	unsigned long seen[ZONES]; /* the largest counter a reader has met */
};

/* What an entry encodes: offsets of @zone; number 0: it was there from the start. */
struct tag {
	unsigned int zone;
	unsigned int first;
	unsigned int last;
	unsigned long number;
};

static inline void *tag_entry(struct tag tag)
{
	return xa_mk_value(((tag.number << 6 | tag.zone) << 7 | tag.first) << 7 | tag.last);
}

static inline struct tag entry_tag(const void *entry)
{
	unsigned long v = xa_to_value(entry);

	return (struct tag){ v >> 14 & 63, v >> 7 & 127, v & 127, v >> 20 };
}

/* On 32 bits numbers wrap soon, so nothing is concluded from their order. */
static inline bool numbers_ordered(void)
{
	return sizeof(long) > 4;
}

static inline unsigned int zone_of(const struct world *w, unsigned long index)
{
	return index / ZONE_WIDTH < w->zones ? (unsigned int)(index / ZONE_WIDTH) : w->zones;
}

static inline enum zone_kind zone_kind(const struct world *w, unsigned int zone)
{
	return zone == w->zones ? ZONE_OPEN : zone % 4 == 3 ? ZONE_STILL : ZONE_LIVE;
}

static inline unsigned long offset_first(unsigned int zone, unsigned int offset)
{
	return (unsigned long)zone * ZONE_WIDTH + offset;
}

/* The last offset of the open zone stands for all indexes above. */
static inline unsigned long offset_last(const struct world *w, unsigned int zone,
					unsigned int offset)
{
	if (zone == w->zones && offset == ZONE_WIDTH - 1)
		return ULONG_MAX;
	return offset_first(zone, offset);
}

static inline bool stopped(struct world *w)
{
	return __atomic_load_n(&w->stop, __ATOMIC_RELAXED);
}

static inline unsigned int below(struct worker *me, unsigned int limit)
{
	return (unsigned int)random_below(&me->random, limit);
}

/* expect - unless @holds, say what does not, with the seed, and abort. */
#define expect(me, holds, ...) \
	((holds) ? (void)0 : complain(me, #holds, __FILE__, __LINE__, __VA_ARGS__))
__attribute__((format(printf, 5, 6), noreturn)) void complain(const struct worker *me,
							     const char *what, const char *file,
							     int line, const char *format, ...);

/* world_init_tree - make *@mt an empty tree of the same kind as the one under torture. */
void world_init_tree(struct world *w, struct maple_tree *mt);

/*
 * entry_lives - whether there is a reference to @entry, which was just found. False may be due to
 * another entry for which the same place counts, but only if that was put once too often.
 */
bool entry_lives(const void *entry);

/*
 * world_begin - fill the tree with what never changes. world_become_snapshot - put a snapshot of
 * the tree in its place. world_end - check all, destroy it.
 */
void world_begin(struct world *w, unsigned int flags, bool tiny, bool counted);
void world_become_snapshot(struct world *w);
void world_end(struct world *w);

/*
 * permanent_from - the first permanent entry that ends at or above @index: its range and entry.
 * permanent_upto - the last that begins at or below @index. False: none.
 */
struct permanent {
	unsigned long first;
	unsigned long last;
	void *entry;
};
bool permanent_from(const struct world *w, unsigned long index, struct permanent *p);
bool permanent_upto(const struct world *w, unsigned long index, struct permanent *p);

/* What threads run until the world stops; @arg is a struct worker. */
void *writer_run(void *arg);
void *reader_run(void *arg);
void *heir_run(void *arg);

#endif
