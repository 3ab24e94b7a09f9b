/* SPDX-License-Identifier: MIT */
/*
 * harness.c - runs works: options, interleaved samples, rows of JSON.
 */
#include "harness.h"
#include "verify.h"

#include <argp.h>
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#define REPEATS_MAX 101
#define ENGINES_MAX 64

static struct options {
	bool full;
	bool list;
	unsigned int repeats;
	uint64_t seed;
	size_t n;
	const char *engines; /* comma separated names, NULL: by mode */
	const char *works;
} options = { .repeats = 5, .seed = 1 };

static const struct argp_option argp_options[] = {
	{ "full", 'f', 0, 0, "All sizes and all modes (default: quick)", 0 },
	{ "repeats", 'r', "COUNT", 0, "Samples of each row, at least 5 (default 5)", 0 },
	{ "seed", 's', "NUMBER", 0, "Of all random inputs (default 1)", 0 },
	{ "n", 'n', "RANGES", 0, "Only this number of ranges, listed or not", 0 },
	{ "engines", 'e', "NAMES", 0, "Only these engines, separated by commas", 0 },
	{ "works", 'w', "NAMES", 0, "Only these works, separated by commas", 0 },
	{ "list", 'l', 0, 0, "Show works and engines and stop", 0 },
	{ 0 }
};

static unsigned long number(struct argp_state *state, const char *text, unsigned long min,
			    unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 0);

	if (end == text || *end || value < min || value > max)
		argp_error(state, "'%s' is not a number from %lu to %lu", text, min, max);
	return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'f': options.full = true; return 0;
	case 'l': options.list = true; return 0;
	case 'r': options.repeats = (unsigned int)number(state, arg, 5, REPEATS_MAX); return 0;
	case 's': options.seed = number(state, arg, 0, UINT64_MAX); return 0;
	case 'n': options.n = number(state, arg, 1, 100000000); return 0;
	case 'e': options.engines = arg; return 0;
	case 'w': options.works = arg; return 0;
	case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* Whether @name is one of the comma-separated @names; "kernel" does not name "kernel mm". */
static bool named(const char *names, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += length) {
		if ((at == names || at[-1] == ',') && (at[length] == ',' || !at[length]))
			return true;
	}
	return false;
}

uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static cpu_set_t allowed;

void pin(unsigned int wanted)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && wanted-- == 0)
			CPU_SET(cpu, &one);
	}
	if (sched_setaffinity(0, sizeof(one), &one))
		err(1, "sched_setaffinity");
}

void require(bool ok, const struct cell *cell, const char *what)
{
	if (!ok)
		errx(1, "%s failed in %s of %zu ranges", cell->engine->name, what, cell->data->n);
}

static void print_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

static void print_row(const struct work *work, size_t n, const struct engine *engine,
		      const double *samples, size_t count)
{
	if (!count)
		return;
	printf("{\"work\": ");
	print_string(work->name);
	printf(", \"n\": %zu, \"engine\": ", n);
	print_string(engine->name);
	printf(", \"unit\": \"%s\", \"better\": \"%s\", \"samples\": [", work->unit,
	       work->better_high ? "high" : "low");
	for (size_t i = 0; i < count; i++)
		printf("%s%.6g", i ? ", " : "", samples[i]);
	printf("]}\n");
	fflush(stdout);
}

/*
 * What the works of one n share: the input, and of each engine a map filled with it. Made when the
 * first work asks for it.
 */
struct pool {
	struct data *(*make_data)(size_t n, uint64_t seed);
	struct data *data;
	void *map[ENGINES_MAX];
	const struct engine *engine[ENGINES_MAX]; /* of the map, if there is one */
};

#define POOLS 4 /* as many as there are kinds of data in a program */

static struct pool *pool_get(struct pool *pools, const struct work *work, size_t n)
{
	for (; pools->make_data && pools->make_data != work->make_data; pools++)
		;
	if (!pools->make_data) {
		pools->make_data = work->make_data;
		pools->data = work->make_data(n, options.seed);
	}
	return pools;
}

static void pools_drop(struct pool *pools)
{
	for (struct pool *pool = pools; pool->make_data; pool++) {
		for (size_t i = 0; i < ENGINES_MAX; i++) {
			if (pool->map[i])
				pool->engine[i]->destroy(pool->map[i]);
		}
		data_free(pool->data);
	}
	memset(pools, 0, POOLS * sizeof(*pools));
}

/* The number-th engine of a work's, or NULL: all of this build, then the program's own. */
static const struct engine *nth_engine(const struct work *work, size_t number)
{
	size_t count = 0;

	while (engines[count])
		count++;
	if (number < count)
		return engines[number];
	/* beside is NULL where extra_engine is. */
	return number == count ? work->extra_engine : number == count + 1 ? work->beside : NULL;
}

static bool takes_part(const struct work *work, const struct engine *engine, size_t n)
{
	bool wanted = options.engines ? named(options.engines, engine->name) :
					options.full || !engine->extra;

	return wanted && work->can(engine) && (!engine->most || n <= engine->most);
}

/* Engines that take part: wanted, able and correct. Returns how many. */
static size_t make_cells(const struct work *work, size_t n, struct pool *pool, struct cell *cells)
{
	size_t ops = options.full && work->ops_full ? work->ops_full : work->ops, count = 0;
	const struct engine *engine;
	const void *aux = work->input;

	for (size_t i = 0; (engine = nth_engine(work, i)); i++) {
		if (!takes_part(work, engine, pool->data->n))
			continue;
		if (engine != work->extra_engine && engine != work->beside)
			verify_engine(engine, options.seed);
		if (work->verify)
			work->verify(engine, work->input);
		if (!aux && work->prepare)
			aux = work->prepare(pool->data, ops, options.seed + 1);
		if (work->shared_map && !pool->map[i]) {
			pool->map[i] = map_fill(engine, pool->data, true);
			pool->engine[i] = engine;
		}
		cells[count++] = (struct cell){ engine, pool->data, n, pool->map[i], aux, ops,
						options.seed, (unsigned int)CPU_COUNT(&allowed) };
	}
	return count;
}

/* What waits for readers is freed before a sample begins, not during it. */
static void settle(const struct engine *engine)
{
	if (engine->sharing == SHARING_READ_FREE)
		urcu_bp_barrier();
}

/*
 * Each sample has the stack elsewhere in its page: what is read at the place of another page that
 * was written a moment ago waits for it, and one placement for all would be a matter of luck (T.
 * Mytkowicz and others, "Producing Wrong Data Without Doing Anything Obviously Wrong!", 2009).
 */
static __attribute__((noinline)) double run_displaced(const struct work *work,
						      const struct cell *cell, unsigned int repeat)
{
	volatile char *pad = __builtin_alloca(1 + repeat * 832 % 4096);

	*pad = 0;
	return work->run(cell);
}

static void measure(const struct work *work, size_t n, struct pool *pool)
{
	static double samples[ENGINES_MAX][REPEATS_MAX];
	size_t taken[ENGINES_MAX] = { 0 };
	struct cell cells[ENGINES_MAX];
	size_t count = make_cells(work, n, pool, cells);
	unsigned int repeats = work->once ? 1 : options.repeats;

	fprintf(stderr, "%-24s n = %-9zu %zu engines\n", work->name, n, count);
	for (unsigned int repeat = 0; repeat < repeats; repeat++) {
		for (size_t i = 0; i < count; i++) {
			size_t at = (i + repeat) % count;
			double sample;

			cells[at].sample = options.seed * REPEATS_MAX + repeat;
			settle(cells[at].engine);
			if (work->shared_map && !work->no_warmup)
				work->run(&cells[at]); /* warms caches and predictors */
			sample = run_displaced(work, &cells[at], repeat);
			if (sample >= 0)
				samples[at][taken[at]++] = sample;
		}
	}
	for (size_t i = 0; i < count; i++)
		print_row(work, n, cells[i].engine, samples[i], taken[i]);
	if (count && work->discard)
		work->discard((void *)cells[0].aux);
}

/* The smallest size above @n that any work wants, or 0. */
static size_t next_size(const struct work *works, size_t n)
{
	size_t next = 0;

	for (; works->name; works++) {
		const size_t *sizes = options.full ? works->full : works->quick;

		for (; *sizes; sizes++) {
			if (*sizes > n && (!next || *sizes < next))
				next = *sizes;
		}
	}
	return next;
}

/* All engines hold a map at the same time: about a thousand bytes per range. */
static bool fits(size_t n)
{
	double available = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

	if ((double)n * 1000 <= available)
		return true;
	fprintf(stderr, "n = %zu is left out: it takes about %.0f GB of free memory\n", n,
		(double)n / 1e6);
	return false;
}

static bool wants(const struct work *work, size_t n)
{
	const size_t *sizes = options.full ? work->full : work->quick;

	if (options.works && !named(options.works, work->name))
		return false;
	if (options.n)
		return true;
	while (*sizes && *sizes != n)
		sizes++;
	return *sizes == n;
}

static void show_lists(const struct work *works)
{
	for (; works->name; works++)
		printf("work    %s\n", works->name);
	for (size_t i = 0; engines[i]; i++)
		printf("engine  %s%s\n", engines[i]->name, engines[i]->extra ? " (full)" : "");
}

int bench_main(int argc, char **argv, const struct work *works)
{
	static const struct argp argp = { .options = argp_options, .parser = parse,
					  .doc = "Prints a line of JSON for each row measured." };
	struct pool pools[POOLS] = { 0 };
	size_t n;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (options.list) {
		show_lists(works);
		return 0;
	}
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		err(1, "sched_getaffinity");
	urcu_bp_get_default_call_rcu_data(); /* its thread starts unpinned, beside us */
	pin(0);
	for (n = options.n ? options.n : next_size(works, 0); n; n = next_size(works, n)) {
		for (const struct work *work = works; work->name; work++) {
			if (wants(work, n) && fits(n))
				measure(work, n, pool_get(pools, work, n));
		}
		pools_drop(pools);
		if (options.n)
			break;
	}
	return 0;
}
