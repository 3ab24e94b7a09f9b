/* SPDX-License-Identifier: MIT */
/*
 * shape.h - trees as a short string of bytes and back, and their content as flat lists.
 *
 * The index space is cut into `points`: point p < points - 1 is the index p, the last point is
 * all the rest up to ULONG_MAX. Every bound of a range falls on a point.
 *
 * The string names the height, per node its end and pivots, per range whether it is a gap, a
 * plain entry or a zero entry: all that a write can depend on, besides the tree's flags and the
 * memory there is. So a tree made from the string stands for every tree with that string.
 *
 * Trees that share nodes have one string: a node that is there for the second time is named by its
 * number. Whether a tree may share, or is a snapshot, and whether a leaf is marked as dead is in the
 * string, too; the counts of references follow from it.
 */
#ifndef EXHAUSTIVE_SHAPE_H
#define EXHAUSTIVE_SHAPE_H

#include "heap.h"

#define POINTS_MAX 32
#define SHAPE_MAX 250   /* a length fits a byte */
#define SHAPE_NODES 100

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
bool shape_take(struct shape *shape, struct listing *listing, struct maple_tree *mt,
		unsigned int points);

/* shape_take_all - the string of several trees, and the content of each. */
bool shape_take_all(struct shape *shape, struct listing *listing, struct maple_tree *const *mt,
		    unsigned int trees, unsigned int points);

/*
 * shape_make - an empty tree with @flags and @heap becomes one of this shape. Returns 0 or, if
 * the heap has no memory, -ENOMEM. Entries tell by value where they begin.
 */
int shape_make(const struct shape *shape, struct maple_tree *mt);

/* shape_make_all - the same for several trees, which have the same flags, heap and operations. */
int shape_make_all(const struct shape *shape, struct maple_tree *const *mt, unsigned int trees);

/* listing_store - what storing @entry over the points @first .. @last makes of @listing. */
void listing_store(struct listing *listing, unsigned int first, unsigned int last, void *entry);

/* listing_at - which range holds @point, and where it begins. */
unsigned int listing_at(const struct listing *listing, unsigned int point, unsigned int *first);

bool listing_equal(const struct listing *a, const struct listing *b);

#endif
