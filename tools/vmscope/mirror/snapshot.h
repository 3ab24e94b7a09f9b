/* SPDX-License-Identifier: MIT */
/* Taking over an address space from the kernel: after an exec, and when attaching. */
#ifndef VMSCOPE_MIRROR_SNAPSHOT_H
#define VMSCOPE_MIRROR_SNAPSHOT_H

#include <json-c/json.h>
#include <mapletree/vmspace.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Fills the empty @space with what /proc/@tid says (smaps, stat, status). @attach: the process
 * has run for a while, and may have been copied by fork. The thread must be stopped.
 * @record: an object that gets what was read, as "areas" and "image", or NULL.
 * Returns 0 or -errno.
 */
int snapshot_load(struct vmspace *space, pid_t tid, bool attach, struct json_object *record);

#endif
