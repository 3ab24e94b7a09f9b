/* SPDX-License-Identifier: MIT */
/* What the arguments of random calls are drawn from. */
#ifndef VMSCOPE_CHECK_DRAW_H
#define VMSCOPE_CHECK_DRAW_H

#include "check/generator.h"
#include "check/page.h"

#define DRAW_ARENA 0x10000000000UL

static inline unsigned long below(struct generator *c, unsigned long n)
{
	return random_below(c, n);
}

static inline bool chance(struct generator *c, unsigned long one_in)
{
	return random_below(c, one_in) == 0;
}

/* A few pages, now and then as much as huge pages need. */
unsigned long draw_length(struct generator *c);

/* A range in or around an area that the puppet does not need, or somewhere in the arena. */
struct span draw_range(struct generator *c, const struct pair *p);

int draw_prot(struct generator *c);

#endif
