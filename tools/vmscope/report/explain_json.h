/* SPDX-License-Identifier: MIT */
/* The report of "vmscope explain --json"; docs/explain.schema.json says what is in it. */
#ifndef VMSCOPE_REPORT_EXPLAIN_JSON_H
#define VMSCOPE_REPORT_EXPLAIN_JSON_H

#include <stdio.h>

#include "report/blame.h"
#include "report/explain.h"

/*
 * As explain_space() and explain_process(), but one JSON object. Return 0, or -ENOMEM: nothing was
 * written. Whether it could be written is the caller's to ask of @to.
 */
int explain_json_space(FILE *to, struct blame_space *space, unsigned long spaces,
		       const struct explain_view *view);
int explain_json_process(FILE *to, const char *command, pid_t pid, unsigned long limit,
			 const struct blame_space *blame, const struct explain_view *view);

#endif
