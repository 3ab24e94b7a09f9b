/* SPDX-License-Identifier: MIT */
/* Where a call may have changed areas, and the text of both sides' areas there. */
#ifndef VMSCOPE_MIRROR_NEARBY_H
#define VMSCOPE_MIRROR_NEARBY_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/call.h"
#include "mirror/kernel.h"

enum { NEARBY_RANGES = 16 };

/*
 * Ranges; the areas that a call concerns are those that lie in one or touch it, as neighbours may
 * be merged. Ranges may overlap.
 */
struct nearby {
	bool everywhere;	/* too many, or not known */
	unsigned int count;	/* <= NEARBY_RANGES */
	struct { unsigned long start, end; } ranges[NEARBY_RANGES];
};

/* A text of areas, each line as in maps. An area may be there several times. */
struct nearby_text {
	char *text;		/* not NUL-terminated; NULL if capacity is 0 */
	size_t length, capacity;
};

/*
 * Where @call, which has returned, may have changed areas, by its arguments and its result alone.
 * @space is the mirror, which it has not been applied to yet.
 */
void nearby_of_call(struct nearby *where, const struct vmspace *space, const struct call *call);

/* Adds where @event has changed an area of the mirror, unless that is in a range already. */
void nearby_add_event(struct nearby *where, const struct vmspace_event *event);

/*
 * Appends to @text the areas of @space in the ranges from number @first on, and those that touch
 * them. Not for everywhere. Returns 0 or -ENOMEM.
 */
int nearby_show(const struct nearby *where, unsigned int first, const struct vmspace *space,
		struct nearby_text *text);

/* The same, as the kernel shows them. Returns 0, or -errno: see kernel_query(). */
int nearby_ask(const struct nearby *where, unsigned int first, struct kernel_view *view,
	       struct nearby_text *text);

bool nearby_equal(const struct nearby_text *one, const struct nearby_text *other);

void nearby_text_free(struct nearby_text *text);

#endif
