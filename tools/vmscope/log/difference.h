/* SPDX-License-Identifier: MIT */
/* Differences between the kernel and the mirror, as text for the user. */
#ifndef VMSCOPE_LOG_DIFFERENCE_H
#define VMSCOPE_LOG_DIFFERENCE_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/call.h"

/*
 * Writes a diff of two texts of maps, with context: "-" marks lines that only @kernel has, "+"
 * those that only @mirror has. At most @lines lines.
 */
void difference_areas(FILE *to, const char *kernel, const char *mirror, unsigned int lines);

/* Writes the events of @out, one a line, and the reason for its result, if there is one. */
void difference_outcome(FILE *to, const struct vmspace_outcome *out);

/* Writes both results of @call. */
void difference_result(FILE *to, const struct call *call, const struct vmspace_request *req);

/*
 * Formats the first difference between two texts of maps as "KERNEL LINE | MIRROR LINE" into @buf:
 * a short key by which a difference is recognised when it is found again.
 */
void difference_first(const char *kernel, const char *mirror, char *buf, size_t size);

/* Formats a result into @buf: the name of an error, or a machine word. */
void difference_format_result(long result, char *buf, size_t size);

#endif
