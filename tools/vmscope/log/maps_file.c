/* SPDX-License-Identifier: MIT */
/* The file of --maps: the mirror's maps of every process at its end. */
#include "log/maps_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/line_file.h"

struct maps_file {
	struct line_file *file;
	int error;	/* -errno of the first process that could not be shown */
	bool begun;
};

int maps_file_open(struct maps_file **out, const char *path)
{
	struct maps_file *maps = calloc(1, sizeof(*maps));
	int rc = maps ? line_file_open(&maps->file, path) : -ENOMEM;

	if (rc != 0) {
		free(maps);
		maps = NULL;
	}
	*out = maps;
	return rc;
}

/* A line of maps, with its newline. */
static int add_line(void *ctx, const char *line, size_t length)
{
	return line_file_add(ctx, line, length - 1);
}

void maps_file_write(struct maps_file *maps, pid_t pid, const char *command, const char *occasion,
		     const struct vmspace *vm)
{
	char head[160];
	int rc;

	if (maps->error)
		return;
	snprintf(head, sizeof(head), "# process %d (%s) at its %s", (int)pid, command, occasion);
	if (maps->begun)
		line_file_add(maps->file, "", 0);
	line_file_add(maps->file, head, strlen(head));
	maps->begun = true;
	rc = vmspace_show_lines(vm, add_line, maps->file);
	maps->error = rc ? rc : line_file_flush(maps->file);
}

int maps_file_close(struct maps_file *maps)
{
	int rc, closed;

	if (!maps)
		return 0;
	rc = maps->error;
	closed = line_file_close(maps->file);
	free(maps);
	return rc ? rc : closed;
}
