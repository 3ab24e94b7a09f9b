/* SPDX-License-Identifier: MIT */
/*
 * families.h - two families of spaces, in one of which forks share areas, while in the other, whose spaces
 * are for several threads, they copy them; and whether a member of one is what that of the other is. After
 * <cmocka.h>.
 */
#ifndef FAMILIES_H
#define FAMILIES_H

#include <stdbool.h>

#include <mapletree/vmspace.h>

#define PAGE 4096UL
#define FILL 0x20000000UL      /* areas that are there from the start, enough for a fork to share */
#define FILL_AREAS 320UL
#define REQUEST(op_name, field, ...) \
	(struct vmspace_request){ .op = op_name, .field = (struct vmspace_##field){ __VA_ARGS__ } }

enum { SHARES, COPIES, FAMILIES };

/* The first of a family: that which copies is for several threads. */
struct vmspace *create(bool threads);
/* Calls, which may fail: private memory at `addr`; a store there. */
long map(struct vmspace *space, unsigned long addr, unsigned long pages, int prot);
long touch(struct vmspace *space, unsigned long addr);
/* Areas of two pages that cannot merge, from `from` on, or FILL; every third has pages. */
void fill_from(struct vmspace *space, unsigned long from, unsigned long areas);
void fill(struct vmspace *space, unsigned long areas);

/* A child; has it areas of its parent? */
struct vmspace *fork_of(struct vmspace *space);
bool shares(const struct vmspace *space);

/*
 * Are they equal: counters, areas, which of them have the same anon_vma; and valid? `a` is of the family that
 * shares. The second looks at areas below `end` alone, and at less.
 */
void match(const struct vmspace *a, const struct vmspace *b);
void match_below(const struct vmspace *a, const struct vmspace *b, unsigned long end);

#endif
