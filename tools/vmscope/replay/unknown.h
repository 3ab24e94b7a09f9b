/* SPDX-License-Identifier: MIT */
/* Spaces whose first areas nobody told of: what calls on them reveal, and what they cannot prove. */
#ifndef VMSCOPE_REPLAY_UNKNOWN_H
#define VMSCOPE_REPLAY_UNKNOWN_H

#include <mapletree/vmspace.h>
#include <stdbool.h>

/* The name that areas get which must have been there. */
#define UNKNOWN_NAME "[unknown]"

/*
 * The kernel performed @req, which it would have refused if there had been holes in its range: adds areas
 * there. A first brk() tells where the heap is. Returns how many areas were added, or -ENOMEM.
 */
int unknown_learn(struct vmspace *vm, const struct vmspace_request *req);

/*
 * Whether the result of @req, applied, may be what it is because of an area, a file or a limit that
 * nobody told of: then it proves nothing.
 */
bool unknown_may_explain(const struct vmspace_request *req);

#endif
