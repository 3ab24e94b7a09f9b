/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what every competitor offers: a map of ranges behind one small table of functions.
 *
 * Ranges are inclusive at both ends; entries are pointers with three low bits clear, never NULL.
 * An engine leaves out (NULL) what it cannot do; the works that need it then skip the engine.
 * Loops that would drown in the cost of an indirect call are part of the table: each engine gets
 * them from loops.h, compiled next to its own operations, so that nothing stands between.
 */
#ifndef BENCH_ENGINE_H
#define BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct range {
	unsigned long first;
	unsigned long last; /* first <= last */
	void *entry;
};

/* A search for free indexes: the highest @size of them inside [@min, @max]. */
struct gap {
	unsigned long min;
	unsigned long max;
	unsigned long size;
};

/* Who must lock when readers run beside a writer. */
enum engine_sharing {
	SHARING_LOCK,      /* readers and writers share a reader-writer lock */
	SHARING_READ_FREE, /* readers need no lock, writers one among themselves */
	SHARING_FREE,      /* nobody needs a lock */
	SHARING_WRITE_FREE, /* writers need no lock, but there may be no readers beside them */
	SHARING_ALONE,     /* one thread at a time, readers too */
};

/*
 * struct engine - one competitor.
 * @name:    shown in tables. Modes of one tree differ after a space: "kernel", "kernel mm".
 * @sharing: above.
 * @extra:   runs in full mode only (or when named).
 * @forward_only: cannot be visited backwards: @sum and @list then always go upwards.
 * @most:    ranges beyond which it is no sensible choice; 0: any number.
 *
 * @create, @destroy: an empty map; one that may hold anything.
 * @load:    the entry at @index or NULL.
 * @insert:  @range, whose place is empty, becomes part of the map.
 * @append:  the same for a range above all others; NULL: use @insert.
 * @store:   put @range over whatever is there, cutting what sticks out.
 * @erase:   remove @range, which is in the map exactly so.
 * @resize:  @range is in the map exactly so, and the indexes up to @last are free: end it there.
 * @join:    @store that also joins @range with the ranges beside it that have the same entry.
 * @clear:   nothing is left in @range, whatever is there; what sticks out stays.
 * @end:     the last index of the range at @index, or of the gap.
 * @find_gap, @alloc: the highest gap; the same and put @entry there. False if there is none.
 * @sum:     visit all in order (or backwards), adding up entries and last indexes.
 * @sum_each: the same upwards by the loop that keeps no cursor of its user's.
 * @list:    write at most @max ranges in order (or backwards); returns how many there are.
 * @dup:     an independent copy, as the engine's users would make one.
 * @snapshot: the content as it is now, which does not change with @map: a map that shares with it,
 *           or a view of it that is only read and is destroyed before it.
 * @build:   a map of @count ascending, disjoint ranges by the quickest way there is; NULL: create
 *           and append. An engine without @create can be built only so, and then only read.
 * @bytes:   of memory held for ranges, as the engine itself knows it.
 * @load_many: look up @count indexes at once.
 *
 * The loops, each over @map (see loops.h for what a round is):
 * @independent, @chained: look up @count @keys; the sum of the entries found.
 * @brk1, @brk2:  @count rounds at the range @top.
 * @malloc1, @gaps: @count rounds of a search for @gap; false if one failed.
 */
struct engine {
	const char *name;
	enum engine_sharing sharing;
	bool extra;
	bool forward_only;
	size_t most;

	void *(*create)(void);
	void (*destroy)(void *map);
	void *(*load)(void *map, unsigned long index);
	bool (*insert)(void *map, const struct range *range);
	bool (*append)(void *map, const struct range *range);
	bool (*store)(void *map, const struct range *range);
	bool (*erase)(void *map, const struct range *range);
	bool (*resize)(void *map, const struct range *range, unsigned long last);
	bool (*join)(void *map, const struct range *range);
	bool (*clear)(void *map, const struct range *range);
	unsigned long (*end)(void *map, unsigned long index);
	bool (*find_gap)(void *map, const struct gap *gap, unsigned long *start);
	bool (*alloc)(void *map, const struct gap *gap, void *entry, unsigned long *start);
	unsigned long (*sum)(void *map, bool backward);
	unsigned long (*sum_each)(void *map);
	size_t (*list)(void *map, bool backward, struct range *out, size_t max);
	void *(*dup)(void *map);
	void *(*snapshot)(void *map);
	void *(*build)(const struct range *ranges, size_t count);
	size_t (*bytes)(void *map);
	void (*load_many)(void *map, const unsigned long *keys, void **entries, size_t count);

	unsigned long (*independent)(void *map, const unsigned long *keys, size_t count);
	unsigned long (*chained)(void *map, const unsigned long *keys, size_t count);
	bool (*brk1)(void *map, const struct range *top, size_t count);
	bool (*brk2)(void *map, const struct range *top, size_t count);
	bool (*malloc1)(void *map, const struct gap *gap, void *entry, size_t count);
	bool (*gaps)(void *map, const struct gap *gap, size_t count);
};

/* All engines of this build, ended by NULL; engines.c. */
extern const struct engine *const engines[];

#ifdef __cplusplus
}
#endif

#endif
