/* SPDX-License-Identifier: MIT */
/* Steps from the log of "vmscope trace": docs/log-format.md. */
#ifndef VMSCOPE_FROMLOG_H
#define VMSCOPE_FROMLOG_H

#include "step.h"

struct fromlog;

/* NULL: out of memory. */
struct fromlog *fromlog_new(void);
void fromlog_free(struct fromlog *from);

/*
 * Reads one line of @length bytes. True: *@step is filled in, but for its line; it lives until the next
 * call. False: the line is malformed, and *@why, which lives as long, says how.
 */
bool fromlog_line(struct fromlog *from, const char *line, size_t length, struct step *step,
		  const char **why);

#endif
