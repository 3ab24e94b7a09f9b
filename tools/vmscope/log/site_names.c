/* SPDX-License-Identifier: MIT */
/* Which functions addresses are in, as far as that was found out. */
#include "log/site_names.h"

#include <limits.h>
#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct site_names {
	struct site_names *next;
	char *path;
	struct stat seen;		/* the file: another one may come to its path */
	struct maple_tree texts;	/* by place */
};

static struct site_names *all;

static bool is_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
	       one->st_size == other->st_size && one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
	       one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

struct site_names *site_names_of(const char *path)
{
	struct site_names *names;
	struct stat seen;

	if (stat(path, &seen) != 0)
		return NULL;
	for (names = all; names; names = names->next)
		if (is_same(&names->seen, &seen) && strcmp(names->path, path) == 0)
			return names;
	names = calloc(1, sizeof(*names));
	if (!names)
		return NULL;
	names->path = strdup(path);
	if (!names->path) {
		free(names);
		return NULL;
	}
	names->seen = seen;
	mt_init(&names->texts);
	names->next = all;
	all = names;
	return names;
}

const char *site_names_find(struct site_names *names, unsigned long place)
{
	return mtree_load(&names->texts, place);
}

void site_names_keep(struct site_names *names, unsigned long place, const char *text)
{
	char *copy = strdup(text);

	if (copy && mtree_insert(&names->texts, place, copy, GFP_KERNEL) != 0)
		free(copy);
}

void site_names_forget(void)
{
	while (all) {
		struct site_names *names = all;
		unsigned long place = 0;
		char *text;

		all = names->next;
		mt_for_each(&names->texts, text, place, ULONG_MAX)
			free(text);
		mtree_destroy(&names->texts);
		free(names->path);
		free(names);
	}
}
