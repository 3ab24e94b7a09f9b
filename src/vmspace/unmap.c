/* SPDX-License-Identifier: MIT */
/* unmap.c - munmap. */
#include <errno.h>

#include "edit.h"
#include "ops.h"
#include "outcome.h"

unsigned long unmap_count(const struct vmspace *space, unsigned long start, unsigned long end,
			  unsigned long *committed, unsigned long *areas)
{
	MA_STATE(mas, (struct maple_tree *)&space->tree, start, start);
	unsigned long pages = 0;
	const struct vma *vma;

	*committed = 0;
	*areas = 0;
	mas_for_each(&mas, vma, end - 1) {
		unsigned long from = vma->start > start ? vma->start : start;
		unsigned long to = vma->end < end ? vma->end : end;

		pages += space_pages(space, to - from);
		++*areas;
		if (vma->flags & VMA_ACCOUNT)
			*committed += space_pages(space, to - from);
	}
	return pages;
}

/* Is any area above the one at *mas sealed, up to `end`? */
static bool sealed_above(struct ma_state mas, unsigned long end)
{
	const struct vma *vma;

	mas_for_each(&mas, vma, end - 1)
		if (vma->flags & VMA_SEALED)
			return true;
	return false;
}

/*
 * If an area further up is sealed, the call fails only after the area at `start` was split; as in
 * Linux, the split stays.
 */
long unmap_areas(struct vmspace *space, unsigned long start, unsigned long end)
{
	MA_STATE(mas, &space->tree, start, start);
	struct vma *first = mas_find(&mas, end - 1);

	if (!first)
		return 0;
	if (start > first->start && end < first->end &&
	    space->areas >= space->config.max_map_count)
		return outcome_fail(space, -ENOMEM, "max_map_count areas: no room for a split");
	if (first->flags & VMA_SEALED)
		return outcome_fail(space, -EPERM, "an area is sealed");
	if (first->end < end && sealed_above(mas, end)) {
		if (first->start < start && edit_split_unchecked(space, first, start))
			return -ENOMEM;
		return outcome_fail(space, -EPERM, "an area is sealed");
	}
	return edit_remove(space, &mas, first, start, end);
}

long unmap_range(struct vmspace *space, unsigned long start, unsigned long length)
{
	const struct vmspace_config *c = &space->config;
	unsigned long end = start + space_ceil(space, length);

	if (!space_aligned(space, start) || start > c->task_size || length > c->task_size - start)
		return -EINVAL;
	if (end == start)
		return -EINVAL;
	return unmap_areas(space, start, end);
}

long unmap_call(struct vmspace *space, struct vmspace_request *req)
{
	/* Linux refuses a munmap as a whole, but for cuts that it made before it met a seal. */
	if (space->host_error && space->host_error != -EPERM)
		return outcome_fail(space, space->host_error, "refused by the host");
	return unmap_range(space, req->munmap.addr, req->munmap.length);
}
