/* SPDX-License-Identifier: MIT */
/* import.c - spaces made of texts that somebody else has read, and brought up to date by them. */
#include "import.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <mapletree/vmspace_proc.h>

#include "ops.h"
#include "proc.h"
#include "space.h"

int import_wrong(struct vmspace_mistake *mistake, size_t offset, const char *format, ...)
{
	va_list args;

	if (!mistake)
		return -EINVAL;
	*mistake = (struct vmspace_mistake){ .offset = offset };
	va_start(args, format);
	(void)vsnprintf(mistake->text, sizeof(mistake->text), format, args);
	va_end(args);
	return -EINVAL;
}

/* ---- texts ---- */

static unsigned long line_at(const char *text, size_t offset)
{
	unsigned long line = 1;

	for (const char *at = text; at < text + offset; at++)
		line += *at == '\n';
	return line;
}

/* Where line `line` begins, from 1. */
static size_t offset_of(const char *text, unsigned long line)
{
	const char *at = text;

	while (--line && (at = strchr(at, '\n')))
		at++;
	return at ? (size_t)(at - text) : strlen(text);
}

static int text_wrong(struct vmspace_mistake *mistake, const char *text, size_t offset,
		      const char *why)
{
	size_t length = strcspn(text + offset, "\n");
	char line[100];

	if (length >= sizeof(line))
		length = sizeof(line) - 1;
	memcpy(line, text + offset, length);
	line[length] = '\0';
	import_wrong(mistake, offset, "%s: \"%s\"", why, line);
	if (mistake)
		mistake->line = line_at(text, offset);
	return -EINVAL;
}

int import_text(const char *text, size_t before, struct vmspace_area **areas, size_t *count,
		struct vmspace_mistake *mistake)
{
	char why[80] = "not a line of maps or smaps";
	struct vmspace_line unused;
	struct proc_wrong wrong;
	unsigned long line = 0;
	size_t bad;
	int err = vmspace_parse_areas(text, areas, count, &line);

	if (err != -EINVAL)
		return err;
	if (!*text)
		return import_wrong(mistake, before, "the text is empty");
	bad = offset_of(text, line);
	if (!proc_parse_line(text + bad, &unused, &wrong) && wrong.why)
		(void)snprintf(why, sizeof(why), "the %s %s", wrong.field, wrong.why);
	text_wrong(mistake, text, bad, why);
	if (mistake)
		mistake->offset += before;
	return -EINVAL;
}

/* The text's areas, for a space of which `space` has the page size and the end. */
static int parse_text(const struct vmspace *space, const char *text, struct vmspace_area **areas,
		      size_t *count, struct vmspace_mistake *mistake)
{
	struct vmspace_entry entry;
	const char *at = text, *why;
	size_t bad;
	int err = import_text(text, 0, areas, count, mistake);

	if (err)
		return err;
	bad = exec_first_bad(space, *areas, *count, &why);
	if (bad == *count)
		return 0;
	vmspace_free_areas(*areas, *count);
	for (size_t i = 0; i < bad; i++)
		at = vmspace_parse_entry(at, &entry);
	return text_wrong(mistake, text, (size_t)(at - text), why);
}

int vmspace_load_text(struct vmspace **out, const struct vmspace_config *config, const char *text,
		      struct vmspace_mistake *mistake)
{
	struct vmspace_image image = { .pkeys_unknown = true };
	struct vmspace_area *areas;
	size_t count;
	int err = vmspace_create(out, config);

	if (err == -EINVAL)
		return import_wrong(mistake, 0, "the configuration makes no sense");
	if (err)
		return err;
	err = parse_text(*out, text, &areas, &count, mistake);
	if (!err) {
		err = vmspace_exec(*out, areas, count, &image);
		vmspace_free_areas(areas, count);
	}
	if (err) {
		vmspace_destroy(*out);
		*out = NULL;
	}
	return err;
}

int vmspace_put_text(struct vmspace *space, const char *text, struct vmspace_mistake *mistake)
{
	struct vmspace_area *areas;
	struct vmspace_entry entry;
	const char *at = text;
	size_t count, done;
	int err = parse_text(space, text, &areas, &count, mistake);

	if (err)
		return err;
	err = vmspace_put_areas(space, areas, count, &done);
	vmspace_free_areas(areas, count);
	if (!err)
		return 0;
	for (size_t i = 0; i < done; i++)
		at = vmspace_parse_entry(at, &entry);
	text_wrong(mistake, text, (size_t)(at - text), strerror(-err));
	return err;
}

/* ---- records of perf ---- */

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

/* After the header, up to the file's name. */
struct mmap2 {
	uint32_t pid, tid;
	uint64_t addr, length, offset;
	uint32_t major, minor;       /* here and below: or a build id */
	uint64_t inode, generation;
	uint32_t prot, flags;
};

static vma_flags_t flags_of(const struct mmap2 *map)
{
	vma_flags_t flags = VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC;

	flags |= map->prot & PROT_READ ? VMA_READ : 0;
	flags |= map->prot & PROT_WRITE ? VMA_WRITE : 0;
	flags |= map->prot & PROT_EXEC ? VMA_EXEC : 0;
	flags |= map->flags & MAP_LOCKED ? VMA_LOCKED : 0;
	flags |= map->flags & MAP_HUGETLB ? VMA_HUGETLB : 0;
	if ((map->flags & MAP_TYPE) == MAP_SHARED)
		return flags | VMA_SHARED | VMA_MAYSHARE;
	return flags | (flags & VMA_WRITE ? VMA_ACCOUNT : 0);
}

/* As a line of maps would say it. "//anon" is what perf calls memory without a name. */
static void back_area(struct vmspace_area *area, const struct mmap2 *map, const char *name,
		      bool identified)
{
	struct vmspace_line line = {
		.perms = { 0, 0, 0, area->flags & VMA_SHARED ? 's' : 'p' },
		.name = strncmp(name, "//", 2) ? name : "",
	};
	char unused[64];

	line.name_length = strlen(line.name);
	if (identified) {
		line.dev_major = map->major;
		line.dev_minor = map->minor;
		line.inode = map->inode;
	}
	vmspace_line_backing(&line, &area->backing, unused, sizeof(unused));
	if (area->backing.kind != VMA_BACKING_ANON || !strcmp(name, "[heap]") ||
	    !strcmp(name, "[stack]"))
		area->backing.name = *line.name ? line.name : NULL;
	if (area->flags & VMA_HUGETLB)
		area->backing.kind = VMA_BACKING_HUGETLB;
	if (!strcmp(name, "[stack]"))
		area->flags |= VMA_GROWSDOWN;
}

int vmspace_parse_mmap2(const void *record, size_t size, struct vmspace_area *area, int *pid,
			struct vmspace_mistake *mistake)
{
	struct perf_event_header header;
	struct mmap2 map;
	const char *name = (const char *)record + sizeof(header) + sizeof(map);

	if (size < sizeof(header))
		return import_wrong(mistake, size, "%zu bytes are no record", size);
	memcpy(&header, record, sizeof(header));
	if (header.type != PERF_RECORD_MMAP2)
		return import_wrong(mistake, 0, "a record of type %u, not %d (MMAP2)",
				    (unsigned int)header.type, PERF_RECORD_MMAP2);
	if (header.size > size || header.size <= sizeof(header) + sizeof(map))
		return import_wrong(mistake, 6, "a record of %u bytes in %zu bytes",
				    (unsigned int)header.size, size);
	memcpy(&map, (const char *)record + sizeof(header), sizeof(map));
	if (!memchr(name, '\0', header.size - sizeof(header) - sizeof(map)))
		return import_wrong(mistake, sizeof(header) + sizeof(map), "a name without an end");
	if (!map.length || map.addr + map.length < map.addr ||
	    map.addr + map.length > (unsigned long)-1)
		return import_wrong(mistake, sizeof(header) + 8,
				    "an area of %#llx bytes at %#llx",
				    (unsigned long long)map.length, (unsigned long long)map.addr);
	*pid = (int)map.pid;
	*area = (struct vmspace_area){
		.start = (unsigned long)map.addr, .end = (unsigned long)(map.addr + map.length),
		.offset = map.offset, .flags = flags_of(&map),
	};
	back_area(area, &map, name, !(header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID));
	return 0;
}
