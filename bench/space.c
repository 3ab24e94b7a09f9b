/* SPDX-License-Identifier: MIT */
/*
 * space.c - what do the everyday changes of a process's address space cost?
 *
 * brk1 creates and removes an area at the top, brk2 grows and shrinks the last one, malloc1
 * searches for the highest gap, maps it and unmaps it; "gap search" only searches. The figures
 * are per round. "In the middle" is where as many areas follow as come before; the worst place is
 * the one of all where rounds take longest, over the median of all places: the same two writes over
 * and over are to cost the same wherever they are.
 */
#include "harness.h"

#include <err.h>
#include <stdlib.h>

static bool can_brk1(const struct engine *engine)
{
	return engine->brk1 != NULL;
}

static bool can_brk2(const struct engine *engine)
{
	return engine->brk2 != NULL;
}

static bool can_malloc1(const struct engine *engine)
{
	return engine->malloc1 != NULL;
}

static const struct range *top(const struct cell *cell)
{
	return &cell->data->ranges[cell->data->n - 1];
}

static double brk1(const struct cell *cell)
{
	uint64_t start = now();

	require(cell->engine->brk1(cell->map, top(cell), cell->ops), cell, "brk1");
	return (double)(now() - start) / (double)cell->ops;
}

static double brk2(const struct cell *cell)
{
	uint64_t start = now();

	require(cell->engine->brk2(cell->map, top(cell), cell->ops), cell, "brk2");
	return (double)(now() - start) / (double)cell->ops;
}

/* Below the highest area, as mmap() looks; larger than the gaps between areas. */
static struct gap wanted(const struct cell *cell)
{
	return (struct gap){ 16 * PAGE, top(cell)->first - 1, 16 * PAGE };
}

static double gaps(const struct cell *cell)
{
	struct gap gap = wanted(cell);
	uint64_t start = now();

	require(cell->engine->gaps(cell->map, &gap, cell->ops), cell, "gap search");
	return (double)(now() - start) / (double)cell->ops;
}

static double malloc1(const struct cell *cell)
{
	void *entry = (void *)(8 * (cell->data->n + 1));
	struct gap gap = wanted(cell);
	uint64_t start = now();

	require(cell->engine->malloc1(cell->map, &gap, entry, cell->ops), cell, "malloc1");
	return (double)(now() - start) / (double)cell->ops;
}

/* ---- anywhere in the space ------------------------------------------------------------------ */

typedef bool rounds_fn(void *map, const struct range *area, size_t count);

static double in_the_middle(const struct cell *cell, rounds_fn *rounds)
{
	const struct range *area = &cell->data->ranges[cell->data->n / 2];
	uint64_t start = now();

	require(rounds(cell->map, area, cell->ops), cell, "writing in the middle");
	return (double)(now() - start) / (double)cell->ops;
}

static double brk1_middle(const struct cell *cell)
{
	return in_the_middle(cell, cell->engine->brk1);
}

static double brk2_middle(const struct cell *cell)
{
	return in_the_middle(cell, cell->engine->brk2);
}

static int in_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The least of several tries at each place: what else the machine does there does not count. */
#define TRIES      9
#define TRY_ROUNDS 30

static double worst_place(const struct cell *cell, rounds_fn *rounds)
{
	size_t n = cell->data->n;
	double *least = malloc(n * sizeof(*least)), worst;

	if (!least)
		err(1, "places");
	for (size_t i = 0; i < n; i++) {
		least[i] = 1e18;
		for (int try = 0; try < TRIES; try++) {
			uint64_t start = now();
			double spent;

			require(rounds(cell->map, &cell->data->ranges[i], TRY_ROUNDS), cell,
				"writing at one place");
			spent = (double)(now() - start) / TRY_ROUNDS;
			if (spent < least[i])
				least[i] = spent;
		}
	}
	qsort(least, n, sizeof(*least), in_order);
	worst = least[n - 1] / least[n / 2];
	free(least);
	return worst;
}

static double brk1_worst(const struct cell *cell)
{
	return worst_place(cell, cell->engine->brk1);
}

static double brk2_worst(const struct cell *cell)
{
	return worst_place(cell, cell->engine->brk2);
}

#define SPACE(label, runner, able) \
	{ .name = label, .unit = "ns", .shared_map = true, .make_data = data_areas, \
	  .ops = 50000, .ops_full = 500000, .can = able, .run = runner, \
	  .quick = { 30, 1000 }, .full = { 30, 1000, 100000 } }

#define ANYWHERE(label, units, runner, able) \
	{ .name = label, .unit = units, .shared_map = true, .make_data = data_spaced, \
	  .ops = 50000, .ops_full = 500000, .can = able, .run = runner, \
	  .quick = { 30, 1000 }, .full = { 30, 100, 1000 } }

static const struct work works[] = {
	SPACE("brk1", brk1, can_brk1),
	SPACE("brk2", brk2, can_brk2),
	SPACE("malloc1", malloc1, can_malloc1),
	SPACE("gap search", gaps, can_malloc1),
	ANYWHERE("brk1 in the middle", "ns", brk1_middle, can_brk1),
	ANYWHERE("brk2 in the middle", "ns", brk2_middle, can_brk2),
	ANYWHERE("brk1 at the worst place", "ratio", brk1_worst, can_brk1),
	ANYWHERE("brk2 at the worst place", "ratio", brk2_worst, can_brk2),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
