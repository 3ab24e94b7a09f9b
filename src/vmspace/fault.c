/* SPDX-License-Identifier: MIT */
/* fault.c - rules of page faults: first anonymous pages, stack growth. */
#include <assert.h>
#include <errno.h>

#include "accounting.h"
#include "anon_vma.h"
#include "commit.h"
#include "edit.h"
#include "fault.h"
#include "find.h"
#include "outcome.h"
#include "sync.h"

/* Nothing may be mapped there, nor too near below (stack_guard_gap). */
static long check_place(struct vmspace *space, const struct vma *vma, unsigned long to)
{
	const struct vmspace_config *c = &space->config;
	const struct vma *below = find_before(space, vma->start);

	if (to < c->hint_min_addr)
		return -EPERM;
	if (below && (below->end > to ||
		      (!(below->flags & VMA_GROWSDOWN) && (below->flags & VMA_ACCESS_FLAGS) &&
		       to - below->end < c->stack_guard_gap * c->page_size)))
		return outcome_fail(space, -ENOMEM, "another area is too near below the stack");
	return 0;
}

static long check_limits(struct vmspace *space, const struct vma *vma, unsigned long to)
{
	unsigned long pages = space_pages(space, vma->start - to);
	unsigned long rlimit = space->config.rlimit_stack;

	if (pages > vma->pgoff)
		return -ENOMEM;
	if (!account_may_expand(space, vma->flags, pages) ||
	    !account_may_lock(space, vma->flags, pages))
		return outcome_fail(space, -ENOMEM, "a resource limit is reached");
	if (rlimit != VMSPACE_NO_LIMIT && vma->end - to > rlimit)
		return outcome_fail(space, -ENOMEM, "RLIMIT_STACK reached");
	if (commit_check(space, pages))
		return -ENOMEM;
	return 0;
}

long fault_may_grow_down(struct vmspace *space, const struct vma *vma, unsigned long addr)
{
	unsigned long to = space_floor(space, addr);
	long err = check_place(space, vma, to);

	return err ? err : check_limits(space, vma, to);
}

long fault_grow_down(struct vmspace *space, struct vma *vma, unsigned long addr)
{
	unsigned long to = space_floor(space, addr);
	long err;

	assert(vma->flags & VMA_GROWSDOWN);
	if (to >= vma->start)
		return 0;
	err = check_place(space, vma, to);
	if (err)
		return err;
	vma = anon_vma_prepare(space, vma);
	if (!vma)
		return -ENOMEM;
	err = check_limits(space, vma, to);
	return err ? err : edit_grow_down(space, vma, to);
}

/* Would the kernel map a transparent huge page on a fault at addr? */
static bool huge_possible(const struct vmspace *space, const struct vma *vma, unsigned long addr)
{
	bool always = space->config.thp == VMSPACE_THP_ALWAYS;
	unsigned long start, size = 0;

	if (space->sync) {
		always = __atomic_load_n(&space->sync->huge_always, __ATOMIC_RELAXED);
		size = __atomic_load_n(&space->sync->huge_size, __ATOMIC_RELAXED);
	} else if (space->config.thp != VMSPACE_THP_NEVER) {
		size = space->config.pmd_size;
	}
	if (!size || (vma->flags & VMA_NOHUGEPAGE) || (!always && !(vma->flags & VMA_HUGEPAGE)))
		return false;
	start = addr & ~(size - 1);
	return start >= vma->start && vma->end - start >= size;
}

bool fault_huge_somewhere(const struct vmspace *space, const struct vma *vma)
{
	unsigned long size = space->config.pmd_size;
	unsigned long first = size ? (vma->start + size - 1) & ~(size - 1) : 0;

	return vma_is_anon(vma) && (vma->flags & VMA_ACCESS_FLAGS) && first < vma->end &&
	       huge_possible(space, vma, first);
}

bool fault_needs_anon(const struct vmspace *space, const struct vma *vma, unsigned long addr,
		      unsigned int access)
{
	if (vma->flags & VMA_SPECIAL_FLAGS)
		return false;
	return (access & VMSPACE_ACCESS_WRITE) ||
	       (vma_is_anon(vma) && huge_possible(space, vma, addr));
}

long fault_call(struct vmspace *space, struct vmspace_request *req)
{
	unsigned long addr = req->fault.addr;
	struct vma *vma = find_at(space, addr);

	if (!vma) {
		vma = find_first(space, addr);
		if (!vma || !(vma->flags & VMA_GROWSDOWN) || fault_grow_down(space, vma, addr))
			return -EFAULT;
		vma = find_at(space, addr);
	}
	if (!fault_permitted(space, vma, req->fault.access))
		return -EACCES;
	if (fault_needs_anon(space, vma, addr, req->fault.access))
		vma = anon_vma_prepare(space, vma);
	if (!vma)
		return -ENOMEM;
	if (vma_passes_file(vma, space_floor(space, addr) + space->config.page_size,
			    space->config.page_size))
		return outcome_fail(space, -ENXIO, "beyond the end of the file: SIGBUS");
	return 0;
}
