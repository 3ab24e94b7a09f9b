/* SPDX-License-Identifier: MIT */
/* The lines of a file of any size: a window of them is in memory. */
#ifndef VMSCOPE_BASE_LINES_H
#define VMSCOPE_BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lines;

/* How much of what follows a line is in memory, at least, unless the file ends before. */
enum { LINES_AHEAD = 4 << 20 };

/* Reads @file from where it is; the caller owns it. NULL: out of memory. */
struct lines *lines_open(FILE *file);
void lines_close(struct lines *lines);

/*
 * The next line, without its newline but with a NUL instead, valid until the next call. False: the
 * file has ended, or see lines_error().
 */
bool lines_next(struct lines *lines, char **line, size_t *length);

/* Whether the next line begins with @prefix. What lines_next() returned is no longer valid. */
bool lines_follows(struct lines *lines, const char *prefix);

/* What follows the last line, as far as it is in memory: [*@at, *@end). */
void lines_ahead(const struct lines *lines, const char **at, const char **end);

/*
 * Whether @has is true of any part of what was not read yet, which is given to it in parts of whole
 * lines. A file that cannot be read twice, as a pipe, is looked through as far as it is in memory.
 */
bool lines_any(struct lines *lines, bool (*has)(const char *at, const char *end));

/*
 * Reads no more than is in memory, and of that only whole lines. A read that a signal interrupts
 * does the same. lines_stopped() says whether either has left something unread.
 */
void lines_stop(struct lines *lines);
bool lines_stopped(const struct lines *lines);

/* 0, ENOMEM, or the errno of a read that failed. */
int lines_error(const struct lines *lines);

unsigned long lines_number(const struct lines *lines);	/* of the last line, from 1 */
uint64_t lines_position(const struct lines *lines);	/* bytes of the lines so far */
uint64_t lines_size(const struct lines *lines);		/* of the file, in bytes; 0: not known */

#endif
