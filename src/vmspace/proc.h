/* SPDX-License-Identifier: MIT */
/* proc.h - files of /proc/PID: their whole text, and numbers in it. */
#ifndef VMSPACE_PROC_H
#define VMSPACE_PROC_H

#include <mapletree/vmspace_proc.h>

/* The text of /proc/PID/name, the caller's to free. NULL, and *err a negative errno. */
char *proc_read(pid_t pid, const char *name, int *err);

/* The number after `key` at the start of a line of the text, or `otherwise`. */
unsigned long proc_number(const char *text, const char *key, int base, unsigned long otherwise);

#endif
