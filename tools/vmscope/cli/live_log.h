/* SPDX-License-Identifier: MIT */
/* The log of a running process, made for a command that reads logs. */
#ifndef VMSCOPE_CLI_LIVE_LOG_H
#define VMSCOPE_CLI_LIVE_LOG_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the user means a process by @text: digits alone. A log of that name is "./NUMBER". */
bool live_log_is_pid(const char *text);

/* Whether a signal has ended the time of live_log_make() early. */
bool live_log_was_stopped(void);

/*
 * Makes a temporary file, whose name is put into @path, with the log of process @pid: what it does
 * for so many seconds, traced as "vmscope trace -p" does; or, for 0, its areas as they are, for which it
 * is not stopped. SIGINT, SIGTERM and SIGHUP end the time early. The caller unlinks it. Returns 0, or -1
 * after printing a message; then there is no file.
 */
int live_log_make(const char *pid, unsigned long seconds, char *path, size_t size);

#endif
