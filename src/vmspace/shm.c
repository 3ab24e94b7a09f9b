/* SPDX-License-Identifier: MIT */
/* shm.c - System V shared memory: shmat and shmdt. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "edit.h"
#include "find.h"
#include "ops.h"
#include "outcome.h"
#include "pkey.h"
#include "store.h"
#include "words.h"

static void attach_flags(const struct vmspace *space, const struct vmspace_shmat *s,
			 struct map_plan *plan)
{
	plan->flags = VMA_READ | VMA_SHARED | VMA_MAYSHARE | VMA_MAYREAD | VMA_MAYWRITE |
		      VMA_MAYEXEC;
	if (s->flags & SHM_RDONLY)
		plan->flags &= ~(VMA_MAYWRITE | VMA_SHARED);
	else
		plan->flags |= VMA_WRITE;
	if ((s->flags & SHM_EXEC) || space->config.read_implies_exec)
		plan->flags |= VMA_EXEC;
}

static long attach_place(struct vmspace *space, const struct vmspace_shmat *s,
			 const struct vma_backing *own, struct map_plan *plan)
{
	struct find_place want = { s->addr, plan->length, 0, own, 0, false };
	const struct vma *vma;
	long err;

	if (want.addr) {
		if (!space_aligned(space, want.addr)) {
			if (!(s->flags & SHM_RND))
				return -EINVAL;
			want.addr = space_floor(space, want.addr);
			if (!want.addr && (s->flags & SHM_REMAP))
				return -EINVAL;
		}
		want.flags = MAP_FIXED;
		vma = find_first(space, want.addr);
		/* Rounded to address 0, it takes the place of what is there. */
		if (want.addr && !(s->flags & SHM_REMAP)) {
			if (want.addr + plan->length < want.addr)
				return -EINVAL;
			if (vma && vma->start < want.addr + plan->length)
				return -EINVAL;
		}
	} else if (s->flags & SHM_REMAP) {
		return -EINVAL;
	}
	err = map_check_count(space);
	return err ? err : find_place(space, &want, &plan->hole);
}

long shm_attach_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_shmat *s = &req->shmat;
	struct vma_backing own = s->backing;
	struct map_plan plan = { .length = space_ceil(space, s->size),
				 .word = words_of(space, req) };
	long at, err;

	if (!plan.length)
		return outcome_fail(space, -EINVAL, "a segment has a size");
	own.kind = VMA_BACKING_SYSV;
	own.file_id = map_new_file_id(space);
	own.size = s->size;
	attach_flags(space, s, &plan);
	plan.flags |= space->default_flags;
	at = attach_place(space, s, &own, &plan);
	if (at < 0)
		return at;
	err = map_check_lock(space, plan.flags, plan.length, false);
	if (err)
		return err;
	plan.at = (unsigned long)at;
	if (space->host_succeeded && req->host.result != at) {
		plan.at = (unsigned long)req->host.result;
		if (find_correct_base(space, (unsigned long)at, plan.at, plan.length))
			at = req->host.result;
	}
	plan.backing = backing_new(&own);
	if (!plan.backing)
		return outcome_no_memory(space);
	err = map_region(space, &plan);
	backing_put(plan.backing);
	return err < 0 ? err : at;
}

/*
 * Does vma belong to the attachment at addr, of this backing? Whichever area is found first does
 * (NULL: none so far), however far an mremap() has extended it. The others may not reach beyond
 * the segment.
 */
static bool is_part_of(const struct vmspace *space, const struct vma *vma,
		       const struct backing *backing, unsigned long addr)
{
	if (!vma->backing || vma->backing->is.kind != VMA_BACKING_SYSV ||
	    vma->start - addr != vma->pgoff * space->config.page_size)
		return false;
	if (!backing)
		return true;
	return vma->backing == backing &&
	       (!backing->is.size || vma->end - addr <= space_ceil(space, backing->is.size));
}

/* How many areas of the attachment at addr are left; each is unmapped separately. */
static unsigned long count_parts(struct vmspace *space, unsigned long addr)
{
	const struct backing *backing = NULL;
	unsigned long count = 0;
	const struct vma *vma;

	for (vma = find_first(space, addr); vma; vma = find_first(space, vma->end)) {
		if (!is_part_of(space, vma, backing, addr))
			continue;
		backing = vma->backing;
		count++;
	}
	return count;
}

/* Detach what is left of the attachment at addr. */
long shm_detach_call(struct vmspace *space, struct vmspace_request *req)
{
	unsigned long addr = req->shmdt.addr, at = addr;
	struct backing *backing = NULL;
	bool found = false;
	struct vma *vma;

	if (!space_aligned(space, addr))
		return -EINVAL;
	if (store_reserve_call(space, count_parts(space, addr), 0))
		return -ENOMEM;
	while ((vma = find_first(space, at))) {
		unsigned long start = vma->start, end = vma->end;

		at = end;
		if (!is_part_of(space, vma, backing, addr))
			continue;
		if (!backing)
			backing = backing_get(vma->backing);
		found = true;
		/* Linux reports no error when a sealed part stays. */
		unmap_range(space, start, end - start);
	}
	backing_put(backing);
	return found ? 0 : -EINVAL;
}

/*
 * The flags of the new mapping: of the area's, access rights, the lock, and what the file permits;
 * that may have become less.
 */
static long remapped_flags(const struct vmspace *space, const struct vmspace_remap_file_pages *r,
			   const struct vma *vma, vma_flags_t *flags)
{
	const vma_flags_t may = VMA_MAYREAD | VMA_MAYWRITE | VMA_MAYEXEC;

	*flags = (vma->flags & (VMA_ACCESS_FLAGS | VMA_LOCKED | may)) | space->default_flags |
		 VMA_SHARED | VMA_MAYSHARE;
	if (r->file_flags & VMA_BACKING_SEAL_WRITE)
		*flags &= ~VMA_MAYWRITE;
	if (r->file_flags & VMA_BACKING_NO_EXEC)
		*flags &= ~VMA_MAYEXEC;
	if ((*flags & VMA_WRITE) && !(*flags & VMA_MAYWRITE))
		return -EPERM;
	if ((*flags & VMA_EXEC) && !(*flags & VMA_MAYEXEC))
		return -EPERM;
	if ((*flags & VMA_READ) && (*flags & VMA_MAYEXEC) && space->config.read_implies_exec)
		*flags |= VMA_EXEC;
	return 0;
}

/* By a seal that the file itself looks at, when what is in the way has been unmapped? */
static bool refused_late(const struct vmspace *space, const struct vmspace_remap_file_pages *r,
			 vma_flags_t flags)
{
	return flags & VMA_WRITE && r->file_flags & VMA_BACKING_SEAL_FUTURE &&
	       !rule_decides(space, RULE_MAP_SEALS_FIRST);
}

/* Is this address or offset one of a whole huge page, if the area consists of them? */
static bool is_whole(const struct vmspace *space, const struct vma *vma, uint64_t at)
{
	return !(vma->flags & VMA_HUGETLB) ||
	       !(at & (vma_huge_size(vma->backing, space->config.pmd_size) - 1));
}

/* Linux emulates remap_file_pages by a new shared mapping at the same place. */
long remap_pages_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_remap_file_pages *r = &req->remap_file_pages;
	unsigned long start = space_floor(space, r->addr), size = space_floor(space, r->size);
	struct map_plan plan = { .at = start, .length = size, .pgoff = r->page_offset,
				 .word = words_of(space, req) };
	struct vma *vma, *next;
	unsigned long end;
	long at, err, forbidden;

	if (r->prot || start + size <= start ||
	    r->page_offset + space_pages(space, size) < r->page_offset)
		return -EINVAL;
	vma = find_at(space, start);
	if (!vma || !(vma->flags & VMA_SHARED) || !vma->backing)
		return -EINVAL;
	for (end = vma->end, next = vma; end < start + size; end = next->end) {
		next = find_at(space, end);
		if (!next || !backing_same_file(next->backing, vma->backing) ||
		    next->flags != vma->flags || next->tags.pkey != vma->tags.pkey)
			return -EINVAL;
	}
	forbidden = remapped_flags(space, r, vma, &plan.flags);
	err = map_check_count(space);
	if (!err && !is_whole(space, vma, start | size))
		err = -EINVAL;
	if (!err)
		err = map_check_lock(space, plan.flags, plan.length, vma->flags & VMA_LOCKED);
	if (!err && !map_offset_fits(space, &vma->backing->is, plan.pgoff, size))
		err = -EOVERFLOW;
	if (!err && forbidden)
		forbidden = outcome_fail(space, forbidden, "the file does not permit it any more");
	if (!err && forbidden && !refused_late(space, r, plan.flags))
		err = forbidden;
	if (err)
		return err;
	plan.refusal = forbidden;
	if (!is_whole(space, vma, plan.pgoff << space->page_shift))
		plan.refusal = outcome_fail(space, -EINVAL, "no huge page begins at the offset");
	/* A key of the program's own is lost. */
	if ((vma->flags & VMA_ACCESS_FLAGS) == VMA_EXEC)
		plan.pkey = pkey_execute_only(space);
	plan.populate = !(r->flags & MAP_NONBLOCK);
	plan.backing = backing_get(vma->backing);
	at = map_region(space, &plan);
	backing_put(plan.backing);
	return at < 0 ? at : 0;
}
