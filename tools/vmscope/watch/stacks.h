/* SPDX-License-Identifier: MIT */
/* Where the calls of an address space that is watched were made. */
#ifndef VMSCOPE_WATCH_STACKS_H
#define VMSCOPE_WATCH_STACKS_H

#include <json-c/json.h>

#include "base/call.h"
#include "watch/space.h"

/* Adds the "site" and the "stack" of the call being applied to its record, if they are known. */
void stacks_tell(struct watched *space, pid_t pid, struct json_object *record);

/* A call is about to be applied: it may change which files are mapped where. */
void stacks_note(struct watched *space, const struct call *call);

#endif
