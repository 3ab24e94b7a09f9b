/* SPDX-License-Identifier: MIT */
/*
 * iter.c - iterates over the areas of a space: iterators, ranges, sums, regions to monitor, core
 * dumps.
 *
 * All but the dump use vmspace_next() and vmspace_prev(): an iterator keeps only addresses, and so
 * stays valid whatever happens to the areas between two steps, as no position in the tree would.
 * The dump holds the space's lock and walks the tree.
 */
#include <string.h>

#include "find.h"
#include "show.h"
#include "sync.h"

void vma_iter_init(struct vma_iterator *it, const struct vmspace *space, unsigned long addr)
{
	*it = (struct vma_iterator){ .space = space, .start = addr, .end = addr };
}

static bool stand_on(struct vma_iterator *it, const struct vma_info *info)
{
	it->start = info->start;
	it->end = info->end;
	return true;
}

static bool stand_at(struct vma_iterator *it, unsigned long addr)
{
	it->start = it->end = addr;
	return false;
}

bool vma_iter_next(struct vma_iterator *it, struct vma_info *info)
{
	return vma_iter_find(it, ~0UL, info);
}

bool vma_iter_prev(struct vma_iterator *it, struct vma_info *info)
{
	return vma_iter_find_rev(it, 0, info);
}

bool vma_iter_find(struct vma_iterator *it, unsigned long end, struct vma_info *info)
{
	struct vma_info found;

	if (it->end > end)
		return false;
	if (it->end == end || !vmspace_next(it->space, it->end, &found) || found.start >= end)
		return stand_at(it, end);
	*info = found;
	return stand_on(it, info);
}

bool vma_iter_find_rev(struct vma_iterator *it, unsigned long start, struct vma_info *info)
{
	struct vma_info found;

	if (it->start < start)
		return false;
	if (it->start == start || !vmspace_prev(it->space, it->start, &found) || found.end <= start)
		return stand_at(it, start);
	*info = found;
	return stand_on(it, info);
}

bool vmspace_intersection(const struct vmspace *space, unsigned long start, unsigned long end,
			  struct vma_info *info)
{
	struct vma_iterator it;

	vma_iter_init(&it, space, start);
	return vma_iter_find(&it, end, info);
}

bool vmspace_exact(const struct vmspace *space, unsigned long start, unsigned long end,
		   struct vma_info *info)
{
	struct vma_info found;

	if (!vmspace_lookup(space, start, &found) || found.start != start || found.end != end)
		return false;
	*info = found;
	return true;
}

unsigned long vmspace_count_pages(const struct vmspace *space, unsigned long start,
				  unsigned long end, vma_flags_t flags)
{
	struct vma_iterator it;
	struct vma_info info;
	unsigned long pages = 0;

	vma_iter_init(&it, space, start);
	while (vma_iter_find(&it, end, &info)) {
		unsigned long from = info.start > start ? info.start : start;
		unsigned long to = info.end < end ? info.end : end;

		if ((info.flags & flags) == flags)
			pages += space_pages(space, to - from);
	}
	return pages;
}

/* Keep the two widest gaps, the wider one first; of equal ones the lower. */
static void take_gap(struct vmspace_region gaps[2], unsigned long start, unsigned long end)
{
	struct vmspace_region gap = { start, end };

	if (end - start > gaps[0].end - gaps[0].start) {
		gaps[1] = gaps[0];
		gaps[0] = gap;
	} else if (end - start > gaps[1].end - gaps[1].start) {
		gaps[1] = gap;
	}
}

unsigned int vmspace_three_regions(const struct vmspace *space, struct vmspace_region regions[3])
{
	struct vmspace_region gaps[2] = { { 0, 0 }, { 0, 0 } }, swap;
	unsigned long first = 0, last = 0;
	unsigned int count = 0;
	struct vma_iterator it;
	struct vma_info info;

	vma_iter_init(&it, space, 0);
	while (vma_iter_next(&it, &info)) {
		if (last)
			take_gap(gaps, last, info.start);
		else
			first = info.start;
		last = info.end;
	}
	if (!last)
		return 0;
	if (gaps[1].end && gaps[1].start < gaps[0].start) {
		swap = gaps[0];
		gaps[0] = gaps[1];
		gaps[1] = swap;
	}
	for (unsigned int i = 0; i < 2 && gaps[i].end; i++) {
		regions[count++] = (struct vmspace_region){ first, gaps[i].start };
		first = gaps[i].end;
	}
	regions[count++] = (struct vmspace_region){ first, last };
	return count;
}

/* The file has been unlinked, or never had a name: shared memory, a memfd. */
static bool is_unlinked(const struct vma_backing *backing)
{
	static const char gone[] = " (deleted)";
	size_t length = backing->name ? strlen(backing->name) : 0;

	return length >= sizeof(gone) - 1 &&
	       !strcmp(backing->name + length - sizeof(gone) + 1, gone);
}

static bool passes(unsigned int filter, unsigned int bit)
{
	return filter & bit;
}

/* Of a mapping that can be shared, or of a private one whose file is dumped by the filter. */
static bool dumps_kind(const struct vma_info *info, unsigned int filter)
{
	bool shared = info->flags & VMA_SHARED;

	if (info->backing.flags & VMA_BACKING_DAX)
		return passes(filter, shared ? VMSPACE_FILTER_DAX_SHARED
					     : VMSPACE_FILTER_DAX_PRIVATE);
	if (info->flags & VMA_HUGETLB)
		return passes(filter, shared ? VMSPACE_FILTER_HUGE_SHARED
					     : VMSPACE_FILTER_HUGE_PRIVATE);
	if (shared)
		return passes(filter, is_unlinked(&info->backing) ? VMSPACE_FILTER_ANON_SHARED
								  : VMSPACE_FILTER_FILE_SHARED);
	if (info->anon_id && passes(filter, VMSPACE_FILTER_ANON_PRIVATE))
		return true;
	return info->backing.kind != VMA_BACKING_ANON &&
	       passes(filter, VMSPACE_FILTER_FILE_PRIVATE);
}

static enum vmspace_dump_part dump_part(const struct vma_info *info, unsigned int filter)
{
	bool fixed = (info->flags & (VMA_SHARED | VMA_HUGETLB)) ||
		     (info->backing.flags & VMA_BACKING_DAX);

	if (info->backing.kind == VMA_BACKING_SPECIAL)
		return VMSPACE_DUMP_ALL;
	if (info->flags & (VMA_DONTDUMP | VMA_IO))
		return VMSPACE_DUMP_NONE;
	if (dumps_kind(info, filter))
		return VMSPACE_DUMP_ALL;
	if (fixed || info->backing.kind == VMA_BACKING_ANON || info->offset ||
	    !(info->flags & VMA_READ) || !passes(filter, VMSPACE_FILTER_ELF_HEADERS))
		return VMSPACE_DUMP_NONE;
	return info->backing.flags & VMA_BACKING_EXECUTABLE ? VMSPACE_DUMP_HEADER
							    : VMSPACE_DUMP_HEADER_IF_ELF;
}

size_t vmspace_dump_snapshot(const struct vmspace *space, unsigned int filter,
			     struct vmspace_dump_area *areas, size_t capacity)
{
	MA_STATE(mas, (struct maple_tree *)&space->tree, 0, 0);
	const struct vma *vma;
	struct vma_info info;
	size_t count = 0;

	sync_enter(space); /* names are looked at, and the areas are those of one moment */
	mas_for_each(&mas, vma, ULONG_MAX) {
		if (count++ >= capacity)
			continue;
		show_info(space, vma, &info);
		areas[count - 1] = (struct vmspace_dump_area){
			.start = info.start, .end = info.end, .flags = info.flags,
			.part = dump_part(&info, filter),
		};
	}
	sync_leave(space);
	return count;
}
