/* SPDX-License-Identifier: MIT */
/* Taking over an address space from the kernel: after an exec, and when attaching. */
#include "takeover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backing.h"
#include "logform.h"
#include "smaps.h"

struct taken {
	struct vmspace_area *areas;	/* count of them, capacity allocated */
	size_t count, capacity;
	unsigned long heap_end;		/* of the area named [heap], 0 if there is none */
};

void takeover_free(struct vmspace_area *areas, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((char *)areas[i].backing.name);
		free((char *)areas[i].anon_name);
	}
	free(areas);
}

static void free_taken(struct taken *taken)
{
	takeover_free(taken->areas, taken->count);
}

/* "[anon:NAME]" and "[anon_shmem:NAME]" hold a name given by prctl(). */
static char *given_name(const char *name)
{
	const char *colon = strchr(name, ':');
	size_t length = strlen(name);

	if (strncmp(name, "[anon", 5) != 0 || !colon || name[length - 1] != ']')
		return NULL;
	return strndup(colon + 1, (size_t)(name + length - 1 - (colon + 1)));
}

static int take_area(struct taken *taken, const struct smaps_area *from)
{
	struct backing_file file;
	struct vmspace_area *area;

	if (taken->count == taken->capacity) {
		size_t wanted = taken->capacity ? taken->capacity * 2 : 64;
		struct vmspace_area *larger = reallocarray(taken->areas, wanted, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		taken->areas = larger;
		taken->capacity = wanted;
	}
	backing_of_line(&file, &from->line);
	if (from->flags & VMA_HUGETLB)
		file.backing.kind = VMA_BACKING_HUGETLB;
	area = &taken->areas[taken->count++];
	*area = (struct vmspace_area){
		.start = from->line.start,
		.end = from->line.end,
		.flags = from->flags,
		.offset = from->line.offset,
		.backing = file.backing,
		.anon_name = given_name(file.name),
		.pkey = from->pkey,
		.has_anon = from->has_anon && !(from->flags & VMA_MAYSHARE),
	};
	if (strcmp(file.name, "[heap]") == 0)
		taken->heap_end = area->end;
	if (file.backing.kind == VMA_BACKING_SHMEM && area->anon_name)
		file.backing.name = "/dev/zero (deleted)";
	if (file.backing.name && !(area->backing.name = strdup(file.backing.name)))
		return -ENOMEM;
	return 0;
}

static int take_areas(struct taken *taken, pid_t tid)
{
	char *text = kernel_read_file(tid, "smaps");
	const char *at = text;
	struct smaps_area area;
	int rc = text ? 0 : -errno;

	while (rc == 0 && at && (at = smaps_next(at, &area)))
		rc = take_area(taken, &area);
	free(text);
	return rc == 0 && taken->count == 0 ? -ESRCH : rc;
}

/* The fields of /proc/PID/stat by their numbers in proc(5); field 2, a name, may hold anything. */
static int read_stat(pid_t tid, unsigned long fields[53])
{
	char *text = kernel_read_file(tid, "stat");
	char *at = text ? strrchr(text, ')') : NULL;

	memset(fields, 0, 53 * sizeof(fields[0]));
	if (!at) {
		free(text);
		return text ? -EINVAL : -errno;
	}
	at += 2; /* over the name, to field 3: the state, a letter */
	for (int i = 4; i < 53 && (at = strchr(at, ' ')); i++)
		fields[i] = strtoul(at, &at, 10);
	free(text);
	return 0;
}

enum { STAT_PPID = 4, STAT_START_CODE = 26, STAT_END_CODE, STAT_START_STACK,
       STAT_START_DATA = 45, STAT_END_DATA, STAT_START_BRK };

/* Stacks begin at random places: a parent with the same one was copied, and no exec came since. */
static bool is_fork_copy(const unsigned long fields[53])
{
	unsigned long parent[53];

	return fields[STAT_PPID] > 1 && fields[STAT_START_STACK] &&
	       read_stat((pid_t)fields[STAT_PPID], parent) == 0 &&
	       parent[STAT_START_STACK] == fields[STAT_START_STACK];
}

static void write_record(struct json_object *record, const struct taken *taken,
			 const struct vmspace_image *image)
{
	struct json_object *areas = json_object_new_array_ext((int)taken->count);

	for (size_t i = 0; i < taken->count; i++)
		json_object_array_add(areas, logform_area(&taken->areas[i]));
	json_object_object_add(record, "image", logform_image(image));
	json_object_object_add(record, "areas", areas);
}

int takeover_read(struct vmspace *space, pid_t tid, bool attach, struct json_object *record)
{
	struct taken taken = { .areas = NULL };
	unsigned long fields[53];
	int rc = read_stat(tid, fields);

	if (rc == 0)
		rc = take_areas(&taken, tid);
	if (rc == 0) {
		struct vmspace_image image = {
			.start_code = fields[STAT_START_CODE],
			.end_code = fields[STAT_END_CODE],
			.start_data = fields[STAT_START_DATA],
			.end_data = fields[STAT_END_DATA],
			.start_brk = fields[STAT_START_BRK],
			.brk = taken.heap_end ? taken.heap_end : fields[STAT_START_BRK],
			.start_stack = fields[STAT_START_STACK],
		};
		bool copied = attach && is_fork_copy(fields);

		for (size_t i = 0; i < taken.count; i++)
			taken.areas[i].fork_child = copied;
		rc = vmspace_exec(space, taken.areas, taken.count, &image);
		if (record)
			write_record(record, &taken, &image);
	}
	free_taken(&taken);
	return rc;
}

/* What the permissions tell of the flags; the rest is as it is with most areas. */
static vma_flags_t flags_of_line(const struct kernel_line *line)
{
	vma_flags_t flags = VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC;

	flags |= line->perms[0] == 'r' ? VMA_READ : 0;
	flags |= line->perms[1] == 'w' ? VMA_WRITE : 0;
	flags |= line->perms[2] == 'x' ? VMA_EXEC : 0;
	if (line->perms[3] == 's')
		return flags | VMA_SHARED | VMA_MAYSHARE;
	if (flags & VMA_WRITE)
		flags |= VMA_ACCOUNT;
	if (line->name_length == 7 && memcmp(line->name, "[stack]", 7) == 0)
		flags |= VMA_GROWSDOWN;
	return flags;
}

static unsigned long count_lines(const char *from, const char *to)
{
	unsigned long lines = 1;

	for (; from < to; from++)
		lines += *from == '\n';
	return lines;
}

/* Where the heap and the stack are shows in their names alone. */
static int keep_name(struct vmspace_area *area, const struct kernel_line *line)
{
	if (!(line->name_length == 6 && memcmp(line->name, "[heap]", 6) == 0) &&
	    !(line->name_length == 7 && memcmp(line->name, "[stack]", 7) == 0))
		return 0;
	area->backing.name = strndup(line->name, line->name_length);
	return area->backing.name ? 0 : -ENOMEM;
}

ssize_t takeover_parse(const char *text, struct vmspace_area **areas, unsigned long *line)
{
	struct taken taken = { .areas = NULL };
	const char *at = text, *next;
	struct smaps_area area;
	int rc = 0;

	while (rc == 0 && *at && (next = smaps_next(at, &area))) {
		if (!memmem(at, (size_t)(next - at), "\nVmFlags:", 9))
			area.flags = flags_of_line(&area.line);
		rc = take_area(&taken, &area);
		if (rc == 0)
			rc = keep_name(&taken.areas[taken.count - 1], &area.line);
		at = next;
	}
	*line = count_lines(text, at);
	if (rc == 0 && (*at || taken.count == 0))
		rc = -EINVAL;
	if (rc != 0) {
		free_taken(&taken);
		return rc;
	}
	*areas = taken.areas;
	return (ssize_t)taken.count;
}
