/* SPDX-License-Identifier: MIT */
/*
 * counts.c - what callgrind counts: the benchmark's operations, each cell of a table a dump.
 *
 * Maps, inputs and engines are the benchmark's own (bench/). Everything is seeded, retired nodes
 * are freed at fixed points (grace.h), and only what stands between collect() and collect() is
 * counted; so a run of the same program counts the same again. For each cell one line: its label,
 * which is that of the dump, too, and the number of operations. counts.py puts them together.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/maple_tree.h>
#include <urcu/urcu-bp.h>
#include <valgrind/callgrind.h>

#include "../../bench/data.h"
#include "grace.h"
#include "intervals.h"
#include "variants.h"

extern const struct engine engine_mapletree, engine_mapletree_mm;
extern const struct engine engine_mapletree_own, engine_mapletree_mm_own;

/* At least so many operations a cell; so many at a time until retired nodes are freed. */
#define OPS_LEAST 2000
#define CHUNK	  64

struct mode {
	const char *name;
	const struct engine *engine;
};

static const struct mode modes[] = {
	{ "plain", &engine_mapletree },
	{ "gaps + RCU", &engine_mapletree_mm },
};

static const size_t sizes[] = { 30, 100, 1000, 10000 };

static struct random random_source;

/* Begins or ends what is counted. */
static inline void collect(void)
{
	CALLGRIND_TOGGLE_COLLECT;
}

static void require(bool ok, const char *what)
{
	if (!ok)
		errx(1, "%s failed", what);
}

static void *create(const struct engine *engine)
{
	struct maple_tree *map = engine->create();

	if (mt_in_rcu(map))
		require(mt_set_rcu_flavour(map, &grace_flavour) == 0, "choosing a flavour");
	return map;
}

static void destroy(const struct engine *engine, void *map)
{
	engine->destroy(map);
	grace_end();
}

/* All ranges of @data, inserted in random order. */
static void *filled(const struct engine *engine, const struct data *data)
{
	void *map = create(engine);

	for (size_t i = 0; i < data->n; i++)
		require(engine->insert(map, &data->ranges[data->order[i]]), "filling");
	grace_end();
	return map;
}

/* ---- changes: one call for each range of an input ------------------------------------------- */

typedef bool write_fn(void *map, const struct range *range);

static void write_all(void *map, write_fn *write, const struct range *input, size_t count)
{
	for (size_t i = 0; i < count; i += CHUNK) {
		size_t end = count - i < CHUNK ? count : i + CHUNK;
		bool ok = true;

		collect();
		for (size_t k = i; k < end; k++)
			ok &= write(map, &input[k]);
		collect();
		require(ok, "writing");
		grace_end();
	}
}

static void shuffle(const struct data *data, struct range *input)
{
	uint32_t *order = malloc(data->n * sizeof(*order));

	require(order, "allocating");
	random_order(&random_source, order, data->n);
	for (size_t i = 0; i < data->n; i++)
		input[i] = data->ranges[order[i]];
	free(order);
}

/* Maps are begun anew until enough operations were counted. */
static size_t write_maps(const struct engine *engine, const struct data *data, write_fn *write,
			 bool fill, bool sorted)
{
	struct range *input = malloc(data->n * sizeof(*input));
	size_t done;

	require(input, "allocating");
	memcpy(input, data->ranges, data->n * sizeof(*input));
	for (done = 0; done < OPS_LEAST; done += data->n) {
		void *map = fill ? filled(engine, data) : create(engine);

		if (!sorted)
			shuffle(data, input);
		write_all(map, write, input, data->n);
		destroy(engine, map);
	}
	free(input);
	return done;
}

static size_t append(const struct engine *engine, const struct data *data)
{
	return write_maps(engine, data, engine->insert, false, true);
}

static size_t insert(const struct engine *engine, const struct data *data)
{
	return write_maps(engine, data, engine->insert, false, false);
}

static size_t erase(const struct engine *engine, const struct data *data)
{
	return write_maps(engine, data, engine->erase, true, false);
}

/* Filled and emptied again, over and over, by the calls that take the lock themselves. */
static size_t fill_and_empty(const struct engine *external, const struct data *data)
{
	const struct engine *engine =
		external == &engine_mapletree ? &engine_mapletree_own : &engine_mapletree_mm_own;
	struct range *input = malloc(data->n * sizeof(*input));
	void *map = create(engine);
	size_t done;

	require(input, "allocating");
	for (done = 0; done < OPS_LEAST; done += 2 * data->n) {
		shuffle(data, input);
		write_all(map, engine->insert, input, data->n);
		shuffle(data, input);
		write_all(map, engine->erase, input, data->n);
	}
	destroy(engine, map);
	free(input);
	return done;
}

/* ---- overwriting several neighbours, and putting them back ---------------------------------- */

/* One range over @count neighbours, for every second group of them, in random order. */
static size_t deal_groups(const struct data *data, size_t count, struct range *input)
{
	size_t groups = data->n / count, dealt = 0;
	uint32_t *order = malloc(data->n * sizeof(*order));

	require(order, "allocating");
	random_order(&random_source, order, groups);
	for (size_t i = 0; i < groups; i++) {
		const struct range *group = &data->ranges[order[i] * count];

		if (groups == 1 || order[i] % 2 == 0)
			input[dealt++] = (struct range){ group[0].first, group[count - 1].last,
							 (void *)(8 * (data->n + 1 + order[i])) };
	}
	free(order);
	return dealt;
}

/* The ranges and gaps that @over lies over; gaps are ranges of NULL. */
static size_t deal_back(const struct data *data, const struct range *over, struct range *input)
{
	unsigned long next = over->first;
	size_t low = 0, dealt = 0;

	while (data->ranges[low].first != over->first)
		low++;
	for (size_t i = low; i < data->n && data->ranges[i].last <= over->last; i++) {
		const struct range *range = &data->ranges[i];

		if (range->first != next)
			input[dealt++] = (struct range){ next, range->first - 1, NULL };
		input[dealt++] = *range;
		next = range->last + 1;
	}
	return dealt;
}

static size_t overwrite(const struct engine *engine, const struct data *data, size_t count,
			bool count_back)
{
	struct range *input = malloc(data->n * sizeof(*input));
	struct range *back = malloc(2 * data->n * sizeof(*back));
	size_t done = 0;

	require(input && back, "allocating");
	while (data->n >= count && done < OPS_LEAST / 4) {
		void *map = filled(engine, data);
		size_t groups = deal_groups(data, count, input), stores = 0;

		for (size_t i = 0; i < groups; i++)
			stores += deal_back(data, &input[i], &back[stores]);
		if (count_back) {
			for (size_t i = 0; i < groups; i++)
				require(engine->store(map, &input[i]), "writing");
			grace_end();
			write_all(map, engine->store, back, stores);
		} else {
			write_all(map, engine->store, input, groups);
		}
		done += count_back ? stores : groups;
		destroy(engine, map);
	}
	free(back);
	free(input);
	return done;
}

static size_t overwrite_1(const struct engine *engine, const struct data *data)
{
	return overwrite(engine, data, 1, false);
}

static size_t overwrite_4(const struct engine *engine, const struct data *data)
{
	return overwrite(engine, data, 4, false);
}

static size_t overwrite_64(const struct engine *engine, const struct data *data)
{
	return overwrite(engine, data, 64, false);
}

static size_t put_4_back(const struct engine *engine, const struct data *data)
{
	return overwrite(engine, data, 4, true);
}

static size_t put_64_back(const struct engine *engine, const struct data *data)
{
	return overwrite(engine, data, 64, true);
}

/* ---- intervals: by a loop of the user's, and by one call ------------------------------------- */

/* The gap behind every second range, which has the same entry as its neighbours. */
static size_t deal_gaps(const struct data *data, struct range *input)
{
	size_t dealt = 0;

	for (size_t i = 0; i + 1 < data->n; i += 2)
		if (data->ranges[i].last + 1 < data->ranges[i + 1].first)
			input[dealt++] = (struct range){ data->ranges[i].last + 1,
							 data->ranges[i + 1].first - 1,
							 data->ranges[i].entry };
	return dealt;
}

/* The middle of every second range. */
static size_t deal_middles(const struct data *data, struct range *input)
{
	size_t dealt = 0;

	for (size_t i = 0; i < data->n; i += 2) {
		unsigned long third = (data->ranges[i].last - data->ranges[i].first + 1) / 3;

		if (third)
			input[dealt++] = (struct range){ data->ranges[i].first + third,
							 data->ranges[i].last - third, NULL };
	}
	return dealt;
}

/* All of every second group of eight ranges. */
static size_t deal_eights(const struct data *data, struct range *input)
{
	return deal_groups(data, 8, input);
}

typedef size_t deal_fn(const struct data *data, struct range *input);

/* A map of ranges with entries of two kinds in turn; @alike: of one kind. */
static size_t intervals(const struct engine *engine, const struct data *data, deal_fn *deal,
			bool alike, interval_fn *run)
{
	struct range *input = malloc(data->n * sizeof(*input));
	size_t done = 0;

	require(input, "allocating");
	for (size_t i = 0; i < data->n; i++)
		data->ranges[i].entry = (void *)(0x1000ul + 0x1000ul * (!alike && i % 2));
	while (done < OPS_LEAST / 4) {
		void *map = filled(engine, data);
		size_t count = deal(data, input);

		require(count, "dealing");
		write_all(map, run, input, count);
		done += count;
		destroy(engine, map);
	}
	free(input);
	return done;
}

#define INTERVALS(name, deal, alike, run) \
	static size_t name(const struct engine *engine, const struct data *data) \
	{ \
		return intervals(engine, data, deal, alike, run); \
	}

INTERVALS(join_hand, deal_gaps, true, join_by_hand)
INTERVALS(join_call, deal_gaps, true, join_by_call)
INTERVALS(middle_hand, deal_middles, false, update_by_hand)
INTERVALS(middle_call, deal_middles, false, update_by_call)
INTERVALS(update_8_hand, deal_eights, false, update_by_hand)
INTERVALS(update_8_call, deal_eights, false, update_by_call)
INTERVALS(take_8_hand, deal_eights, false, take_by_hand)
INTERVALS(take_8_call, deal_eights, false, take_by_call)

/* ---- address spaces: rounds that leave the map as it was ------------------------------------ */

typedef bool rounds_fn(const struct engine *engine, void *map, const struct data *data,
		       size_t count);

static size_t rounds(const struct engine *engine, const struct data *data, rounds_fn *run)
{
	void *map = filled(engine, data);
	size_t done;

	for (done = 0; done < OPS_LEAST; done += CHUNK) {
		bool ok;

		collect();
		ok = run(engine, map, data, CHUNK);
		collect();
		require(ok, "a round");
		grace_end();
	}
	destroy(engine, map);
	return done;
}

static bool brk1_rounds(const struct engine *engine, void *map, const struct data *data,
			size_t count)
{
	return engine->brk1(map, &data->ranges[data->n - 1], count);
}

static bool brk2_rounds(const struct engine *engine, void *map, const struct data *data,
			size_t count)
{
	return engine->brk2(map, &data->ranges[data->n - 1], count);
}

/* The first area from the middle on with two free pages behind it. */
static const struct range *middle(const struct data *data)
{
	const struct range *range = &data->ranges[data->n / 2];

	while (range[0].last + 2 * PAGE >= range[1].first)
		range++;
	return range;
}

static bool brk_middle_rounds(const struct engine *engine, void *map, const struct data *data,
			      size_t count)
{
	const struct range *range = middle(data);
	struct range grown = { range->first, range->last + PAGE, range->entry };
	bool ok = true;

	for (size_t i = 0; i < count; i++) {
		ok &= engine->resize(map, range, grown.last);
		ok &= engine->resize(map, &grown, range->last);
	}
	return ok;
}

static bool malloc1_rounds(const struct engine *engine, void *map, const struct data *data,
			   size_t count)
{
	const struct range *top = &data->ranges[data->n - 1];
	struct gap gap = { 16 * PAGE, top->first - 1, 16 * PAGE };

	return engine->malloc1(map, &gap, (void *)(8 * (data->n + 1)), count);
}

/* A place below the highest area, as mmap() looks for one; larger than the gaps between areas. */
static bool gaps_rounds(const struct engine *engine, void *map, const struct data *data,
			size_t count)
{
	const struct range *top = &data->ranges[data->n - 1];
	struct gap gap = { 16 * PAGE, top->first - 1, 16 * PAGE };

	return engine->gaps(map, &gap, count);
}

static size_t brk1(const struct engine *engine, const struct data *data)
{
	return rounds(engine, data, brk1_rounds);
}

static size_t brk2(const struct engine *engine, const struct data *data)
{
	return rounds(engine, data, brk2_rounds);
}

static size_t brk_middle(const struct engine *engine, const struct data *data)
{
	return rounds(engine, data, brk_middle_rounds);
}

static size_t malloc1(const struct engine *engine, const struct data *data)
{
	return engine->malloc1 ? rounds(engine, data, malloc1_rounds) : 0;
}

static size_t gaps(const struct engine *engine, const struct data *data)
{
	return engine->gaps ? rounds(engine, data, gaps_rounds) : 0;
}

/* ---- reading, with liburcu's own read side --------------------------------------------------- */

typedef void read_fn(struct maple_tree *map);

/* Visits all ranges, until enough of them were counted. */
static size_t visit(const struct engine *engine, const struct data *data, read_fn *read)
{
	struct maple_tree *map = map_fill(engine, data, true);
	size_t done;

	urcu_bp_read_lock();
	for (done = 0; done < OPS_LEAST; done += data->n) {
		collect();
		read(map);
		collect();
	}
	urcu_bp_read_unlock();
	engine->destroy(map);
	return done;
}

static unsigned long volatile kept;

static void read_for_each(struct maple_tree *map)
{
	MA_STATE(mas, map, 0, 0);
	unsigned long sum = 0;
	void *entry;

	mas_for_each(&mas, entry, ULONG_MAX)
		sum += mas.last + (unsigned long)entry;
	kept = sum;
}

static void read_find(struct maple_tree *map)
{
	MA_STATE(mas, map, 0, 0);
	unsigned long sum = 0;
	void *entry;

	while ((entry = mas_find(&mas, ULONG_MAX)))
		sum += mas.last + (unsigned long)entry;
	kept = sum;
}

static void read_prev(struct maple_tree *map)
{
	MA_STATE(mas, map, ULONG_MAX, ULONG_MAX);
	unsigned long sum = 0;
	void *entry;

	while ((entry = mas_prev(&mas, 0)))
		sum += mas.last + (unsigned long)entry;
	kept = sum;
}

static void read_for_each_rev(struct maple_tree *map)
{
	MA_STATE(mas, map, ULONG_MAX, ULONG_MAX);
	unsigned long sum = 0;
	void *entry;

	mas_for_each_rev(&mas, entry, 0)
		sum += mas.last + (unsigned long)entry;
	kept = sum;
}

static void read_mt_for_each(struct maple_tree *map)
{
	unsigned long index = 0, sum = 0;
	void *entry;

	mt_for_each(map, entry, index, ULONG_MAX)
		sum += index + (unsigned long)entry;
	kept = sum;
}

static size_t for_each(const struct engine *engine, const struct data *data)
{
	return visit(engine, data, read_for_each);
}

static size_t for_each_rev(const struct engine *engine, const struct data *data)
{
	return visit(engine, data, read_for_each_rev);
}

static size_t find(const struct engine *engine, const struct data *data)
{
	return visit(engine, data, read_find);
}

static size_t prev(const struct engine *engine, const struct data *data)
{
	return visit(engine, data, read_prev);
}

/* With the tree's own lock: beside a lock of the user's each step in RCU mode is a search. */
static size_t mt_each(const struct engine *engine, const struct data *data)
{
	const struct engine *own = engine == &engine_mapletree_mm ? &engine_mapletree_mm_own
								  : &engine_mapletree_own;

	return visit(own, data, read_mt_for_each);
}

static size_t load(const struct engine *engine, const struct data *data)
{
	unsigned long *keys = data_keys(data, KEYS_RANDOM, 10 * OPS_LEAST, 1);
	void *map = map_fill(engine, data, true);

	urcu_bp_read_lock(); /* so that this thread is known */
	urcu_bp_read_unlock();
	collect();
	kept = engine->independent(map, keys, 10 * OPS_LEAST);
	collect();
	engine->destroy(map);
	free(keys);
	return 10 * OPS_LEAST;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* One row; what runs for a cell returns the number of operations, 0: none are to be counted. */
struct row {
	const char *name;
	size_t (*run)(const struct engine *engine, const struct data *data);
	struct data *(*make_data)(size_t n, uint64_t seed);
};

static const struct row rows[] = {
	{ "append", append, data_mixed },
	{ "insert random", insert, data_mixed },
	{ "erase random", erase, data_mixed },
	{ "fill and empty", fill_and_empty, data_mixed },
	{ "overwrite 1", overwrite_1, data_mixed },
	{ "overwrite 4", overwrite_4, data_mixed },
	{ "put 4 back", put_4_back, data_mixed },
	{ "overwrite 64", overwrite_64, data_mixed },
	{ "put 64 back", put_64_back, data_mixed },
	{ "join by hand", join_hand, data_mixed },
	{ "mtree_store_merge", join_call, data_mixed },
	{ "update a middle by hand", middle_hand, data_areas },
	{ "mtree_update_range of a middle", middle_call, data_areas },
	{ "update 8 by hand", update_8_hand, data_mixed },
	{ "mtree_update_range of 8", update_8_call, data_mixed },
	{ "take 8 by hand", take_8_hand, data_mixed },
	{ "mtree_erase_range of 8", take_8_call, data_mixed },
	{ "brk1", brk1, data_areas },
	{ "brk2", brk2, data_areas },
	{ "brk2 in the middle", brk_middle, data_areas },
	{ "malloc1", malloc1, data_areas },
	{ "gap search", gaps, data_areas },
	{ "mtree_load random", load, data_mixed },
	{ "mas_for_each", for_each, data_mixed },
	{ "mas_for_each_rev", for_each_rev, data_mixed },
	{ "mas_find", find, data_mixed },
	{ "mas_prev", prev, data_mixed },
	{ "mt_for_each", mt_each, data_mixed },
};

/* Only cells whose label has this in it, if there is one. */
static const char *only;

static void count_cell(const struct row *row, const struct mode *mode, size_t n)
{
	struct data *data;
	char label[100];
	size_t ops;

	snprintf(label, sizeof(label), "%s/%s/%zu", row->name, mode->name, n);
	if (only && !strstr(label, only))
		return;
	data = row->make_data(n, 42);
	mt_cache_shrink(); /* what other cells have left */
	random_seed(&random_source, 1);
	CALLGRIND_ZERO_STATS;
	ops = row->run(mode->engine, data);
	CALLGRIND_DUMP_STATS_AT(label);
	if (ops)
		printf("%s\t%zu\n", label, ops);
	data_free(data);
}

/* The searches that this (maybe emulated) processor gets: see variants.h. */
static const char *variant(void)
{
#if defined(__x86_64__)
	return runs_avx512() ? "AVX-512" : runs_avx2() ? "AVX2" : "base";
#else
	return "base";
#endif
}

int main(int argc, char **argv)
{
	only = argc > 1 ? argv[1] : NULL;
	printf("# variant\t%s\n", variant());
	grace_start();
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
			for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
				count_cell(&rows[r], &modes[m], sizes[s]);
	return 0;
}
