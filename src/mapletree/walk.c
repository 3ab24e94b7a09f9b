/* SPDX-License-Identifier: MIT */
/*
 * walk.c - move a cursor from range to range.
 *
 * The short cuts inside a leaf apply only if the leaf is the one the cursor read and the next range
 * begins (or ends) where the previous one ended (or began): two reads under one version may still
 * differ by the one word that is being stored.
 */
#include "walk.h"

void *walk_reread(struct ma_state *mas)
{
	unsigned long here = mas->index;
	void *entry;

	if (walk_read_range(mas, mas->offset, &entry) && mas->index <= here && here <= mas->last)
		return entry;
	return walk_to(mas, here);
}

/*
 * Whether the leaves of the tree exceed the cache next to a processor, some megabytes, so that
 * looking ahead early pays. Nodes that track gaps have fewer children.
 */
static bool is_tall(const struct ma_state *mas)
{
	return mt_height(mas->tree) >= (enode_kind(mas->parent) == KIND_GAPS ? 7 : 5);
}

void *walk_ahead_up(struct ma_state *mas, void *entry)
{
	bool move = mas->parent_offset == mas->parent_end;

	if (move || is_tall(mas))
		walk_ahead(mas, mas->parent_max + 1, 1, move);
	return entry;
}

void *walk_ahead_down(struct ma_state *mas, void *entry)
{
	bool move = mas->parent_offset == 0;

	if (move || is_tall(mas))
		walk_ahead(mas, mas->parent_min - 1, -1, move);
	return entry;
}

void *walk_up(struct ma_state *mas)
{
	unsigned long next = mas->last + 1;
	void *entry;

	if (mas->node && mas->last < mas->max) {
		if (mas->offset < WIDE_SLOTS - 1 &&
		    walk_read_range(mas, mas->offset + 1u, &entry) && mas->index == next)
			return entry;
	} else if (mas->node && mas->last == mas->max && walk_next_leaf(mas, &entry)) {
		return walk_up_is_due(mas) ? walk_ahead_up(mas, entry) : entry;
	}
	return walk_to(mas, next);
}

void *walk_down(struct ma_state *mas)
{
	unsigned long next = mas->index - 1;
	void *entry;

	if (mas->node && mas->index > mas->min) {
		if (mas->offset && walk_read_range(mas, mas->offset - 1u, &entry) &&
		    mas->last == next)
			return entry;
	} else if (mas->node && mas->index == mas->min && walk_prev_leaf(mas, &entry)) {
		return walk_down_is_due(mas) ? walk_ahead_down(mas, entry) : entry;
	}
	return walk_to(mas, next);
}
