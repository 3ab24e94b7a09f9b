/* SPDX-License-Identifier: MIT */
/* lock.c - mlock, mlock2, munlock, mlockall, munlockall, and populating areas. */
#include <errno.h>
#include <sys/mman.h>

#include "accounting.h"
#include "anon_vma.h"
#include "edit.h"
#include "find.h"
#include "ops.h"
#include "outcome.h"
#include "pkey.h"
#include "touch.h"

/* Areas that Linux silently does not lock. */
static bool never_locked(const struct vma *vma)
{
	return (vma->flags & (VMA_SPECIAL_FLAGS | VMA_HUGETLB | VMA_DROPPABLE)) ||
	       (vma->backing && vma->backing->is.kind == VMA_BACKING_SPECIAL);
}

/*
 * Does populating the area from `start` on give it an anonymous page? A guard may be in the way, in this
 * area or in an earlier one, at which the call failed (`failed`). A mirror does not know where guards
 * are; then the host is asked when it matters.
 */
static bool populate_writes(struct vmspace *space, const struct vma *vma, unsigned long start,
			    bool failed)
{
	if ((vma->flags & (VMA_WRITE | VMA_SHARED)) != VMA_WRITE ||
	    (vma->flags & VMA_SPECIAL_FLAGS) || touch_meets_guard(space, vma, start))
		return false;
	return !space->config.host.has_anon ||
	       !((vma->flags & VMA_MAYBE_GUARD) || failed);
}

/* The access that populates the area, which has some right. */
static unsigned int populate_access(const struct vma *vma)
{
	return (vma->flags & (VMA_WRITE | VMA_SHARED)) == VMA_WRITE ? VMSPACE_ACCESS_WRITE
								    : VMSPACE_ACCESS_READ;
}

/* Areas with these flags are not populated. */
#define NOT_POPULATED (VMA_LOCKONFAULT | VMA_SPECIAL_FLAGS)

long lock_reserve(struct vmspace *space, struct vma *vma, vma_flags_t flags, unsigned long start,
		  unsigned long end, unsigned long delta, bool fresh)
{
	struct vma then = { .flags = flags };

	if (!space->pages || (flags & NOT_POPULATED) || start == end)
		return 0;
	if (!(flags & VMA_ACCESS_FLAGS))
		return 1;
	return touch_reserve(space, vma, flags, start, end, populate_access(&then), delta, fresh);
}

/* With any right at all; but a protection key may deny it. */
static bool is_readable(const struct vmspace *space, const struct vma *vma)
{
	return vma->flags & VMA_ACCESS_FLAGS && pkey_permits(space, vma, VMSPACE_ACCESS_READ);
}

/* What is locked on fault is not populated, but in some versions it has to be readable, too. */
static bool is_passed(struct vmspace *space, const struct vma *vma)
{
	if (vma->flags & (VMA_IO | VMA_PFNMAP))
		return true;
	return vma->flags & VMA_LOCKONFAULT &&
	       (is_readable(space, vma) || !rule_decides(space, RULE_ONFAULT_READABLE));
}

static long populate(struct vmspace *space, unsigned long start, unsigned long end, bool failed)
{
	long err;

	while (start < end) {
		struct vma *vma = find_at(space, start);

		if (!vma)
			return -ENOMEM;
		if (is_passed(space, vma)) {
			start = vma->end;
			continue;
		}
		if (!is_readable(space, vma) || vma->dropped)
			return -ENOMEM;
		if (populate_writes(space, vma, start, failed))
			vma = anon_vma_prepare(space, vma);
		if (!vma)
			return -ENOMEM;
		if (!(vma->flags & VMA_SPECIAL_FLAGS)) {
			err = touch_range(space, vma, start, vma->end < end ? vma->end : end,
					  populate_access(vma));
			if (err)
				return err;
		}
		start = vma->end;
	}
	return 0;
}

/* Callers ignore the result: the host's result of their call is not about populating. */
long lock_populate(struct vmspace *space, unsigned long start, unsigned long end)
{
	return populate(space, start, end, false);
}

static long set_part(struct edit_span *span, vma_flags_t lock)
{
	const struct vma *vma = span->vma;
	struct edit_attrs want = edit_attrs_of(vma);
	bool relocked;
	long err;

	want.flags = (want.flags & ~VMA_LOCK_FLAGS) | lock;
	if (want.flags == vma->flags || never_locked(vma))
		return 0;
	relocked = (want.flags ^ vma->flags) & VMA_LOCKED;
	err = edit_change(span, &want);
	if (!err && relocked)
		account_relocked(span->space, space_pages(span->space, span->to - span->from),
				 lock ? 1 : -1);
	return err;
}

static long set_range(struct vmspace *space, unsigned long start, unsigned long end,
		      vma_flags_t lock)
{
	struct edit_span span;
	long err;

	if (end < start)
		return -EINVAL;
	if (end == start)
		return 0;
	edit_span_init(&span, space, start, end);
	span.changes = VMA_LOCK_FLAGS;
	while (edit_next(&span) && !span.hole) {
		err = set_part(&span, lock);
		if (err)
			return err;
	}
	return span.hole ? -ENOMEM : 0;
}

/* A range that wraps around, which is refused later, has none. */
static unsigned long locked_pages(const struct vmspace *space, unsigned long start,
				  unsigned long end)
{
	MA_STATE(mas, (struct maple_tree *)&space->tree, start, start);
	unsigned long pages = 0;
	const struct vma *vma;

	if (end <= start)
		return 0;
	mas_for_each(&mas, vma, end - 1) {
		unsigned long from = vma->start > start ? vma->start : start;
		unsigned long to = vma->end < end ? vma->end : end;

		if (vma->flags & VMA_LOCKED)
			pages += space_pages(space, to - from);
	}
	return pages;
}

static long check_limit(struct vmspace *space, unsigned long start, unsigned long length)
{
	const struct vmspace_config *c = &space->config;
	unsigned long pages = space_pages(space, length);

	if (c->lock_privileged || c->rlimit_memlock == VMSPACE_NO_LIMIT)
		return 0;
	if (space->locked_vm + pages <= space_pages(space, c->rlimit_memlock))
		return 0;
	pages -= locked_pages(space, start, start + length);
	if (space->locked_vm + pages <= space_pages(space, c->rlimit_memlock))
		return 0;
	return outcome_limit(space, -ENOMEM, "RLIMIT_MEMLOCK reached");
}

static bool may_lock_at_all(const struct vmspace *space)
{
	return space->config.lock_privileged || space->config.rlimit_memlock;
}

static void round_range(const struct vmspace *space, unsigned long *start, unsigned long *length)
{
	*length = space_ceil(space, *length + (*start & (space->config.page_size - 1)));
	*start = space_floor(space, *start);
}

static vma_flags_t locked_flags(const struct vma *vma, vma_flags_t lock)
{
	return never_locked(vma) ? vma->flags : (vma->flags & ~VMA_LOCK_FLAGS) | lock;
}

/* Reserve for populating the range, as far as that will get. */
static long reserve_range(struct vmspace *space, unsigned long start, unsigned long end,
			  vma_flags_t lock)
{
	struct edit_span span;
	long err = 0;

	if (!space->pages || end <= start)
		return 0;
	edit_span_init(&span, space, start, end);
	while (!err && edit_next(&span) && !span.hole)
		err = lock_reserve(space, span.vma, locked_flags(span.vma, lock), span.from,
				   span.to, 0, false);
	return err < 0 ? err : 0;
}

long lock_call(struct vmspace *space, struct vmspace_request *req)
{
	unsigned long start = req->mlock.addr, length = req->mlock.length;
	vma_flags_t lock = VMA_LOCKED;
	long err = 0;

	if (req->mlock.mlock2 && (req->mlock.flags & ~(int)MLOCK_ONFAULT))
		return -EINVAL;
	if (req->mlock.mlock2 && req->mlock.flags)
		lock |= VMA_LOCKONFAULT;
	if (!may_lock_at_all(space))
		err = outcome_limit(space, -EPERM, "RLIMIT_MEMLOCK is 0");
	if (err)
		return err;
	round_range(space, &start, &length);
	err = check_limit(space, start, length);
	if (!err)
		err = reserve_range(space, start, start + length, lock);
	if (!err)
		err = set_range(space, start, start + length, lock);
	if (err)
		return err;
	/* With MLOCK_ONFAULT, too: areas that cannot be locked do not have VMA_LOCKONFAULT. */
	err = populate(space, start, start + length, space->host_error);
	if (err == -EFAULT)
		err = outcome_fail(space, -ENOMEM, "a page cannot be made present: a guard, or the "
						   "end of a file");
	if (space->host_error == -ENOMEM || space->host_error == -EAGAIN)
		return outcome_fail(space, space->host_error,
				    "the host could not make pages present");
	return err;
}

long unlock_call(struct vmspace *space, struct vmspace_request *req)
{
	unsigned long start = req->mlock.addr, length = req->mlock.length;

	round_range(space, &start, &length);
	return set_range(space, start, start + length, 0);
}

/* Errors of single areas are ignored. 0, or -ENOMEM: no memory, and nothing has changed. */
static long set_all(struct vmspace *space, vma_flags_t lock)
{
	struct edit_span span;

	edit_span_init(&span, space, 0, ULONG_MAX);
	span.changes = VMA_LOCK_FLAGS;
	while (edit_next(&span))
		if (set_part(&span, lock) == -ENOMEM && space->out->out_of_memory)
			return -ENOMEM;
	return 0;
}

/* Reserve for populate_all(). */
static long reserve_all_pages(struct vmspace *space, vma_flags_t lock)
{
	struct edit_span span;
	long err = 0;

	if (!space->pages)
		return 0;
	edit_span_init(&span, space, 0, ULONG_MAX);
	while (err >= 0 && edit_next(&span))
		err = lock_reserve(space, span.vma, locked_flags(span.vma, lock), span.from,
				   span.to, 0, false);
	return err < 0 ? err : 0;
}

static void populate_all(struct vmspace *space)
{
	struct vma *vma;

	for (vma = find_first(space, 0); vma; vma = find_first(space, vma->end))
		if (!(vma->flags & VMA_LOCKONFAULT))
			lock_populate(space, vma->start, vma->end);
}

long lock_all_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_config *c = &space->config;
	int flags = req->mlockall.flags;
	vma_flags_t lock = VMA_LOCKED | (flags & MCL_ONFAULT ? VMA_LOCKONFAULT : 0);
	long err = 0;

	if (!flags || (flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) || flags == MCL_ONFAULT)
		return -EINVAL;
	if (!may_lock_at_all(space))
		err = outcome_limit(space, -EPERM, "RLIMIT_MEMLOCK is 0");
	else if ((flags & MCL_CURRENT) && !c->lock_privileged &&
		 c->rlimit_memlock != VMSPACE_NO_LIMIT &&
		 space->total_vm > space_pages(space, c->rlimit_memlock))
		err = outcome_limit(space, -ENOMEM, "RLIMIT_MEMLOCK reached");
	if (err)
		return err;
	if (flags & MCL_CURRENT) {
		err = reserve_all_pages(space, lock);
		if (!err)
			err = set_all(space, lock);
	}
	if (err)
		return err;
	space->default_flags = flags & MCL_FUTURE ? lock : 0;
	if (flags & MCL_CURRENT)
		populate_all(space);
	return 0;
}

long unlock_all_call(struct vmspace *space, struct vmspace_request *req)
{
	long err = set_all(space, 0);

	(void)req;
	if (!err)
		space->default_flags = 0;
	return err;
}
