/* SPDX-License-Identifier: MIT */
/*
 * Address spaces whose initial areas are unknown: what calls reveal about them, and which results
 * prove nothing.
 */
#ifndef VMSCOPE_REPLAY_UNKNOWN_H
#define VMSCOPE_REPLAY_UNKNOWN_H

#include <mapletree/vmspace.h>
#include <stdbool.h>

/* The name of inferred areas. */
#define UNKNOWN_NAME "[unknown]"

/*
 * The kernel has performed @req, so there were no holes in its range: adds areas where @vm has
 * holes. A first brk() shows where the heap is. Returns the number of areas added, or -ENOMEM.
 */
int unknown_infer(struct vmspace *vm, const struct vmspace_request *req);

/*
 * Whether the result of @req, which has been applied, may be due to an area, a file or a limit that
 * is unknown; if so, a difference proves nothing.
 */
bool unknown_may_explain(const struct vmspace_request *req);

#endif
