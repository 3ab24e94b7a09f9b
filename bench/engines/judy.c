/* SPDX-License-Identifier: MIT */
/*
 * judy.c - the engine of JudyL: a radix tree from a range's first index to the range.
 */
#include <limits.h>
#include <stdlib.h>

#include <Judy.h>

#include "../loops.h"

static void *judy_create(void)
{
	return calloc(1, sizeof(Pvoid_t));
}

static inline struct range *range_of(const PPvoid_t slot)
{
	return slot ? *(struct range **)slot : NULL;
}

static void judy_destroy(void *map)
{
	Pvoid_t *judy = map;
	Word_t index = 0;

	for (PPvoid_t slot = JudyLFirst(*judy, &index, PJE0); slot;
	     slot = JudyLNext(*judy, &index, PJE0))
		free(range_of(slot));
	JudyLFreeArray(judy, PJE0);
	free(judy);
}

static void *judy_load(void *map, unsigned long index)
{
	Word_t at = index;
	const struct range *range = range_of(JudyLLast(*(Pvoid_t *)map, &at, PJE0));

	return range && index <= range->last ? range->entry : NULL;
}

static bool judy_insert(void *map, const struct range *range)
{
	PPvoid_t slot = JudyLIns(map, range->first, PJE0);
	struct range *copy = malloc(sizeof(*copy));

	if (!slot || slot == PPJERR || !copy)
		return false;
	*copy = *range;
	*(struct range **)slot = copy;
	return true;
}

static bool judy_erase(void *map, const struct range *range)
{
	free(range_of(JudyLGet(*(Pvoid_t *)map, range->first, PJE0)));
	return JudyLDel(map, range->first, PJE0) == 1;
}

static bool judy_resize(void *map, const struct range *range, unsigned long last)
{
	range_of(JudyLGet(*(Pvoid_t *)map, range->first, PJE0))->last = last;
	return true;
}

static bool judy_store(void *map, const struct range *range)
{
	Pvoid_t *judy = map;
	Word_t at = range->first;
	struct range *found = range_of(JudyLLast(*judy, &at, PJE0));
	struct range rest;

	if (found && found->first < range->first) {
		rest = *found;
		if (found->last >= range->first)
			found->last = range->first - 1;
		if (rest.last > range->last) {
			rest.first = range->last + 1;
			if (!judy_insert(map, &rest))
				return false;
		}
	}
	at = range->first;
	while ((found = range_of(JudyLFirst(*judy, &at, PJE0))) && found->first <= range->last) {
		rest = *found;
		judy_erase(map, &rest);
		if (rest.last > range->last) {
			rest.first = range->last + 1;
			if (!judy_insert(map, &rest))
				return false;
			break;
		}
	}
	return judy_insert(map, range);
}

static inline struct range *step(Pvoid_t judy, Word_t *index, bool backward, bool start)
{
	if (start)
		return range_of(backward ? JudyLLast(judy, index, PJE0) :
					   JudyLFirst(judy, index, PJE0));
	return range_of(backward ? JudyLPrev(judy, index, PJE0) : JudyLNext(judy, index, PJE0));
}

static unsigned long judy_sum(void *map, bool backward)
{
	Word_t index = backward ? ULONG_MAX : 0;
	unsigned long sum = 0;

	for (struct range *range = step(*(Pvoid_t *)map, &index, backward, true); range;
	     range = step(*(Pvoid_t *)map, &index, backward, false))
		sum += range->last + (unsigned long)range->entry;
	return sum;
}

static size_t judy_list(void *map, bool backward, struct range *out, size_t max)
{
	Word_t index = backward ? ULONG_MAX : 0;
	size_t count = 0;

	for (struct range *range = step(*(Pvoid_t *)map, &index, backward, true); range;
	     range = step(*(Pvoid_t *)map, &index, backward, false)) {
		if (count < max)
			out[count] = *range;
		count++;
	}
	return count;
}

static void *judy_dup(void *map)
{
	Pvoid_t *copy = judy_create();
	Word_t index = 0;

	for (struct range *range = step(*(Pvoid_t *)map, &index, false, true); range && copy;
	     range = step(*(Pvoid_t *)map, &index, false, false)) {
		if (!judy_insert(copy, range)) {
			judy_destroy(copy);
			return NULL;
		}
	}
	return copy;
}

LOOPS_READ(judy_load)
LOOPS_WRITE(judy_insert, judy_erase, judy_resize)

const struct engine engine_judy = {
	.name = "JudyL",
	.create = judy_create,
	.destroy = judy_destroy,
	.load = judy_load,
	.insert = judy_insert,
	.store = judy_store,
	.erase = judy_erase,
	.resize = judy_resize,
	.sum = judy_sum,
	.list = judy_list,
	.dup = judy_dup,
	.independent = loop_independent,
	.chained = loop_chained,
	.brk1 = loop_brk1,
	.brk2 = loop_brk2,
};
