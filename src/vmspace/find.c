/* SPDX-License-Identifier: MIT */
/*
 * find.c - lookup of areas, and Linux's choice of an address for a new one.
 *
 * Placement: the hint if it is free; else the highest gap below mmap_base that is large enough;
 * else the lowest gap above mmap_base_legacy. Below a growsdown area stack_guard_gap pages stay
 * free. Large mappings for which huge pages make sense are moved up inside a padded gap so that
 * address and file offset agree modulo the huge page size.
 */
#include <assert.h>
#include <errno.h>

#include "find.h"
#include "mman_names.h"
#include "outcome.h"

/* Where MAP_32BIT places. */
#define LOW_START 0x40000000UL
#define LOW_END   0x80000000UL

static struct maple_tree *tree_of(const struct vmspace *space)
{
	return (struct maple_tree *)&space->tree;
}

struct vma *find_at(const struct vmspace *space, unsigned long addr)
{
	return mtree_load(tree_of(space), addr);
}

struct vma *find_first(const struct vmspace *space, unsigned long addr)
{
	MA_STATE(mas, tree_of(space), addr, addr);

	return find_from(&mas, ULONG_MAX);
}

struct vma *find_before(const struct vmspace *space, unsigned long addr)
{
	MA_STATE(mas, tree_of(space), addr - 1, addr - 1);

	return addr ? mas_find_rev(&mas, 0) : NULL;
}

struct vma *find_left(const struct vmspace *space, const struct vma *vma)
{
	return vma->start ? find_at(space, vma->start - 1) : NULL;
}

struct vma *find_right(const struct vmspace *space, const struct vma *vma)
{
	return find_at(space, vma->end);
}

unsigned long find_guarded_start(const struct vmspace *space, const struct vma *vma)
{
	unsigned long gap = 0;

	if (vma->flags & VMA_GROWSDOWN)
		gap = space->config.stack_guard_gap << space->page_shift;
	else if (vma->flags & VMA_SHADOW_STACK)
		gap = space->config.page_size;
	return vma->start > gap ? vma->start - gap : 0;
}

bool find_hole(const struct vmspace *space, unsigned long start, unsigned long end,
	       struct hole *hole)
{
	unsigned long first, last;

	assert(start < end);
	if (!mtree_gap_around(tree_of(space), start, &first, &last) || last < end - 1)
		return false;
	/* Only what the gap begins or ends at is looked up. */
	*hole = (struct hole){
		.start = start, .end = end,
		.left = first == start && start ? find_held(space, start - 1) : NULL,
		.next = last != ULONG_MAX ? find_held(space, last + 1) : NULL,
	};
	return true;
}

/* A place that was found free, which mostly ends where an area begins: then that is not asked again. */
static bool found_hole(const struct vmspace *space, unsigned long start, unsigned long end,
		       struct hole *hole)
{
	struct vma *next = find_held(space, end);

	if (!next)
		return find_hole(space, start, end, hole);
	*hole = (struct hole){ .start = start, .end = end, .next = next,
			       .left = start ? find_held(space, start - 1) : NULL };
	return true;
}

/* Is the hole clear of the next area's guard gap? */
static bool unguarded(const struct vmspace *space, const struct hole *hole)
{
	return !hole->next || find_guarded_start(space, hole->next) >= hole->end;
}

/* The hole is too small for a guard gap: what lies below it may be in the gap's way, too. */
static unsigned long below_guard(struct vmspace *space, const struct hole *hole)
{
	unsigned long guarded = find_guarded_start(space, hole->next);
	const struct vma *below = find_before(space, hole->start);

	if (below && below->end > guarded && rule_decides(space, RULE_GUARD_OWN_HOLE))
		return below->end;
	return guarded;
}

/* The highest free range of `length` in [low, high) that respects guard gaps; or -ENOMEM. */
static long highest_gap(struct vmspace *space, unsigned long low, unsigned long high,
			unsigned long length, struct hole *hole)
{
	for (;;) {
		MA_STATE(mas, &space->tree, 0, 0);

		if (high <= low || high - low < length ||
		    mas_empty_area_rev(&mas, low, high - 1, length) ||
		    !found_hole(space, mas.index, mas.last + 1, hole))
			return -ENOMEM;
		if (unguarded(space, hole))
			return (long)hole->start;
		high = below_guard(space, hole);
	}
}

/* The lowest such range. */
static long lowest_gap(struct vmspace *space, unsigned long low, unsigned long high,
		       unsigned long length, struct hole *hole)
{
	for (;;) {
		MA_STATE(mas, &space->tree, 0, 0);

		if (high <= low || high - low < length ||
		    mas_empty_area(&mas, low, high - 1, length) ||
		    !find_hole(space, mas.index, mas.last + 1, hole))
			return -ENOMEM;
		if (unguarded(space, hole))
			return (long)hole->start;
		low = hole->next->end;
	}
}

/* A hint is used if its range is free and respects the guard gap above. */
static bool hint_free(const struct vmspace *space, unsigned long addr, unsigned long length,
		      struct hole *hole)
{
	return find_hole(space, addr, addr + length, hole) && unguarded(space, hole);
}

/* Without alignment. `hint` is page aligned. */
static long place_plain(struct vmspace *space, unsigned long hint, unsigned long length, int flags,
			struct hole *hole)
{
	const struct vmspace_config *c = &space->config;
	unsigned long window = hint > c->map_window ? c->task_size : c->map_window;
	unsigned long hint_end = flags & MAP_32BIT ? LOW_END : window;
	unsigned long low = c->page_size, base = space->mmap_base;
	long at = -ENOMEM;

	if (length > c->task_size)
		return -ENOMEM;
	if (hint && length <= hint_end && hint <= hint_end - length &&
	    hint_free(space, hint, length, hole))
		return (long)hint;
	if (flags & MAP_32BIT)
		return lowest_gap(space, LOW_START, LOW_END, length, hole);
	if (flags & MAP_ABOVE4G && rule_decides(space, RULE_MAP_ABOVE4G))
		low = 1UL << 32;
	if (!c->mmap_bottom_up) {
		if (!base)
			base = c->map_window;
		if (hint > c->map_window)
			base += c->task_size - c->map_window;
		at = highest_gap(space, low, base, length, hole);
		if (at != -ENOMEM)
			return at;
	}
	if (!c->mmap_bottom_up || !base)
		base = c->mmap_base_legacy;
	if (base > low)
		low = base;
	return lowest_gap(space, low, window, length, hole);
}

/*
 * Congruent to `offset` modulo `align`, out of a padded placement; 0: does not fit. A hint that
 * is free even with the padding is taken as it is.
 */
static long place_aligned(struct vmspace *space, unsigned long hint, unsigned long length,
			  uint64_t offset, unsigned long align, int flags,
			  struct hole *hole)
{
	uint64_t end = offset + length, first = (offset + align - 1) & ~(uint64_t)(align - 1);
	unsigned long shift;
	long at;

	/* Signed, as in Linux: just below 2^63 every length is enough. */
	if ((int64_t)end <= (int64_t)first || end - first < align || length + align < length)
		return 0;
	at = place_plain(space, hint, length + align, flags, hole);
	if (at < 0)
		return 0;
	if ((unsigned long)at == hint)
		return at;
	shift = (offset - (unsigned long)at) & (align - 1);
	if (!shift && !space->config.mmap_bottom_up)
		shift = align;
	return at + (long)shift;
}

/* A hint within the first page is none. */
static bool anon_aligned(const struct vmspace *space, const struct find_place *want)
{
	unsigned long huge = space->config.pmd_size;

	if (want->length < huge)
		return false;
	if (!rule_decides(space, RULE_ANON_ALIGNED))
		return false;
	return !rule_decides(space, RULE_ANON_ALIGNED_WHOLE) ||
	       (!space_floor(space, want->addr) && want->length % huge == 0);
}

static unsigned long wanted_alignment(const struct vmspace *space, const struct find_place *want)
{
	const struct vmspace_config *c = &space->config;

	if (!c->pmd_size)
		return 0;
	if (!want->backing || want->backing->kind == VMA_BACKING_ANON)
		return anon_aligned(space, want) ? c->pmd_size : 0;
	if (want->backing->kind == VMA_BACKING_SHMEM || want->backing->kind == VMA_BACKING_SYSV)
		return c->shmem_align_huge ? c->pmd_size : 0;
	return want->backing->flags & VMA_BACKING_ALIGN_HUGE ? c->pmd_size : 0;
}

/* 0: not a mapping of huge pages. */
static unsigned long huge_size(const struct vmspace *space, const struct find_place *want)
{
	if (!want->backing || want->backing->kind != VMA_BACKING_HUGETLB)
		return 0;
	return want->backing->huge_size ? want->backing->huge_size : space->config.pmd_size;
}

/* Where a hint for huge pages leads: the next huge page, or the one that it is in. */
static unsigned long huge_hint(const struct vmspace *space, unsigned long hint, unsigned long size)
{
	if (!(hint & (size - 1)))
		return hint;
	return (rule_decides(space, RULE_HUGE_HINT_UP) ? hint + size - 1 : hint) & ~(size - 1);
}

/* Huge pages: aligned to their own size always. */
static long place_huge(struct vmspace *space, const struct find_place *want, unsigned long hint,
		       struct hole *hole)
{
	unsigned long size = huge_size(space, want);
	const struct vmspace_config *c = &space->config;
	unsigned long aligned;
	long at;

	if (!size || want->length % size)
		return -EINVAL;
	if (want->length > c->task_size)
		return -ENOMEM;
	aligned = huge_hint(space, hint, size);
	if (hint && (aligned || hint < size) && aligned <= c->task_size - want->length &&
	    hint_free(space, aligned, want->length, hole))
		return aligned < c->mmap_min_addr && !c->low_privileged ? -EPERM : (long)aligned;
	at = place_plain(space, 0, want->length + size - space->config.page_size, want->flags,
			 hole);
	if (at < 0)
		return at;
	return (long)(((unsigned long)at + size - 1) & ~(size - 1));
}

static long place_fixed(const struct vmspace *space, const struct find_place *want)
{
	unsigned long huge = huge_size(space, want);

	if (want->length > space->config.task_size)
		return -ENOMEM;
	if (huge && (want->addr & (huge - 1)))
		return -EINVAL;
	/* Linux takes such an address for an error, and returns it. */
	if (want->addr > -4096UL)
		return (long)want->addr;
	if (want->addr > space->config.task_size - want->length)
		return -ENOMEM;
	if (!space_aligned(space, want->addr))
		return -EINVAL;
	if (want->addr < space->config.mmap_min_addr && !space->config.low_privileged)
		return -EPERM;
	return (long)want->addr;
}

long find_place(struct vmspace *space, const struct find_place *want, struct hole *hole)
{
	unsigned long hint = space_floor(space, want->addr), align;
	long at = 0;

	*hole = (struct hole){ 0 };
	if (want->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		return place_fixed(space, want);
	if (hint && hint < space->config.hint_min_addr && !want->exact)
		hint = space_ceil(space, space->config.hint_min_addr);
	if (want->backing && want->backing->kind == VMA_BACKING_HUGETLB)
		return place_huge(space, want, hint, hole);
	align = wanted_alignment(space, want);
	if (align)
		at = place_aligned(space, hint, want->length, want->offset, align, want->flags,
				   hole);
	if (!at)
		at = place_plain(space, hint, want->length, want->flags, hole);
	return at;
}

bool find_correct_base(struct vmspace *space, unsigned long at, unsigned long place,
		       unsigned long length)
{
	bool known = space->mmap_base != 0;

	if (space->config.mmap_bottom_up) {
		if (known)
			return false;
		space->mmap_base = place;
	} else {
		if (!space->base_guessed ||
		    (known && (place <= at || place + length <= space->mmap_base)))
			return false;
		space->mmap_base = place + length;
	}
	space->out->base_learned = true;
	return true;
}
