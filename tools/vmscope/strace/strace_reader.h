/* SPDX-License-Identifier: MIT */
/* Steps from the output of strace(1): who has which address space, and what its calls ask for. */
#ifndef VMSCOPE_STRACE_STRACE_READER_H
#define VMSCOPE_STRACE_STRACE_READER_H

#include <stddef.h>

#include "log/step.h"

struct strace_reader;

/* @text, which stays the caller's and must outlive it, is the whole output. NULL: out of memory. */
struct strace_reader *strace_reader_new(const char *text, size_t length);
void strace_reader_free(struct strace_reader *from);

/* What the first process had when the output begins; the strings are copied. Returns 0 or -ENOMEM. */
int strace_reader_set_areas(struct strace_reader *from, const struct vmspace_area *areas, size_t count);

enum strace_reader_result { STRACE_READER_END, STRACE_READER_STEP, STRACE_READER_MALFORMED, STRACE_READER_NO_MEMORY };

/*
 * The next step in *@step, which lives until the next call; or the line that was not understood, and
 * *@why. step->line is set in both cases.
 */
enum strace_reader_result strace_reader_next(struct strace_reader *from, struct step *step,
				       const char **why);

#endif
