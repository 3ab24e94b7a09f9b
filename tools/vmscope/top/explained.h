/* SPDX-License-Identifier: MIT */
/* What "vmscope explain" says of a process, as lines for a screen. */
#ifndef VMSCOPE_TOP_EXPLAINED_H
#define VMSCOPE_TOP_EXPLAINED_H

#include <stddef.h>
#include <sys/types.h>

struct explained {
	char *text;
	char **lines;	/* in text */
	size_t count;
};

/* Runs the command; what it says of failing is text, too. Returns 0, or -errno if it cannot run. */
int explained_read(struct explained *explained, pid_t pid);
void explained_clear(struct explained *explained);

#endif
