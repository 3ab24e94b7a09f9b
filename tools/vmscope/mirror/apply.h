/* SPDX-License-Identifier: MIT */
/* Applying a system call to an address space, including what only the kernel can decide. */
#ifndef VMSCOPE_MIRROR_APPLY_H
#define VMSCOPE_MIRROR_APPLY_H

#include <mapletree/vmspace.h>

#include "base/session.h"
#include "mirror/kernel.h"

/*
 * Completes @req on @space. Reads the device and inode of new shared memory or huge pages, which
 * the kernel chooses, from @view. Fails the session if memory runs out.
 */
void apply_request(struct session *session, struct vmspace *space, struct kernel_view *view,
		   struct vmspace_request *req);

/*
 * @call is the first brk() of a process that was attached to: only its result shows where in its
 * page the break lies. If the break stays in its page, no area changes; then @space is told the
 * exact break by a request of its own. Returns whether that was done, with the request in *@made.
 */
bool apply_first_break(struct vmspace *space, const struct vmspace_request *call,
		       struct vmspace_request *made);

#endif
