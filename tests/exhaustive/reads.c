/* SPDX-License-Identifier: MIT */
/*
 * reads.c - all reads of one shape, from everywhere, compared with its content.
 */
#include <errno.h>

#include "grace.h"
#include "step.h"

/* A tree under test and what it should show. */
struct view {
	struct maple_tree *mt;
	const struct listing *listing;
	unsigned int points;
};

static unsigned long range_first(const struct view *v, unsigned int i)
{
	return i ? point_index(v->listing->range[i - 1].last + 1u) : 0;
}

static unsigned long range_last(const struct view *v, unsigned int i)
{
	return point_last(v->listing->range[i].last, v->points);
}

/* Whether a cursor that got @entry stands on range @i of the list. */
static bool stands_on(const struct view *v, const struct ma_state *mas, const void *entry,
		      unsigned int i)
{
	return entry == v->listing->range[i].entry && mas->index == range_first(v, i) &&
	       mas->last == range_last(v, i);
}

static bool walks(const struct view *v, unsigned int point, unsigned int at)
{
	MA_STATE(mas, v->mt, point_index(point), point_index(point));
	void *shown = v->listing->range[at].entry;

	if (mtree_load(v->mt, point_index(point)) != (xa_is_zero(shown) ? NULL : shown))
		return false;
	return stands_on(v, &mas, mas_walk(&mas), at);
}

/* Up and down over all ranges from the one that holds @point. */
static bool steps(const struct view *v, unsigned int point, unsigned int at)
{
	MA_STATE(up, v->mt, point_index(point), point_index(point));
	MA_STATE(down, v->mt, point_index(point), point_index(point));
	unsigned int i;
	void *entry;

	mas_walk(&up);
	for (i = at + 1; i < v->listing->ranges; i++) {
		entry = mas_next_range(&up, ULONG_MAX);
		if (!stands_on(v, &up, entry, i))
			return false;
	}
	mas_walk(&down);
	for (i = at; i-- > 0;) {
		entry = mas_prev_range(&down, 0);
		if (!stands_on(v, &down, entry, i))
			return false;
	}
	return true;
}

/* The entries from @point on, upwards and downwards. */
static bool finds(const struct view *v, unsigned int point, unsigned int at)
{
	MA_STATE(up, v->mt, point_index(point), point_index(point));
	MA_STATE(down, v->mt, point_index(point), point_index(point));
	unsigned int i = at;
	void *entry;

	mas_for_each(&up, entry, ULONG_MAX) {
		while (i < v->listing->ranges && !v->listing->range[i].entry)
			i++;
		if (i == v->listing->ranges || !stands_on(v, &up, entry, i++))
			return false;
	}
	while (i < v->listing->ranges && !v->listing->range[i].entry)
		i++;
	if (i != v->listing->ranges)
		return false;
	i = at + 1;
	mas_for_each_rev(&down, entry, 0) {
		while (i && !v->listing->range[i - 1].entry)
			i--;
		if (!i || !stands_on(v, &down, entry, --i))
			return false;
	}
	while (i && !v->listing->range[i - 1].entry)
		i--;
	return i == 0;
}

/* The normal API's neighbours, which skip zero entries. */
static bool neighbours(const struct view *v, unsigned int point, unsigned int at)
{
	const struct listing *l = v->listing;
	unsigned long index = point_index(point);
	unsigned int i = at + 1, k = at, f = at;

	while (i < l->ranges && (!l->range[i].entry || xa_is_zero(l->range[i].entry)))
		i++;
	if (mt_next(v->mt, index, ULONG_MAX) != (i < l->ranges ? l->range[i].entry : NULL))
		return false;
	while (k && (!l->range[k - 1].entry || xa_is_zero(l->range[k - 1].entry)))
		k--;
	if (mt_prev(v->mt, index, 0) != (k ? l->range[k - 1].entry : NULL))
		return false;
	while (f < l->ranges && (!l->range[f].entry || xa_is_zero(l->range[f].entry)))
		f++;
	if (mt_find(v->mt, &index, ULONG_MAX) != (f < l->ranges ? l->range[f].entry : NULL))
		return false;
	return index == (f < l->ranges ? range_last(v, f) + 1 : point_index(point));
}

/* What mt_for_each() shows from @point on, without zero entries. */
static bool shows_each(const struct view *v, unsigned int point, unsigned int at)
{
	const struct listing *l = v->listing;
	unsigned long index = point_index(point);
	void *entry;

	mt_for_each(v->mt, entry, index, ULONG_MAX) {
		while (at < l->ranges && (!l->range[at].entry || xa_is_zero(l->range[at].entry)))
			at++;
		if (at == l->ranges || entry != l->range[at].entry || index != range_last(v, at++) + 1)
			return false;
	}
	while (at < l->ranges && (!l->range[at].entry || xa_is_zero(l->range[at].entry)))
		at++;
	return at == l->ranges;
}

/* The lowest or highest place for @size in the window, by going through the list. */
static bool expect_area(const struct view *v, unsigned long min, unsigned long max,
			unsigned long size, bool lowest, unsigned long *start)
{
	bool found = false;
	unsigned int i;

	for (i = 0; i < v->listing->ranges; i++) {
		unsigned long first = range_first(v, i), last = range_last(v, i);

		if (v->listing->range[i].entry || first > max || last < min)
			continue;
		first = first < min ? min : first;
		last = last > max ? max : last;
		if (last - first < size - 1 || (found && lowest))
			continue;
		*start = lowest ? first : last - (size - 1);
		found = true;
	}
	return found;
}

static bool area(const struct view *v, unsigned long min, unsigned long max, unsigned long size)
{
	unsigned int lowest;

	for (lowest = 0; lowest < 2; lowest++) {
		unsigned long start = 0;
		bool found = expect_area(v, min, max, size, lowest, &start);
		MA_STATE(mas, v->mt, 0, 0);
		int error = lowest ? mas_empty_area(&mas, min, max, size)
				   : mas_empty_area_rev(&mas, min, max, size);

		if (size - 1 > max - min) {
			if (error != -EINVAL)
				return false;
			continue;
		}
		if (error != (found ? 0 : -EBUSY))
			return false;
		if (found && (mas.index != start || mas.last != start + (size - 1)))
			return false;
	}
	return true;
}

/* Every window between points, every size up to all points, and sizes around the last gap's. */
static bool areas(const struct view *v)
{
	unsigned int i, k;
	unsigned long size;

	for (i = 0; i < v->points; i++)
		for (k = i; k <= v->points; k++) {
			unsigned long max = k == v->points ? ULONG_MAX : point_index(k);
			unsigned long tail = ULONG_MAX - point_index(v->points - 1);

			for (size = 1; size <= v->points; size++)
				if (!area(v, point_index(i), max, size) ||
				    !area(v, point_index(i), max, tail + size - 2))
					return false;
		}
	return true;
}

/* An insertion over anything that is there is refused. */
static bool refuses(const struct view *v, unsigned int first)
{
	unsigned int last, begin;

	for (last = first; last < v->points; last++) {
		unsigned int at = listing_at(v->listing, first, &begin);

		if (!v->listing->range[at].entry && v->listing->range[at].last >= last)
			continue;
		if (mtree_insert_range(v->mt, point_index(first), point_last(last, v->points),
				       xa_mk_value(1), GFP_KERNEL) != -EEXIST)
			return false;
	}
	return true;
}

static const char *read_all(const struct view *v, bool searches)
{
	unsigned int point, first;

	for (point = 0; point < v->points; point++) {
		unsigned int at = listing_at(v->listing, point, &first);

		if (!walks(v, point, at))
			return "mas_walk() or mtree_load() is wrong";
		if (!steps(v, point, at))
			return "mas_next_range() or mas_prev_range() is wrong";
		if (!finds(v, point, at))
			return "mas_find() or mas_find_rev() is wrong";
		if (!shows_each(v, point, at))
			return "mt_for_each: the tree does not hold what was stored";
		if (!neighbours(v, point, at))
			return "mt_next(), mt_prev() or mt_find() is wrong";
		if (!refuses(v, point))
			return "mtree_insert_range() does not refuse";
	}
	if (searches && v->mt->ma_flags & MT_FLAGS_ALLOC_RANGE && !areas(v))
		return "mas_empty_area() or mas_empty_area_rev() is wrong";
	return NULL;
}

const char *step_read(struct world *world, const struct shape *shape, bool searches)
{
	struct maple_tree mt = MTREE_INIT(mt, world->flags);
	struct listing listing;
	struct view view = { &mt, &listing, world->points };
	struct shape again;
	const char *wrong;

	mt_set_allocator(&mt, &world->heap.allocator);
	heap_allow(&world->heap);
	if (shape_make(shape, &mt))
		return "no memory";
	shape_take(&again, &listing, &mt, world->points);
	wrong = read_all(&view, searches);
	mtree_destroy(&mt);
	grace_pass();
	return wrong;
}
