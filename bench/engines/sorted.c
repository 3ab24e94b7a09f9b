/* SPDX-License-Identifier: MIT */
/*
 * sorted.c - the engine of a sorted array: what one writes by hand for a few ranges.
 */
#include <stdlib.h>
#include <string.h>

#include "../loops.h"

struct array {
	struct range *ranges; /* ascending, disjoint */
	size_t count;         /* count <= room */
	size_t room;
};

static void *array_create(void)
{
	return calloc(1, sizeof(struct array));
}

static void array_destroy(void *map)
{
	struct array *array = map;

	free(array->ranges);
	free(array);
}

/* The place of the first range that ends at or above @index: branch-free halving. */
static inline size_t array_find(const struct array *array, unsigned long index)
{
	const struct range *base = array->ranges;
	size_t left = array->count;

	if (!left)
		return 0;
	while (left > 1) {
		size_t half = left / 2;

		base += half * (base[half - 1].last < index); /* no branch to mispredict */
		left -= half;
	}
	return (size_t)(base - array->ranges) + (base->last < index);
}

static void *array_load(void *map, unsigned long index)
{
	const struct array *array = map;
	size_t at = array_find(array, index);

	if (at == array->count || array->ranges[at].first > index)
		return NULL;
	return array->ranges[at].entry;
}

/* Replaces @removed ranges at @at by @added from @items. */
static bool array_splice(struct array *array, size_t at, size_t removed, const struct range *items,
			 size_t added)
{
	size_t count = array->count - removed + added;

	if (count > array->room) {
		size_t room = array->room ? 2 * array->room : 8;
		struct range *ranges = realloc(array->ranges, room * sizeof(*ranges));

		if (!ranges)
			return false;
		array->ranges = ranges;
		array->room = room;
	}
	if (removed != added)
		memmove(array->ranges + at + added, array->ranges + at + removed,
			(array->count - at - removed) * sizeof(*items));
	for (size_t i = 0; i < added; i++)
		array->ranges[at + i] = items[i];
	array->count = count;
	return true;
}

static bool array_insert(void *map, const struct range *range)
{
	return array_splice(map, array_find(map, range->first), 0, range, 1);
}

static bool array_append(void *map, const struct range *range)
{
	struct array *array = map;

	return array_splice(array, array->count, 0, range, 1);
}

static bool array_store(void *map, const struct range *range)
{
	struct array *array = map;
	size_t at = array_find(array, range->first), end = at, added = 0;
	struct range items[3];

	while (end < array->count && array->ranges[end].first <= range->last)
		end++;
	if (end > at && array->ranges[at].first < range->first) {
		items[added] = array->ranges[at];
		items[added++].last = range->first - 1;
	}
	items[added++] = *range;
	if (end > at && array->ranges[end - 1].last > range->last) {
		items[added] = array->ranges[end - 1];
		items[added++].first = range->last + 1;
	}
	return array_splice(array, at, end - at, items, added);
}

static bool array_erase(void *map, const struct range *range)
{
	return array_splice(map, array_find(map, range->first), 1, NULL, 0);
}

static bool array_resize(void *map, const struct range *range, unsigned long last)
{
	struct array *array = map;

	array->ranges[array_find(array, range->first)].last = last;
	return true;
}

static bool array_join(void *map, const struct range *range)
{
	struct array *array = map;
	struct range joined = *range;
	size_t at = array_find(array, range->first ? range->first - 1 : 0);

	for (; at < array->count && array->ranges[at].first <= range->last; at++)
		if (array->ranges[at].entry == range->entry &&
		    array->ranges[at].first < joined.first)
			joined.first = array->ranges[at].first;
	at = array_find(array, range->last == ~0UL ? range->last : range->last + 1);
	if (at < array->count && array->ranges[at].entry == range->entry &&
	    array->ranges[at].first <= range->last + 1 && array->ranges[at].last > joined.last)
		joined.last = array->ranges[at].last;
	return array_store(map, &joined);
}

static bool array_clear(void *map, const struct range *range)
{
	struct array *array = map;
	size_t at = array_find(array, range->first);

	if (at == array->count || array->ranges[at].first > range->last)
		return true;
	return array_store(map, range) &&
	       array_splice(array, array_find(array, range->first), 1, NULL, 0);
}

static unsigned long array_end(void *map, unsigned long index)
{
	const struct array *array = map;
	size_t at = array_find(array, index);

	if (at == array->count)
		return ~0UL;
	return array->ranges[at].first > index ? array->ranges[at].first - 1
					       : array->ranges[at].last;
}

static unsigned long array_sum(void *map, bool backward)
{
	const struct array *array = map;
	unsigned long sum = 0;

	for (size_t i = 0; i < array->count; i++) {
		size_t at = backward ? array->count - 1 - i : i;

		sum += array->ranges[at].last + (unsigned long)array->ranges[at].entry;
	}
	return sum;
}

static size_t array_list(void *map, bool backward, struct range *out, size_t max)
{
	const struct array *array = map;

	for (size_t i = 0; i < array->count && i < max; i++)
		out[i] = array->ranges[backward ? array->count - 1 - i : i];
	return array->count;
}

static void *array_dup(void *map)
{
	const struct array *array = map;
	struct array *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = (struct array){ malloc(array->count * sizeof(struct range)), array->count,
				array->count };
	if (!copy->ranges) {
		free(copy);
		return NULL;
	}
	memcpy(copy->ranges, array->ranges, array->count * sizeof(struct range));
	return copy;
}

static size_t array_bytes(void *map)
{
	return ((struct array *)map)->room * sizeof(struct range);
}

LOOPS_READ(array_load)
LOOPS_WRITE(array_insert, array_erase, array_resize)

const struct engine engine_sorted = {
	.name = "sorted array",
	.most = 1000,
	.create = array_create,
	.destroy = array_destroy,
	.load = array_load,
	.insert = array_insert,
	.append = array_append,
	.store = array_store,
	.erase = array_erase,
	.resize = array_resize,
	.join = array_join,
	.clear = array_clear,
	.end = array_end,
	.sum = array_sum,
	.list = array_list,
	.dup = array_dup,
	.bytes = array_bytes,
	.independent = loop_independent,
	.chained = loop_chained,
	.brk1 = loop_brk1,
	.brk2 = loop_brk2,
};
