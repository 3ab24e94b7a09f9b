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

/*
 * Rounds of: make some copies (timed), free them all (not timed). A round holds so few that what
 * they write fits into a second-level cache, and a sample is many rounds: the figure is that of
 * memory that was in use a moment ago, as a copy's is that replaces another one. With all copies of
 * a sample held at once (13 MB at 1000 ranges) it was that of whatever ran before: twice as much
 * after another engine as after a sample of the same one.
 */
#define COPIES_MAX   512
#define ENTRIES_HELD 16384 /* 650 KiB of this project's nodes at most; or one copy */

static size_t copies_held(const struct cell *cell)
{
	size_t copies = ENTRIES_HELD / cell->data->n;

	return copies > COPIES_MAX ? COPIES_MAX : copies + !copies;
}

static double duplicate(const struct cell *cell)
{
	const struct engine *engine = cell->engine;
	size_t n = cell->data->n, copies = copies_held(cell), done = 0;
	void *copy[COPIES_MAX];
	uint64_t spent = 0;

	for (; done < cell->ops; done += copies * n) {
		uint64_t start = now();

		for (size_t i = 0; i < copies; i++)
			copy[i] = engine->dup(cell->map);
		spent += now() - start;
		for (size_t i = 0; i < copies; i++) {
			require(copy[i], cell, "copying");
			engine->destroy(copy[i]);
		}
	}
	return (double)spent / (double)done;
}

/* Only trees of nodes know their size: blocks of 256 bytes each. */
static bool can_memcpy(const struct engine *engine)
{
	return engine->bytes && engine->dup && engine->build;
}

#define BLOCK 256

/*
 * In the same rounds as many blocks as the tree has are copied into ones fresh from the allocator.
 */
static double copy_blocks(const struct cell *cell)
{
	size_t n = cell->data->n, blocks = cell->engine->bytes(cell->map) / BLOCK;
	size_t copies = copies_held(cell), total = copies * blocks, done = 0;
	char **from = malloc(blocks * sizeof(*from)), **to = malloc(total * sizeof(*to));
	uint64_t spent = 0;

	if (!from || !to)
		err(1, "memcpy of nodes");
	for (size_t i = 0; i < blocks; i++)
		memset(from[i] = aligned_alloc(BLOCK, BLOCK), 1, BLOCK);
	for (; done < cell->ops; done += copies * n) {
		uint64_t start = now();

		for (size_t i = 0, k = 0; i < copies; i++) {
			for (size_t j = 0; j < blocks; j++, k++)
				memcpy(to[k] = aligned_alloc(BLOCK, BLOCK), from[j], BLOCK);
		}
		spent += now() - start;
		for (size_t i = 0; i < total; i++)
			free(to[i]);
	}
	for (size_t i = 0; i < blocks; i++)
		free(from[i]);
	free(from);
	free(to);
	return (double)spent / (double)done;
}

#define COPY(label, runner, able, ...) \
	{ .name = label, .unit = "ns", .shared_map = true, .make_data = data_mixed, \
	  .ops = 200000, .ops_full = 1000000, .can = able, .run = runner, __VA_ARGS__ }

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
