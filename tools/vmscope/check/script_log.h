/* SPDX-License-Identifier: MIT */
/* Scripts of "vmscope check" as logs, which replay, explain and draw read, and check itself. */
#ifndef VMSCOPE_CHECK_SCRIPT_LOG_H
#define VMSCOPE_CHECK_SCRIPT_LOG_H

#include "check/family.h"

/*
 * Performs @script once more, with new puppets, and writes it to @path. @argv: the command that found
 * it. Returns the result of the last step, FAMILY_GONE after a message if the log cannot be written.
 */
enum family_result scriptlog_write(struct script *script, const char *path, char **argv);

/* Reads what scriptlog_write() wrote. False after a message. */
bool scriptlog_read(struct script *script, const char *path);

#endif
