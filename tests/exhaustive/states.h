/* SPDX-License-Identifier: MIT */
/*
 * states.h - the shapes found so far, in the order found, each once.
 */
#ifndef EXHAUSTIVE_STATES_H
#define EXHAUSTIVE_STATES_H

#include "shape.h"

/*
 * @text: all shapes, one after the other: length, bytes; @used of @size bytes.
 * @slot: a hash table of offsets into @text plus 1; @slots is a power of two > 2 * @count.
 */
struct states {
	unsigned char *text;
	size_t used;
	size_t size;
	size_t *slot;
	size_t slots;
	size_t count;
};

void states_open(struct states *states);
void states_close(struct states *states);

/* states_add - whether @shape is new; then it is added. Aborts without memory. */
bool states_add(struct states *states, const struct shape *shape);

/* states_next - read the shape at *@at (0: the first) and advance *@at; false after the last. */
bool states_next(const struct states *states, size_t *at, struct shape *shape);

#endif
