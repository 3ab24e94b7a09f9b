/* SPDX-License-Identifier: MIT */
/*
 * walk.c - move a cursor from range to range.
 *
 * The short cuts inside a leaf hold only if the leaf is what the cursor read and if the next range
 * begins (or ends) where the one before ended (or began): under one version two reads may still
 * differ by the one word that is being stored.
 */
#include "walk.h"

void *walk_here(struct ma_state *mas)
{
	unsigned long here = mas->index;
	void *entry;

	return walk_read_range(mas, mas->offset, &entry) ? entry : walk_to(mas, here);
}

void *walk_up(struct ma_state *mas)
{
	unsigned long next = mas->last + 1;
	void *entry;

	if (mas->node && mas->last < mas->max &&
	    walk_read_range(mas, mas->offset + 1u, &entry) && mas->index == next)
		return entry;
	return walk_to(mas, next);
}

void *walk_down(struct ma_state *mas)
{
	unsigned long next = mas->index - 1;
	void *entry;

	if (mas->node && mas->offset && walk_read_range(mas, mas->offset - 1u, &entry) &&
	    mas->last == next)
		return entry;
	return walk_to(mas, next);
}
