/* SPDX-License-Identifier: MIT */
/* The file of --maps: what the mirrors say at the end of every program. */
#ifndef VMSCOPE_DUMP_H
#define VMSCOPE_DUMP_H

#include <mapletree/vmspace.h>
#include <sys/types.h>

struct dump;

/* Opens @path ("-": standard output). Returns 0 or -errno. */
int dump_open(struct dump **dump, const char *path);

/* Writes a comment line about the process and its maps. Errors are kept for dump_close(). */
void dump_maps(struct dump *dump, pid_t pid, const char *command, const char *occasion,
	       const struct vmspace *vm);

/* Closes. Returns 0 or -errno of the first write that failed. NULL is ignored. */
int dump_close(struct dump *dump);

#endif
