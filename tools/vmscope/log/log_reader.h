/* SPDX-License-Identifier: MIT */
/* Reading the log of "vmscope trace" (docs/log-format.md) as steps. */
#ifndef VMSCOPE_LOG_LOG_READER_H
#define VMSCOPE_LOG_LOG_READER_H

#include "log/step.h"

struct log_reader;

/* What the log says is missing in it, so far. */
struct log_gaps {
	unsigned long events;		/* that vmscope watch lost */
	double since;			/* when it first noticed, in seconds */
	unsigned long unfollowed;	/* processes that were not followed to their end */
};

/* NULL: out of memory. */
struct log_reader *log_reader_new(void);
void log_reader_free(struct log_reader *from);

enum log_reader_result {
	LOG_READER_STEP,
	LOG_READER_MALFORMED,	/* the line is to be skipped */
	LOG_READER_REFUSED,	/* the log is of a version that is not known: nothing can be read */
};

/*
 * Reads one line of @length bytes, which a NUL follows. LOG_READER_STEP: *@step is filled in,
 * except for its line number; else *@why says what is wrong. Both remain valid until the next call.
 */
enum log_reader_result log_reader_line(struct log_reader *from, const char *line, size_t length,
				       struct step *step, const char **why);

/*
 * Records so far of types that are not known, which only a later revision has: they are passed
 * over, as it must be possible to do without them.
 */
unsigned long log_reader_unknown(const struct log_reader *from);

/* Whether its first record was read, which says that it is a log of this version. */
bool log_reader_has_begun(const struct log_reader *from);

/* Whether the log so far lacks the record that ends one of "vmscope trace". */
bool log_reader_is_cut(const struct log_reader *from);

const struct log_gaps *log_reader_gaps(const struct log_reader *from);

#endif
