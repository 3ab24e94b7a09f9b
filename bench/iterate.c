/* SPDX-License-Identifier: MIT */
/*
 * iterate.c - how long does it take to visit all ranges in order, per range?
 */
#include "harness.h"

static bool can_sum(const struct engine *engine)
{
	return engine->sum != NULL;
}

static bool can_sum_backwards(const struct engine *engine)
{
	return engine->sum && !engine->forward_only;
}

static double iterate(const struct cell *cell, bool backward)
{
	size_t rounds = cell->ops / cell->data->n + 1;
	uint64_t start = now();

	for (size_t i = 0; i < rounds; i++)
		keep(cell->engine->sum(cell->map, backward));
	return (double)(now() - start) / (double)(rounds * cell->data->n);
}

static bool can_sum_each(const struct engine *engine)
{
	return engine->sum_each != NULL;
}

static double each(const struct cell *cell)
{
	size_t rounds = cell->ops / cell->data->n + 1;
	uint64_t start = now();

	for (size_t i = 0; i < rounds; i++)
		keep(cell->engine->sum_each(cell->map));
	return (double)(now() - start) / (double)(rounds * cell->data->n);
}

static double forward(const struct cell *cell)
{
	return iterate(cell, false);
}

static double backward(const struct cell *cell)
{
	return iterate(cell, true);
}

#define ITERATE(label, runner, able) \
	{ .name = label, .unit = "ns", .shared_map = true, .make_data = data_mixed, \
	  .quick = { 100, 10000, 1000000 }, \
	  .full = { 8, 16, 32, 100, 1000, 10000, 100000, 1000000, 10000000 }, \
	  .ops = 200000, .ops_full = 1000000, .can = able, .run = runner }

static const struct work works[] = {
	ITERATE("iterate", forward, can_sum),
	ITERATE("iterate backwards", backward, can_sum_backwards),
	ITERATE("mt_for_each", each, can_sum_each),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
