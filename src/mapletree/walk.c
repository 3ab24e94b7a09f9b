/* SPDX-License-Identifier: MIT */
/*
 * walk.c - move a cursor from range to range.
 */
#include "walk.h"

void *walk_here(struct ma_state *mas)
{
	void *entry;

	return walk_read_range(mas, mas->offset, &entry) ? entry : walk_to(mas, mas->index);
}

void *walk_up(struct ma_state *mas)
{
	unsigned long next = mas->last + 1;
	void *entry;

	if (mas->last < mas->max && walk_read_range(mas, mas->offset + 1u, &entry))
		return entry;
	return walk_to(mas, next);
}

void *walk_down(struct ma_state *mas)
{
	unsigned long next = mas->index - 1;
	void *entry;

	if (mas->offset && walk_read_range(mas, mas->offset - 1u, &entry))
		return entry;
	return walk_to(mas, next);
}
