/* SPDX-License-Identifier: MIT */
/* The account that "vmscope explain" gives: tables in words. */
#ifndef VMSCOPE_ACCOUNT_H
#define VMSCOPE_ACCOUNT_H

#include <stdio.h>

#include "blame.h"

/* Of a space of a log; at most @rows rows a table. */
void account_space(FILE *to, const struct history *history, const struct history_space *space,
		   struct blame_space *blame, unsigned long rows);

/* Of a process as it is now. */
void account_process(FILE *to, const char *command, pid_t pid, unsigned long limit,
		     const struct blame_space *blame, unsigned long rows);

#endif
