/* SPDX-License-Identifier: MIT */
/* Looking at the areas of running processes. */
#include "top/look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "mirror/kernel.h"

/* A text that is read again and again. */
struct buffer {
	char *text;
	size_t capacity;
};

/* Returns the length of /proc/@pid/@name, or -errno. */
static ssize_t read_proc(struct buffer *buffer, pid_t pid, const char *name)
{
	char path[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = kernel_read_all(fd, &buffer->text, &buffer->capacity);
	close(fd);
	return length;
}

/* Fills in @row but for its areas; *@name points into the buffer. Returns 0 or -errno. */
static int read_stat(struct buffer *buffer, pid_t pid, struct top_row *row, const char **name,
		     size_t *length)
{
	ssize_t got = read_proc(buffer, pid, "stat");
	unsigned int flags;
	const char *open, *close;

	if (got < 0)
		return (int)got;
	/* "PID (COMMAND) STATE ...": the command may contain anything. */
	open = got ? strchr(buffer->text, '(') : NULL;
	close = got ? strrchr(buffer->text, ')') : NULL;
	*row = (struct top_row){ .pid = pid, .gained = NAN };
	if (!open || !close || close < open)
		return -ESRCH;
	*name = open + 1;
	*length = (size_t)(close - open - 1);
	/* The fields 9 and 22; the command is the second. */
	if (sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		   "%*d %*d %*d %llu", &flags, &row->birth) != 2 || (flags & KERNEL_THREAD))
		return -ESRCH;
	return 0;
}

/* The next area of @text, as in vmspace_parse_line(). */
static const char *next_area(const char *text, struct vmspace_line *line)
{
	do
		text = vmspace_parse_line(text, line);
	while (text && kernel_is_gate(line));
	return text;
}

static int add_process(struct top_table *table, struct buffer *stat, struct buffer *maps, pid_t pid)
{
	struct vmspace_line line;
	struct top_row row;
	const char *name = NULL;
	size_t name_length = 0;
	ssize_t length = 0;
	int rc = read_stat(stat, pid, &row, &name, &name_length);

	if (rc == 0 && (length = read_proc(maps, pid, "maps")) < 0)
		rc = (int)length;
	if (rc != 0)
		return rc;
	if (length == 0)
		return -ESRCH; /* it is just ending */
	for (const char *at = maps->text; (at = next_area(at, &line)) != NULL;) {
		row.areas++;
		row.bytes += line.end - line.start;
	}
	return top_add(table, &row, name, name_length);
}

int top_look(struct top_table *table)
{
	struct buffer stat = { NULL, 0 }, maps = { NULL, 0 };
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int rc = 0;

	if (!proc)
		return -errno;
	table->limit = kernel_setting("vm/max_map_count");
	table->time = now_seconds();
	while (rc == 0 && (entry = readdir(proc))) {
		if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0')
			continue;
		rc = add_process(table, &stat, &maps, (pid_t)atoi(entry->d_name));
		if (rc == -EACCES || rc == -EPERM)
			table->hidden++;
		if (rc != -ENOMEM)
			rc = 0;
	}
	closedir(proc);
	free(stat.text);
	free(maps.text);
	/* There is one at least, which is looking. */
	return rc == 0 && table->count == 0 && table->hidden == 0 ? -ESRCH : rc;
}

/* ---- inside one process --------------------------------------------------------------------- */

/* What an area is; many have the same name. */
struct kind {
	const char *name;	/* in the text of maps, or constant */
	size_t length;
	unsigned long bytes;
};

static int by_name(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;
	size_t common = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->name, y->name, common);

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

static struct kind kind_of(const struct vmspace_line *line)
{
	static const char *const anonymous[] = {
		"(anonymous, no access: guards, reserved)",
		"(anonymous, read)", "(anonymous, write)", "(anonymous, execute)",
	};
	struct kind kind = { line->name, line->name_length, line->end - line->start };

	if (kind.length == 0) {
		kind.name = anonymous[line->perms[2] == 'x' ? 3 : line->perms[1] == 'w' ? 2 :
				      line->perms[0] == 'r' ? 1 : 0];
		kind.length = strlen(kind.name);
	}
	return kind;
}

static int add_kinds(struct top_table *table, struct kind *kinds, size_t count)
{
	int rc = 0;

	if (count > 1)
		qsort(kinds, count, sizeof(*kinds), by_name);
	for (size_t i = 0, next; rc == 0 && i < count; i = next) {
		struct top_row row = { .gained = NAN };

		for (next = i; next < count && by_name(&kinds[i], &kinds[next]) == 0; next++) {
			row.areas++;
			row.bytes += kinds[next].bytes;
		}
		rc = top_add(table, &row, kinds[i].name, kinds[i].length);
	}
	return rc;
}

static struct kind maker_of(const struct vmspace_line *line, struct top_sites *sites)
{
	const char *name = top_sites_at(sites, line->start);

	return (struct kind){ name, strlen(name), line->end - line->start };
}

static int add_areas(struct top_table *table, const char *text, struct top_sites *sites)
{
	struct kind *kinds = NULL;
	struct vmspace_line line;
	size_t count = 0, capacity = 0;
	int rc;

	while ((text = next_area(text, &line)) != NULL) {
		if (count == capacity) {
			size_t wanted = capacity ? capacity * 2 : 256;
			struct kind *larger = realloc(kinds, wanted * sizeof(*kinds));

			if (!larger) {
				free(kinds);
				return -ENOMEM;
			}
			kinds = larger;
			capacity = wanted;
		}
		kinds[count++] = sites ? maker_of(&line, sites) : kind_of(&line);
	}
	rc = add_kinds(table, kinds, count);
	free(kinds);
	return rc;
}

int top_look_into(struct top_table *table, pid_t pid, struct top_sites *sites)
{
	struct buffer maps = { NULL, 0 };
	char command[64];
	ssize_t length;
	int rc;

	table->pid = pid;
	table->by_site = sites;
	table->limit = kernel_setting("vm/max_map_count");
	table->time = now_seconds();
	length = read_proc(&maps, pid, "maps");
	if (length > 0 && sites && (rc = top_sites_read(sites)) != 0)
		length = rc;
	rc = length > 0 ? 0 : length == 0 || kernel_is_gone((int)length) ? -ESRCH : (int)length;
	if (rc == 0) {
		kernel_read_command(pid, command, sizeof(command));
		table->command = top_printable(command, strlen(command));
		rc = table->command ? add_areas(table, maps.text, sites) : -ENOMEM;
	}
	free(maps.text);
	return rc;
}
