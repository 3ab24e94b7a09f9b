/* SPDX-License-Identifier: MIT */
/* fault.c - page faults: access checks, first anonymous pages, stacks that grow. */
#include <errno.h>

#include "commit.h"
#include "edit.h"
#include "fault.h"
#include "find.h"
#include "host.h"
#include "ops.h"

long fault_grow_down(struct vmspace *space, struct vma *vma, unsigned long addr)
{
	const struct vmspace_config *c = &space->config;
	unsigned long to = space_floor(space, addr);
	unsigned long pages = space_pages(space, vma->start - to);
	const struct vma *below = find_before(space, vma->start);

	if (to >= vma->start)
		return 0;
	if (to < c->hint_min_addr)
		return -EPERM;
	if (below && (below->end > to ||
		      (!(below->flags & VMA_GROWSDOWN) && (below->flags & VMA_ACCESS_FLAGS) &&
		       to - below->end < c->stack_guard_gap * c->page_size)))
		return space_fail(space, -ENOMEM, "another area is too near below the stack");
	host_give_anon_vma(space, vma);
	if (pages > vma->pgoff)
		return -ENOMEM;
	if (!space_may_expand(space, vma->flags, pages) ||
	    !space_may_lock(space, vma->flags, pages))
		return space_fail(space, -ENOMEM, "a resource limit is reached");
	if (c->rlimit_stack != VMSPACE_NO_LIMIT && vma->end - to > c->rlimit_stack)
		return space_fail(space, -ENOMEM, "RLIMIT_STACK reached");
	if (commit_check(space, pages))
		return -ENOMEM;
	return edit_grow_down(space, vma, to);
}

/* Would the kernel answer a fault at addr with a transparent huge page? */
static bool huge_possible(const struct vmspace *space, const struct vma *vma, unsigned long addr)
{
	const struct vmspace_config *c = &space->config;
	unsigned long start;

	if (!c->pmd_size || c->thp == VMSPACE_THP_NEVER || (vma->flags & VMA_NOHUGEPAGE))
		return false;
	if (c->thp == VMSPACE_THP_MADVISE && !(vma->flags & VMA_HUGEPAGE))
		return false;
	start = addr & ~(c->pmd_size - 1);
	return start >= vma->start && vma->end - start >= c->pmd_size;
}

static bool permitted(const struct vma *vma, unsigned int access)
{
	if (access & VMSPACE_ACCESS_WRITE)
		return vma->flags & VMA_WRITE;
	if (access & VMSPACE_ACCESS_EXEC)
		return vma->flags & VMA_EXEC;
	return vma->flags & VMA_ACCESS_FLAGS;
}

long fault_call(struct vmspace *space, struct vmspace_request *req)
{
	unsigned long addr = req->fault.addr;
	struct vma *vma = find_at(space, addr);

	if (!vma) {
		vma = find_first(space, addr);
		if (!vma || !(vma->flags & VMA_GROWSDOWN) || fault_grow_down(space, vma, addr))
			return -EFAULT;
	}
	if (!permitted(vma, req->fault.access))
		return -EACCES;
	if (vma->flags & VMA_SPECIAL_FLAGS)
		return 0;
	if ((req->fault.access & VMSPACE_ACCESS_WRITE) ||
	    (vma_is_anon(vma) && huge_possible(space, vma, addr)))
		host_give_anon_vma(space, vma);
	return 0;
}
