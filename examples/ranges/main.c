/* SPDX-License-Identifier: MIT */
/*
 * main.c [RANGES] - the same work for before.cc and after.c, in functions of their own, which
 * count.sh counts; prints what came out, which must be the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ranges.h"

#define WIDTH 64
#define ROUNDS 20000UL

static unsigned long count = 1000;
static unsigned long seed = 1;
static char values[16];

static unsigned long draw(unsigned long below)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return (seed >> 33) % below;
}

/* Half of all indexes have values at first: a range, a gap, a range ... */
__attribute__((noinline)) static void phase_build(void)
{
	for (unsigned long i = 0; i < count; i++)
		ranges_store(2 * i * WIDTH, (2 * i + 1) * WIDTH - 1, &values[i % 16]);
}

__attribute__((noinline)) static unsigned long phase_load(void)
{
	unsigned long hits = 0;

	for (unsigned long i = 0; i < ROUNDS; i++)
		hits += ranges_load(draw(2 * count * WIDTH)) != NULL;
	return hits;
}

/* A new range over what is there, and one cut out of it, as mmap and munmap do. */
__attribute__((noinline)) static void phase_change(void)
{
	for (unsigned long i = 0; i < ROUNDS; i++) {
		unsigned long first = draw(2 * count * WIDTH);

		ranges_store(first, first + draw(WIDTH), &values[i % 16]);
		first = draw(2 * count * WIDTH);
		ranges_erase(first, first + draw(WIDTH));
	}
}

__attribute__((noinline)) static unsigned long phase_free(void)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < ROUNDS / 100; i++) {
		unsigned long from = draw(count) * WIDTH, size = WIDTH + draw(2 * WIDTH);

		sum += ranges_find_free(size, from, 2 * count * WIDTH);
	}
	return sum;
}

__attribute__((noinline)) static unsigned long phase_sum(void)
{
	return ranges_sum();
}

int main(int argc, char **argv)
{
	unsigned long full, hits, places;

	if (argc > 1)
		count = strtoul(argv[1], NULL, 10);
	if (count == 0)
		return 2;
	phase_build();
	full = phase_sum();
	hits = phase_load();
	phase_change();
	hits += phase_load();
	places = phase_free();
	printf("%lu indexes, %lu hits, %lu in places, %lu indexes\n", full, hits, places, ranges_sum());
	ranges_destroy();
	return 0;
}
