/* SPDX-License-Identifier: MIT */
/* probe_place.h - the pages that a probe may use, and what /proc shows of them. */
#ifndef VMSPACE_PROBE_PLACE_H
#define VMSPACE_PROBE_PLACE_H

#include <stdbool.h>

#define PLACE_PAGES 32UL

/* Unmapped pages. What is before and behind them merges with none. */
struct place {
	char *start;
	unsigned long page;
};

enum { LINE_BYTES = 256 };

/* What /proc/self/maps shows of the areas that begin in the place. */
struct seen {
	unsigned int areas;
	char line[LINE_BYTES]; /* of the first */
};

/* False: no room. */
bool place_find(struct place *p);

/* False: no area begins there, or maps cannot be read. */
bool place_see(const struct place *p, struct seen *seen);

/*
 * VmFlags of the first area that begins in the place; false: there is none, or smaps cannot be
 * read.
 */
bool place_see_flags(const struct place *p, char flags[LINE_BYTES]);

#endif
