/* SPDX-License-Identifier: MIT */
/* Differences and merge verdicts in words. */
#ifndef VMSCOPE_LOG_DIFFERENCE_H
#define VMSCOPE_LOG_DIFFERENCE_H

#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/call.h"

/*
 * Writes the places where two texts of maps differ, with lines around them: "-" before lines that
 * only @kernel has, "+" before those that only @mirror has. At most @lines lines.
 */
void difference_areas(FILE *to, const char *kernel, const char *mirror, unsigned int lines);

/* Writes what @out did, one event a line, as libvmspace tells it, then its reason, if any. */
void difference_outcome(FILE *to, const struct vmspace_outcome *out);

/* Writes both results of @call where they differ. */
void difference_result(FILE *to, const struct call *call, const struct vmspace_request *req);

/*
 * Writes where two texts of maps first differ into @buf, as "KERNEL LINE | MIRROR LINE": a
 * short name of the difference, to tell a new one from one seen before.
 */
void difference_first(const char *kernel, const char *mirror, char *buf, size_t size);

/* Writes a result into @buf: the name of an error, or a machine word. */
void difference_format_result(long result, char *buf, size_t size);

#endif
