/* SPDX-License-Identifier: MIT */
/* Reading a log of either kind, step by step. */
#include "replay/reader.h"

#include <errno.h>
#include <mapletree/vmspace_proc.h>
#include <mapletree/vmspace_rules.h>
#include <stdlib.h>
#include <string.h>

#include "log/log_reader.h"
#include "strace/strace_reader.h"

/* vmscope's logs are read line by line; strace's output is kept in memory as a whole. */
struct reader {
	enum reader_format format;
	FILE *file;
	struct log_reader *log_reader;	/* READER_VMSCOPE */
	struct strace_reader *strace_reader;	/* READER_STRACE */
	char *text;			/* a line, or the whole output of strace */
	size_t length, capacity;
	bool first_read;		/* text is the first line, not returned yet */
	unsigned long line;
	struct step step;
	const char *why;
	const char *kernel;		/* whose rules hold; NULL: those of the log */
};

/* Appends the rest of the file to text. Returns 0 or -errno. */
static int read_rest(struct reader *reader)
{
	for (;;) {
		size_t got;

		if (reader->capacity - reader->length < 65536) {
			size_t wanted = reader->capacity * 2 + 65536;
			char *larger = realloc(reader->text, wanted);

			if (!larger)
				return -ENOMEM;
			reader->text = larger;
			reader->capacity = wanted;
		}
		got = fread(reader->text + reader->length, 1, reader->capacity - reader->length,
			    reader->file);
		reader->length += got;
		if (got == 0)
			return ferror(reader->file) ? -EIO : 0;
	}
}

static bool read_line(struct reader *reader)
{
	ssize_t length = getline(&reader->text, &reader->capacity, reader->file);

	if (length < 0)
		return false;
	reader->length = (size_t)length;
	return true;
}

static bool is_blank(const struct reader *reader)
{
	for (size_t i = 0; i < reader->length; i++)
		if (!strchr(" \t\r\n", reader->text[i]))
			return false;
	return true;
}

static bool open_format(struct reader *reader)
{
	/* Skip leading blank lines. */
	reader->line = 1;
	reader->first_read = read_line(reader);
	if (reader->first_read && reader->text[0] == '{') {
		reader->format = READER_VMSCOPE;
		reader->log_reader = log_reader_new();
		return reader->log_reader != NULL;
	}
	reader->format = READER_STRACE;
	reader->line = 0;
	if (!reader->first_read)
		reader->length = 0;
	if (!feof(reader->file)) {
		int rc = read_rest(reader);

		if (rc == -ENOMEM)
			return false;
		reader->why = rc == 0 ? NULL : strerror(-rc);
	}
	reader->strace_reader = strace_reader_new(reader->text, reader->length);
	return reader->strace_reader != NULL;
}

struct reader *reader_open(FILE *file)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->file = file;
	if (open_format(reader))
		return reader;
	reader_close(reader);
	return NULL;
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	log_reader_free(reader->log_reader);
	strace_reader_free(reader->strace_reader);
	free(reader->text);
	free(reader);
}

enum reader_format reader_format(const struct reader *reader)
{
	return reader->format;
}

unsigned long reader_line(const struct reader *reader)
{
	return reader->line;
}

const char *reader_why(const struct reader *reader)
{
	return reader->why;
}

unsigned long reader_set_maps(struct reader *reader, const char *text)
{
	struct vmspace_area *areas;
	unsigned long line = 0;
	size_t count;

	if (vmspace_parse_areas(text, &areas, &count, &line) != 0)
		return line;
	if (reader->strace_reader)
		strace_reader_set_areas(reader->strace_reader, areas, count);
	vmspace_free_areas(areas, count);
	return 0;
}

bool reader_set_kernel(struct reader *reader, const char *version)
{
	struct vmspace_config config = { 0 };

	reader->kernel = version;
	return vmspace_config_kernel(&config, version) == 0;
}

static enum reader_result next_of_log(struct reader *reader)
{
	do {
		if (!reader->first_read) {
			if (!read_line(reader)) {
				reader->why = ferror(reader->file) ? strerror(errno) : NULL;
				return reader->why ? READER_FAILED : READER_END;
			}
			reader->line++;
		}
		reader->first_read = false;
	} while (is_blank(reader));
	if (!log_reader_line(reader->log_reader, reader->text, reader->length, &reader->step,
			     &reader->why))
		return READER_MALFORMED;
	return READER_STEP;
}

static enum reader_result next_of_strace(struct reader *reader)
{
	enum strace_reader_result result;

	if (reader->why && reader->line == 0)
		return READER_FAILED;
	result = strace_reader_next(reader->strace_reader, &reader->step, &reader->why);
	reader->line = reader->step.line;
	switch (result) {
	case STRACE_READER_STEP:
		return READER_STEP;
	case STRACE_READER_MALFORMED:
		return READER_MALFORMED;
	case STRACE_READER_NO_MEMORY:
		return READER_FAILED;
	case STRACE_READER_END:
		break;
	}
	return READER_END;
}

enum reader_result reader_next(struct reader *reader, const struct step **step)
{
	enum reader_result result =
		reader->log_reader ? next_of_log(reader) : next_of_strace(reader);

	reader->step.line = reader->line;
	if (reader->kernel && result == READER_STEP)
		vmspace_config_kernel(&reader->step.config, reader->kernel);
	*step = &reader->step;
	return result;
}
