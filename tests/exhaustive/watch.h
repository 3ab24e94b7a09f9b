/* SPDX-License-Identifier: MIT */
/*
 * watch.h - a reader that looks at the tree between any two stores of a write.
 *
 * The library is compiled with observe.h in front, which calls watch_store() before each atomic
 * store. What the reader may see, at each of these moments:
 *   - all indexes hold what they held before the write, or all what they hold after it, and the
 *     first never again after the second; lookups, iterations both ways over entries and over
 *     ranges, and the normal API the same, but that a gap may be shown in parts;
 *   - a place that a search for free indexes finds is free;
 *   - a cursor that stood on a range before the write steps to an entry (a range) that was next
 *     to it then, or is next to its place now.
 * Every moment between stores is met; the order in which another processor would see them is not
 * what is tested here.
 */
#ifndef EXHAUSTIVE_WATCH_H
#define EXHAUSTIVE_WATCH_H

#include "shape.h"

/* watch_begin - the write that follows turns @before into @after. Both stay until watch_end(). */
void watch_begin(struct maple_tree *mt, unsigned int points, const struct listing *before,
		 const struct listing *after);

/* watch_end - NULL, or what was wrong. */
const char *watch_end(void);

#endif
