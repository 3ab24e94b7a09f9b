/* SPDX-License-Identifier: MIT */
/* Texts that are kept once each, and freed when they are no longer used. */
#include "log/names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "log/hash.h"

void names_init(struct names *names)
{
	*names = (struct names){ .count = 0 };
	mt_init(&names->tree);
}

void names_clear(struct names *names)
{
	names_unmark(names);
	names_sweep(names);
	mtree_destroy(&names->tree);
}

struct name *names_get(struct names *names, const char *text)
{
	const size_t length = strlen(text);
	const unsigned long hash = hash_bytes(HASH_INIT, text, length) & LONG_MAX;
	struct name *first = mtree_load(&names->tree, hash), *name;

	for (name = first; name; name = name->next)
		if (strcmp(name->text, text) == 0)
			return name;
	name = malloc(sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	*name = (struct name){ .next = first };
	memcpy(name->text, text, length + 1);
	if (mtree_store(&names->tree, hash, name, GFP_KERNEL)) {
		free(name);
		return NULL;
	}
	names->count++;
	names->bytes += length;
	return name;
}

void names_unmark(struct names *names)
{
	unsigned long hash = 0;
	struct name *name;

	mt_for_each(&names->tree, name, hash, ULONG_MAX)
		for (; name; name = name->next)
			name->number = 0;
}

/* Frees the unused ones of a list. Returns what is left of it. */
static struct name *sweep_list(struct names *names, struct name *first)
{
	struct name **place = &first, *name;

	while ((name = *place) != NULL) {
		if (name->number) {
			place = &name->next;
			continue;
		}
		*place = name->next;
		names->count--;
		names->bytes -= strlen(name->text);
		free(name);
	}
	return first;
}

void names_sweep(struct names *names)
{
	struct name *first, *left;
	unsigned long hash = 0;

	mt_for_each(&names->tree, first, hash, ULONG_MAX) {
		const unsigned long at = hash - 1;	/* the loop has gone on behind it */
		struct name *before = first;

		left = sweep_list(names, first);
		if (!left)
			mtree_erase(&names->tree, at);
		else if (left != before)
			mtree_store(&names->tree, at, left, GFP_KERNEL);
	}
}
