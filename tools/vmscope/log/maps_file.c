/* SPDX-License-Identifier: MIT */
/* The file of --maps: what the mirrors say at the end of every program. */
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
	struct maps_file *dump = calloc(1, sizeof(*dump));

	*out = NULL;
	if (!dump)
		return -ENOMEM;
	dump->file = strcmp(path, "-") == 0 ? fdopen(dup(STDOUT_FILENO), "w") : fopen(path, "we");
	if (!dump->file) {
		int rc = -errno;

		free(dump);
		return rc;
	}
	*out = dump;
	return 0;
}

static int write_line(void *ctx, const char *line, size_t length)
{
	return fwrite(line, 1, length, ctx) == length ? 0 : -errno;
}

void maps_file_write(struct maps_file *dump, pid_t pid, const char *command, const char *occasion,
	       const struct vmspace *vm)
{
	int rc;

	if (dump->error)
		return;
	fprintf(dump->file, "%s# process %d (%s) at its %s\n", dump->begun ? "\n" : "", (int)pid,
		command, occasion);
	dump->begun = true;
	rc = vmspace_show_lines(vm, write_line, dump->file);
	if (rc == 0 && fflush(dump->file) != 0)
		rc = -errno;
	dump->error = rc;
}

int maps_file_close(struct maps_file *dump)
{
	int rc;

	if (!dump)
		return 0;
	rc = dump->error;
	if (fclose(dump->file) != 0 && rc == 0)
		rc = -errno;
	free(dump);
	return rc;
}
