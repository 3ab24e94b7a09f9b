/* SPDX-License-Identifier: MIT */
/* The lines of a file of any size: a window of them is in memory. */
#include "base/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 2 * LINES_AHEAD };

/* begin <= end <= capacity; one byte more is allocated, for the NUL of the last line. */
struct lines {
	FILE *file;
	char *window;
	size_t begin, end, capacity;	/* what was read and not returned yet is [begin, end) */
	bool at_end;			/* of the file: nothing is left to read */
	bool stopped;			/* before that */
	int error;
	unsigned long number;
	uint64_t position, size;
};

struct lines *lines_open(FILE *file)
{
	struct lines *lines = calloc(1, sizeof(*lines));
	struct stat st;

	if (!lines)
		return NULL;
	lines->window = malloc(WINDOW + 1);
	if (!lines->window) {
		free(lines);
		return NULL;
	}
	lines->file = file;
	lines->capacity = WINDOW;
	if (fileno(file) >= 0 && fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode))
		lines->size = (uint64_t)st.st_size;
	return lines;
}

void lines_close(struct lines *lines)
{
	if (!lines)
		return;
	free(lines->window);
	free(lines);
}

void lines_stop(struct lines *lines)
{
	const char *from = lines->window + lines->begin, *last;

	if (lines->at_end)
		return;
	last = memrchr(from, '\n', lines->end - lines->begin);
	lines->end = last ? (size_t)(last - lines->window) + 1 : lines->begin;
	lines->at_end = lines->stopped = true;
}

bool lines_stopped(const struct lines *lines)
{
	return lines->stopped;
}

/* Moves what is left to the start of the window, which grows if it is full, and reads on. */
static void fill(struct lines *lines)
{
	size_t got;

	memmove(lines->window, lines->window + lines->begin, lines->end - lines->begin);
	lines->end -= lines->begin;
	lines->begin = 0;
	if (lines->end == lines->capacity) {
		char *larger = realloc(lines->window, 2 * lines->capacity + 1);

		if (!larger) {
			lines->error = ENOMEM;
			lines->at_end = true;
			return;
		}
		lines->window = larger;
		lines->capacity *= 2;
	}
	errno = 0;
	got = fread(lines->window + lines->end, 1, lines->capacity - lines->end, lines->file);
	lines->end += got;
	if (lines->end == lines->capacity)
		return;
	if (ferror(lines->file) && errno == EINTR) {
		lines_stop(lines);
		return;
	}
	lines->at_end = true;
	if (ferror(lines->file))
		lines->error = errno ? errno : EIO;
}

static void keep_ahead(struct lines *lines, size_t bytes)
{
	if (!lines->at_end && lines->end - lines->begin < bytes)
		fill(lines);
}

bool lines_next(struct lines *lines, char **line, size_t *length)
{
	char *newline = NULL;

	keep_ahead(lines, LINES_AHEAD);
	for (size_t seen = 0;; seen = lines->end - lines->begin, fill(lines)) {
		newline = memchr(lines->window + lines->begin + seen, '\n',
				 lines->end - lines->begin - seen);
		if (newline || lines->at_end)
			break;
	}
	if (lines->error || lines->begin == lines->end)
		return false;
	*line = lines->window + lines->begin;
	if (!newline)
		newline = lines->window + lines->end;
	*length = (size_t)(newline - *line);
	lines->begin += *length;
	lines->begin += lines->begin < lines->end;
	lines->position += *length + 1;
	lines->number++;
	*newline = '\0';
	return true;
}

bool lines_follows(struct lines *lines, const char *prefix)
{
	size_t length = strlen(prefix);

	keep_ahead(lines, length);
	return lines->end - lines->begin >= length &&
	       memcmp(lines->window + lines->begin, prefix, length) == 0;
}

void lines_ahead(const struct lines *lines, const char **at, const char **end)
{
	*at = lines->window + lines->begin;
	*end = lines->window + lines->end;
}

/* Looks through the file from @from on, whose first @kept bytes are in @window already. */
static bool any_in_rest(const struct lines *lines, char *window, size_t kept, off_t from,
			bool (*has)(const char *at, const char *end))
{
	for (;;) {
		ssize_t got = pread(fileno(lines->file), window + kept, WINDOW - kept, from);
		size_t length = kept + (got > 0 ? (size_t)got : 0);
		const char *last = memrchr(window, '\n', length);
		size_t whole = got > 0 && last ? (size_t)(last - window) + 1 : length;

		if (has(window, window + whole))
			return true;
		if (got <= 0)
			return false;
		kept = length - whole;
		memmove(window, window + whole, kept);
		from += got;
	}
}

bool lines_any(struct lines *lines, bool (*has)(const char *at, const char *end))
{
	const char *at, *end, *last;
	char *window;
	size_t kept;
	bool found;
	off_t from;

	keep_ahead(lines, LINES_AHEAD);
	lines_ahead(lines, &at, &end);
	last = lines->at_end ? end : memrchr(at, '\n', (size_t)(end - at));
	last = last ? last : at;
	if (has(at, last))
		return true;
	from = ftello(lines->file);
	if (lines->at_end || !lines->size || from < 0)
		return false;
	window = malloc(WINDOW);
	kept = (size_t)(end - last);
	if (!window || kept >= WINDOW) {
		free(window);
		return false;
	}
	memcpy(window, last, kept);
	found = any_in_rest(lines, window, kept, from, has);
	free(window);
	return found;
}

int lines_error(const struct lines *lines)
{
	return lines->error;
}

unsigned long lines_number(const struct lines *lines)
{
	return lines->number;
}

uint64_t lines_position(const struct lines *lines)
{
	return lines->position;
}

uint64_t lines_size(const struct lines *lines)
{
	return lines->size;
}
