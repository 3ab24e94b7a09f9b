/* SPDX-License-Identifier: MIT */
/*
 * space.c - what do the everyday changes of a process's address space cost?
 *
 * brk1 creates and removes an area at the top, brk2 grows and shrinks the last one, malloc1
 * searches for the highest gap, maps it and unmaps it; "gap search" only searches. The figures
 * are per round.
 */
#include "harness.h"

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

#define SPACE(label, runner, able) \
	{ .name = label, .unit = "ns", .shared_map = true, .make_data = data_areas, \
	  .ops = 50000, .ops_full = 500000, .can = able, .run = runner, \
	  .quick = { 30, 1000 }, .full = { 30, 1000, 100000 } }

static const struct work works[] = {
	SPACE("brk1", brk1, can_brk1),
	SPACE("brk2", brk2, can_brk2),
	SPACE("malloc1", malloc1, can_malloc1),
	SPACE("gap search", gaps, can_malloc1),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
