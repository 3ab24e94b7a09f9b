/* SPDX-License-Identifier: MIT */
/* unmap.c - munmap. */
#include <errno.h>

#include "edit.h"
#include "inherited.h"
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

/* May the area be unmapped up to `end`? 0, -EPERM or -EINVAL. */
static long check_area(struct vmspace *space, const struct vma *vma, unsigned long end)
{
	if (vma->flags & VMA_SEALED)
		return outcome_fail(space, -EPERM, "an area is sealed");
	return vma->end > end ? edit_check_split(space, vma, end) : 0;
}

/* May `first` and the areas above it, up to `end`? */
static long check_up_to_end(struct vmspace *space, const struct vma *first, unsigned long end)
{
	long err = check_area(space, first, end);

	if (!err && first->end < end) {
		MA_STATE(mas, &space->tree, first->end, first->end);
		const struct vma *vma;

		while (!err && (vma = mas_find(&mas, end - 1)))
			err = check_area(space, vma, end);
	}
	return err;
}

/* May `first` be cut at `start`? */
static long check_start(struct vmspace *space, const struct vma *first, unsigned long start,
			unsigned long end)
{
	if (start <= first->start)
		return 0;
	if (end < first->end && space->areas >= space->config.max_map_count)
		return outcome_fail(space, -ENOMEM, "max_map_count areas: no room for a split");
	if (first->flags & VMA_SEALED)
		return outcome_fail(space, -EPERM, "an area is sealed");
	return edit_check_split(space, first, start);
}

/* The first area in [start, end), or NULL. */
static struct vma *first_in(const struct vmspace *space, unsigned long start, unsigned long end)
{
	struct vma *vma = find_held(space, start);

	if (!vma)
		vma = find_first(space, start);
	return vma && vma->start < end ? vma : NULL;
}

long unmap_check(struct vmspace *space, unsigned long start, unsigned long end)
{
	struct vma *first = first_in(space, start, end);
	long err = first ? check_start(space, first, start, end) : 0;

	return err || !first ? err : check_up_to_end(space, first, end);
}

/*
 * Linux goes from area to area, and cuts first: if something further up is in the way, the call
 * fails, and the cut at `start` stays.
 */
static long check_and_cut(struct vmspace *space, struct vma *first, unsigned long start,
			  unsigned long end)
{
	long err = check_start(space, first, start, end);

	if (err)
		return err;
	err = check_up_to_end(space, first, end);
	if (err && first->start < start && edit_split_unchecked(space, first, start))
		return -ENOMEM;
	return err;
}

static long remove_several(struct vmspace *space, struct vma *first, unsigned long start,
			   unsigned long end)
{
	MA_STATE(mas, &space->tree, first->start, first->start);

	mas_walk(&mas);
	return edit_remove(space, &mas, first, start, end);
}

/* Most often that is one area as a whole: then there is nothing to look for, and no cut. */
static bool is_whole(const struct vmspace *space, const struct vma *first, unsigned long start,
		     unsigned long end)
{
	return first->start >= start && first->end == end && !(first->flags & VMA_SEALED) &&
	       !is_inherited(space, first);
}

long unmap_areas(struct vmspace *space, unsigned long start, unsigned long end)
{
	struct vma *first = first_in(space, start, end);
	long err;

	if (!first)
		return 0;
	if (is_whole(space, first, start, end))
		return edit_remove_whole(space, first, start, end);
	err = check_and_cut(space, first, start, end);
	if (!err && first->end >= end)
		return edit_remove(space, NULL, first, start, end);
	return err ? err : remove_several(space, first, start, end);
}

long unmap_cut(struct vmspace *space, unsigned long start, unsigned long end)
{
	struct vma *first = first_in(space, start, end), *last;
	long err;

	if (!first)
		return 0;
	err = check_and_cut(space, first, start, end);
	if (!err && first->start < start)
		err = edit_split_unchecked(space, first, start);
	last = find_at(space, end - 1);
	if (!err && last && last->end > end)
		err = edit_split_unchecked(space, last, end);
	return err;
}

static long check_range(const struct vmspace *space, unsigned long start, unsigned long length)
{
	const struct vmspace_config *c = &space->config;

	if (!space_aligned(space, start) || start > c->task_size || length > c->task_size - start)
		return -EINVAL;
	return space_ceil(space, length) ? 0 : -EINVAL;
}

long unmap_range(struct vmspace *space, unsigned long start, unsigned long length)
{
	long err = check_range(space, start, length);

	return err ? err : unmap_areas(space, start, start + space_ceil(space, length));
}

long unmap_call(struct vmspace *space, struct vmspace_request *req)
{
	unsigned long end = req->munmap.addr + space_ceil(space, req->munmap.length);
	long err = check_range(space, req->munmap.addr, req->munmap.length);

	if (err)
		return err;
	/* Linux refuses a munmap as a whole, but for a cut that it made first. */
	if (space->host_error && unmap_check(space, req->munmap.addr, end) != space->host_error)
		return outcome_fail(space, space->host_error, "refused by the host");
	return unmap_areas(space, req->munmap.addr, end);
}
