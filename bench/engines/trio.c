/* SPDX-License-Identifier: MIT */
/*
 * trio.c - the engine of red-black tree with widest gaps + linked list + cache of four: the
 * arrangement that address spaces used before maple trees.
 */
#include <stdlib.h>
#include <string.h>

#include "../loops.h"

struct area;
static inline void area_augment(struct area *area);
#define RB_AUGMENT(area) area_augment(area)
#include <bsd/sys/tree.h>

/*
 * One range. gap == free indexes between the area before and this one; widest == the maximum of
 * gap over this area and all below it in the tree.
 */
struct area {
	unsigned long first;
	unsigned long last;
	void *entry;
	RB_ENTRY(area) link;
	struct area *prev;
	struct area *next;
	unsigned long gap;
	unsigned long widest;
};

RB_HEAD(areas, area);

/* @sequence changes when an area goes, and is never that of another space. */
struct space {
	struct areas tree;
	struct area *head; /* lowest */
	struct area *tail; /* highest */
	unsigned long sequence;
};

#define CACHED 4

/* The areas found last, of the space with that sequence; one cache per thread. */
static __thread struct {
	unsigned long sequence;
	unsigned int victim;
	struct area *area[CACHED];
} cache;

static inline int area_order(const struct area *a, const struct area *b)
{
	return a->first < b->first ? -1 : a->first > b->first;
}

static inline void area_augment(struct area *area)
{
	const struct area *left = RB_LEFT(area, link), *right = RB_RIGHT(area, link);
	unsigned long widest = area->gap;

	if (left && left->widest > widest)
		widest = left->widest;
	if (right && right->widest > widest)
		widest = right->widest;
	area->widest = widest;
}

RB_GENERATE_INTERNAL(areas, area, link, area_order, __attribute__((unused)) static)

static void *space_create(void)
{
	static _Atomic unsigned long spaces;
	struct space *space = calloc(1, sizeof(*space));

	if (space)
		space->sequence = ++spaces << 40;
	return space;
}

static void space_destroy(void *map)
{
	struct space *space = map;

	for (struct area *area = space->head, *next; area; area = next) {
		next = area->next;
		free(area);
	}
	free(space);
}

/* The area that holds @index or, if none does, the lowest one above it. */
static struct area *find_at_or_above(const struct space *space, unsigned long index)
{
	struct area *area = RB_ROOT(&space->tree), *found = NULL;

	while (area) {
		if (area->last >= index) {
			found = area;
			if (area->first <= index)
				break;
			area = RB_LEFT(area, link);
		} else {
			area = RB_RIGHT(area, link);
		}
	}
	return found;
}

static struct area *find_area(struct space *space, unsigned long index)
{
	struct area *area;

	if (cache.sequence != space->sequence) {
		memset(&cache, 0, sizeof(cache));
		cache.sequence = space->sequence;
	}
	for (int i = 0; i < CACHED; i++) {
		area = cache.area[i];
		if (area && area->first <= index && index <= area->last)
			return area;
	}
	area = find_at_or_above(space, index);
	if (!area || area->first > index)
		return NULL;
	cache.area[cache.victim++ % CACHED] = area;
	return area;
}

static void *space_load(void *map, unsigned long index)
{
	const struct area *area = find_area(map, index);

	return area ? area->entry : NULL;
}

/* Give @area another gap and correct the widest ones above it, as far as they change. */
static void set_gap(struct area *area, unsigned long gap)
{
	area->gap = gap;
	for (; area; area = RB_PARENT(area, link)) {
		unsigned long before = area->widest;

		area_augment(area);
		if (area->widest == before)
			break;
	}
}

static unsigned long gap_of(const struct area *area)
{
	return area->first - (area->prev ? area->prev->last + 1 : 0);
}

/*
 * Neighbours are known, so the place in the tree is too: to the left of the next area, or, if there
 * is something, to the right of the one before. The widest gaps are right before the tree is
 * rebalanced, and rotations keep them so.
 */
static void link_tree(struct space *space, struct area *area)
{
	struct area *parent = area->next;

	if (parent && !RB_LEFT(parent, link)) {
		RB_LEFT(parent, link) = area;
	} else {
		parent = area->prev;
		*(parent ? &RB_RIGHT(parent, link) : &RB_ROOT(&space->tree)) = area;
	}
	RB_SET(area, parent, link);
	area->widest = 0;
	set_gap(area, gap_of(area));
	areas_RB_INSERT_COLOR(&space->tree, area);
}

static bool link_between(struct space *space, struct area *prev, struct area *next,
			 const struct range *range)
{
	struct area *area = malloc(sizeof(*area));

	if (!area)
		return false;
	area->first = range->first;
	area->last = range->last;
	area->entry = range->entry;
	area->prev = prev;
	area->next = next;
	*(prev ? &prev->next : &space->head) = area;
	*(next ? &next->prev : &space->tail) = area;
	if (next)
		set_gap(next, gap_of(next));
	link_tree(space, area);
	return true;
}

/* Without a gap the area counts for nothing above it, and can go unnoticed. */
static void unlink_area(struct space *space, struct area *area)
{
	*(area->prev ? &area->prev->next : &space->head) = area->next;
	*(area->next ? &area->next->prev : &space->tail) = area->prev;
	set_gap(area, 0);
	if (area->next)
		set_gap(area->next, gap_of(area->next));
	RB_REMOVE(areas, &space->tree, area);
	space->sequence++;
	free(area);
}

static bool space_insert(void *map, const struct range *range)
{
	struct space *space = map;
	struct area *next = NULL;

	if (space->tail && range->first < space->tail->first)
		next = find_at_or_above(space, range->first);
	return link_between(space, next ? next->prev : space->tail, next, range);
}

static bool space_append(void *map, const struct range *range)
{
	struct space *space = map;

	return link_between(space, space->tail, NULL, range);
}

static bool space_erase(void *map, const struct range *range)
{
	struct space *space = map;

	unlink_area(space, find_area(space, range->first));
	return true;
}

static void set_bounds(struct area *area, unsigned long first, unsigned long last)
{
	bool moved = area->first != first;

	area->first = first;
	area->last = last;
	if (moved)
		set_gap(area, gap_of(area));
	if (area->next)
		set_gap(area->next, gap_of(area->next));
}

static bool space_resize(void *map, const struct range *range, unsigned long last)
{
	struct space *space = map;

	set_bounds(find_area(space, range->first), range->first, last);
	return true;
}

static bool space_store(void *map, const struct range *range)
{
	struct space *space = map;
	struct area *area = find_at_or_above(space, range->first);

	if (area && area->first < range->first) {
		struct range rest = { range->last + 1, area->last, area->entry };

		set_bounds(area, area->first, range->first - 1);
		if (rest.last > range->last &&
		    !link_between(space, area, area->next, &rest))
			return false;
		area = area->next;
	}
	while (area && area->last <= range->last) {
		struct area *next = area->next;

		unlink_area(space, area);
		area = next;
	}
	if (area && area->first <= range->last)
		set_bounds(area, range->last + 1, area->last);
	return link_between(space, area ? area->prev : space->tail, area, range);
}

/* The place in the gap [first, end) inside the window, or false. */
static bool fit_gap(unsigned long first, unsigned long end, const struct gap *gap,
		    unsigned long *start)
{
	if (first < gap->min)
		first = gap->min;
	if (end > gap->max + 1)
		end = gap->max + 1;
	if (end < first || end - first < gap->size)
		return false;
	*start = end - gap->size;
	return true;
}

/* Upwards and to the right first; a subtree whose widest gap is too small is not entered. */
static bool find_below(const struct area *area, const struct gap *gap, unsigned long *start)
{
	while (area && area->widest >= gap->size) {
		const struct area *right = RB_RIGHT(area, link);

		if (right && right->widest >= gap->size && find_below(right, gap, start))
			return true;
		if (area->gap >= gap->size &&
		    fit_gap(area->first - area->gap, area->first, gap, start))
			return true;
		area = RB_LEFT(area, link);
	}
	return false;
}

static bool space_find_gap(void *map, const struct gap *gap, unsigned long *start)
{
	const struct space *space = map;

	if (fit_gap(space->tail ? space->tail->last + 1 : 0, gap->max + 1, gap, start))
		return true;
	return find_below(RB_ROOT(&space->tree), gap, start);
}

static bool space_alloc(void *map, const struct gap *gap, void *entry, unsigned long *start)
{
	struct range range;

	if (!space_find_gap(map, gap, start))
		return false;
	range = (struct range){ *start, *start + gap->size - 1, entry };
	return space_insert(map, &range);
}

static unsigned long space_sum(void *map, bool backward)
{
	const struct space *space = map;
	unsigned long sum = 0;

	if (backward) {
		for (const struct area *area = space->tail; area; area = area->prev)
			sum += area->last + (unsigned long)area->entry;
	} else {
		for (const struct area *area = space->head; area; area = area->next)
			sum += area->last + (unsigned long)area->entry;
	}
	return sum;
}

static size_t space_list(void *map, bool backward, struct range *out, size_t max)
{
	const struct space *space = map;
	const struct area *area = backward ? space->tail : space->head;
	size_t count = 0;

	for (; area; area = backward ? area->prev : area->next) {
		if (count < max)
			out[count] = (struct range){ area->first, area->last, area->entry };
		count++;
	}
	return count;
}

/* As an address space was copied at fork: area by area. */
static void *space_dup(void *map)
{
	const struct space *space = map;
	struct space *copy = space_create();

	if (!copy)
		return NULL;
	for (const struct area *area = space->head; area; area = area->next) {
		struct range range = { area->first, area->last, area->entry };

		if (!space_append(copy, &range)) {
			space_destroy(copy);
			return NULL;
		}
	}
	return copy;
}

LOOPS_READ(space_load)
LOOPS_WRITE(space_insert, space_erase, space_resize)
LOOPS_GAP(space_find_gap, space_alloc, space_erase)

const struct engine engine_trio = {
	.name = "trio",
	.create = space_create,
	.destroy = space_destroy,
	.load = space_load,
	.insert = space_insert,
	.append = space_append,
	.store = space_store,
	.erase = space_erase,
	.resize = space_resize,
	.find_gap = space_find_gap,
	.alloc = space_alloc,
	.sum = space_sum,
	.list = space_list,
	.dup = space_dup,
	.independent = loop_independent,
	.chained = loop_chained,
	.brk1 = loop_brk1,
	.brk2 = loop_brk2,
	.malloc1 = loop_malloc1,
	.gaps = loop_gaps,
};
