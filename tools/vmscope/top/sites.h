/* SPDX-License-Identifier: MIT */
/* Which calls made the areas of a process: read from a log, while it is written. */
#ifndef VMSCOPE_TOP_SITES_H
#define VMSCOPE_TOP_SITES_H

#include <stdbool.h>
#include <sys/types.h>

struct top_sites;

/*
 * Opens the log at @path, by "vmscope trace --sites" or "vmscope watch --stacks", for process @pid.
 * Returns 0, -EINVAL (it is none of vmscope), -ENOMEM, or another -errno.
 */
int top_sites_open(struct top_sites **sites, const char *path, pid_t pid);
void top_sites_close(struct top_sites *sites);

/* Reads what the log has gained since the last time, whole lines only. Returns 0 or -errno. */
int top_sites_read(struct top_sites *sites);

/* Whether what was read tells of the process. */
bool top_sites_tell(const struct top_sites *sites);

/*
 * "site: call", of the call that mapped the memory at @addr, or was the last to change its
 * protection; or, in parentheses, why that is not known. Valid until @sites is closed.
 */
const char *top_sites_at(struct top_sites *sites, unsigned long addr);

#endif
