/* SPDX-License-Identifier: MIT */
/* A file of lines that is written to its end, or up to a whole line if it cannot be. */
#ifndef VMSCOPE_LOG_LINE_FILE_H
#define VMSCOPE_LOG_LINE_FILE_H

#include <stddef.h>

struct line_file;

/* Creates or empties @path ("-": appends to standard output). Returns 0 or -errno. */
int line_file_open(struct line_file **file, const char *path);

/*
 * Appends @line of @length bytes, and a newline; they may stay in memory for a while. Returns 0, or
 * -errno of the first write that failed: nothing is written any more, and a regular file was cut
 * behind the last whole line that it took.
 */
int line_file_add(struct line_file *file, const char *line, size_t length);

/* Writes what is in memory. Returns as line_file_add(). */
int line_file_flush(struct line_file *file);

/* How many lines were written, and stayed. */
unsigned long line_file_lines(const struct line_file *file);

/* Flushes, closes and frees. Returns as line_file_add(). */
int line_file_close(struct line_file *file);

#endif
