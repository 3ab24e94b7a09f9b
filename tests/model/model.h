/* SPDX-License-Identifier: MIT */
/*
 * model.h - one run of random operations: a tree, its oracle, where the random numbers come from.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "oracle.h"
#include "random.h"

#include <mapletree/maple_tree.h>
#include <stdbool.h>

/*
 * What a run draws from. Indexes are multiples of @unit in [@low, @high], or of unit 1 everywhere
 * if @unit is 0; ranges are 1 .. @length units long, now and then much longer. @entries: the
 * population that stores and erasures keep up; @phases: it grows to that and falls to nothing, in
 * turns. @append: mostly ascending stores. @share: of all operations, in parts.
 */
struct mix {
	const char *name;
	unsigned long low;
	unsigned long high;
	unsigned long unit;
	unsigned long length;
	size_t entries;
	bool phases;
	bool append;
	unsigned int share;
};

/* An operation, for the report of a failure. */
struct record {
	const char *name;
	unsigned long arguments[3];
	const void *entry;
};

#define RECORDS 24

struct run {
	struct maple_tree mt;
	struct oracle oracle;
	struct random random;
	const struct mix *mix;
	unsigned int flags;
	uint64_t seed;
	unsigned long op;        /* operations done */
	unsigned long recorded;  /* records written; the last RECORDS are kept */
	struct record records[RECORDS];
	unsigned long entries_made;
	unsigned long appended;  /* where the next ascending store goes */
	unsigned long cyclic_next;
	bool cyclic_wrapped;
	bool shrinking;
};

/* ---- drawing (draw.c) ------------------------------------------------------------------- */

unsigned long draw_index(struct run *run);
void draw_range(struct run *run, unsigned long *first, unsigned long *last);
/* The end of a range at or above @index: mostly of one of the next few, now and then of any. */
unsigned long draw_end(struct run *run, unsigned long index);
/* A limit for an upward (downward) search from @index. */
unsigned long draw_limit(struct run *run, unsigned long index, bool up);
/*
 * A search for free indexes: mostly with an alignment that matters in the mix, now and then a bad
 * one.
 */
struct mt_area draw_area(struct run *run);
/* An entry: mostly new ones, a few equal to others, values, zero entries. */
void *draw_entry(struct run *run);
bool chance(struct run *run, unsigned int percent);
unsigned long below(struct run *run, unsigned long limit);

/* ---- reporting and comparing (compare.c) ------------------------------------------------ */

/* Note an operation before it is made. */
void record(struct run *run, const char *name, unsigned long a, unsigned long b, unsigned long c,
	    const void *entry);

/* End the process with a report if both differ. */
void expect_error(struct run *run, int got, int expected);
void expect_entry(struct run *run, const void *got, const void *expected);
void expect_number(struct run *run, const char *what, unsigned long got, unsigned long expected);
void fail(struct run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* After a change of [first, last]: compare around it, and check the tree as often as it pays. */
void compare_change(struct run *run, unsigned long first, unsigned long last);

/* Compare all of @mt with all of @oracle, and check it. */
void compare_all(struct run *run, struct maple_tree *mt, const struct oracle *oracle);

/* ---- operations ------------------------------------------------------------------------- */

/* One random call of the normal API (calls.c), one use of a cursor (session.c). */
void random_call(struct run *run);
void random_session(struct run *run);

/* Empty the tree and fill it in bulk mode (session.c). */
void bulk_fill(struct run *run, size_t entries);

#endif
