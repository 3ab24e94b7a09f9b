/* SPDX-License-Identifier: MIT */
/* Known differences. */
#include "check/known.h"

#include <sys/mman.h>

struct known {
	const char *name;
	bool (*may_show)(const struct pair *p, const struct vmspace_request *r);
};

/* The kernel charges what is cut off, and never gives it back. */
static bool moves_and_shrinks(const struct pair *p, const struct vmspace_request *r)
{
	const struct vmspace_mremap *m = &r->mremap;
	unsigned long memory = vmspace_config(p->space)->ram_pages * 4096;

	return r->op == VMSPACE_MREMAP && m->flags & MREMAP_FIXED &&
	       m->old_length > m->new_length && m->old_length - m->new_length > memory / 2;
}

static const struct known known[] = {
	{ "mremap to a fixed place that shrinks: the rest is charged", moves_and_shrinks },
};

enum { KNOWN_COUNT = sizeof(known) / sizeof(known[0]) };
_Static_assert((int)KNOWN_COUNT <= (int)KNOWN_MAX, "struct tally has a counter for each");

int known_find(const struct pair *p, const struct vmspace_request *r)
{
	for (int i = 0; i < KNOWN_COUNT; i++)
		if (known[i].may_show(p, r))
			return i;
	return KNOWN_NONE;
}

const char *known_name(int i)
{
	return i < KNOWN_COUNT ? known[i].name : NULL;
}
