/* SPDX-License-Identifier: MIT */
/* Reading a log of either kind, step by step. */
#ifndef VMSCOPE_REPLAY_READER_H
#define VMSCOPE_REPLAY_READER_H

#include <stdio.h>

#include "base/lines.h"
#include "log/log_reader.h"
#include "log/step.h"

struct reader;

/* The result of reader_next(). */
enum reader_result {
	READER_END,
	READER_STEP,
	READER_MALFORMED,	/* a line is malformed: reader_line(), reader_why() */
	READER_FAILED,		/* reading failed, or memory has run out: reader_why() */
};

enum reader_format { READER_VMSCOPE, READER_STRACE };

/*
 * Reads @file, which the caller owns and which must outlive the reader. The first line shows which
 * kind of log it is. NULL: out of memory.
 */
struct reader *reader_open(FILE *file);
void reader_close(struct reader *reader);

enum reader_format reader_format(const struct reader *reader);

/*
 * Sets the initial areas of the first process in a log of strace(1); @text is a copy of
 * /proc/PID/maps or smaps. Returns 0, or the number of the first line that is neither.
 */
unsigned long reader_set_maps(struct reader *reader, const char *text);

/*
 * From now on the rules of this version of Linux hold, whatever the log says. False: no such
 * version is known. @version outlives the reader.
 */
bool reader_set_kernel(struct reader *reader, const char *version);

/* From now on steps have the whole stack of a call, where the log tells it. */
void reader_keep_stacks(struct reader *reader);

/* Reads the next step, which remains valid until the next call. */
enum reader_result reader_next(struct reader *reader, const struct step **step);

/* For its position, and to stop it: what is in memory is read nevertheless. */
struct lines *reader_lines(const struct reader *reader);

/* Records so far of a type that is not known, in a log of a later revision than ours. */
unsigned long reader_unknown(const struct reader *reader);

/* Whether it is a log of vmscope, by its first record. */
bool reader_has_begun(const struct reader *reader);

/* At the end: whether a log of "vmscope trace" lacks its last record. */
bool reader_is_cut(const struct reader *reader);

/* What a log of "vmscope trace" or "watch" says is missing in it, so far. */
struct log_gaps reader_gaps(const struct reader *reader);

/* The number of the last line read, from 1, and what is wrong with it. */
unsigned long reader_line(const struct reader *reader);
const char *reader_why(const struct reader *reader);

#endif
