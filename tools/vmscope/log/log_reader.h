/* SPDX-License-Identifier: MIT */
/* Reading the log of "vmscope trace" (docs/log-format.md) as steps. */
#ifndef VMSCOPE_LOG_LOG_READER_H
#define VMSCOPE_LOG_LOG_READER_H

#include "log/step.h"

struct log_reader;

/* NULL: out of memory. */
struct log_reader *log_reader_new(void);
void log_reader_free(struct log_reader *from);

/*
 * Reads one line of @length bytes. True: *@step is filled in, except for its line number. False:
 * the line is malformed, and *@why says how. Both remain valid until the next call.
 */
bool log_reader_line(struct log_reader *from, const char *line, size_t length, struct step *step,
		     const char **why);

#endif
