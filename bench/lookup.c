/* SPDX-License-Identifier: MIT */
/*
 * lookup.c - how long does it take to find the range that holds an index?
 */
#include "harness.h"

#include <err.h>
#include <stdlib.h>

/* ---- the limit of whatever misses the cache once per lookup -------------------------------- */

/* Nodes in a random cycle, as many bytes as a tree of that many ranges takes. */
struct link {
	struct link *next;
	char rest[248];
};

struct chain {
	struct link *links;
};

#define RANGES_PER_LINK 9

static void *chain_build(const struct range *ranges, size_t count)
{
	size_t links = count / RANGES_PER_LINK + 1;
	struct chain *chain = malloc(sizeof(*chain));
	struct random random;
	size_t *order = malloc(links * sizeof(*order));

	(void)ranges;
	if (!chain || !order || !(chain->links = calloc(links, sizeof(struct link))))
		err(1, "pointer chase");
	random_seed(&random, count);
	for (size_t i = 0; i < links; i++) {
		size_t j = random_below(&random, i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (size_t i = 0; i < links; i++)
		chain->links[order[i]].next = &chain->links[order[(i + 1) % links]];
	free(order);
	return chain;
}

static void chain_destroy(void *map)
{
	struct chain *chain = map;

	free(chain->links);
	free(chain);
}

static unsigned long chain_follow(void *map, const unsigned long *keys, size_t count)
{
	const struct link *link = ((struct chain *)map)->links;

	(void)keys;
	for (size_t i = 0; i < count; i++)
		link = link->next;
	return (unsigned long)link;
}

static const struct engine engine_chase = {
	.name = "pointer chase",
	.build = chain_build,
	.destroy = chain_destroy,
	.chained = chain_follow,
};

/* ---- lookups ------------------------------------------------------------------------------- */


static bool can_load(const struct engine *engine)
{
	return engine->load != NULL;
}

static bool can_chain(const struct engine *engine)
{
	return engine->chained != NULL;
}

static bool can_load_many(const struct engine *engine)
{
	return engine->load_many != NULL;
}

static void *random_keys(const struct data *data, size_t ops, uint64_t seed)
{
	return data_keys(data, KEYS_RANDOM, ops, seed);
}

static void *sequential_keys(const struct data *data, size_t ops, uint64_t seed)
{
	return data_keys(data, KEYS_SEQUENTIAL, ops, seed);
}

static void *skewed_keys(const struct data *data, size_t ops, uint64_t seed)
{
	return data_keys(data, KEYS_SKEWED, ops, seed);
}

static void *local_keys(const struct data *data, size_t ops, uint64_t seed)
{
	return data_keys(data, KEYS_LOCAL, ops, seed);
}

static double independent(const struct cell *cell)
{
	uint64_t start = now();

	keep(cell->engine->independent(cell->map, cell->aux, cell->ops));
	return (double)(now() - start) / (double)cell->ops;
}

static double chained(const struct cell *cell)
{
	uint64_t start = now();

	keep(cell->engine->chained(cell->map, cell->aux, cell->ops));
	return (double)(now() - start) / (double)cell->ops;
}

#define BATCH 16

static double batched(const struct cell *cell)
{
	const unsigned long *keys = cell->aux;
	unsigned long sum = 0;
	void *entries[BATCH];
	size_t done;
	uint64_t start = now();

	for (done = 0; done + BATCH <= cell->ops; done += BATCH) {
		cell->engine->load_many(cell->map, keys + done, entries, BATCH);
		for (int i = 0; i < BATCH; i++)
			sum += (unsigned long)entries[i];
	}
	keep(sum);
	return (double)(now() - start) / (double)done;
}

#define LOOKUP(label, make_keys, runner, able, ...) \
	{ .name = label, .unit = "ns", .shared_map = true, \
	  .make_data = data_mixed, .ops = 100000, .ops_full = 400000, .can = able, \
	  .prepare = make_keys, .discard = free, .run = runner, __VA_ARGS__ }

#define ALL_SIZES { 8, 16, 32, 100, 1000, 10000, 100000, 1000000, 10000000 }

static const struct work works[] = {
	LOOKUP("lookup random", random_keys, independent, can_load,
	       .quick = { 8, 16, 32, 100, 10000, 1000000 }, .full = ALL_SIZES),
	LOOKUP("lookup chained", random_keys, chained, can_chain, .extra_engine = &engine_chase,
	       .quick = { 100, 10000, 1000000 }, .full = ALL_SIZES),
	LOOKUP("lookup batch of 16", random_keys, batched, can_load_many,
	       .quick = { 100, 10000, 1000000 }, .full = ALL_SIZES),
	LOOKUP("lookup sequential", sequential_keys, independent, can_load,
	       .quick = { 10000 }, .full = { 100, 10000, 1000000 }),
	LOOKUP("lookup skewed", skewed_keys, independent, can_load,
	       .quick = { 10000 }, .full = { 100, 10000, 1000000 }),
	LOOKUP("lookup local", local_keys, independent, can_load,
	       .quick = { 10000 }, .full = { 100, 10000, 1000000 }),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
