/* SPDX-License-Identifier: MIT */
/*
 * opaque.c - trees and cursors on the heap, and what can be read of a cursor.
 */
#include <stdlib.h>

#include "node.h"

/* In lines of their own: see ma_apart in struct maple_tree. */
#define LINE 64

/* Room for @size bytes, or NULL. */
static void *new_lines(size_t size)
{
	return aligned_alloc(LINE, (size + LINE - 1) / LINE * LINE);
}

struct maple_tree *mt_new(unsigned int flags)
{
	struct maple_tree *mt = new_lines(sizeof(*mt));

	if (mt)
		mt_init_flags(mt, flags);
	return mt;
}

void mt_free(struct maple_tree *mt)
{
	if (mt)
		mtree_destroy(mt);
	free(mt);
}

struct ma_state *mas_new(struct maple_tree *mt, unsigned long first, unsigned long last)
{
	struct ma_state *mas = new_lines(sizeof(*mas));

	if (mas) {
		mas_init(mas, mt, first);
		mas->last = last;
	}
	return mas;
}

void mas_free(struct ma_state *mas)
{
	if (mas)
		mas_destroy(mas);
	free(mas);
}

void mas_get_range(const struct ma_state *mas, unsigned long *first, unsigned long *last)
{
	*first = mas->index;
	*last = mas->last;
}

enum maple_status mas_get_status(const struct ma_state *mas)
{
	return mas->status;
}

int mas_get_error(const struct ma_state *mas)
{
	return mas_is_err(mas) ? xa_err(mas->node) : 0;
}
