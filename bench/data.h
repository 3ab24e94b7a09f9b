/* SPDX-License-Identifier: MIT */
/*
 * data.h - the common inputs: sets of ranges, orders and keys, the same for every engine.
 */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include "engine.h"

#include <stdint.h>

/* A generator of random numbers (xoshiro256++, D. Blackman and S. Vigna); seeded, repeatable. */
struct random {
	uint64_t s[4];
};

void random_seed(struct random *random, uint64_t seed);
uint64_t random_next(struct random *random);
/* random_below - 0 .. @bound - 1; @bound > 0. */
uint64_t random_below(struct random *random, uint64_t bound);

/* random_order - the numbers 0 .. @n - 1 in random order. */
void random_order(struct random *random, uint32_t *order, size_t n);

/*
 * struct data - @n ranges, ascending, and a random order of their numbers.
 * Entry i is the pointer 8 * (i + 1).
 */
struct data {
	size_t n;
	struct range *ranges;
	uint32_t *order;
};

/* data_mixed - ranges of 1 .. 63 indexes; half of them begin where the one before ended, the others
 * after a gap of as many. */
struct data *data_mixed(size_t n, uint64_t seed);

/*
 * data_areas - ranges like a process's areas below 2^47: lengths of 1 .. 16 pages, small gaps of
 * up to 7 pages before every second one, packed under the top with all room below.
 */
struct data *data_areas(size_t n, uint64_t seed);

/* data_spaced - areas of four pages, each with a gap of eight behind it. */
struct data *data_spaced(size_t n, uint64_t seed);
void data_free(struct data *data);

#define PAGE      4096ul
#define AREAS_TOP (1ul << 47)

enum keys_kind { KEYS_RANDOM, KEYS_SEQUENTIAL, KEYS_SKEWED, KEYS_LOCAL };

/*
 * data_keys - @count indexes inside the ranges of @data: uniformly random ranges; ascending ones;
 * few ranges most of the time (Zipf's law, exponent 0.99); or a random walk of at most eight
 * ranges a step. Free with free().
 */
unsigned long *data_keys(const struct data *data, enum keys_kind kind, size_t count,
			 uint64_t seed);

/* map_fill - a map of all ranges, inserted in random order if @shuffled, else ascending.
 * Aborts the program with a message if the engine fails. */
void *map_fill(const struct engine *engine, const struct data *data, bool shuffled);

#endif
