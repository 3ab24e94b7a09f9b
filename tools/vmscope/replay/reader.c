/* SPDX-License-Identifier: MIT */
/* Reading a log of either kind, step by step. */
#include "replay/reader.h"

#include <mapletree/vmspace_proc.h>
#include <mapletree/vmspace_rules.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "strace/strace_reader.h"

struct reader {
	enum reader_format format;
	struct lines *lines;
	struct log_reader *log_reader;	/* READER_VMSCOPE */
	struct strace_reader *strace_reader;	/* READER_STRACE */
	unsigned long line;
	struct step step;
	const char *why;
	const char *kernel;		/* whose rules hold; NULL: those of the log */
};

static bool is_blank(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(" \t\r\n", text[i]))
			return false;
	return true;
}

static bool open_format(struct reader *reader)
{
	if (lines_follows(reader->lines, "{")) {
		reader->format = READER_VMSCOPE;
		reader->log_reader = log_reader_new();
		return reader->log_reader != NULL;
	}
	reader->format = READER_STRACE;
	reader->strace_reader = strace_reader_new(reader->lines);
	return reader->strace_reader != NULL;
}

struct reader *reader_open(FILE *file)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->lines = lines_open(file);
	if (reader->lines && open_format(reader))
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
	lines_close(reader->lines);
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

struct lines *reader_lines(const struct reader *reader)
{
	return reader->lines;
}

unsigned long reader_unknown(const struct reader *reader)
{
	return reader->log_reader ? log_reader_unknown(reader->log_reader) : 0;
}

bool reader_has_begun(const struct reader *reader)
{
	return reader->log_reader && log_reader_has_begun(reader->log_reader);
}

bool reader_is_cut(const struct reader *reader)
{
	return reader->log_reader && log_reader_is_cut(reader->log_reader);
}

struct log_gaps reader_gaps(const struct reader *reader)
{
	return reader->log_reader ? *log_reader_gaps(reader->log_reader) :
				    (struct log_gaps){ .events = 0 };
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

void reader_keep_stacks(struct reader *reader)
{
	if (reader->strace_reader)
		strace_reader_keep_stacks(reader->strace_reader);
}

static enum reader_result next_of_log(struct reader *reader)
{
	size_t length;
	char *text;

	do {
		if (!lines_next(reader->lines, &text, &length))
			return READER_END;
		reader->line = lines_number(reader->lines);
	} while (is_blank(text, length));
	switch (log_reader_line(reader->log_reader, text, length, &reader->step, &reader->why)) {
	case LOG_READER_STEP:
		return READER_STEP;
	case LOG_READER_MALFORMED:
		return READER_MALFORMED;
	case LOG_READER_REFUSED:
		break;
	}
	return READER_FAILED;
}

static enum reader_result next_of_strace(struct reader *reader)
{
	enum strace_reader_result result =
		strace_reader_next(reader->strace_reader, &reader->step, &reader->why);

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

	if (result == READER_END && lines_error(reader->lines)) {
		reader->why = strerror(lines_error(reader->lines));
		result = READER_FAILED;
	}
	reader->step.line = reader->line;
	if (reader->kernel && result == READER_STEP)
		vmspace_config_kernel(&reader->step.config, reader->kernel);
	*step = &reader->step;
	return result;
}
