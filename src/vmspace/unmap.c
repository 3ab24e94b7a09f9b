/* SPDX-License-Identifier: MIT */
/* unmap.c - munmap. */
#include <errno.h>

#include "edit.h"
#include "find.h"
#include "host.h"
#include "ops.h"

unsigned long unmap_count(const struct vmspace *space, unsigned long start, unsigned long end,
			  unsigned long *data)
{
	unsigned long pages = 0;
	const struct vma *vma;

	*data = 0;
	for (vma = find_first(space, start); vma && vma->start < end;
	     vma = find_first(space, vma->end)) {
		unsigned long from = vma->start > start ? vma->start : start;
		unsigned long to = vma->end < end ? vma->end : end;

		pages += space_pages(space, to - from);
		if (space_is_data(vma->flags))
			*data += space_pages(space, to - from);
	}
	return pages;
}

/*
 * [start, end) is aligned and inside the address space. A sealed area further up refuses the call
 * only after the area at `start` was cut; Linux leaves the cut, too.
 */
static long remove_range(struct vmspace *space, unsigned long start, unsigned long end)
{
	struct vma *vma = find_first(space, start);
	unsigned long at = start;

	if (!vma || vma->start >= end)
		return 0;
	host_learn(space, start, end);
	if (start > vma->start && end < vma->end &&
	    space->areas >= space->config.max_map_count)
		return space_fail(space, -ENOMEM, "max_map_count areas: no room for a split");
	for (; vma && vma->start < end; vma = find_first(space, at)) {
		if (vma->flags & VMA_SEALED)
			return space_fail(space, -EPERM, "an area is sealed");
		at = vma->end;
		if (vma->start < start && edit_split_unchecked(space, vma, start))
			return -ENOMEM;
	}
	return edit_remove(space, start, end);
}

long unmap_range(struct vmspace *space, unsigned long start, unsigned long length)
{
	const struct vmspace_config *c = &space->config;
	unsigned long end = start + space_ceil(space, length);

	if (!space_aligned(space, start) || start > c->task_size || length > c->task_size - start)
		return -EINVAL;
	if (end == start)
		return -EINVAL;
	return remove_range(space, start, end);
}

long unmap_call(struct vmspace *space, struct vmspace_request *req)
{
	/* Linux refuses a munmap as a whole, but for cuts that it made before it met a seal. */
	if (space->host_error && space->host_error != -EPERM)
		return space_fail(space, space->host_error, "refused by the host");
	return unmap_range(space, req->munmap.addr, req->munmap.length);
}
