/* SPDX-License-Identifier: MIT */
/*
 * write.c - how long does it take to change a map of n ranges?
 *
 * A sample repeats rounds of: make the map a round starts from and the input, in the order of its
 * use (not timed), change the map (timed), until enough operations were timed. For small n a round
 * takes several maps, so that reading the clock does not count. Each round has a random order of
 * its own: a processor learns one that it sees again.
 */
#include "harness.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_MAX 64

/* Fills @input with what one round writes, one range for each operation; returns how many. */
typedef size_t deal_fn(const struct data *data, const uint32_t *order, struct range *input);

typedef bool write_fn(void *map, const struct range *range);

/*
 * struct rounds - what the rounds of a work are.
 * @first:   what is stored before a round in a map filled with all ranges; NULL: nothing is.
 * @empty:   a round starts from an empty map instead.
 * @per_map: about how many operations a map is good for.
 */
struct rounds {
	deal_fn *deal;
	write_fn *write;
	deal_fn *first;
	bool empty;
	size_t per_map;
};

static void *map_for_round(const struct cell *cell, const struct rounds *r, const uint32_t *order,
			   struct range *input)
{
	void *map = r->empty ? cell->engine->create() : map_fill(cell->engine, cell->data, true);
	size_t count = r->first ? r->first(cell->data, order, input) : 0;

	for (size_t k = 0; k < count; k++)
		require(cell->engine->store(map, &input[k]), cell, "overwriting");
	return map;
}

static double run_rounds(const struct cell *cell, struct rounds r)
{
	const struct engine *engine = cell->engine;
	size_t maps = 256 / r.per_map + 1, n = cell->data->n, done = 0;
	uint32_t *order = malloc(n * sizeof(*order));
	struct range *input = malloc(n * sizeof(*input));
	struct random random;
	uint64_t spent = 0;
	void *map[MAPS_MAX];
	bool ok = true;

	if (!order || !input)
		err(1, "writes");
	random_seed(&random, cell->sample);
	if (maps > MAPS_MAX)
		maps = MAPS_MAX;
	while (done < cell->ops) {
		uint64_t start;
		size_t count;

		random_order(&random, order, n);
		for (size_t i = 0; i < maps; i++)
			map[i] = map_for_round(cell, &r, order, input);
		count = r.deal(cell->data, order, input);
		start = now();
		for (size_t i = 0; i < maps; i++)
			for (size_t k = 0; k < count; k++)
				ok &= r.write(map[i], &input[k]);
		spent += now() - start;
		for (size_t i = 0; i < maps; i++)
			engine->destroy(map[i]);
		done += maps * count;
	}
	require(ok, cell, "writing");
	free(input);
	free(order);
	return (double)spent / (double)done;
}

static size_t deal_sorted(const struct data *data, const uint32_t *order, struct range *input)
{
	(void)order;
	memcpy(input, data->ranges, data->n * sizeof(*input));
	return data->n;
}

static size_t deal_shuffled(const struct data *data, const uint32_t *order, struct range *input)
{
	for (size_t i = 0; i < data->n; i++)
		input[i] = data->ranges[order[i]];
	return data->n;
}

/* One range over @count neighbours, for every second group of them. */
static size_t deal_groups(const struct data *data, const uint32_t *order, size_t count,
			  struct range *input)
{
	size_t groups = data->n / count, dealt = 0;

	for (size_t i = 0; i < data->n; i++) {
		size_t group = order[i];

		if (group >= groups || (groups > 1 && group % 2))
			continue;
		input[dealt++] = (struct range){ data->ranges[group * count].first,
						 data->ranges[group * count + count - 1].last,
						 (void *)(8 * (data->n + 1 + group)) };
	}
	return dealt;
}

static size_t deal_1(const struct data *data, const uint32_t *order, struct range *input)
{
	return deal_groups(data, order, 1, input);
}

static size_t deal_4(const struct data *data, const uint32_t *order, struct range *input)
{
	return deal_groups(data, order, 4, input);
}

static size_t deal_64(const struct data *data, const uint32_t *order, struct range *input)
{
	return deal_groups(data, order, 64, input);
}

/* The ranges that were there before deal_4() was stored, group by group. */
static size_t deal_back_4(const struct data *data, const uint32_t *order, struct range *input)
{
	size_t groups = deal_4(data, order, input);

	for (size_t i = groups; i-- > 0;) { /* from the end: a group takes the room of four */
		size_t group = (size_t)input[i].entry / 8 - data->n - 1;

		memcpy(&input[4 * i], &data->ranges[4 * group], 4 * sizeof(*input));
	}
	return 4 * groups;
}

static double append(const struct cell *cell)
{
	const struct engine *engine = cell->engine;

	return run_rounds(cell, (struct rounds){
		.deal = deal_sorted, .write = engine->append ? engine->append : engine->insert,
		.empty = true, .per_map = cell->data->n });
}

static double insert(const struct cell *cell)
{
	return run_rounds(cell, (struct rounds){
		.deal = deal_shuffled, .write = cell->engine->insert, .empty = true,
		.per_map = cell->data->n });
}

static double erase(const struct cell *cell)
{
	return run_rounds(cell, (struct rounds){
		.deal = deal_shuffled, .write = cell->engine->erase, .per_map = cell->data->n });
}

static double overwrite(const struct cell *cell, deal_fn *deal, size_t groups)
{
	return run_rounds(cell, (struct rounds){
		.deal = deal, .write = cell->engine->store, .per_map = groups });
}

static double overwrite_1(const struct cell *cell)
{
	return overwrite(cell, deal_1, cell->data->n);
}

static double overwrite_4(const struct cell *cell)
{
	return overwrite(cell, deal_4, cell->data->n / 8 + 1);
}

static double overwrite_64(const struct cell *cell)
{
	return overwrite(cell, deal_64, cell->data->n / 128 + 1);
}

static double put_4_back(const struct cell *cell)
{
	return run_rounds(cell, (struct rounds){
		.deal = deal_back_4, .write = cell->engine->store, .first = deal_4,
		.per_map = cell->data->n / 2 + 1 });
}

/* From sorted ranges to a map, by the quickest way the engine has. */
static double build(const struct cell *cell)
{
	const struct data *data = cell->data;
	uint64_t spent = 0;
	size_t done;

	for (done = 0; done < cell->ops; done += data->n) {
		uint64_t start = now();
		void *map = cell->engine->build ? cell->engine->build(data->ranges, data->n) :
						  map_fill(cell->engine, data, false);

		spent += now() - start;
		require(map, cell, "building");
		cell->engine->destroy(map);
	}
	return (double)spent / (double)done;
}

/* Four lookups, then a range is erased; four lookups, then it is inserted again; and so on: the
 * map is the same after every ten operations, and the number of operations a multiple of ten. */
static double mixed(const struct cell *cell)
{
	const struct engine *engine = cell->engine;
	const struct data *data = cell->data;
	const unsigned long *keys = cell->aux;
	unsigned long sum = 0;
	bool ok = true;
	uint64_t start = now();

	for (size_t i = 0; i < cell->ops; i += 5) {
		const struct range *range = &data->ranges[data->order[i / 10 % data->n]];

		for (size_t k = 0; k < 4; k++)
			sum += (unsigned long)engine->load(cell->map, keys[i + k]);
		ok &= i / 5 % 2 ? engine->insert(cell->map, range) :
				  engine->erase(cell->map, range);
	}
	keep(sum);
	require(ok, cell, "mixed work");
	return (double)(now() - start) / (double)cell->ops;
}

static void *random_keys(const struct data *data, size_t ops, uint64_t seed)
{
	return data_keys(data, KEYS_RANDOM, ops, seed);
}

static bool can_insert(const struct engine *engine)
{
	return engine->create && engine->insert;
}

static bool can_erase(const struct engine *engine)
{
	return can_insert(engine) && engine->erase;
}

static bool can_store(const struct engine *engine)
{
	return can_insert(engine) && engine->store;
}

#define WRITE(label, runner, able, count, ...) \
	{ .name = label, .unit = "ns", .make_data = data_mixed, .ops = count, \
	  .ops_full = 2 * count, .can = able, .run = runner, __VA_ARGS__ }

#define SMALL_SIZES { 100, 10000 }
#define ALL_SIZES   { 16, 30, 100, 300, 1000, 10000, 100000, 1000000 }

static const struct work works[] = {
	WRITE("append", append, can_insert, 50000,
	      .quick = SMALL_SIZES, .full = ALL_SIZES),
	WRITE("bulk build", build, can_insert, 50000,
	      .quick = { 10000 }, .full = ALL_SIZES),
	WRITE("insert random", insert, can_insert, 20000,
	      .quick = SMALL_SIZES, .full = ALL_SIZES),
	WRITE("erase random", erase, can_erase, 20000,
	      .quick = SMALL_SIZES, .full = ALL_SIZES),
	WRITE("overwrite 1", overwrite_1, can_store, 5000,
	      .quick = { 8, 16, 32 }, .full = { 8, 16, 30, 32, 100, 300, 10000 }),
	WRITE("overwrite 4", overwrite_4, can_store, 5000,
	      .quick = SMALL_SIZES, .full = { 8, 16, 30, 32, 100, 300, 10000, 1000000 }),
	WRITE("put 4 back", put_4_back, can_store, 5000,
	      .quick = SMALL_SIZES, .full = { 8, 16, 30, 32, 100, 300, 10000, 1000000 }),
	WRITE("overwrite 64", overwrite_64, can_store, 500,
	      .quick = { 10000 }, .full = { 10000, 1000000 }),
	WRITE("mixed 80/20", mixed, can_erase, 100000, .shared_map = true,
	      .prepare = random_keys, .discard = free,
	      .quick = { 10000 }, .full = { 100, 10000, 1000000 }),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
