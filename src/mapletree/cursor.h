/* SPDX-License-Identifier: MIT */
/*
 * cursor.h - what the writing calls of a cursor share: its reserve and its errors.
 */
#ifndef MT_CURSOR_H
#define MT_CURSOR_H

#include "pool.h"

/* take_reserve, keep_reserve - the blocks reserved for the cursor's next store, out and back. */
static inline struct pool_list take_reserve(struct ma_state *mas)
{
	struct pool_list list = { mas->reserve, mas->reserve_count };

	mas->reserve = NULL;
	mas->reserve_count = 0;
	return list;
}

static inline void keep_reserve(struct ma_state *mas, const struct pool_list *list)
{
	assert(!mas->reserve && !mas->reserve_count && (list->count > 0) == (list->head != NULL));
	mas->reserve = list->head;
	mas->reserve_count = list->count;
}

/* fail - put the cursor in the error state @error, and return @error. */
static inline int fail(struct ma_state *mas, int error)
{
	assert(error < 0);
	mas->status = ma_error;
	mas->node = MA_ERROR(error);
	return error;
}

#endif
