/* SPDX-License-Identifier: MIT */
/* stock.c - frames put by for the pages that a call will make. */
#include <stdlib.h>

#include "stock.h"

/* Make room for one more element. */
static bool grow(void **array, size_t used, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *grown;

	if (used < *room)
		return true;
	grown = realloc(*array, more * size);
	if (!grown)
		return false;
	*array = grown;
	*room = more;
	return true;
}

bool stock_add_own(struct stock *stock, const struct vmspace_memory *memory, struct frame *frame)
{
	void *array = stock->own;

	if (!grow(&array, stock->owns, &stock->own_room, sizeof(*stock->own))) {
		frame_put(memory, frame);
		return false;
	}
	stock->own = array;
	stock->own[stock->owns++] = frame;
	return true;
}

bool stock_add_file(struct stock *stock, const struct vmspace_memory *memory, unsigned long addr,
		    struct frame *frame)
{
	void *array = stock->file;

	if (!grow(&array, stock->files, &stock->file_room, sizeof(*stock->file))) {
		frame_put(memory, frame);
		return false;
	}
	stock->file = array;
	stock->file[stock->files++] = (struct stock_file){ addr, frame };
	return true;
}

struct frame *stock_take_own(struct stock *stock)
{
	return stock->owns ? stock->own[--stock->owns] : NULL;
}

/* Pages come upwards, in the order in which they were put by; one passed over stays there. */
struct frame *stock_take_file(struct stock *stock, unsigned long addr)
{
	while (stock->taken < stock->files && stock->file[stock->taken].addr < addr)
		stock->taken++;
	if (stock->taken == stock->files || stock->file[stock->taken].addr != addr)
		return NULL;
	return frame_get(stock->file[stock->taken++].frame);
}

void stock_clear(struct stock *stock, const struct vmspace_memory *memory)
{
	while (stock->owns)
		frame_put(memory, stock->own[--stock->owns]);
	while (stock->files)
		frame_put(memory, stock->file[--stock->files].frame);
	free(stock->own);
	free(stock->file);
	*stock = (struct stock){ 0 };
}
