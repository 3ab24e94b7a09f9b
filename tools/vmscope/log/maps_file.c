/* SPDX-License-Identifier: MIT */
/* The file of --maps: the mirror's maps of every process at its end. */
#include "log/maps_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct maps_file {
	FILE *file;
	int error;	/* -errno of the first write that failed */
	bool begun;
};

int maps_file_open(struct maps_file **out, const char *path)
{
	struct maps_file *maps = calloc(1, sizeof(*maps));

	*out = NULL;
	if (!maps)
		return -ENOMEM;
	maps->file = strcmp(path, "-") == 0 ? fdopen(dup(STDOUT_FILENO), "w") : fopen(path, "we");
	if (!maps->file) {
		int rc = -errno;

		free(maps);
		return rc;
	}
	*out = maps;
	return 0;
}

static int write_line(void *ctx, const char *line, size_t length)
{
	return fwrite(line, 1, length, ctx) == length ? 0 : -errno;
}

void maps_file_write(struct maps_file *maps, pid_t pid, const char *command, const char *occasion,
		     const struct vmspace *vm)
{
	int rc;

	if (maps->error)
		return;
	fprintf(maps->file, "%s# process %d (%s) at its %s\n", maps->begun ? "\n" : "", (int)pid,
		command, occasion);
	maps->begun = true;
	rc = vmspace_show_lines(vm, write_line, maps->file);
	if (rc == 0 && fflush(maps->file) != 0)
		rc = -errno;
	maps->error = rc;
}

int maps_file_close(struct maps_file *maps)
{
	int rc;

	if (!maps)
		return 0;
	rc = maps->error;
	if (fclose(maps->file) != 0 && rc == 0)
		rc = -errno;
	free(maps);
	return rc;
}
