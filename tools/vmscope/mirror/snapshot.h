/* SPDX-License-Identifier: MIT */
/* Reading a whole address space from the kernel: after an exec, and when attaching. */
#ifndef VMSCOPE_MIRROR_SNAPSHOT_H
#define VMSCOPE_MIRROR_SNAPSHOT_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Fills the empty @space with what /proc/@tid shows (smaps, stat, status); the thread must be
 * stopped. @attach: the process has been running for a while, and may be the child of a fork.
 * @record, unless NULL, gets what was read as "areas" and "image". Returns 0 or -errno.
 */
int snapshot_load(struct vmspace *space, pid_t tid, bool attach, struct json_object *record);

#endif
