/* SPDX-License-Identifier: MIT */
/*
 * states.c - the shapes found so far: a hash table (FNV-1a) over a growing text.
 */
#include "states.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "exhaustive: no memory for more states\n");
	abort();
}

static uint64_t hash(const unsigned char *byte, size_t length)
{
	uint64_t h = 0xcbf29ce484222325u;

	while (length--)
		h = (h ^ *byte++) * 0x100000001b3u;
	return h ^ (h >> 29);
}

void states_open(struct states *states)
{
	*states = (struct states){ .slots = 1 << 12, .size = 1 << 16 };
	states->slot = must(calloc(states->slots, sizeof(size_t)));
	states->text = must(malloc(states->size));
}

void states_close(struct states *states)
{
	free(states->slot);
	free(states->text);
}

/* The slot that holds the shape, or the free slot where it would be inserted. */
static size_t *find(const struct states *states, const unsigned char *byte, size_t length)
{
	size_t i = hash(byte, length) & (states->slots - 1);

	for (; states->slot[i]; i = (i + 1) & (states->slots - 1)) {
		const unsigned char *text = states->text + states->slot[i] - 1;

		if (text[0] == length && !memcmp(text + 1, byte, length))
			break;
	}
	return &states->slot[i];
}

static void grow(struct states *states)
{
	size_t *old = states->slot;
	size_t at;

	free(old);
	states->slots *= 2;
	states->slot = must(calloc(states->slots, sizeof(size_t)));
	for (at = 0; at < states->used; at += states->text[at] + 1u)
		*find(states, states->text + at + 1, states->text[at]) = at + 1;
}

bool states_add(struct states *states, const struct shape *shape)
{
	size_t *slot = find(states, shape->byte, shape->length);

	if (*slot)
		return false;
	*slot = states->used + 1;
	if (states->used + shape->length + 1 > states->size)
		states->text = must(realloc(states->text, states->size *= 2));
	states->text[states->used] = (unsigned char)shape->length;
	memcpy(states->text + states->used + 1, shape->byte, shape->length);
	states->used += shape->length + 1;
	if (++states->count * 2 > states->slots)
		grow(states);
	return true;
}

bool states_next(const struct states *states, size_t *at, struct shape *shape)
{
	if (*at >= states->used)
		return false;
	shape->length = states->text[*at];
	memcpy(shape->byte, states->text + *at + 1, shape->length);
	*at += shape->length + 1;
	return true;
}
