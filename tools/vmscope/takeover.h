/* SPDX-License-Identifier: MIT */
/* Taking over an address space from the kernel: after an exec, and when attaching. */
#ifndef VMSCOPE_TAKEOVER_H
#define VMSCOPE_TAKEOVER_H

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
int takeover_read(struct vmspace *space, pid_t tid, bool attach, struct json_object *record);

/*
 * Reads the text of /proc/PID/smaps, or of /proc/PID/maps, which does not tell all: then flags follow
 * from the permissions, and no area has anonymous pages. Returns the number of areas in *@areas, which
 * takeover_free() frees, or -ENOMEM; -EINVAL: line *@line is of neither.
 */
ssize_t takeover_parse(const char *text, struct vmspace_area **areas, unsigned long *line);
void takeover_free(struct vmspace_area *areas, size_t count);

#endif
