/* SPDX-License-Identifier: MIT */
/*
 * ranges.h - what the guide docs/guides/ranges.md replaces: ranges of indexes, each with a value, of
 * which none overlap. before.cc keeps them in a red-black tree, after.c in a maple tree.
 */
#ifndef RANGES_H
#define RANGES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Whatever was in [first, last] makes place; what sticks out stays. A value is not NULL. */
void ranges_store(unsigned long first, unsigned long last, void *value);
void ranges_erase(unsigned long first, unsigned long last);
/* The value at the index, or NULL. */
void *ranges_load(unsigned long index);
/* The lowest free @size indexes from @from on, below @end; or @end. */
unsigned long ranges_find_free(unsigned long size, unsigned long from, unsigned long end);
/* How many indexes have a value. */
unsigned long ranges_sum(void);
void ranges_destroy(void);

#ifdef __cplusplus
}
#endif

#endif
