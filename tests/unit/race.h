/* SPDX-License-Identifier: MIT */
/*
 * race.h - a tree's content as a list, and a reader beside one write: who runs, and until when. After
 * <cmocka.h>.
 */
#ifndef UNIT_RACE_H
#define UNIT_RACE_H

#include <setjmp.h>
#include <stdbool.h>

#include <mapletree/maple_tree.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The content of a tree. */
struct range {
	unsigned long first;
	unsigned long last;
	void *entry;
};

struct listing {
	unsigned int ranges;
	struct range range[64];
};

void take(struct listing *l, struct maple_tree *mt);
const struct range *range_at(const struct listing *l, unsigned long index);

/* The nearest range with an entry that holds @index or lies above (below) it, or NULL. */
const struct range *entry_from(const struct listing *l, unsigned long index, int step);

/* Whether there is a gap of @size indexes. */
bool fits(const struct listing *l, unsigned long size);

/*
 * A write, of the value @value or of NULL (-1), in a tree of @count values, @width indexes each,
 * from @base on, 4 apart.
 */
struct scenario {
	unsigned long base;
	unsigned long count;
	unsigned long width;
	unsigned long first;
	unsigned long last;
	long value;
};

/*
 * When the two are switched: the writer has made @before stores when the reader starts; before the
 * reader's load number @load it makes @burst more, and if @again so many each @again loads later.
 */
struct schedule {
	unsigned long before;
	unsigned long load;
	unsigned long burst;
	unsigned long again;
};

/* The two that take turns: the way back into each. */
struct side {
	jmp_buf place;
};

extern struct race {
	const struct scenario *scenario;
	struct maple_tree mt;
	struct listing old;
	struct listing new;
	struct side reader;
	struct side writer;
	struct schedule schedule;
	unsigned long stores_left; /* until the writer stops */
	unsigned long stores;	   /* made so far */
	unsigned long loads_left;  /* until it goes on */
	bool writing;		   /* who runs */
	bool armed;
	bool met; /* load number @load was made */
	bool done;
	bool done_before; /* when the reader's step began */
} race;

/* For the tree that races begin with: readers beside it there are none. */
extern const struct mt_rcu alone;

/* Copies the tree; race.scenario's write to the copy waits for go_on(). */
void begin_race(struct maple_tree *original);

/* Lets the writer make @stores stores; it stops before the next one. */
void go_on(unsigned long stores);

/* @prepare: what is done before the write begins. @read returns what was wrong, or NULL. */
typedef const char *(*reader)(unsigned long index);

struct race_reader {
	const char *name;
	reader read;
	void (*prepare)(unsigned long index);
};

extern const struct race_reader race_readers[];
extern const size_t race_readers_count;

#endif
