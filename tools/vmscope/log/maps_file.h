/* SPDX-License-Identifier: MIT */
/* The file of --maps: what the mirrors say at the end of every program. */
#ifndef VMSCOPE_LOG_MAPS_FILE_H
#define VMSCOPE_LOG_MAPS_FILE_H

#include <mapletree/vmspace.h>
#include <sys/types.h>

struct maps_file;

/* Opens @path ("-": standard output). Returns 0 or -errno. */
int maps_file_open(struct maps_file **dump, const char *path);

/* Writes a comment line about the process and its maps. Errors are kept for maps_file_close(). */
void maps_file_write(struct maps_file *dump, pid_t pid, const char *command, const char *occasion,
	       const struct vmspace *vm);

/* Closes. Returns 0 or -errno of the first write that failed. NULL is ignored. */
int maps_file_close(struct maps_file *dump);

#endif
