/* SPDX-License-Identifier: MIT */
/* advise.c - madvise: advice that changes flags of areas, or drops or populates pages. */
#include <errno.h>
#include <limits.h>

#include "anon_vma.h"
#include "change.h"
#include "edit.h"
#include "find.h"
#include "mman_names.h"
#include "ops.h"
#include "outcome.h"
#include "pages.h"
#include "pkey.h"
#include "store.h"
#include "sync.h"
#include "touch.h"
#include "window.h"

#define RANGES_MAX 1024 /* IOV_MAX */

static bool known(struct vmspace *space, int advice)
{
	switch (advice) {
	case MADV_MERGEABLE:
	case MADV_UNMERGEABLE:
		return space->config.ksm;
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
		return space->config.pmd_size;
	case MADV_COLLAPSE:
		return space->config.pmd_size && rule_decides(space, RULE_COLLAPSE);
	case MADV_POPULATE_READ: case MADV_POPULATE_WRITE:
		return rule_decides(space, RULE_POPULATE);
	case MADV_DONTNEED_LOCKED:
		return rule_decides(space, RULE_DONTNEED_LOCKED);
	case MADV_NORMAL: case MADV_RANDOM: case MADV_SEQUENTIAL: case MADV_WILLNEED:
	case MADV_DONTNEED: case MADV_FREE: case MADV_REMOVE: case MADV_DONTFORK:
	case MADV_DOFORK: case MADV_DONTDUMP: case MADV_DODUMP: case MADV_WIPEONFORK:
	case MADV_KEEPONFORK: case MADV_COLD: case MADV_PAGEOUT: case MADV_HWPOISON:
	case MADV_SOFT_OFFLINE:
		return true;
	case MADV_GUARD_INSTALL: case MADV_GUARD_REMOVE:
		return rule_decides(space, RULE_GUARDS);
	default:
		return false;
	}
}

static bool mergeable(const struct vma *vma)
{
	return !(vma->flags & (VMA_SHARED | VMA_MAYSHARE | VMA_SPECIAL_FLAGS | VMA_HUGETLB |
			       VMA_DROPPABLE));
}

/* The kernel's own mappings are of no file. */
static bool has_file(const struct vma *vma)
{
	return vma->backing && vma->backing->is.kind != VMA_BACKING_SPECIAL;
}

/* Is the area such that MADV_DOFORK is refused? */
static bool never_forked(struct vmspace *space, const struct vma *vma)
{
	if (vma->flags & VMA_IO)
		return true;
	return (vma->flags & VMA_SPECIAL_FLAGS) && rule_decides(space, RULE_DOFORK_NOT_SPECIAL);
}

/* Apply the advice to *flags. 0 or -errno. */
static long new_flags(struct vmspace *space, const struct vma *vma, int advice,
		      vma_flags_t *flags)
{
	switch (advice) {
	case MADV_NORMAL:
		*flags &= ~(VMA_RAND_READ | VMA_SEQ_READ);
		return 0;
	case MADV_SEQUENTIAL:
		*flags = (*flags & ~VMA_RAND_READ) | VMA_SEQ_READ;
		return 0;
	case MADV_RANDOM:
		*flags = (*flags & ~VMA_SEQ_READ) | VMA_RAND_READ;
		return 0;
	case MADV_DONTFORK:
		*flags |= VMA_DONTCOPY;
		return 0;
	case MADV_DOFORK:
		*flags &= ~VMA_DONTCOPY;
		return never_forked(space, vma) ? -EINVAL : 0;
	case MADV_WIPEONFORK:
		*flags |= VMA_WIPEONFORK;
		return has_file(vma) || (vma->flags & VMA_SHARED) ? -EINVAL : 0;
	case MADV_KEEPONFORK:
		*flags &= ~VMA_WIPEONFORK;
		return vma->flags & VMA_DROPPABLE ? -EINVAL : 0;
	case MADV_DONTDUMP:
		*flags |= VMA_DONTDUMP;
		return 0;
	case MADV_DODUMP:
		*flags &= ~VMA_DONTDUMP;
		if (vma->flags & VMA_DROPPABLE)
			return -EINVAL;
		return (vma->flags & VMA_SPECIAL_FLAGS) && !(vma->flags & VMA_HUGETLB) ? -EINVAL
										       : 0;
	case MADV_MERGEABLE:
		*flags |= mergeable(vma) ? VMA_MERGEABLE : 0;
		return 0;
	case MADV_UNMERGEABLE:
		*flags &= mergeable(vma) ? ~VMA_MERGEABLE : ~(vma_flags_t)0;
		return 0;
	case MADV_HUGEPAGE:
		*flags = (*flags & ~VMA_NOHUGEPAGE) | VMA_HUGEPAGE;
		return 0;
	case MADV_NOHUGEPAGE:
		*flags = (*flags & ~VMA_HUGEPAGE) | VMA_NOHUGEPAGE;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Of the pages that the present part is made of. */
static unsigned long huge_size(const struct edit_span *span)
{
	return vma_huge_size(span->vma->backing, span->space->config.pmd_size);
}

/* Is MADV_REMOVE allowed here? 0 or -errno. */
static long check_remove(const struct vma *vma)
{
	if ((vma->flags & VMA_LOCKED) || !has_file(vma))
		return -EINVAL;
	return (vma->flags & (VMA_SHARED | VMA_MAYWRITE)) == (VMA_SHARED | VMA_MAYWRITE) ? 0
											  : -EACCES;
}

/* Is the advice allowed here? Some gives the area an anon_vma; no flags change. */
static long check_pages(struct edit_span *span, int advice)
{
	struct vmspace *space = span->space;
	struct vma *vma = span->vma;

	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		if ((vma->flags & VMA_PFNMAP) ||
		    ((vma->flags & VMA_HUGETLB) && (!rule_decides(space, RULE_DONTNEED_HUGE) ||
						    span->from & (huge_size(span) - 1))))
			return -EINVAL;
		return (vma->flags & VMA_LOCKED) && advice == MADV_DONTNEED ? -EINVAL : 0;
	case MADV_FREE:
		return vma->backing || (vma->flags & (VMA_LOCKED | VMA_PFNMAP | VMA_HUGETLB))
			       ? -EINVAL : 0;
	case MADV_REMOVE:
		return check_remove(vma);
	case MADV_COLD:
	case MADV_PAGEOUT:
		return vma->flags & (VMA_LOCKED | VMA_PFNMAP | VMA_HUGETLB) ? -EINVAL : 0;
	case MADV_GUARD_INSTALL:
		if (vma->flags & (VMA_SPECIAL_FLAGS | VMA_HUGETLB | VMA_LOCKED))
			return -EINVAL;
		if (vma->backing && !rule_decides(space, RULE_GUARDS_IN_FILES))
			return -EINVAL;
		if (!vma->backing || !rule_decides(space, RULE_GUARD_FLAG))
			span->vma = anon_vma_prepare_guard(space, vma);
		return span->vma ? 0 : -ENOMEM;
	case MADV_GUARD_REMOVE:
		if (vma->backing && !rule_decides(space, RULE_GUARDS_IN_FILES))
			return -EINVAL;
		return vma->flags & (VMA_SPECIAL_FLAGS | VMA_HUGETLB) ? -EINVAL : 0;
	default:
		return 0;
	}
}

/* A driver's pages go that do not come back. */
static long mark_dropped(struct edit_span *span)
{
	struct vma *changed;

	if (span->vma->dropped)
		return 0;
	changed = change_begin(span->space, span->vma);
	if (!changed)
		return -ENOMEM;
	changed->dropped = true;
	change_end(span->space, span->vma, changed);
	span->vma = changed;
	return 0;
}

static long drop_pages(struct edit_span *span, bool reclaim)
{
	struct pages *pages = span->space->pages;
	unsigned long to = span->to;

	/* A huge page goes as a whole, or not at all. */
	if (span->vma->flags & VMA_HUGETLB)
		to &= ~(huge_size(span) - 1);
	sync_write_lock(span->space, span->vma);
	/* [vvar] gets its pages again. */
	if (to > span->from && span->vma->flags & VMA_MIXEDMAP && !vma_is_kernels(span->vma) &&
	    mark_dropped(span))
		return -ENOMEM;
	if (!pages || to <= span->from)
		return 0;
	pages_zap(pages, span->from, to);
	if (reclaim)
		pages_reclaim(pages, span->from, to);
	return 0;
}

/* Of the file, or other object: the page that the present part begins with. */
static uint64_t first_index(const struct edit_span *span)
{
	return span->vma->pgoff + space_pages(span->space, span->from - span->vma->start);
}

/* Pages go, of all that map them, and of the file. */
static long remove_pages(struct edit_span *span)
{
	struct vmspace *space = span->space;
	long err = drop_pages(span, false);

	if (err || !space->pages)
		return err;
	err = window_make_hole(space->config.memory, &span->vma->backing->is, first_index(span),
			       span->to - span->from);
	return err ? outcome_fail(space, err, "refused by the file") : 0;
}

/* Make sure that memory suffices for remove_pages() of [start, end). 0 or -ENOMEM. */
static long prepare_holes(struct vmspace *space, unsigned long start, unsigned long end)
{
	struct edit_span span;
	int err = 0;

	if (!space->pages || end <= start || !space_aligned(space, start))
		return 0;
	edit_span_init(&span, space, start, end);
	while (!err && edit_next(&span) && !check_remove(span.vma)) {
		sync_write_lock(space, span.vma);
		err = window_prepare_hole(space->config.memory, &span.vma->backing->is,
					  first_index(&span), span.from, span.to - span.from);
	}
	return err ? outcome_no_memory(space) : 0;
}

/* Guards are being installed somewhere in @vma. */
static long flag_guards(struct vmspace *space, struct vma *vma)
{
	struct vma *changed;

	if (!rule_decides(space, RULE_GUARD_FLAG) || (vma->flags & VMA_MAYBE_GUARD))
		return 0;
	changed = change_begin(space, vma);
	if (!changed)
		return -ENOMEM;
	changed->flags |= VMA_MAYBE_GUARD;
	change_end(space, vma, changed);
	outcome_event(space, VMSPACE_EVENT_CHANGE, changed->start, changed->end, 0);
	return 0;
}

/* Apply advice that is about pages to a part. */
static long advise_pages(struct edit_span *span, int advice)
{
	struct vmspace *space = span->space;
	long err = check_pages(span, advice);

	if (err)
		return err;
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		return drop_pages(span, space->config.pt_reclaim);
	case MADV_FREE:
		return drop_pages(span, false);
	case MADV_REMOVE:
		return remove_pages(span);
	case MADV_GUARD_INSTALL:
		sync_write_lock(space, span->vma);
		err = flag_guards(space, span->vma);
		if (err)
			return err;
		if (space->pages && pages_guard(space->pages, span->from, span->to))
			return outcome_no_memory(space);
		return 0;
	case MADV_GUARD_REMOVE:
		sync_write_lock(space, span->vma);
		if (space->pages)
			pages_unguard(space->pages, span->from, span->to);
		return 0;
	default:
		return 0;
	}
}

/* Advice that discards the content of pages. */
static bool discards(int advice)
{
	switch (advice) {
	case MADV_DONTNEED: case MADV_DONTNEED_LOCKED: case MADV_FREE: case MADV_REMOVE:
	case MADV_DONTFORK: case MADV_WIPEONFORK: case MADV_GUARD_INSTALL:
		return true;
	default:
		return false;
	}
}

/* In a sealed area, anonymous pages that are not writable must not be discarded. */
static bool sealed_against(struct vmspace *space, const struct vma *vma, int advice)
{
	return (vma->flags & VMA_SEALED) && discards(advice) && !(vma->flags & VMA_WRITE) &&
	       (!vma->backing ||
		(vma_is_kernels(vma) && rule_decides(space, RULE_SEAL_SPECIAL)));
}

static bool changes_flags(int advice)
{
	switch (advice) {
	case MADV_NORMAL: case MADV_RANDOM: case MADV_SEQUENTIAL: case MADV_DONTFORK:
	case MADV_DOFORK: case MADV_DONTDUMP: case MADV_DODUMP: case MADV_WIPEONFORK:
	case MADV_KEEPONFORK: case MADV_MERGEABLE: case MADV_UNMERGEABLE: case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
		return true;
	default:
		return false;
	}
}

static long advise_part(struct edit_span *span, void *arg)
{
	struct vmspace *space = span->space;
	struct vma *vma = span->vma;
	struct edit_attrs want = edit_attrs_of(vma);
	int advice = *(int *)arg;
	long err;

	if (sealed_against(space, vma, advice))
		return outcome_fail(space, -EPERM, "the area is sealed");
	if (!changes_flags(advice))
		return advise_pages(span, advice);
	err = new_flags(space, vma, advice, &want.flags);
	if (err || want.flags == vma->flags)
		return err;
	if (advice == MADV_UNMERGEABLE && rule_decides(space, RULE_UNMERGEABLE_DROPS)) {
		want.flags &= ~VMA_SEALED;
		want.tags.pkey = 0;
	}
	err = edit_change(span, &want);
	if (err != -ENOMEM || space->out->out_of_memory)
		return err;
	return rule_decides(space, RULE_ADVISE_COUNT_ERROR) ? -ENOMEM : -EAGAIN;
}

/* Flags that advice may change. */
#define ADVISED (VMA_RAND_READ | VMA_SEQ_READ | VMA_DONTCOPY | VMA_WIPEONFORK | VMA_DONTDUMP | \
		 VMA_MERGEABLE | VMA_HUGEPAGE | VMA_NOHUGEPAGE | VMA_SEALED)

/* Can the area be populated by this advice? */
static bool may_populate(const struct vma *vma, int advice)
{
	return !(vma->flags & (VMA_PFNMAP | VMA_IO)) &&
	       (vma->flags & (advice == MADV_POPULATE_WRITE ? VMA_WRITE : VMA_READ));
}

/* Advice that creates page tables, and perhaps pages. */
static bool makes_tables(int advice)
{
	return advice == MADV_GUARD_INSTALL || advice == MADV_POPULATE_READ ||
	       advice == MADV_POPULATE_WRITE;
}

/* Advice that changes areas without edit_change(), where that takes memory. */
static bool copies_areas(const struct vmspace *space, int advice)
{
	return (advice == MADV_GUARD_INSTALL && !past_is_private(space)) ||
	       (advice == MADV_POPULATE_WRITE && space->origin);
}

/* Reserve the page tables and frames that advice on [start, end) is going to need. */
static long reserve_pages(struct vmspace *space, unsigned long start, unsigned long end, int advice)
{
	unsigned int access = advice == MADV_POPULATE_WRITE ? VMSPACE_ACCESS_WRITE
							    : VMSPACE_ACCESS_READ;
	bool guard = advice == MADV_GUARD_INSTALL;
	struct edit_span span;
	long err = 0;

	if (!space->pages || end <= start || !space_aligned(space, start))
		return 0;
	store_reserve_pages(space);
	edit_span_init(&span, space, start, end);
	while (!err && edit_next(&span)) {
		if (guard)
			err = pages_reserve_tables(space->pages, span.from, span.to);
		else if ((span.hole && rule_decides(space, RULE_POPULATE_STOPS)) ||
			 !may_populate(span.vma, advice))
			break;
		else
			err = touch_reserve(space, span.vma, span.vma->flags, span.from, span.to,
					    access, 0, false);
	}
	return err < 0 ? outcome_no_memory(space) : 0;
}

/*
 * Populating ends with an error because of the areas. Where some were populated before, it may have
 * ended there already, at a page that the host did not have.
 */
static long populate_error(struct vmspace *space, bool some, long err)
{
	return some && space->host_error && space->host_error != err
		       ? outcome_fail(space, space->host_error, "refused by the host")
		       : err;
}

static long populate(struct vmspace *space, unsigned long start, unsigned long end, int advice)
{
	bool write = advice == MADV_POPULATE_WRITE, hole = false, some = false;
	long err;

	while (start < end) {
		struct vma *vma = find_at(space, start);

		if (!vma && !rule_decides(space, RULE_POPULATE_STOPS)) {
			hole = true;
			vma = find_first(space, start);
			start = vma ? vma->start : end;
			continue;
		}
		if (!vma)
			return populate_error(space, some, -ENOMEM);
		if (!may_populate(vma, advice) ||
		    !pkey_permits(space, vma, VMSPACE_ACCESS_READ))
			return populate_error(space, some, -EINVAL);
		/*
		 * It is not known at which page the host failed: it will be asked when it matters.
		 */
		if (write && !(space->config.host.has_anon && space->host_error) &&
		    !touch_meets_guard(space, vma, start))
			vma = anon_vma_prepare(space, vma);
		if (!vma)
			return -ENOMEM;
		err = touch_range(space, vma, start, vma->end < end ? vma->end : end,
				  write ? VMSPACE_ACCESS_WRITE : VMSPACE_ACCESS_READ);
		if (err)
			return err;
		start = vma->end;
		some = true;
	}
	return hole ? populate_error(space, some, -ENOMEM) : 0;
}

/* How much of range i is processed, after so many bytes: as read(), a call stops below 2 GiB. */
static unsigned long range_bytes(const struct vmspace *space,
				 const struct vmspace_process_madvise *m, size_t i,
				 unsigned long before)
{
	unsigned long left = space_floor(space, INT_MAX) - before;

	return m->ranges[i].length < left ? m->ranges[i].length : left;
}

/*
 * Ranges beyond the address space are refused before anything is done. A single one is shortened
 * first, but for the oldest versions.
 */
static long check_ranges(struct vmspace *space, const struct vmspace_process_madvise *m)
{
	unsigned long size = space->config.task_size;

	if (m->flags || m->count > RANGES_MAX)
		return -EINVAL;
	for (size_t i = 0; i < m->count; i++) {
		unsigned long length = m->ranges[i].length;

		if (length > LONG_MAX)
			return -EINVAL;
		if (m->count == 1 && !rule_decides(space, RULE_ADVISE_UNSHORTENED))
			length = range_bytes(space, m, 0, 0);
		if (length > size || m->ranges[i].addr > size - length)
			return -EFAULT;
	}
	return 0;
}

/* Reserve for all ranges before the first is processed. */
static long reserve_all(struct vmspace *space, const struct vmspace_process_madvise *m)
{
	unsigned long stores = 0, areas = 0, bytes = 0;
	long err = 0;

	for (size_t i = 0; !err && i < m->count; i++) {
		unsigned long start = m->ranges[i].addr, length = range_bytes(space, m, i, bytes);
		unsigned long end = start + space_ceil(space, length);

		bytes += length;
		if (end <= start)
			continue;
		if (changes_flags(m->advice) || copies_areas(space, m->advice))
			edit_count(space, start, end, ADVISED, &stores, &areas);
		if (makes_tables(m->advice))
			err = reserve_pages(space, start, end, m->advice);
		else if (m->advice == MADV_REMOVE)
			err = prepare_holes(space, start, end);
	}
	if (err || !stores)
		return err;
	return store_reserve_call(space, stores, 2 * areas);
}

/* One madvise(), arguments not checked yet. */
static long advise(struct vmspace *space, unsigned long start, unsigned long bytes, int advice)
{
	unsigned long length = space_ceil(space, bytes);
	long result;

	if (!known(space, advice) || !space_aligned(space, start))
		return -EINVAL;
	if ((bytes && !length) || start + length < start)
		return -EINVAL;
	if (!length)
		return 0;
	if (advice == MADV_HWPOISON || advice == MADV_SOFT_OFFLINE)
		return space->host_error || space->config.admin ? space->host_error :
			       outcome_limit(space, -EPERM, "it takes CAP_SYS_ADMIN");
	/* Where it stops, and why, depends on pages that are not known. */
	if (advice == MADV_COLLAPSE && space->host_error)
		return outcome_fail(space, space->host_error, "refused by the host");
	if (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE)
		result = populate(space, start, start + length, advice);
	else
		result = edit_each(space, start, start + length, ADVISED, advise_part, &advice);
	/* Errors about pages or the file (EIO, EBUSY ...) do not concern areas. */
	if (!result && space->host_error && !changes_flags(advice))
		return outcome_fail(space, space->host_error, "refused by the host");
	return result;
}

long advise_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_madvise *m = &req->madvise;
	unsigned long end = m->addr + space_ceil(space, m->length), stores = 0, areas = 0;
	long err = 0;

	if (makes_tables(m->advice))
		err = reserve_pages(space, m->addr, end, m->advice);
	else if (m->advice == MADV_REMOVE)
		err = prepare_holes(space, m->addr, end);
	if (!err && copies_areas(space, m->advice) && end > m->addr) {
		edit_count(space, m->addr, end, 0, &stores, &areas);
		/* An inherited one, that snapshots show as well, is copied twice. */
		err = store_reserve_call(space, stores, 2 * areas);
	}
	return err ? err : advise(space, m->addr, m->length, m->advice);
}

/* Some advice process_madvise() takes whosever memory it is about, other only for the own. */
static bool takes_advice(struct vmspace *space, int advice)
{
	if (advice == MADV_WILLNEED)
		return rule_decides(space, RULE_ADVISE_WILLNEED);
	return advice == MADV_COLD || advice == MADV_PAGEOUT || advice == MADV_COLLAPSE ||
	       rule_decides(space, RULE_ADVISE_SELF);
}

/* An error counts only if nothing was advised before it. */
long process_advise_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_process_madvise *m = &req->process_madvise;
	unsigned long done = 0, total = 0;
	long err = check_ranges(space, m);

	if (!err && (!takes_advice(space, m->advice) ||
		     (!known(space, m->advice) && rule_decides(space, RULE_ADVISE_CHECKED))))
		err = -EINVAL;
	else if (!err && !space->config.move_all_privileged &&
		 rule_decides(space, RULE_ADVISE_PRIVILEGED))
		err = outcome_limit(space, -EPERM, "process_madvise takes CAP_SYS_NICE");
	if (err)
		return err;
	for (size_t i = 0; i < m->count; i++)
		total += range_bytes(space, m, i, total);
	err = m->count ? reserve_all(space, m) : 0;
	if (err)
		return err;
	for (size_t i = 0; i < m->count; i++) {
		unsigned long bytes = range_bytes(space, m, i, done);

		/* Empty ranges at the end are skipped, and in most versions all but the first. */
		if (!bytes &&
		    (done == total || (i && !rule_decides(space, RULE_ADVISE_EMPTY))))
			continue;
		err = advise(space, m->ranges[i].addr, bytes, m->advice);
		if (err)
			return done ? (long)done : err;
		done += bytes;
	}
	return (long)done;
}
