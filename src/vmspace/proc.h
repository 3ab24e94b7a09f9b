/* SPDX-License-Identifier: MIT */
/* proc.h - files of /proc/PID: their whole text, numbers in it, and lines of maps. */
#ifndef VMSPACE_PROC_H
#define VMSPACE_PROC_H

#include <mapletree/vmspace_proc.h>

/* The text of /proc/PID/name, the caller's to free. NULL, and *err a negative errno. */
char *proc_read(pid_t pid, const char *name, int *err);

/* The number after `key` at the start of a line of the text, or `otherwise`. */
unsigned long proc_number(const char *text, const char *key, int base, unsigned long otherwise);

/* Why a text is no line of maps: "the start is too large". NULL: it does not look like one at all. */
struct proc_wrong {
	const char *field, *why;
};

/* vmspace_parse_line(), which says in *wrong why it returns NULL. */
const char *proc_parse_line(const char *text, struct vmspace_line *line, struct proc_wrong *wrong);

#endif
