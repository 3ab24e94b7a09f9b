/* SPDX-License-Identifier: MIT */
/*
 * data.c - the common inputs: sets of ranges, orders and keys.
 */
#include "data.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>

static void *allocate(size_t bytes)
{
	void *block = malloc(bytes ? bytes : 1);

	if (!block)
		err(1, "no memory for %zu bytes of input", bytes);
	return block;
}

static uint64_t rotate(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

void random_seed(struct random *random, uint64_t seed)
{
	for (int i = 0; i < 4; i++) { /* splitmix64 */
		uint64_t z = seed += 0x9e3779b97f4a7c15;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
		z = (z ^ z >> 27) * 0x94d049bb133111eb;
		random->s[i] = z ^ z >> 31;
	}
}

uint64_t random_next(struct random *random)
{
	uint64_t *s = random->s, result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

__extension__ typedef unsigned __int128 wide;

uint64_t random_below(struct random *random, uint64_t bound)
{
	return (uint64_t)(((wide)random_next(random) * bound) >> 64);
}

void random_order(struct random *random, uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++) { /* Fisher and Yates, inside out */
		size_t j = random_below(random, i + 1);

		order[i] = order[j];
		order[j] = (uint32_t)i;
	}
}

static struct data *data_new(size_t n, struct random *random)
{
	struct data *data = allocate(sizeof(*data));

	*data = (struct data){ n, allocate(n * sizeof(struct range)),
			       allocate(n * sizeof(uint32_t)) };
	random_order(random, data->order, n);
	return data;
}

struct data *data_mixed(size_t n, uint64_t seed)
{
	struct random random;
	struct data *data;
	unsigned long next = 4096;

	random_seed(&random, seed);
	data = data_new(n, &random);
	for (size_t i = 0; i < n; i++) {
		unsigned long length = 1 + random_below(&random, 63);

		if (random_below(&random, 2))
			next += 1 + random_below(&random, 63);
		data->ranges[i] = (struct range){ next, next + length - 1, (void *)(8 * (i + 1)) };
		next += length;
	}
	return data;
}

struct data *data_areas(size_t n, uint64_t seed)
{
	struct random random;
	struct data *data;
	unsigned long end = AREAS_TOP - (1ul << 30); /* room for brk1 and brk2 */

	random_seed(&random, seed);
	data = data_new(n, &random);
	for (size_t i = n; i-- > 0;) {
		unsigned long length = PAGE * (1 + random_below(&random, 16));

		data->ranges[i] = (struct range){ end - length, end - 1, (void *)(8 * (i + 1)) };
		end -= length;
		if (i % 2)
			end -= PAGE * random_below(&random, 8);
	}
	return data;
}

struct data *data_spaced(size_t n, uint64_t seed)
{
	struct random random;
	struct data *data;

	random_seed(&random, seed);
	data = data_new(n, &random);
	for (size_t i = 0; i < n; i++) {
		unsigned long first = PAGE * (16 + 12 * i);

		data->ranges[i] = (struct range){ first, first + 4 * PAGE - 1,
						  (void *)(8 * (i + 1)) };
	}
	return data;
}

void data_free(struct data *data)
{
	free(data->ranges);
	free(data->order);
	free(data);
}

/* A rank 0 .. n - 1 by Zipf's law: J. Gray et al., "Quickly generating billion-record synthetic
 * databases", 1994. */
struct zipf {
	double n, theta, zeta, eta, second;
};

static void zipf_init(struct zipf *zipf, size_t n)
{
	double theta = 0.99, zeta = 0;

	for (size_t i = 1; i <= n; i++)
		zeta += pow((double)i, -theta);
	*zipf = (struct zipf){ (double)n, theta, zeta,
			       (1 - pow(2 / (double)n, 1 - theta)) /
				       (1 - (1 + pow(0.5, theta)) / zeta),
			       1 + pow(0.5, theta) };
}

static size_t zipf_next(const struct zipf *zipf, struct random *random)
{
	double u = (double)(random_next(random) >> 11) * 0x1p-53, uz = u * zipf->zeta;
	size_t rank;

	if (uz < 1)
		return 0;
	if (uz < zipf->second)
		return 1;
	rank = (size_t)(zipf->n * pow(zipf->eta * u - zipf->eta + 1, 1 / (1 - zipf->theta)));
	return rank < (size_t)zipf->n ? rank : (size_t)zipf->n - 1;
}

unsigned long *data_keys(const struct data *data, enum keys_kind kind, size_t count, uint64_t seed)
{
	unsigned long *keys = allocate(count * sizeof(*keys));
	size_t n = data->n, at = n / 2;
	struct random random;
	struct zipf zipf;

	random_seed(&random, seed);
	if (kind == KEYS_SKEWED)
		zipf_init(&zipf, n);
	for (size_t i = 0; i < count; i++) {
		const struct range *range;

		switch (kind) {
		case KEYS_RANDOM:
			at = random_below(&random, n);
			break;
		case KEYS_SEQUENTIAL:
			at = i % n;
			break;
		case KEYS_SKEWED:
			at = data->order[zipf_next(&zipf, &random)];
			break;
		case KEYS_LOCAL:
			at = (at + n + random_below(&random, 17) - 8) % n;
			break;
		}
		range = &data->ranges[at];
		keys[i] = range->first + random_below(&random, range->last - range->first + 1);
	}
	return keys;
}

void *map_fill(const struct engine *engine, const struct data *data, bool shuffled)
{
	bool (*add)(void *, const struct range *) = engine->insert;
	void *map;

	if (!engine->create)
		return engine->build(data->ranges, data->n);
	if (!shuffled && engine->append)
		add = engine->append;
	map = engine->create();
	for (size_t i = 0; i < data->n; i++) {
		if (!add(map, &data->ranges[shuffled ? data->order[i] : i]))
			errx(1, "%s failed to insert range %zu of %zu", engine->name, i, data->n);
	}
	return map;
}
