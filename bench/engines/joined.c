/* SPDX-License-Identifier: MIT */
/*
 * joined.c - the engine of a red-black tree of ranges, of which neighbours with the same entry are one:
 * what emulators keep the protection of their guest's pages in.
 */
#include <stdlib.h>

#include <bsd/sys/tree.h>

#include "../loops.h"

/* Ranges are disjoint; no two that touch have the same entry. */
struct piece {
	unsigned long first;
	unsigned long last;
	void *entry;
	RB_ENTRY(piece) link;
};

RB_HEAD(pieces, piece);

static inline int piece_order(const struct piece *a, const struct piece *b)
{
	return a->first < b->first ? -1 : a->first > b->first;
}

RB_GENERATE_INTERNAL(pieces, piece, link, piece_order, __attribute__((unused)) static)

static void *pieces_create(void)
{
	return calloc(1, sizeof(struct pieces));
}

static void pieces_destroy(void *map)
{
	struct pieces *pieces = map;
	struct piece *piece, *next;

	for (piece = RB_MIN(pieces, pieces); piece; piece = next) {
		next = RB_NEXT(pieces, pieces, piece);
		RB_REMOVE(pieces, pieces, piece);
		free(piece);
	}
	free(pieces);
}

/* The last range that begins at or below @index. */
static inline struct piece *piece_at_or_below(struct pieces *pieces, unsigned long index)
{
	struct piece *at = RB_ROOT(pieces), *found = NULL;

	while (at) {
		if (at->first <= index) {
			found = at;
			at = RB_RIGHT(at, link);
		} else {
			at = RB_LEFT(at, link);
		}
	}
	return found;
}

static void *pieces_load(void *map, unsigned long index)
{
	struct piece *piece = piece_at_or_below(map, index);

	return piece && piece->last >= index ? piece->entry : NULL;
}

static unsigned long pieces_end(void *map, unsigned long index)
{
	struct piece *piece = piece_at_or_below(map, index);

	if (piece && piece->last >= index)
		return piece->last;
	piece = piece ? RB_NEXT(pieces, (struct pieces *)map, piece) : RB_MIN(pieces, (struct pieces *)map);
	return piece ? piece->first - 1 : ~0UL;
}

static bool add_piece(struct pieces *pieces, unsigned long first, unsigned long last, void *entry)
{
	struct piece *piece = malloc(sizeof(*piece));

	if (!piece)
		return false;
	*piece = (struct piece){ .first = first, .last = last, .entry = entry };
	RB_INSERT(pieces, pieces, piece);
	return true;
}

static bool pieces_insert(void *map, const struct range *range)
{
	return add_piece(map, range->first, range->last, range->entry);
}

/* Removes what lies in [@first, @last], and returns the first range behind it. */
static struct piece *cut(struct pieces *pieces, struct piece *piece, unsigned long first,
			 unsigned long last)
{
	while (piece && piece->first <= last) {
		struct piece *next = RB_NEXT(pieces, pieces, piece);

		if (piece->first < first) {
			if (piece->last >= first)
				piece->last = first - 1;
		} else if (piece->last > last) {
			piece->first = last + 1;
			return piece;
		} else {
			RB_REMOVE(pieces, pieces, piece);
			free(piece);
		}
		piece = next;
	}
	return piece;
}

static bool pieces_clear(void *map, const struct range *range)
{
	struct piece *piece = piece_at_or_below(map, range->first);

	if (piece && piece->first < range->first && piece->last > range->last) {
		unsigned long last = piece->last;

		piece->last = range->first - 1;
		return add_piece(map, range->last + 1, last, piece->entry);
	}
	cut(map, piece ? piece : RB_MIN(pieces, (struct pieces *)map), range->first, range->last);
	return true;
}

static bool pieces_join(void *map, const struct range *range)
{
	struct piece *piece = piece_at_or_below(map, range->first), *next;
	struct piece *target = NULL;

	if (piece && piece->entry == range->entry && piece->last + 1 >= range->first) {
		if (piece->last >= range->last)
			return true;
		target = piece; /* it grows over the range */
		next = cut(map, RB_NEXT(pieces, (struct pieces *)map, piece), range->first, range->last);
	} else if (piece && piece->first < range->first && piece->last > range->last) {
		unsigned long last = piece->last;

		piece->last = range->first - 1;
		return add_piece(map, range->first, range->last, range->entry) &&
		       add_piece(map, range->last + 1, last, piece->entry);
	} else if (piece && piece->first == range->first && piece->last <= range->last) {
		target = piece; /* it is overwritten where it stands */
		next = cut(map, RB_NEXT(pieces, (struct pieces *)map, piece), range->first, range->last);
		if (range->first) {
			struct piece *prev = RB_PREV(pieces, (struct pieces *)map, piece);

			if (prev && prev->entry == range->entry && prev->last + 1 == range->first) {
				RB_REMOVE(pieces, (struct pieces *)map, piece);
				free(piece);
				target = prev;
			}
		}
	} else {
		struct piece *prev = piece && piece->first == range->first ?
			RB_PREV(pieces, (struct pieces *)map, piece) : NULL;

		next = cut(map, piece ? piece : RB_MIN(pieces, (struct pieces *)map), range->first,
			   range->last);
		if (prev && prev->entry == range->entry && prev->last + 1 == range->first)
			target = prev;
	}
	if (next && next->entry == range->entry && next->first == range->last + 1) {
		unsigned long last = next->last;

		if (!target) {
			next->first = range->first;
			return true;
		}
		RB_REMOVE(pieces, (struct pieces *)map, next);
		free(next);
		target->entry = range->entry;
		target->last = last;
		return true;
	}
	if (!target)
		return add_piece(map, range->first, range->last, range->entry);
	target->entry = range->entry;
	target->last = range->last;
	return true;
}

static bool pieces_resize(void *map, const struct range *range, unsigned long last)
{
	piece_at_or_below(map, range->first)->last = last;
	return true;
}

static unsigned long pieces_sum(void *map, bool backward)
{
	struct pieces *pieces = map;
	struct piece *piece = backward ? RB_MAX(pieces, pieces) : RB_MIN(pieces, pieces);
	unsigned long sum = 0;

	while (piece) {
		sum += piece->last + (unsigned long)piece->entry;
		piece = backward ? RB_PREV(pieces, pieces, piece) : RB_NEXT(pieces, pieces, piece);
	}
	return sum;
}

static size_t pieces_list(void *map, bool backward, struct range *out, size_t max)
{
	struct pieces *pieces = map;
	struct piece *piece = backward ? RB_MAX(pieces, pieces) : RB_MIN(pieces, pieces);
	size_t count = 0;

	for (; piece; count++) {
		if (count < max)
			out[count] = (struct range){ piece->first, piece->last, piece->entry };
		piece = backward ? RB_PREV(pieces, pieces, piece) : RB_NEXT(pieces, pieces, piece);
	}
	return count;
}

LOOPS_READ(pieces_load)

const struct engine engine_joined = {
	.name = "red-black joined",
	.create = pieces_create,
	.destroy = pieces_destroy,
	.load = pieces_load,
	.insert = pieces_insert,
	.store = pieces_join, /* the other works have no two entries alike */
	.erase = pieces_clear,
	.resize = pieces_resize,
	.join = pieces_join,
	.clear = pieces_clear,
	.end = pieces_end,
	.sum = pieces_sum,
	.list = pieces_list,
	.independent = loop_independent,
	.chained = loop_chained,
};
