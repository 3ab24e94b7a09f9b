/* SPDX-License-Identifier: MIT */
/* A file of lines that is written to its end, or up to a whole line if it cannot be. */
#include "log/line_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 16 };

/* The buffer begins with a line's first byte: what it holds is whole lines. */
struct line_file {
	int fd;
	int error;		/* -errno of the first write that failed; then nothing is written */
	bool may_cut;		/* a regular file, and all of it is ours */
	off_t written;		/* bytes, in whole lines */
	unsigned long lines;	/* of these */
	size_t used, capacity;	/* used <= capacity */
	char *buffer;
};

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

int line_file_open(struct line_file **out, const char *path)
{
	struct line_file *file = calloc(1, sizeof(*file));
	bool standard = strcmp(path, "-") == 0;
	int rc;

	*out = NULL;
	if (!file)
		return -ENOMEM;
	file->buffer = malloc(BUFFER_SIZE);
	file->capacity = BUFFER_SIZE;
	if (!file->buffer) {
		free(file);
		return -ENOMEM;
	}
	file->fd = standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
			    : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (file->fd < 0) {
		rc = -errno;
		free(file->buffer);
		free(file);
		return rc;
	}
	file->may_cut = !standard && is_regular(file->fd);
	*out = file;
	return 0;
}

/* Counts the lines that end in the first @length bytes held. Returns where the last one does. */
static size_t count_lines(struct line_file *file, size_t length)
{
	const char *at = file->buffer, *end = file->buffer + length, *newline;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
		file->lines++;
	return (size_t)(at - file->buffer);
}

int line_file_flush(struct line_file *file)
{
	size_t done = 0;

	while (!file->error && done < file->used) {
		ssize_t got = write(file->fd, file->buffer + done, file->used - done);

		if (got >= 0)
			done += (size_t)got;
		else if (errno != EINTR)
			file->error = -errno;
	}
	file->written += (off_t)count_lines(file, done);
	file->used = 0;
	/* Should this fail, the last line is cut off in its middle, and readers say so. */
	if (file->error && file->may_cut && ftruncate(file->fd, file->written) != 0)
		file->may_cut = false;
	return file->error;
}

static int make_room(struct line_file *file, size_t length)
{
	char *larger;

	if (file->used + length > file->capacity)
		line_file_flush(file);
	if (length <= file->capacity || file->error)
		return file->error;
	larger = realloc(file->buffer, length);
	if (!larger)
		return file->error = -ENOMEM;
	file->buffer = larger;
	file->capacity = length;
	return 0;
}

int line_file_add(struct line_file *file, const char *line, size_t length)
{
	if (file->error || make_room(file, length + 1) != 0)
		return file->error;
	memcpy(file->buffer + file->used, line, length);
	file->buffer[file->used + length] = '\n';
	file->used += length + 1;
	return 0;
}

unsigned long line_file_lines(const struct line_file *file)
{
	return file->lines;
}

int line_file_close(struct line_file *file)
{
	int rc = file->error ? file->error : line_file_flush(file);

	if (close(file->fd) != 0 && rc == 0)
		rc = -errno;
	free(file->buffer);
	free(file);
	return rc;
}
