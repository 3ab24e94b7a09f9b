/* SPDX-License-Identifier: MIT */
/* uffd.c - userfaultfd: UFFDIO_REGISTER, UFFDIO_UNREGISTER, and closing a userfaultfd. */
#include <errno.h>
#include <linux/userfaultfd.h>

#include "accounting.h"
#include "change.h"
#include "edit.h"
#include "ops.h"
#include "outcome.h"

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

#define MODES_ALL (UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP | \
		   UFFDIO_REGISTER_MODE_MINOR)

static vma_flags_t mode_flags(uint64_t mode)
{
	return (mode & UFFDIO_REGISTER_MODE_MISSING ? VMA_UFFD_MISSING : 0) |
	       (mode & UFFDIO_REGISTER_MODE_WP ? VMA_UFFD_WP : 0) |
	       (mode & UFFDIO_REGISTER_MODE_MINOR ? VMA_UFFD_MINOR : 0);
}

static long check_range(const struct vmspace *space, const struct vmspace_uffd *args)
{
	const struct vmspace_config *c = &space->config;

	if (!args->context || args->context > VMSPACE_UFFD_CONTEXT_MAX)
		return -EINVAL;
	if (!space_aligned(space, args->addr) || !space_aligned(space, args->length) ||
	    !args->length || args->addr >= c->task_size || args->length > c->task_size - args->addr)
		return -EINVAL;
	if (args->addr < c->mmap_min_addr && !rule_decides(space, RULE_UFFD_LOW))
		return -EINVAL;
	return 0;
}

static bool is_hugetlb(const struct vma *vma)
{
	return vma->backing && vma->backing->is.kind == VMA_BACKING_HUGETLB;
}

/* Are its pages those of shared memory, like a memfd's? A System V segment does not count. */
static bool is_shmem(const struct vma *vma)
{
	const struct vma_backing *is;

	if (!vma->backing)
		return false;
	is = &vma->backing->is;
	return is->kind == VMA_BACKING_SHMEM ||
	       (is->kind == VMA_BACKING_FILE && is->flags & VMA_BACKING_TMPFS);
}

/* Memory of the kernel's or a driver's. */
static bool is_foreign(const struct vma *vma)
{
	return vma->flags & VMA_SPECIAL_FLAGS && !is_hugetlb(vma);
}

/* A private mapping of /dev/zero is anonymous memory. */
static bool is_anon(const struct vma *vma)
{
	return !vma->backing || (vma->backing->is.kind == VMA_BACKING_FILE &&
				 vma->backing->is.flags & VMA_BACKING_MOVE_ALONE &&
				 !(vma->flags & VMA_SHARED));
}

/* Does Linux let such an area be registered in these modes? */
static bool can_register(const struct vmspace *space, const struct vma *vma, vma_flags_t modes,
			 const struct vmspace_uffd *args)
{
	bool pages_of_memory = is_hugetlb(vma) || is_shmem(vma);
	bool protects_alone = args->features & UFFD_FEATURE_WP_ASYNC && modes == VMA_UFFD_WP;

	if (vma->flags & VMA_DROPPABLE && rule_decides(space, RULE_UFFD_NO_DROPPABLE))
		return false;
	if (is_foreign(vma))
		return protects_alone && rule_decides(space, RULE_UFFD_TAKES_SPECIAL);
	if (modes & VMA_UFFD_MINOR && !pages_of_memory)
		return false;
	if (modes & VMA_UFFD_WP && pages_of_memory && !rule_decides(space, RULE_UFFD_WP_FILES))
		return false;
	if (protects_alone)
		return true;
	return pages_of_memory || is_anon(vma);
}

static unsigned long huge_size(const struct vmspace *space, const struct vma *vma)
{
	unsigned long size = vma->backing->is.huge_size;

	return size ? size : space->config.pmd_size ? space->config.pmd_size : 1UL << 21;
}

/* Huge pages are registered as a whole. */
static bool cuts_huge_page(const struct vmspace *space, const struct vma *vma, unsigned long at)
{
	return is_hugetlb(vma) && at > vma->start && at < vma->end &&
	       at & (huge_size(space, vma) - 1);
}

/* Is it registered with another userfaultfd? (Not known of an area that was taken over.) */
static bool is_taken(const struct vma *vma, const struct vmspace_uffd *args)
{
	return vma->tags.uffd && vma->tags.uffd != args->context;
}

/* Would the area no longer be write protected by its userfaultfd? Some versions refuse that. */
static bool loses_protection(const struct vmspace *space, const struct vma *vma,
			     const struct vmspace_uffd *args)
{
	return (vma->flags & VMA_UFFD_WP) && !(args->mode & UFFDIO_REGISTER_MODE_WP) &&
	       rule_decides(space, RULE_UFFD_KEEPS_WP);
}

static long check_part(const struct edit_span *span, const struct vmspace_uffd *args, bool add)
{
	const struct vma *vma = span->vma;

	vma_flags_t modes = add ? mode_flags(args->mode) : vma->flags & VMA_UFFD_FLAGS;

	if (!can_register(span->space, vma, modes, args))
		return -EINVAL;
	if (add && !(vma->flags & VMA_MAYWRITE))
		return -EPERM;
	if (add && cuts_huge_page(span->space, vma, span->to))
		return -EINVAL;
	if (add && loses_protection(span->space, vma, args))
		return -EBUSY;
	if (!is_taken(vma, args))
		return 0;
	if (add)
		return -EBUSY;
	return rule_decides(span->space, RULE_UFFD_OWN_ONLY) ? -EINVAL : 0;
}

/* The error of a range in which nothing is mapped. */
static long nothing_there(struct vmspace *space, const struct vmspace_uffd *args)
{
	return !find_first(space, args->addr) && rule_decides(space, RULE_UFFD_NOTHING_ABOVE) ?
		       -ENOMEM : -EINVAL;
}

/* Linux checks the whole range before it changes any of it. */
static long check_areas(struct vmspace *space, const struct vmspace_uffd *args, bool add)
{
	struct edit_span span;
	bool first = true;
	long err;

	edit_span_init(&span, space, args->addr, args->addr + args->length);
	while (edit_next(&span)) {
		if (first && is_hugetlb(span.vma) &&
		    args->addr & (huge_size(space, span.vma) - 1))
			return -EINVAL;
		first = false;
		err = check_part(&span, args, add);
		if (err)
			return err;
	}
	return first ? nothing_there(space, args) : 0;
}

static long register_part(struct edit_span *span, const struct vmspace_uffd *args)
{
	struct edit_attrs want = edit_attrs_of(span->vma);
	vma_flags_t modes = mode_flags(args->mode);

	if (span->vma->tags.uffd == args->context && (want.flags & modes) == modes)
		return 0;
	want.flags = (want.flags & ~VMA_UFFD_FLAGS) | modes;
	want.tags.uffd = args->context & VMSPACE_UFFD_CONTEXT_MAX;
	want.tags.uffd_moves = args->features & UFFD_FEATURE_EVENT_REMAP;
	want.tags.uffd_forks = args->features & UFFD_FEATURE_EVENT_FORK;
	return edit_change(span, &want);
}

static long unregister_part(struct edit_span *span)
{
	struct edit_attrs want = edit_attrs_of(span->vma);

	if (!(want.flags & VMA_UFFD_FLAGS))
		return 0;
	if (cuts_huge_page(span->space, span->vma, span->to))
		return -EINVAL;
	want.flags &= ~VMA_UFFD_FLAGS;
	want.tags = vma_tags_unregistered(want.tags);
	return edit_change(span, &want);
}

/*
 * Is the range's last area one that cannot be cut where the range ends? That shows only when all the
 * others have been changed.
 */
static bool ends_in_refusal(struct vmspace *space, const struct vmspace_uffd *args)
{
	unsigned long end = args->addr + args->length;
	const struct vma *last = find_at(space, end);

	return last && last->start < end && !edit_may_be_split(space, last, end);
}

static long change_areas(struct vmspace *space, const struct vmspace_uffd *args, bool add)
{
	struct edit_span span;
	long err = check_range(space, args);

	if (!err)
		err = check_areas(space, args, add);
	if (err)
		return err;
	if (space->host_error &&
	    !(space->host_error == -EINVAL && ends_in_refusal(space, args)))
		return outcome_fail(space, space->host_error, "refused by the host");
	edit_span_init(&span, space, args->addr, args->addr + args->length);
	span.changes = VMA_UFFD_FLAGS;
	span.by_uffd = true;
	while (!err && edit_next(&span))
		err = add ? register_part(&span, args) : unregister_part(&span);
	return err;
}

long uffd_register_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_uffd *args = &req->uffd;

	if (!args->mode || args->mode & ~(uint64_t)MODES_ALL ||
	    (args->mode & UFFDIO_REGISTER_MODE_MINOR && !rule_decides(space, RULE_UFFD_MINOR)))
		return -EINVAL;
	return change_areas(space, args, true);
}

long uffd_unregister_call(struct vmspace *space, struct vmspace_request *req)
{
	return change_areas(space, &req->uffd, false);
}

long uffd_release_call(struct vmspace *space, struct vmspace_request *req)
{
	struct edit_span span;
	long err = 0;

	if (!req->uffd.context || req->uffd.context > VMSPACE_UFFD_CONTEXT_MAX)
		return -EINVAL;
	edit_span_init(&span, space, 0, space->config.task_size);
	span.changes = VMA_UFFD_FLAGS;
	while (!err && edit_next(&span))
		if (span.vma->tags.uffd == req->uffd.context)
			err = unregister_part(&span);
	return err;
}

long uffd_moved(struct vmspace *space, unsigned long at)
{
	struct vma *vma = find_at(space, at), *changed;
	vma_flags_t flags = vma->flags;

	if (!(flags & VMA_UFFD_FLAGS) || vma->tags.uffd_moves)
		return 0;
	changed = change_begin(space, vma);
	if (!changed)
		return -ENOMEM;
	changed->flags &= ~VMA_UFFD_FLAGS;
	changed->tags = vma_tags_unregistered(changed->tags);
	change_end(space, vma, changed);
	account_area_flags(space, changed, flags);
	outcome_event(space, VMSPACE_EVENT_CHANGE, changed->start, changed->end, 0);
	return 0;
}
