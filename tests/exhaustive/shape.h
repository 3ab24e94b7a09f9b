/* SPDX-License-Identifier: MIT */
/*
 * shape.h - a tree as a short string of bytes and back, and its content as a flat list.
 *
 * The index space is cut into `points`: point p < points - 1 is the index p, the last point is
 * all the rest up to ULONG_MAX. Every bound of a range falls on a point.
 *
 * The string names the height, per node its end and pivots, per range whether it is a gap, a
 * plain entry or a zero entry: all that a write can depend on, besides the tree's flags and the
 * memory there is. So a tree made from the string stands for every tree with that string.
 */
#ifndef EXHAUSTIVE_SHAPE_H
#define EXHAUSTIVE_SHAPE_H

#include "heap.h"

#define POINTS_MAX 32
#define SHAPE_MAX 160

struct shape {
	unsigned int length;
	unsigned char byte[SHAPE_MAX];
};

/* The content: ranges in order, up to point @last each. */
struct listing {
	unsigned int ranges;
	struct {
		unsigned char last;
		void *entry;
	} range[POINTS_MAX];
};

static inline unsigned long point_index(unsigned int point)
{
	return point;
}

static inline unsigned long point_last(unsigned int point, unsigned int points)
{
	return point == points - 1 ? ULONG_MAX : point;
}

/* shape_take - the string and the content of @mt. False: a bound falls on no point. */
bool shape_take(struct shape *shape, struct listing *listing, const struct maple_tree *mt,
		unsigned int points);

/*
 * shape_make - an empty tree with @flags and @heap becomes one of this shape. Returns 0 or, if
 * the heap has no memory, -ENOMEM. Entries tell by value where they begin.
 */
int shape_make(const struct shape *shape, struct maple_tree *mt);

/* listing_store - what storing @entry over the points @first .. @last makes of @listing. */
void listing_store(struct listing *listing, unsigned int first, unsigned int last, void *entry);

/* listing_at - which range holds @point, and where it begins. */
unsigned int listing_at(const struct listing *listing, unsigned int point, unsigned int *first);

bool listing_equal(const struct listing *a, const struct listing *b);

#endif
