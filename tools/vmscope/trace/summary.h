/* SPDX-License-Identifier: MIT */
/* The summary at the end of a trace, and its progress meanwhile. */
#ifndef VMSCOPE_TRACE_SUMMARY_H
#define VMSCOPE_TRACE_SUMMARY_H

#include <stdio.h>

#include "base/session.h"

/* Writes the totals as text or, with @json, as a JSON object. Returns 0 or -errno. */
int summary_write(FILE *to, const struct totals *totals, bool json, int status);

/* Updates the progress line on the terminal, at most once a second. */
void summary_progress(const struct session *session);

/* Clears the progress line. */
void summary_progress_end(void);

#endif
