/* SPDX-License-Identifier: MIT */
/* The figures at the end of a run. */
#ifndef VMSCOPE_TRACE_SUMMARY_H
#define VMSCOPE_TRACE_SUMMARY_H

#include <stdio.h>

#include "base/session.h"

/* Writes the totals for people, or as one JSON object a line. Returns 0 or -errno. */
int summary_write(FILE *to, const struct totals *totals, bool json, int status);

/* Overwrites a line on the terminal with how far the run is; at most once a second. */
void summary_progress(const struct session *session);

/* Clears that line. */
void summary_progress_end(void);

#endif
