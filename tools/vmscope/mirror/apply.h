/* SPDX-License-Identifier: MIT */
/* Applying one call to a space, with what only the kernel can tell of its outcome. */
#ifndef VMSCOPE_MIRROR_APPLY_H
#define VMSCOPE_MIRROR_APPLY_H

#include <mapletree/vmspace.h>

#include "base/session.h"
#include "mirror/kernel.h"

/*
 * Completes @req on @space. Device and inode of new shared memory, which the kernel chooses, are
 * read from @view. Fails the session if memory runs out.
 */
void apply_request(struct session *session, struct vmspace *space, struct kernel_view *view,
		   struct vmspace_request *req);

/*
 * @call is the first brk() of an attached process; its answer tells where in its page the break
 * lies, which nothing else shows. A break in the same page changes no area. Returns whether
 * that was told to @space, by a request that is left in *@made.
 */
bool apply_first_break(struct vmspace *space, const struct vmspace_request *call,
		       struct vmspace_request *made);

#endif
