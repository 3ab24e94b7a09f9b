/* SPDX-License-Identifier: MIT */
/*
 * limit.c - the engine that cannot be changed: a static B-tree searched with vectors, without
 * pointers, as fast as this machine looks up a range at all.
 *
 * Levels are arrays of nodes of 16 keys, 17 children each; child c of node i is node 17 i + c.
 * Keys are the last indexes of ranges, gaps being ranges with entry NULL; the number of keys
 * below an index is the way down. (S+ tree, as described in S. Slotin's "Algorithmica".)
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "../loops.h"

#define KEYS   16
#define LEVELS 12

struct keys {
	unsigned long key[KEYS];
} __attribute__((aligned(64)));

struct limit {
	unsigned int height;       /* levels; level[0] holds the leaves */
	struct keys *level[LEVELS];
	void **entries;            /* per leaf key */
};

static inline unsigned int count_below(const struct keys *node, unsigned long index)
{
#ifdef __AVX512F__
	__m512i wanted = _mm512_set1_epi64((long long)index);
	unsigned int low = _mm512_cmplt_epu64_mask(_mm512_load_si512(node->key), wanted);
	unsigned int high = _mm512_cmplt_epu64_mask(_mm512_load_si512(node->key + 8), wanted);

	return (unsigned int)__builtin_popcount(low | high << 8);
#else
	unsigned int below = 0;

	for (unsigned int i = 0; i < KEYS; i++)
		below += node->key[i] < index;
	return below;
#endif
}

static inline void *limit_load(void *map, unsigned long index)
{
	const struct limit *limit = map;
	size_t node = 0;

	for (unsigned int level = limit->height - 1; level; level--)
		node = node * (KEYS + 1) + count_below(&limit->level[level][node], index);
	return limit->entries[node * KEYS + count_below(&limit->level[0][node], index)];
}

static void limit_destroy(void *map)
{
	struct limit *limit = map;

	for (unsigned int level = 0; level < limit->height; level++)
		free(limit->level[level]);
	free(limit->entries);
	free(limit);
}

static void *allocate(size_t bytes)
{
	void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (!block)
		abort();
	return block;
}

/* Leaves: every range and every gap gives one key; the rest is padded with the maximum. */
static size_t fill_leaves(struct limit *limit, const struct range *ranges, size_t count)
{
	size_t most = 2 * count + 1, nodes = most / KEYS + 1, at = 0;
	unsigned long next = 0;
	unsigned long *keys;

	limit->level[0] = allocate(nodes * sizeof(struct keys));
	limit->entries = allocate((nodes * KEYS + 1) * sizeof(void *));
	keys = limit->level[0]->key;
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].first > next) {
			limit->entries[at] = NULL;
			keys[at++] = ranges[i].first - 1;
		}
		limit->entries[at] = ranges[i].entry;
		keys[at++] = ranges[i].last;
		next = ranges[i].last + 1;
	}
	do {
		limit->entries[at] = NULL;
		keys[at++] = ULONG_MAX;
	} while (at % KEYS);
	return at / KEYS;
}

static void *limit_build(const struct range *ranges, size_t count)
{
	struct limit *limit = calloc(1, sizeof(*limit));
	size_t nodes, span = 1; /* leaves below one child of the level */

	if (!limit)
		abort();
	nodes = fill_leaves(limit, ranges, count);
	size_t leaves = nodes;

	for (limit->height = 1; nodes > 1; limit->height++) {
		size_t above = (nodes + KEYS) / (KEYS + 1);
		struct keys *level = allocate(above * sizeof(*level));

		for (size_t i = 0; i < above * KEYS; i++) {
			size_t child = i / KEYS * (KEYS + 1) + i % KEYS;
			size_t leaf = (child + 1) * span - 1; /* last leaf below the child */

			level->key[i / KEYS * KEYS + i % KEYS] =
				leaf < leaves ? limit->level[0][leaf].key[KEYS - 1] : ULONG_MAX;
		}
		limit->level[limit->height] = level;
		nodes = above;
		span *= KEYS + 1;
	}
	return limit;
}

LOOPS_READ(limit_load)

const struct engine engine_limit = {
	.name = "static B-tree",
	.sharing = SHARING_FREE,
	.destroy = limit_destroy,
	.build = limit_build,
	.load = limit_load,
	.independent = loop_independent,
	.chained = loop_chained,
};
