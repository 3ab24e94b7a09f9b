/* SPDX-License-Identifier: MIT */
/*
 * main.c - all sequences of writes over a small index space, on nodes of 4 slots.
 *
 * Two sequences that lead to the same shape (see shape.h) go on alike, so each shape is tried
 * once: breadth first from the start, every write on every shape. A run without a limit ends
 * when no write makes a new shape: then sequences of every length are covered.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grace.h"
#include "options.h"
#include "states.h"
#include "step.h"

static const struct {
	const char *name;
	unsigned int flags;
} modes[] = {
	{ "plain", 0 },
	{ "gaps", MT_FLAGS_ALLOC_RANGE },
	{ "rcu", MT_FLAGS_USE_RCU },
	{ "gaps+rcu", MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU },
};

#define MODES (sizeof(modes) / sizeof(modes[0]))

/*
 * @start:  how the tree comes about that the sequences start from; NULL: empty.
 * @points: see shape.h; @depth: length of the sequences; @zero: zero entries too.
 * @slice:  part of the short run too, then only up to @slice writes.
 */
struct run {
	const char *start;
	unsigned int points;
	unsigned int depth;
	unsigned int slice;
	bool zero;
};

static const struct run runs[] = {
	{ NULL, 3, UNLIMITED, UNLIMITED, true },
	{ NULL, 5, UNLIMITED, UNLIMITED, false },
	{ NULL, 6, UNLIMITED, 3, true },
	{ NULL, 7, UNLIMITED, 3, false },
	{ NULL, 8, UNLIMITED, 3, false },
	{ NULL, 9, UNLIMITED, 2, false },
	{ NULL, 12, 3, 2, false },
	{ "ascending", 14, 2, 1, false },
	{ "descending", 14, 2, 1, false },
	{ "inside out", 14, 2, 1, false },
	{ "every other", 18, 2, 1, true },
	{ "ascending", 20, 2, 1, false },
	{ "descending", 20, 2, 1, false },
	{ "inside out", 20, 2, 1, false },
	{ "thinned", 20, 2, 1, false },
	{ "hollow", 28, 1, 1, false },
};

#define RUNS (sizeof(runs) / sizeof(runs[0]))

struct totals {
	unsigned long long writes;
	unsigned long long shapes;
	unsigned long long failures;
	unsigned int highest;
};

static const char *const kind_names[] = { "a new entry", "NULL", "what the first index holds",
					  "what the last index holds", "a zero entry" };

static int report(const struct world *world, const struct shape *shape,
		  const struct write *write, const char *wrong)
{
	struct maple_tree mt = MTREE_INIT(mt, world->flags);
	struct heap heap;

	fprintf(stderr, "exhaustive: %s\n", wrong);
	if (write)
		fprintf(stderr, "after a store of %s over points %u..%u of %u\n",
			kind_names[write->kind], write->first, write->last, world->points);
	fprintf(stderr, "in this tree:\n");
	heap_open(&heap);
	mt_set_allocator(&mt, &heap.allocator);
	if (!shape_make(shape, &mt))
		mt_dump(&mt, mt_dump_dec);
	return 1;
}

/* ---- trees to start from ---------------------------------------------------------------- */

static unsigned int inside_out(unsigned int i, unsigned int n)
{
	return (i % 2 ? n / 2 + (i + 1) / 2 : n / 2 - i / 2) % n;
}

static int put(struct maple_tree *mt, unsigned int first, unsigned int last, unsigned int points,
	       void *entry)
{
	return mtree_store_range(mt, point_index(first), point_last(last, points), entry,
				 GFP_KERNEL);
}

static int prepare(struct maple_tree *mt, const char *start, unsigned int n)
{
	unsigned int i;
	int error = 0;

	for (i = 0; start && i < n && !error; i++) {
		unsigned int at = !strcmp(start, "descending") ? n - 1 - i
				  : !strcmp(start, "inside out") ? inside_out(i, n)
								 : i;

		if (!strcmp(start, "every other") && i % 2)
			continue;
		error = put(mt, at, at, n, xa_mk_value(i + 1));
	}
	if (start && !strcmp(start, "thinned")) /* leaves with few entries, side by side */
		for (i = 1; i + 2 < n && !error; i += 4)
			error = put(mt, i, i + 2, n, xa_mk_value(i + 1));
	if (start && !strcmp(start, "hollow")) /* parents with few children */
		for (i = 2; i + 12 < n && !error; i += 14)
			error = put(mt, i, i + 11, n, NULL);
	return error;
}

static const char *first_shape(struct world *world, const struct run *run, struct shape *shape)
{
	struct maple_tree mt = MTREE_INIT(mt, world->flags);
	struct listing listing;

	mt_set_allocator(&mt, &world->heap.allocator);
	heap_allow(&world->heap);
	if (prepare(&mt, run->start, run->points))
		return "the tree to start from cannot be made";
	if (!shape_take(shape, &listing, &mt, run->points))
		return "the tree to start from is too large";
	mtree_destroy(&mt);
	grace_pass();
	return NULL;
}

/* ---- the search -------------------------------------------------------------------------- */

/* All writes on one shape; new ones that come out are added. */
static int expand(struct world *world, const struct run *run, const struct shape *shape,
		  struct states *states, struct totals *totals)
{
	unsigned int kinds = run->zero ? WRITE_ZERO + 1 : WRITE_ZERO;
	struct write write;
	struct shape after;
	unsigned int kind;

	for (kind = 0; kind < kinds; kind++)
		for (write.first = 0; write.first < run->points; write.first++)
			for (write.last = write.first; write.last < run->points; write.last++) {
				const char *wrong;

				write.kind = (enum write_kind)kind;
				wrong = step_write(world, shape, &write, &after);
				if (wrong)
					return report(world, shape, &write, wrong);
				totals->writes++;
				states_add(states, &after);
			}
	return 0;
}

static int search(struct world *world, const struct run *run, unsigned int depth,
		  struct totals *totals)
{
	size_t at = 0, level_end = 0;
	unsigned int level = 0;
	struct states states;
	struct shape shape;
	const char *wrong = first_shape(world, run, &shape);
	int failed = 0;

	if (wrong)
		return report(world, &shape, NULL, wrong);
	states_open(&states);
	states_add(&states, &shape);
	level_end = states.used;
	while (!failed && states_next(&states, &at, &shape)) {
		if (shape.byte[0] > totals->highest)
			totals->highest = shape.byte[0];
		wrong = step_read(world, &shape, level < depth);
		failed = wrong ? report(world, &shape, NULL, wrong) : 0;
		if (!failed && level < depth)
			failed = expand(world, run, &shape, &states, totals);
		if (at == level_end) {
			level++;
			level_end = states.used;
		}
	}
	totals->shapes += states.count;
	states_close(&states);
	return failed;
}

static int try(const struct options *options, const struct run *run, unsigned int mode,
	       unsigned int number, struct totals *sum)
{
	unsigned int depth = options->full ? run->depth : run->slice;
	struct world world = { .flags = modes[mode].flags, .points = run->points };
	struct totals totals = { 0, 0, 0, 0 };
	double begin = options_seconds();
	int failed;

	heap_open(&world.heap);
	failed = search(&world, run, depth, &totals);
	if (!failed)
		heap_close(&world.heap);
	options_print_begin(options, number, failed);
	printf("%s, %u points, from %s, sequences ", modes[mode].name, run->points,
	       run->start ? run->start : "empty");
	options_print_length(depth);
	printf(": %llu shapes, height up to %u, %llu writes, %lu failed allocations, %.1f s\n",
	       totals.shapes, totals.highest, totals.writes, world.failures,
	       options_seconds() - begin);
	fflush(stdout);
	sum->writes += totals.writes;
	sum->shapes += totals.shapes;
	sum->failures += world.failures;
	return failed;
}

int main(int argc, char **argv)
{
	struct totals sum = { 0, 0, 0, 0 };
	struct options options;
	unsigned int i, mode, number = 0;
	int failed = 0;

	if (!options_parse(&options, "exhaustive", RUNS, MODES, argc, argv))
		return 2;
	for (i = 0; i < RUNS && !failed; i++)
		for (mode = 0; mode < MODES && !failed; mode++)
			if (options_want(&options, i, mode))
				failed |= try(&options, &runs[i], mode, ++number, &sum);
	if (options.tap)
		printf("1..%u\n", number);
	printf("%s%llu shapes, %llu writes, %llu failed allocations\n", options.tap ? "# " : "",
	       sum.shapes, sum.writes, sum.failures);
	return failed;
}
