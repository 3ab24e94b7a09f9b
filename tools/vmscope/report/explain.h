/* SPDX-License-Identifier: MIT */
/* The account that "vmscope explain" gives: tables in words. */
#ifndef VMSCOPE_REPORT_EXPLAIN_H
#define VMSCOPE_REPORT_EXPLAIN_H

#include <stdio.h>

#include "report/blame.h"

/* Of a space of a log; at most @rows rows a table. */
void explain_space(FILE *to, const struct history *history, const struct history_space *space,
		   struct blame_space *blame, unsigned long rows);

/* Of a process as it is now. */
void explain_process_now(FILE *to, const char *command, pid_t pid, unsigned long limit,
		     const struct blame_space *blame, unsigned long rows);

#endif
