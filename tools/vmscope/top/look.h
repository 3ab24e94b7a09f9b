/* SPDX-License-Identifier: MIT */
/* Looking at the areas of running processes, without stopping them. */
#ifndef VMSCOPE_TOP_LOOK_H
#define VMSCOPE_TOP_LOOK_H

#include "top/sites.h"
#include "top/table.h"

/*
 * A row for each process that has an address space. @table is empty. Processes that end meanwhile
 * are left out; those that we may not look at are counted. Each process's own changes of its areas
 * wait while the kernel writes a page of its maps, as for whoever reads /proc/PID/maps.
 * Returns 0, -ESRCH if /proc shows no process at all, or -errno if it cannot be read or memory runs
 * out; top_clear() frees in any case.
 */
int top_look(struct top_table *table);

/*
 * A row for each kind of memory of process @pid: a file, a name that the kernel or the program has
 * given, anonymous memory by its permissions; or, with @sites, for each call site that made areas,
 * as far as its log tells by now. Returns 0, -ESRCH (there is no such process, or it
 * has no address space), or -EACCES, -ENOMEM ...
 */
int top_look_into(struct top_table *table, pid_t pid, struct top_sites *sites);

#endif
