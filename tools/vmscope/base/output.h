/* SPDX-License-Identifier: MIT */
/* Whether a result has been written, and else why not. */
#ifndef VMSCOPE_BASE_OUTPUT_H
#define VMSCOPE_BASE_OUTPUT_H

#include <stdio.h>

/*
 * Writes what @to holds back. Returns 0, or -errno of a write that failed, now or earlier; what was
 * held back is lost then, and @to is as though nothing had happened.
 */
int output_flush(FILE *to);

/* The same, and closes it. */
int output_close(FILE *to);

/*
 * When the process exits, standard output is flushed; if that fails, a message says why, and the
 * exit status is STATUS_FAILED.
 */
void output_check_at_exit(void);

#endif
