/* SPDX-License-Identifier: MIT */
/*
 * oracle.c - the flat array of ranges, and the normal API on it.
 */
#include "oracle.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(struct oracle *oracle, size_t count)
{
	if (count <= oracle->size)
		return;
	oracle->size = count * 2;
	oracle->ranges = realloc(oracle->ranges, oracle->size * sizeof(oracle->ranges[0]));
	if (!oracle->ranges) {
		perror("oracle");
		exit(2);
	}
}

void oracle_clear(struct oracle *oracle)
{
	reserve(oracle, 1);
	oracle->count = 1;
	oracle->ranges[0] = (struct oracle_range){ 0, ULONG_MAX, NULL };
	oracle->lone = lone_no;
}

void oracle_init(struct oracle *oracle, unsigned int flags)
{
	*oracle = (struct oracle){ .gaps = flags & MT_FLAGS_ALLOC_RANGE };
	oracle_clear(oracle);
}

void oracle_free(struct oracle *oracle)
{
	free(oracle->ranges);
	*oracle = (struct oracle){ 0 };
}

void oracle_copy(struct oracle *to, const struct oracle *from)
{
	reserve(to, from->count);
	memcpy(to->ranges, from->ranges, from->count * sizeof(from->ranges[0]));
	to->count = from->count;
	to->gaps = from->gaps;
	to->lone = from->lone;
}

size_t oracle_at(const struct oracle *oracle, unsigned long index)
{
	size_t low = 0;
	size_t high = oracle->count - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (oracle->ranges[middle].last < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool oracle_empty(const struct oracle *oracle)
{
	return oracle->count == 1 && !oracle->ranges[0].entry;
}

size_t oracle_entries(const struct oracle *oracle)
{
	size_t entries = 0;

	for (size_t i = 0; i < oracle->count; i++)
		entries += oracle->ranges[i].entry != NULL;
	return entries;
}

bool oracle_vacant(const struct oracle *oracle, unsigned long first, unsigned long last)
{
	const struct oracle_range *range = &oracle->ranges[oracle_at(oracle, first)];

	return !range->entry && range->last >= last;
}

/* Follows whether the tree is known to keep a lone entry in its root, before the store. */
static void follow_lone(struct oracle *oracle, unsigned long first, unsigned long last,
			const void *entry)
{
	bool at_zero = first == 0 && last == 0 && entry && !xa_is_internal(entry);

	if (oracle_empty(oracle))
		oracle->lone = at_zero ? lone_yes : lone_no;
	else if (oracle->lone != lone_yes || !at_zero)
		oracle->lone = lone_no;
}

/* After a store: empty again, or shrunk to something that may or may not be a lone entry. */
static void settle_lone(struct oracle *oracle)
{
	bool only_zero = oracle->count == 2 && oracle->ranges[0].last == 0 &&
			 oracle->ranges[0].entry && !oracle->ranges[1].entry;

	if (!only_zero)
		oracle->lone = lone_no;
	else if (oracle->lone == lone_no)
		oracle->lone = lone_unknown;
}

void oracle_store(struct oracle *oracle, unsigned long first, unsigned long last, void *entry)
{
	struct oracle_range added[3];
	size_t from = oracle_at(oracle, first);
	size_t to = oracle_at(oracle, last);
	size_t count = 0;
	struct oracle_range *ranges;

	assert(first <= last);
	follow_lone(oracle, first, last, entry);
	ranges = oracle->ranges;
	if (!entry) { /* gaps join */
		if (!ranges[from].entry)
			first = ranges[from].first;
		else if (ranges[from].first == first && from > 0 && !ranges[from - 1].entry)
			first = ranges[--from].first;
		if (!ranges[to].entry)
			last = ranges[to].last;
		else if (ranges[to].last == last && to + 1 < oracle->count &&
			 !ranges[to + 1].entry)
			last = ranges[++to].last;
	}
	if (ranges[from].first < first)
		added[count++] = (struct oracle_range){ ranges[from].first, first - 1,
							ranges[from].entry };
	added[count++] = (struct oracle_range){ first, last, entry };
	if (ranges[to].last > last)
		added[count++] = (struct oracle_range){ last + 1, ranges[to].last,
							ranges[to].entry };
	reserve(oracle, oracle->count + count);
	ranges = oracle->ranges;
	memmove(ranges + from + count, ranges + to + 1,
		(oracle->count - to - 1) * sizeof(ranges[0]));
	memcpy(ranges + from, added, count * sizeof(ranges[0]));
	oracle->count += count;
	oracle->count -= to - from + 1;
	settle_lone(oracle);
}

bool oracle_reserved(const void *entry, bool alloc)
{
	unsigned long value = (unsigned long)entry;

	return (value & 3) == 2 && value < 4096 && (alloc || !xa_is_zero(entry));
}

int oracle_store_checked(struct oracle *oracle, unsigned long first, unsigned long last,
			 void *entry)
{
	if (first > last || oracle_reserved(entry, false))
		return -EINVAL;
	oracle_store(oracle, first, last, entry);
	return 0;
}

int oracle_insert(struct oracle *oracle, unsigned long first, unsigned long last, void *entry)
{
	if (first > last || oracle_reserved(entry, false))
		return -EINVAL;
	if (!oracle_vacant(oracle, first, last))
		return -EEXIST;
	oracle_store(oracle, first, last, entry);
	return 0;
}

void *oracle_erase(struct oracle *oracle, unsigned long index)
{
	struct oracle_range range = oracle->ranges[oracle_at(oracle, index)];

	if (range.entry)
		oracle_store(oracle, range.first, range.last, NULL);
	return range.entry;
}

static void *hide_zero(void *entry)
{
	return xa_is_zero(entry) ? NULL : entry;
}

void *oracle_load(const struct oracle *oracle, unsigned long index)
{
	return hide_zero(oracle->ranges[oracle_at(oracle, index)].entry);
}

void *oracle_find(const struct oracle *oracle, unsigned long *index, unsigned long max)
{
	if (*index > max)
		return NULL;
	for (size_t i = oracle_at(oracle, *index); i < oracle->count; i++) {
		const struct oracle_range *range = &oracle->ranges[i];

		if (range->first > max)
			break;
		if (hide_zero(range->entry)) {
			*index = range->last + 1;
			return range->entry;
		}
	}
	return NULL;
}

void *oracle_next(const struct oracle *oracle, unsigned long index, unsigned long max)
{
	if (index >= max)
		return NULL;
	for (size_t i = oracle_at(oracle, index) + 1; i < oracle->count; i++) {
		if (oracle->ranges[i].first > max)
			break;
		if (oracle->ranges[i].entry)
			return oracle->ranges[i].entry;
	}
	return NULL;
}

void *oracle_prev(const struct oracle *oracle, unsigned long index, unsigned long min)
{
	if (index <= min)
		return NULL;
	for (size_t i = oracle_at(oracle, index); i-- > 0;) {
		if (oracle->ranges[i].last < min)
			break;
		if (oracle->ranges[i].entry)
			return oracle->ranges[i].entry;
	}
	return NULL;
}

static unsigned long highest(unsigned long a, unsigned long b)
{
	return a > b ? a : b;
}

static unsigned long lowest(unsigned long a, unsigned long b)
{
	return a < b ? a : b;
}

/*
 * The lowest (highest) multiple of @align in the free range [first, last] with room for the size.
 */
static bool place_in(unsigned long first, unsigned long last, const struct mt_area *area,
		     unsigned long *start)
{
	unsigned long align = area->align ? area->align : 1;
	unsigned long span = area->size - 1;
	unsigned long rest;

	if (last - first < span)
		return false;
	if (area->fit == MT_FIT_HIGHEST) {
		rest = (last - span) % align;
		*start = last - span - rest;
		return last - span - first >= rest;
	}
	rest = first % align ? align - first % align : 0;
	*start = first + rest;
	return last - first - span >= rest;
}

int oracle_area(const struct oracle *oracle, const struct mt_area *area, unsigned long *start)
{
	unsigned long place;
	int result = -EBUSY;

	if (!oracle->gaps || area->size == 0 || area->min > area->max ||
	    area->size - 1 > area->max - area->min || (area->align & (area->align - 1)))
		return -EINVAL;
	for (size_t i = oracle_at(oracle, area->min);
	     i < oracle->count && oracle->ranges[i].first <= area->max; i++) {
		const struct oracle_range *range = &oracle->ranges[i];
		unsigned long first = highest(range->first, area->min);
		unsigned long last = lowest(range->last, area->max);

		if (range->entry || !place_in(first, last, area, &place))
			continue;
		*start = place;
		result = 0;
		if (area->fit == MT_FIT_LOWEST)
			break;
	}
	return result;
}

int oracle_gap(const struct oracle *oracle, unsigned long size, unsigned long min,
	       unsigned long max, bool reverse, unsigned long *start)
{
	struct mt_area area = { .min = min, .max = max, .size = size,
				.fit = reverse ? MT_FIT_HIGHEST : MT_FIT_LOWEST };

	return oracle_area(oracle, &area, start);
}

int oracle_alloc(struct oracle *oracle, unsigned long *start, void *entry, unsigned long size,
		 unsigned long min, unsigned long max, bool reverse)
{
	int result;

	if (oracle_reserved(entry, true))
		return -EINVAL;
	result = oracle_gap(oracle, size, min, max, reverse, start);
	if (result == 0)
		oracle_store(oracle, *start, *start + (size - 1), entry);
	return result;
}

int oracle_alloc_cyclic(struct oracle *oracle, unsigned long *start, void *entry, unsigned long low,
			unsigned long high, unsigned long *next, bool *wrapped)
{
	unsigned long from = highest(low, *next);
	int result = -EBUSY;
	int second = 0;

	if (low > high || oracle_reserved(entry, true) || !oracle->gaps)
		return -EINVAL;
	if (from <= high)
		result = oracle_gap(oracle, 1, from, high, false, start);
	if (result == -EBUSY && *next > low) {
		result = oracle_gap(oracle, 1, low, high, false, start);
		second = 1;
	}
	if (result)
		return result;
	if (*wrapped)
		second = 1;
	*wrapped = false;
	oracle_store(oracle, *start, *start, entry);
	*next = *start + 1;
	if (*next == 0)
		*wrapped = true;
	return second;
}
