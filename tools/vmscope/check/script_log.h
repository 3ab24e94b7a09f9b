/* SPDX-License-Identifier: MIT */
/* Scripts of "vmscope check" as logs, for replay, explain, draw and "check --replay". */
#ifndef VMSCOPE_CHECK_SCRIPT_LOG_H
#define VMSCOPE_CHECK_SCRIPT_LOG_H

#include "check/family.h"

/*
 * Performs @script once more, with new puppets, and writes it to @path. @argv: the command, for the
 * log. Returns the result of the last step; FAMILY_GONE, after printing a message, if the log
 * cannot be written.
 */
enum family_result script_log_write(struct script *script, const char *path, char **argv);

/* Reads what script_log_write() has written. False after printing a message. */
bool script_log_read(struct script *script, const char *path);

#endif
