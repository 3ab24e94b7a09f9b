/* SPDX-License-Identifier: MIT */
/*
 * main.c - random operations on a tree, every result compared with a flat-array model's.
 */
#include "model.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The highest index of @bits bits, or of one less than a long has where that is not wider. */
#define LONG_BITS (sizeof(long) * 8)
#define BITS(bits) (ULONG_MAX >> ((bits) < LONG_BITS ? LONG_BITS - (bits) : 1))

static const struct mix mixes[] = {
	/* name, low, high, unit, length, entries, phases, append, share */
	{ "tiny", 0, 12, 1, 4, 4, false, false, 15 },
	{ "dense", 0, 400, 1, 6, 100, false, false, 20 },
	{ "sparse", 0, ULONG_MAX, 0, 8, 200, false, false, 15 },
	{ "pages", 0x10000, BITS(47), 0x1000, 64, 1000, false, false, 15 },
	{ "append", 0, BITS(40), 1, 16, 3000, false, true, 10 },
	{ "shrink", 0, 1UL << 20, 1, 64, 400, true, false, 20 },
	{ "big", 0, BITS(32), 0x1000, 4, 200000, false, false, 5 },
};

#define MIXES (sizeof(mixes) / sizeof(mixes[0]))

static const struct {
	const char *name;
	unsigned int flags;
} variants[] = {
	{ "plain", 0 },
	{ "alloc", MT_FLAGS_ALLOC_RANGE },
	{ "plain+rcu", MT_FLAGS_USE_RCU },
	{ "alloc+rcu", MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU },
};

#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

struct options {
	unsigned long long ops;
	unsigned long long seed;
	const char *mix;
	const char *flags;
	bool tap;
};

/* Stores until a big mix has its entries: otherwise most of the run would be growing. */
static void fill(struct run *run)
{
	if (run->mix->entries < 10000)
		return;
	if (!mt_in_rcu(&run->mt))
		bulk_fill(run, run->mix->entries / 2);
	while (run->oracle.count < run->mix->entries * 3 / 4) {
		unsigned long first = run->oracle.ranges[run->oracle.count - 1].first +
				      below(run, 3) * 0x1000;
		void *entry = (void *)(0x10000 + 16 * ++run->entries_made);

		oracle_store(&run->oracle, first, first + 0xfff, entry);
		expect_error(run, mtree_store_range(&run->mt, first, first + 0xfff, entry,
						    GFP_KERNEL), 0);
	}
	compare_all(run, &run->mt, &run->oracle);
}

/*
 * The share of one mix and variant. A run depends on the seed alone, not on its length. Returns
 * the number of ranges at its peak.
 */
static size_t run_one(const struct mix *mix, unsigned int flags, unsigned long long seed,
		    unsigned long long ops)
{
	struct run *run = calloc(1, sizeof(*run));
	size_t peak = 0;

	if (!run) {
		perror("model");
		exit(2);
	}
	run->mix = mix;
	run->flags = flags;
	run->seed = seed;
	random_seed(&run->random, seed + ((uint64_t)flags << 32));
	mt_init_flags(&run->mt, flags);
	oracle_init(&run->oracle, flags);
	fill(run);
	for (run->op = 1; run->op <= ops; run->op++) {
		unsigned long kind = below(run, 10000);

		if (run->oracle.count > peak)
			peak = run->oracle.count;
		if (kind == 0 && mix->entries < 10000)
			bulk_fill(run, below(run, mix->entries) + 1);
		else if (kind < 7000)
			random_call(run);
		else
			random_session(run);
	}
	compare_all(run, &run->mt, &run->oracle);
	mtree_destroy(&run->mt);
	if (!mtree_empty(&run->mt))
		fail(run, "not empty after mtree_destroy");
	oracle_free(&run->oracle);
	free(run);
	return peak;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static unsigned int shares(const struct options *options)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < MIXES; i++) {
		if (!options->mix || strcmp(mixes[i].name, options->mix) == 0)
			sum += mixes[i].share;
	}
	return sum;
}

static bool chosen(const char *name, const char *wanted)
{
	return !wanted || strcmp(name, wanted) == 0;
}

/* Runs what was chosen; returns the number of operations made. */
static unsigned long long run_all(const struct options *options)
{
	unsigned int sum = shares(options) * (options->flags ? 1 : VARIANTS);
	unsigned long long total = 0;
	int number = 0;

	for (size_t i = 0; i < MIXES; i++) {
		for (size_t j = 0; j < VARIANTS; j++) {
			unsigned long long ops = options->ops * mixes[i].share / sum;
			double start = seconds();
			size_t peak;

			if (!chosen(mixes[i].name, options->mix) ||
			    !chosen(variants[j].name, options->flags))
				continue;
			peak = run_one(&mixes[i], variants[j].flags, options->seed, ops);
			printf("%s%s %s: %llu operations, up to %zu ranges, %.1f s\n",
			       options->tap ? "# " : "  ", mixes[i].name, variants[j].name, ops,
			       peak, seconds() - start);
			if (options->tap)
				printf("ok %d - %s %s\n", ++number, mixes[i].name,
				       variants[j].name);
			fflush(stdout);
			total += ops;
		}
	}
	if (options->tap)
		printf("1..%d\n", number);
	return total;
}

static void usage(FILE *stream)
{
	fprintf(stream,
		"usage: model [--ops=N] [--seed=N] [--mix=NAME] [--flags=NAME] [--tap]\n"
		"  --ops=N       operations in all (default 200000)\n"
		"  --seed=N      of the random numbers (default: from the clock)\n"
		"  --mix=NAME    tiny dense sparse pages append shrink big (default: all)\n"
		"  --flags=NAME  plain alloc plain+rcu alloc+rcu (default: all)\n");
}

static unsigned long long number_or_die(const char *text, const char *option)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || *text < '0' || *text > '9' || *end) {
		fprintf(stderr, "model: --%s needs a number, not '%s'\n", option, text);
		exit(2);
	}
	return number;
}

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "mix", required_argument, NULL, 'm' },
		{ "flags", required_argument, NULL, 'f' },
		{ "tap", no_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .ops = 200000 };
	struct timespec now;
	int option;

	clock_gettime(CLOCK_REALTIME, &now);
	options.seed = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	while ((option = getopt_long(argc, argv, "h", names, NULL)) != -1) {
		switch (option) {
		case 'o': options.ops = number_or_die(optarg, "ops"); break;
		case 's': options.seed = number_or_die(optarg, "seed"); break;
		case 'm': options.mix = optarg; break;
		case 'f': options.flags = optarg; break;
		case 't': options.tap = true; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (optind < argc || shares(&options) == 0) {
		usage(stderr);
		exit(2);
	}
	return options;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	unsigned long long total;

	printf("%sseed %llu\n", options.tap ? "# " : "", options.seed);
	fflush(stdout);
	total = run_all(&options);
	if (total == 0) {
		fprintf(stderr, "model: nothing was run: --flags or --ops is wrong\n");
		return 2;
	}
	printf("%s%llu operations, every result as expected\n", options.tap ? "# " : "", total);
	return 0;
}
