/* SPDX-License-Identifier: MIT */
/* stock.c - blocks allocated in advance, and given out when malloc() has no more. */
#include <stdlib.h>
#include <string.h>

#include "stock.h"

/* Of the call that the thread completes. Initial-exec: its first use must not allocate. */
static _Thread_local struct stock *current __attribute__((tls_model("initial-exec")));

static bool grow(struct stock *stock)
{
	size_t capacity = stock->capacity ? 2 * stock->capacity : 4;
	struct stock_block *larger = realloc(stock->block, capacity * sizeof(*larger));

	if (!larger)
		return false;
	stock->block = larger;
	stock->capacity = capacity;
	return true;
}

bool stock_add(struct stock *stock, size_t size)
{
	void *block;

	if (stock->count == stock->capacity && !grow(stock))
		return false;
	block = malloc(size);
	if (!block)
		return false;
	stock->block[stock->count++] = (struct stock_block){ block, size };
	return true;
}

void stock_clear(struct stock *stock)
{
	while (stock->count)
		free(stock->block[--stock->count].block);
	free(stock->block);
	*stock = (struct stock){ 0 };
}

void stock_use(struct stock *stock)
{
	current = stock;
}

/* The smallest block that is large enough: the others are for larger ones. */
static void *take(struct stock *stock, size_t size)
{
	size_t best = stock->count;
	void *block;

	for (size_t i = 0; i < stock->count; i++)
		if (stock->block[i].size >= size &&
		    (best == stock->count || stock->block[i].size < stock->block[best].size))
			best = i;
	if (best == stock->count)
		return NULL;
	block = stock->block[best].block;
	stock->block[best] = stock->block[--stock->count];
	return block;
}

void *stock_alloc(size_t size)
{
	void *block = malloc(size);

	return block || !current ? block : take(current, size);
}

char *stock_strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = stock_alloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}
