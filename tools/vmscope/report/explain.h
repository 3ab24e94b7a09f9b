/* SPDX-License-Identifier: MIT */
/* The report of "vmscope explain": tables as text. */
#ifndef VMSCOPE_REPORT_EXPLAIN_H
#define VMSCOPE_REPORT_EXPLAIN_H

#include <stdio.h>

#include "report/blame.h"

/* Explains an address space of a log, with at most @rows rows in each table. */
void explain_space(FILE *to, const struct history *history, const struct history_space *space,
		   struct blame_space *blame, unsigned long rows);

/* Explains a process as it is now. */
void explain_process(FILE *to, const char *command, pid_t pid, unsigned long limit,
		     const struct blame_space *blame, unsigned long rows);

#endif
