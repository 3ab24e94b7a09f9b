/* SPDX-License-Identifier: MIT */
/* The report of "vmscope explain": tables as text. */
#ifndef VMSCOPE_REPORT_EXPLAIN_H
#define VMSCOPE_REPORT_EXPLAIN_H

#include <stdio.h>

#include "log/log_reader.h"
#include "report/blame.h"

/* What a report says beside what was counted. */
struct explain_view {
	unsigned long rows;		/* in each table, at most */
	unsigned long read;		/* lines, if the log was not read to its end; or 0 */
	struct log_gaps gaps;		/* what the log says is missing in it */
	bool limit_assumed;		/* the log does not tell vm.max_map_count */
};

/* Explains an address space of a log, which has @spaces of them. */
void explain_space(FILE *to, struct blame_space *space, unsigned long spaces,
		   const struct explain_view *view);

/* Explains a process as it is now. */
void explain_process(FILE *to, const char *command, pid_t pid, unsigned long limit,
		     const struct blame_space *blame, const struct explain_view *view);

#endif
