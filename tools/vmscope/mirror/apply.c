/* SPDX-License-Identifier: MIT */
/* Applying a system call to an address space, including what only the kernel can decide. */
#include "mirror/apply.h"

#include <string.h>

#include "mirror/request.h"

/* The kernel chose the identity of new memory: for the area, and the request, which is logged. */
static void learn_identity(struct vmspace *space, struct kernel_view *view,
			   struct vmspace_request *req)
{
	struct vma_backing *asked = &req->mmap.backing;
	/* If the thread was killed inside the call, the kernel's result is unknown. */
	long at = req->host.valid ? req->host.result : req->out.result;
	struct vmspace_line line;
	struct vma_info info;

	if (!request_makes_file(req) || at < 0 || !kernel_line_at(view, (unsigned long)at, &line) ||
	    !vmspace_lookup(space, line.start, &info) || !info.backing.name ||
	    strlen(info.backing.name) != line.name_length ||
	    memcmp(info.backing.name, line.name, line.name_length) != 0)
		return;
	info.backing.dev_major = asked->dev_major = line.dev_major;
	info.backing.dev_minor = asked->dev_minor = line.dev_minor;
	info.backing.inode = asked->inode = line.inode;
	vmspace_identify(space, line.start, &info.backing);
}

void apply_request(struct session *session, struct vmspace *space, struct kernel_view *view,
		   struct vmspace_request *req)
{
	vmspace_complete(space, req);
	if (req->out.out_of_memory)
		session_fail(session, "out of memory");
	else
		learn_identity(space, view, req);
}

bool apply_first_break(struct vmspace *space, const struct vmspace_request *call,
		       struct vmspace_request *made)
{
	const unsigned long page = vmspace_config(space)->page_size;
	struct vmspace_stats stats;

	*made = (struct vmspace_request){ .op = VMSPACE_BRK };
	made->brk.brk = (unsigned long)call->host.result;
	vmspace_stats(space, &stats);
	if ((stats.brk + page - 1) / page != (made->brk.brk + page - 1) / page)
		return false;
	vmspace_call(space, made);
	return true;
}
