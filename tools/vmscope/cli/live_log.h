/* SPDX-License-Identifier: MIT */
/* The log of a running process, made for a command that reads logs. */
#ifndef VMSCOPE_CLI_LIVE_LOG_H
#define VMSCOPE_CLI_LIVE_LOG_H

#include <stdbool.h>

/* Whether the user means a process by @text: digits alone. A log of that name is "./NUMBER". */
bool live_log_is_pid(const char *text);

/* Whether a signal has ended the time of live_log_make() early. */
bool live_log_was_stopped(void);

enum { LIVE_LOG_PATH = 32 };

/*
 * Makes a temporary file with the log of process @pid: what it does for so many seconds, traced as
 * "vmscope trace -p" does; or, for 0, its areas as they are, for which it is not stopped. SIGINT,
 * SIGTERM and SIGHUP end the time early. Puts into @path by what name this program can open it: no
 * folder has it. Returns its descriptor, which the caller closes, or -1 after printing a message.
 */
int live_log_make(const char *pid, unsigned long seconds, char path[LIVE_LOG_PATH]);

#endif
