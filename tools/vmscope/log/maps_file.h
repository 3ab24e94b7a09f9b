/* SPDX-License-Identifier: MIT */
/* The file of --maps: the mirror's maps of every process at its end. */
#ifndef VMSCOPE_LOG_MAPS_FILE_H
#define VMSCOPE_LOG_MAPS_FILE_H

#include <mapletree/vmspace.h>
#include <sys/types.h>

struct maps_file;

/* Opens @path ("-": standard output). Returns 0 or -errno. */
int maps_file_open(struct maps_file **maps, const char *path);

/* Writes a line about the process, then its maps. maps_file_close() reports errors. */
void maps_file_write(struct maps_file *maps, pid_t pid, const char *command, const char *occasion,
		     const struct vmspace *vm);

/* Closes. Returns 0, or -errno of the first write that failed. NULL is ignored. */
int maps_file_close(struct maps_file *maps);

#endif
