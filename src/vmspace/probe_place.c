/* SPDX-License-Identifier: MIT */
/* probe_place.c - finds pages for probes, and reads what /proc shows of them. */
#include "probe_place.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "mman_names.h"

#define LOW ((void *)(1UL << 20)) /* above vm.mmap_min_addr, and below programs */

/*
 * A place between inaccessible pages, so that nothing comes near. It is below all other areas if
 * possible: /proc is read up to the place and no further, and the process may have many areas.
 */
bool place_find(struct place *p)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
	unsigned long size = 3 * PLACE_PAGES * page;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *start = mmap(LOW, size, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);

	if (start == MAP_FAILED)
		start = mmap(NULL, size, PROT_NONE, flags, -1, 0);
	if (start == MAP_FAILED)
		return false;
	*p = (struct place){ start + PLACE_PAGES * page, page };
	return !munmap(p->start, PLACE_PAGES * page);
}

/* Is it the line of an area that begins at *start? */
static bool begins_area(const char *line, unsigned long *start)
{
	const char *c = line;

	*start = 0;
	for (; (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'f'); c++)
		*start = *start * 16 + (unsigned long)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
	return *c == '-' && c > line;
}

/* Looks at a line; false: no further line is wanted. */
typedef bool look_fn(void *context, const char *line);

/* Neither malloc() nor stdio: see kernel_probe.c. */
static bool read_lines(const char *path, look_fn *look, void *context)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buffer[4096], line[LINE_BYTES];
	size_t length = 0;
	bool wanted = true;
	ssize_t got;

	if (fd < 0)
		return false;
	while (wanted && (got = read(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t i = 0; wanted && i < got; i++) {
			if (buffer[i] != '\n') {
				if (length < sizeof(line) - 1)
					line[length++] = buffer[i];
				continue;
			}
			line[length] = '\0';
			wanted = look(context, line);
			length = 0;
		}
	close(fd);
	return true;
}

struct looking {
	unsigned long start, end; /* the place */
	bool inside;              /* the lines are of an area that begins there */
	struct seen *seen;
	char *flags;
};

static struct looking look_at(const struct place *p)
{
	unsigned long start = (unsigned long)p->start;

	return (struct looking){ .start = start, .end = start + PLACE_PAGES * p->page };
}

/* False: the area lies behind the place. */
static bool enter_area(struct looking *l, unsigned long start)
{
	l->inside = start >= l->start && start < l->end;
	return start < l->end;
}

static bool look_at_area(void *context, const char *line)
{
	struct looking *l = context;
	unsigned long start;

	if (!begins_area(line, &start))
		return true;
	if (!enter_area(l, start))
		return false;
	l->seen->areas += l->inside;
	if (l->inside && l->seen->areas == 1)
		memcpy(l->seen->line, line, strlen(line) + 1);
	return true;
}

bool place_see(const struct place *p, struct seen *seen)
{
	struct looking l = look_at(p);

	l.seen = seen;
	seen->areas = 0;
	return read_lines("/proc/self/maps", look_at_area, &l) && seen->areas > 0;
}

static bool look_for_flags(void *context, const char *line)
{
	struct looking *l = context;
	unsigned long start;

	if (begins_area(line, &start))
		return enter_area(l, start);
	if (!l->inside || strncmp(line, "VmFlags:", 8) != 0)
		return true;
	memcpy(l->flags, line, strlen(line) + 1);
	return false;
}

bool place_see_flags(const struct place *p, char flags[LINE_BYTES])
{
	struct looking l = look_at(p);

	l.flags = flags;
	flags[0] = '\0';
	return read_lines("/proc/self/smaps", look_for_flags, &l) && flags[0];
}
