/* SPDX-License-Identifier: MIT */
/* Known differences. */
#include "check/known.h"

/* Ended by an entry without a name. */
static const struct known {
	const char *name;
	bool (*may_show)(const struct pair *p, const struct vmspace_request *r);
} known[] = {
	{ NULL, NULL },
};

_Static_assert(sizeof(known) / sizeof(known[0]) <= KNOWN_MAX, "struct tally counts each");

int known_find(const struct pair *p, const struct vmspace_request *r)
{
	for (int i = 0; known[i].name; i++)
		if (known[i].may_show(p, r))
			return i;
	return KNOWN_NONE;
}

const char *known_name(int i)
{
	return known[i].name;
}
