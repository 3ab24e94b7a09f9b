/* SPDX-License-Identifier: MIT */
/*
 * snapshot.c - what does it cost to keep the state of a map, and to go on writing?
 *
 * A round keeps the state, by a snapshot or by a copy, makes some stores into the map, and gives up
 * what was kept: what an emulator does that tries something, and a fuzzer thousands of times a
 * second. Each store is of another entry over one of the ranges, drawn at random, so the map keeps
 * its shape. The figure is of one round.
 */
#include "harness.h"

#include <stdlib.h>

static bool can_snapshot(const struct engine *engine)
{
	return engine->snapshot && engine->store;
}

/* What shares when it copies is among the snapshots. */
static bool can_copy(const struct engine *engine)
{
	return engine->dup && engine->store && engine->dup != engine->snapshot;
}

static double rounds(const struct cell *cell, void *(*keep_state)(void *map), unsigned int writes)
{
	const struct engine *engine = cell->engine;
	const struct data *data = cell->data;
	struct random random;
	uint64_t start;

	random_seed(&random, cell->sample);
	start = now();
	for (size_t round = 0; round < cell->ops; round++) {
		void *kept = keep_state(cell->map);

		require(kept, cell, "keeping the state");
		for (unsigned int i = 0; i < writes; i++) {
			struct range range = data->ranges[random_below(&random, data->n)];

			range.entry = (void *)(8 * (1 + random_below(&random, data->n)));
			require(engine->store(cell->map, &range), cell, "a store");
		}
		engine->destroy(kept);
	}
	return (double)(now() - start) / (double)cell->ops;
}

static double snapshot(const struct cell *cell)
{
	return rounds(cell, cell->engine->snapshot, 0);
}

static double snapshot_1(const struct cell *cell)
{
	return rounds(cell, cell->engine->snapshot, 1);
}

static double snapshot_10(const struct cell *cell)
{
	return rounds(cell, cell->engine->snapshot, 10);
}

static double snapshot_1000(const struct cell *cell)
{
	return rounds(cell, cell->engine->snapshot, 1000);
}

static double copy_10(const struct cell *cell)
{
	return rounds(cell, cell->engine->dup, 10);
}

#define ROUNDS(label, runner, able, count, ...) \
	{ .name = label, .unit = "ns", .shared_map = true, .make_data = data_mixed, \
	  .ops = count, .ops_full = 5 * (count), .can = able, .run = runner, __VA_ARGS__ }

#define QUICK_SIZES { 16, 1000, 100000 }
#define ALL_SIZES   { 16, 134, 1000, 10000, 100000, 1000000 }

/* "copy, 10 writes" comes last: it leaves an engine's map as it was, shared with nobody. */
static const struct work works[] = {
	ROUNDS("snapshot", snapshot, can_snapshot, 20000,
	       .quick = QUICK_SIZES, .full = { 16, 134, 1000, 10000, 100000, 1000000, 10000000 }),
	ROUNDS("snapshot, 1 write", snapshot_1, can_snapshot, 5000,
	       .quick = QUICK_SIZES, .full = ALL_SIZES),
	ROUNDS("snapshot, 10 writes", snapshot_10, can_snapshot, 2000,
	       .quick = QUICK_SIZES, .full = ALL_SIZES),
	ROUNDS("snapshot, 1000 writes", snapshot_1000, can_snapshot, 20,
	       .quick = { 100000 }, .full = ALL_SIZES),
	ROUNDS("copy, 10 writes", copy_10, can_copy, 4,
	       .quick = { 1000, 100000 }, .full = ALL_SIZES),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
