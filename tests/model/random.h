/* SPDX-License-Identifier: MIT */
/*
 * random.h - a seeded generator of random numbers: xoshiro256** (Blackman, Vigna 2018).
 */
#ifndef MODEL_RANDOM_H
#define MODEL_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state[4];
};

static inline uint64_t random_rotate(uint64_t value, int bits)
{
	return (value << bits) | (value >> (64 - bits));
}

static inline uint64_t random_next(struct random *random)
{
	uint64_t *s = random->state;
	uint64_t result = random_rotate(s[1] * 5, 7) * 9;
	uint64_t shifted = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= shifted;
	s[3] = random_rotate(s[3], 45);
	return result;
}

/* The state is filled from @seed by splitmix64, as its authors advise. */
static inline void random_seed(struct random *random, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15u;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		random->state[i] = z ^ (z >> 31);
	}
}

/* 0 .. limit - 1; limit > 0. */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return random_next(random) % limit;
}

/* True @percent times of a hundred. */
static inline int random_chance(struct random *random, unsigned int percent)
{
	return random_below(random, 100) < percent;
}

#endif
