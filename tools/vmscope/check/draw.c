/* SPDX-License-Identifier: MIT */
/* What the arguments of random calls are drawn from. */
#include "check/draw.h"

#include <sys/mman.h>

#include "check/leave_out.h"

unsigned long draw_length(struct generator *c)
{
	if (chance(c, 40))
		return HUGE_PAGE * (1 + below(c, 3));
	if (chance(c, 40))
		return HUGE_PAGE * (1 + below(c, 2)) + PAGE * (1 + below(c, 20));
	return PAGE * (1 + below(c, chance(c, 3) ? 12 : 4));
}

/* A range in or around an area that is not reserved, or somewhere in the arena. */
struct span draw_range(struct generator *c, const struct pair *p)
{
	struct vma_info info;
	struct span span;

	for (int tries = 0; tries < 50; tries++) {
		unsigned long at = chance(c, 4) ? below(c, 0x7fff) << 32
						: DRAW_ARENA + below(c, c->arena_pages) * PAGE;
		unsigned long pages;

		if (chance(c, 8))
			vmspace_prev(p->space, 0x7fff00000000UL, &info);
		if (!vmspace_next(p->space, at, &info))
			continue;
		pages = (info.end - info.start) / PAGE;
		span.start = info.start + (chance(c, 2) ? 0 : below(c, pages) * PAGE);
		if (chance(c, 2))
			span.end = info.end;
		else
			span.end = span.start + PAGE * (1 + below(c, pages < 20 ? pages : 20));
		if (chance(c, 4))
			span.end += PAGE * below(c, 10);
		if (chance(c, 8) && span.start > DRAW_ARENA + 4 * PAGE)
			span.start -= PAGE * below(c, 4);
		if (!leave_out_range(c, span.start, span.end - span.start))
			return span;
	}
	span.start = DRAW_ARENA + below(c, c->arena_pages) * PAGE;
	span.end = span.start + draw_length(c);
	return span;
}

int draw_prot(struct generator *c)
{
	static const int usual[] = { PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
				     PROT_NONE, PROT_READ | PROT_EXEC, PROT_WRITE,
				     PROT_READ | PROT_WRITE | PROT_EXEC, PROT_EXEC };

	return usual[below(c, sizeof(usual) / sizeof(usual[0]))];
}
