/* SPDX-License-Identifier: MIT */
/* Which calls made the areas of a process: read from a log, while it is written. */
#include "top/sites.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <mapletree/maple_tree.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/names.h"

enum { READ_SIZE = 1 << 16, PAGE_MASK = 4095 };

struct top_sites {
	int fd;
	pid_t pid;
	char *text;			/* of a line whose end has not been read */
	size_t length, capacity;
	bool known;			/* the first line was a log's */
	bool tells;			/* of the process: some record does */
	struct names names;
	struct maple_tree ranges;	/* addresses -> struct name */
};

static const char *text_of(struct json_object *record, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(record, key, &value) ? json_object_get_string(value) : "";
}

static bool is_process(const struct top_sites *sites, struct json_object *record, const char *key)
{
	return strtol(text_of(record, key), NULL, 10) == sites->pid;
}

static unsigned long number_of(struct json_object *args, size_t i)
{
	struct json_object *value = json_object_array_get_idx(args, i);

	return value ? strtoul(json_object_get_string(value), NULL, 0) : 0;
}

/* [start, start + length) was made by @name; NULL: it is there no more. */
static int set(struct top_sites *sites, unsigned long start, unsigned long length, struct name *name)
{
	const unsigned long last = start + ((length + PAGE_MASK) & ~(unsigned long)PAGE_MASK) - 1;

	if (length == 0 || last < start)
		return 0;
	return mtree_store_range(&sites->ranges, start, last, name, GFP_KERNEL);
}

/* A call that succeeded. */
static int take_call(struct top_sites *sites, const char *call, struct json_object *args,
		     unsigned long result, struct name *name)
{
	const unsigned long addr = number_of(args, 0), length = number_of(args, 1);
	int rc;

	if (strcmp(call, "mmap") == 0)
		return set(sites, result, length, name);
	if (strcmp(call, "munmap") == 0)
		return set(sites, addr, length, NULL);
	if (strcmp(call, "mprotect") == 0 || strcmp(call, "pkey_mprotect") == 0)
		return set(sites, addr, length, name);
	if (strcmp(call, "shmat") == 0) /* how long the segment is, the call does not tell */
		return set(sites, result, 1, name);
	if (strcmp(call, "mremap") != 0)
		return 0;
	rc = set(sites, addr, length, NULL);
	return rc ? rc : set(sites, result, number_of(args, 2), name);
}

static int take_record(struct top_sites *sites, struct json_object *record)
{
	const char *type = text_of(record, "type"), *call = text_of(record, "call");
	const char *site = text_of(record, "site"), *result = text_of(record, "result");
	struct json_object *args;
	struct name *name;
	char text[320];

	if (!sites->known) {
		sites->known = strcmp(type, "start") == 0 &&
			       strcmp(text_of(record, "log"), "vmscope") == 0;
		sites->tells = is_process(sites, record, "attach");
		return sites->known ? 0 : -EINVAL;
	}
	if (!is_process(sites, record, "pid"))
		return 0;
	sites->tells = true;
	if (strcmp(type, "exec") == 0)
		mtree_destroy(&sites->ranges);
	if (strcmp(type, "call") != 0 || *result == '-' || *result == 'E' ||
	    !json_object_object_get_ex(record, "args", &args))
		return 0;
	snprintf(text, sizeof(text), "%s: %s", *site ? site : "(its site is not known)", call);
	name = names_get(&sites->names, text);
	return name ? take_call(sites, call, args, strtoul(result, NULL, 0), name) : -ENOMEM;
}

/* Takes the whole lines of the text. */
static int take_lines(struct top_sites *sites)
{
	char *at = sites->text, *end = sites->text + sites->length, *newline;
	int rc = 0;

	for (; rc == 0 && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		struct json_object *record;

		*newline = '\0';
		record = json_tokener_parse(at);
		if (json_object_is_type(record, json_type_object))
			rc = take_record(sites, record);
		else
			rc = sites->known ? 0 : -EINVAL;
		json_object_put(record);
	}
	sites->length = (size_t)(end - at);
	memmove(sites->text, at, sites->length);
	return rc;
}

int top_sites_read(struct top_sites *sites)
{
	ssize_t got;
	int rc = 0;

	do {
		if (sites->capacity - sites->length < READ_SIZE) {
			const size_t wanted = 2 * sites->capacity + READ_SIZE;
			char *larger = realloc(sites->text, wanted);

			if (!larger)
				return -ENOMEM;
			sites->text = larger;
			sites->capacity = wanted;
		}
		got = read(sites->fd, sites->text + sites->length, READ_SIZE);
		if (got < 0 && errno != EINTR)
			return -errno;
		sites->length += got > 0 ? (size_t)got : 0;
		rc = take_lines(sites);
	} while (rc == 0 && got != 0);
	return rc;
}

int top_sites_open(struct top_sites **out, const char *path, pid_t pid)
{
	struct top_sites *sites = calloc(1, sizeof(*sites));
	int rc;

	*out = NULL;
	if (!sites)
		return -ENOMEM;
	sites->pid = pid;
	names_init(&sites->names);
	mt_init(&sites->ranges);
	sites->fd = open(path, O_RDONLY | O_CLOEXEC);
	rc = sites->fd < 0 ? -errno : top_sites_read(sites);
	if (rc == 0 && !sites->known)
		rc = -EINVAL;
	if (rc == 0)
		*out = sites;
	else
		top_sites_close(sites);
	return rc;
}

void top_sites_close(struct top_sites *sites)
{
	if (!sites)
		return;
	if (sites->fd >= 0)
		close(sites->fd);
	mtree_destroy(&sites->ranges);
	names_clear(&sites->names);
	free(sites->text);
	free(sites);
}

bool top_sites_tell(const struct top_sites *sites)
{
	return sites->tells;
}

const char *top_sites_at(struct top_sites *sites, unsigned long addr)
{
	const struct name *name = mtree_load(&sites->ranges, addr);

	if (name)
		return name->text;
	return sites->tells ? "(made before the log, or by no call that it tells of)" :
			      "(the log does not tell of this process)";
}
