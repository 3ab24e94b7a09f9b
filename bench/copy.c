/* SPDX-License-Identifier: MIT */
/*
 * copy.c - what does it cost to duplicate a map, per range?
 *
 * The limit is a memcpy of the same nodes into fresh blocks: "memcpy of nodes" takes the size of
 * this project's tree for that n.
 */
#include "harness.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

static bool can_dup(const struct engine *engine)
{
	return engine->dup != NULL;
}

#define COPIES_MAX 512

/* Rounds of: make many copies (timed), destroy them all (not timed). */
static double duplicate(const struct cell *cell)
{
	const struct engine *engine = cell->engine;
	size_t n = cell->data->n, copies = cell->ops / n + 1;
	void *copy[COPIES_MAX];
	uint64_t spent;

	if (copies > COPIES_MAX)
		copies = COPIES_MAX;
	spent = now();
	for (size_t i = 0; i < copies; i++)
		copy[i] = engine->dup(cell->map);
	spent = now() - spent;
	for (size_t i = 0; i < copies; i++) {
		require(copy[i], cell, "copying");
		engine->destroy(copy[i]);
	}
	return (double)spent / (double)(copies * n);
}

/* Only trees of nodes know their size: blocks of 256 bytes each. */
static bool can_memcpy(const struct engine *engine)
{
	return engine->bytes && engine->dup && engine->build;
}

#define BLOCK 256

/* Scattered blocks are copied into blocks fresh from the allocator, one after the other. */
static double copy_blocks(const struct cell *cell)
{
	size_t n = cell->data->n, blocks = cell->engine->bytes(cell->map) / BLOCK;
	size_t copies = cell->ops / n + 1, total;
	char **from = malloc(blocks * sizeof(*from)), **to;
	uint64_t spent;

	if (copies > COPIES_MAX)
		copies = COPIES_MAX;
	total = copies * blocks;
	to = malloc(total * sizeof(*to));
	if (!from || !to)
		err(1, "memcpy of nodes");
	for (size_t i = 0; i < blocks; i++)
		memset(from[i] = aligned_alloc(BLOCK, BLOCK), 1, BLOCK);
	spent = now();
	for (size_t i = 0; i < total; i++)
		memcpy(to[i] = aligned_alloc(BLOCK, BLOCK), from[i % blocks], BLOCK);
	spent = now() - spent;
	for (size_t i = 0; i < total; i++)
		free(to[i]);
	for (size_t i = 0; i < blocks; i++)
		free(from[i]);
	free(from);
	free(to);
	return (double)spent / (double)(copies * n);
}

#define COPY(label, runner, able, ...) \
	{ .name = label, .unit = "ns", .shared_map = true, .make_data = data_mixed, \
	  .ops = 50000, .ops_full = 500000, .can = able, .run = runner, __VA_ARGS__ }

#define QUICK_SIZES { 16, 134, 10000 }
#define ALL_SIZES   { 16, 134, 1000, 10000, 100000, 1000000 }

static const struct work works[] = {
	COPY("duplicate", duplicate, can_dup, .quick = QUICK_SIZES, .full = ALL_SIZES),
	COPY("memcpy of nodes", copy_blocks, can_memcpy, .quick = QUICK_SIZES, .full = ALL_SIZES),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
