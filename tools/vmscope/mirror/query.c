/* SPDX-License-Identifier: MIT */
/* Asking the kernel for one area at a time: PROCMAP_QUERY, since Linux 6.11. */
#include "mirror/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* See proc_pid_maps(5); newer than the headers of Debian 12. */
struct procmap_query {
	uint64_t size, flags, addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};
#define QUERY_IOCTL _IOWR('f', 17, struct procmap_query)
enum { QUERY_READ = 1, QUERY_WRITE = 2, QUERY_EXEC = 4, QUERY_SHARED = 8, QUERY_OR_NEXT = 16 };

enum { NAME_COLUMN = 73, NAME_MAX_BYTES = PATH_MAX + 16 };

/* A newline in a name takes four bytes; what stands before the name is shorter than this. */
enum { LINE_MAX_BYTES = 4 * NAME_MAX_BYTES + 256 };

/* Appends @name as maps shows it. */
static size_t put_name(char *line, size_t length, const char *name)
{
	do
		line[length++] = ' ';
	while (length < NAME_COLUMN);
	for (; *name; name++) {
		if (*name != '\n')
			line[length++] = *name;
		else
			length += (size_t)sprintf(line + length, "\\012");
	}
	return length;
}

static void format(char *line, const struct procmap_query *area, const char *name)
{
	size_t length = (size_t)sprintf(
		line, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64 " ",
		area->vma_start, area->vma_end, area->vma_flags & QUERY_READ ? 'r' : '-',
		area->vma_flags & QUERY_WRITE ? 'w' : '-', area->vma_flags & QUERY_EXEC ? 'x' : '-',
		area->vma_flags & QUERY_SHARED ? 's' : 'p', area->vma_offset, area->dev_major,
		area->dev_minor, area->inode);

	if (*name)
		length = put_name(line, length, name);
	memcpy(line + length, "\n", 2);
}

int kernel_query(struct kernel_view *view, unsigned long addr, struct vmspace_line *line)
{
	char name[NAME_MAX_BYTES] = "";
	struct procmap_query query = {
		.size = sizeof(query),
		.flags = QUERY_OR_NEXT,
		.addr = addr,
		.name_size = sizeof(name),
		.name_addr = (uintptr_t)name,
	};

	if (view->no_query)
		return -ENOTTY;
	if (!view->line)
		view->line = malloc(LINE_MAX_BYTES);
	if (!view->line)
		return -ENOMEM;
	if (ioctl(view->maps_fd, QUERY_IOCTL, &query) != 0) {
		int error = errno;

		/* A name that is too long is no reason to cease asking. */
		view->no_query = error == ENOTTY || error == EPERM || error == EINVAL;
		return error == ENOENT ? 0 : -error;
	}
	format(view->line, &query, name);
	return vmspace_parse_line(view->line, line) ? 1 : -EPROTO;
}

bool kernel_line_at(struct kernel_view *view, unsigned long addr, struct vmspace_line *line)
{
	int found = view->text_current ? -ENOTTY : kernel_query(view, addr, line);

	if (found >= 0)
		return found > 0 && line->start <= addr;
	return (view->text_current || kernel_read_maps(view) == 0) &&
	       kernel_find_line(view, addr, line);
}

unsigned long kernel_stack_start(struct kernel_view *view, unsigned long start, unsigned long end)
{
	struct vmspace_line line;

	if (!kernel_line_at(view, end - 1, &line) || line.end != end)
		return start;
	return line.start;
}
