/* SPDX-License-Identifier: MIT */
/*
 * stock.h - blocks allocated in advance: for the names, backings and policies of a call that must
 * not run out of memory any more.
 */
#ifndef VMSPACE_STOCK_H
#define VMSPACE_STOCK_H

#include <stdbool.h>
#include <stddef.h>

/* Invariant: block[0 .. count - 1] are allocated, of at least the size beside each. */
struct stock {
	struct stock_block {
		void *block;
		size_t size;
	} *block;
	size_t count, capacity;
};

/* Put one more block into the stock. False: no memory. */
bool stock_add(struct stock *stock, size_t size);
/* Free what is left in it. */
void stock_clear(struct stock *stock);

/* From now on stock_alloc() of this thread takes from `stock` what malloc() refuses. NULL: none. */
void stock_use(struct stock *stock);

/* As malloc() and strdup(). To be freed by free(). */
void *stock_alloc(size_t size);
char *stock_strdup(const char *text);

#endif
