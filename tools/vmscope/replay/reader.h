/* SPDX-License-Identifier: MIT */
/* Reading a log, whichever kind it is, step by step. */
#ifndef VMSCOPE_REPLAY_READER_H
#define VMSCOPE_REPLAY_READER_H

#include <stdio.h>

#include "log/step.h"

struct reader;

/* What reader_next() found. */
enum reader_result {
	READER_END,
	READER_STEP,
	READER_MALFORMED,	/* a line that cannot be understood: reader_line(), reader_why() */
	READER_FAILED,		/* the file cannot be read, memory has run out: reader_why() */
};

enum reader_format { READER_VMSCOPE, READER_STRACE };

/*
 * Reads @file, which stays the caller's and must outlive the reader. What kind of log it is shows in its
 * first line. NULL: out of memory.
 */
struct reader *reader_open(FILE *file);
void reader_close(struct reader *reader);

enum reader_format reader_format(const struct reader *reader);

/*
 * Areas that the first process of a log of strace(1) had when it began: the text of /proc/PID/maps or
 * smaps. Returns the number of its first line that is neither, or 0.
 */
unsigned long reader_set_maps(struct reader *reader, const char *text);

/* The next step, the reader's until the next call, or why there is none. */
enum reader_result reader_next(struct reader *reader, const struct step **step);

/* The line that was read last, from 1, and what was wrong with it. */
unsigned long reader_line(const struct reader *reader);
const char *reader_why(const struct reader *reader);

#endif
