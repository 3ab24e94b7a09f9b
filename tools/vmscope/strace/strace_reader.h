/* SPDX-License-Identifier: MIT */
/* Reading the output of strace(1) as steps. */
#ifndef VMSCOPE_STRACE_STRACE_READER_H
#define VMSCOPE_STRACE_STRACE_READER_H

#include <stddef.h>

#include "base/lines.h"
#include "log/step.h"

struct strace_reader;

/*
 * Reads @lines, none of which was read yet; the caller owns them, and they must outlive the reader.
 * NULL: out of memory.
 */
struct strace_reader *strace_reader_new(struct lines *lines);
void strace_reader_free(struct strace_reader *from);

/* Sets the initial areas of the first process; copies their strings. Returns 0 or -ENOMEM. */
int strace_reader_set_areas(struct strace_reader *from, const struct vmspace_area *areas,
			    size_t count);

/* From now on steps have the whole stack of a call, not its site alone. */
void strace_reader_keep_stacks(struct strace_reader *from);

enum strace_reader_result {
	STRACE_READER_END,
	STRACE_READER_STEP,
	STRACE_READER_MALFORMED,
	STRACE_READER_NO_MEMORY
};

/*
 * Reads the next step into *@step; its pointers are valid until the next call. If a line is
 * malformed, step->line is its number and *@why the reason.
 */
enum strace_reader_result strace_reader_next(struct strace_reader *from, struct step *step,
					     const char **why);

#endif
