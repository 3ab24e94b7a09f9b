/* SPDX-License-Identifier: MIT */
/* anon_vma.c - gives areas an anon_vma, and lets attached mirrors correct it later. */
#include <assert.h>

#include "anon_vma.h"
#include "change.h"
#include "find.h"
#include "merge.h"
#include "sync.h"

void anon_vma_prepare_guard(struct vmspace *space, struct vma *vma)
{
	unsigned long page = space->config.page_size;
	const struct vma *right, *left;

	if (vma->anon_id)
		return;
	sync_write_lock(space, vma);
	right = find_right(space, vma);
	left = find_left(space, vma);
	if (right && right->anon_id && !right->anon_shared &&
	    merge_anon_compatible(vma, right, page))
		vma_give_anon_id(vma, right->anon_id, space->snapshots);
	else if (left && left->anon_id && !left->anon_shared &&
		 merge_anon_compatible(left, vma, page))
		vma_give_anon_id(vma, left->anon_id, space->snapshots);
	else
		vma_give_anon_id(vma, space->next_anon_id++, space->snapshots);
	assert(vma_is_valid(vma, space->config.page_size));
}

void anon_vma_prepare(struct vmspace *space, struct vma *vma)
{
	if (vma_may_have_anon_vma(vma))
		anon_vma_prepare_guard(space, vma);
}

/*
 * What follows are corrections: the areas were so before. An anon_vma alone is corrected in place;
 * and so is what takes a copy, if there is no memory for one.
 */
static void correct_id(struct vmspace *space, struct vma *vma, uint64_t anon_id)
{
	sync_write_lock(space, vma);
	vma_set_anon_id(vma, anon_id);
}

static void correct(struct vmspace *space, struct vma *vma,
		    void (*change)(const struct vmspace *space, struct vma *vma, uint64_t to),
		    uint64_t to)
{
	struct vma *changed = change_begin(space, vma);

	change(space, changed ? changed : vma, to);
	if (changed)
		change_end(space, vma, changed);
}

void vmspace_join_anon(struct vmspace *space, uint64_t keep, uint64_t gone)
{
	struct vma *vma;

	/* 0 is no anon_vma: areas without one must not get one, nor the others lose theirs. */
	if (!keep || !gone || space_is_snapshot(space))
		return;
	sync_enter(space);
	for (vma = find_first(space, 0); vma; vma = find_first(space, vma->end))
		if (vma->anon_id == gone)
			correct_id(space, vma, keep);
	sync_leave(space);
}

void vmspace_part_anon(struct vmspace *space, unsigned long addr)
{
	struct vma *vma;

	if (space_is_snapshot(space))
		return;
	sync_enter(space);
	vma = find_first(space, addr);
	if (vma && vma->start <= addr && (vma->anon_id || vma_may_have_anon_vma(vma)))
		correct_id(space, vma, space->next_anon_id++);
	sync_leave(space);
}

static void drop_anon(const struct vmspace *space, struct vma *vma, uint64_t unused)
{
	(void)unused;
	vma_set_anon_id(vma, 0);
	vma->anon_shared = false;
	vma->anon_shift = 0;
	if (vma_is_anon(vma))
		vma->pgoff = vma->start >> space->page_shift;
}

void vmspace_drop_anon(struct vmspace *space, unsigned long addr)
{
	struct vma *vma;

	if (space_is_snapshot(space))
		return;
	sync_enter(space);
	vma = find_first(space, addr);
	if (vma && vma->start <= addr && vma->anon_id)
		correct(space, vma, drop_anon, 0);
	sync_leave(space);
}

static void place_anon(const struct vmspace *space, struct vma *vma, uint64_t pgoff)
{
	(void)space;
	vma->pgoff = pgoff;
}

void vmspace_place_anon(struct vmspace *space, unsigned long addr, uint64_t page_offset)
{
	struct vma *vma;

	if (space_is_snapshot(space))
		return;
	sync_enter(space);
	vma = find_first(space, addr);
	if (vma && vma->start <= addr && vma_is_anon(vma))
		correct(space, vma, place_anon,
			page_offset - ((addr - vma->start) >> space->page_shift));
	sync_leave(space);
}

static void inherit_anon(const struct vmspace *space, struct vma *vma, uint64_t inherited)
{
	(void)space;
	vma->anon_shared = inherited;
}

void vmspace_inherit_anon(struct vmspace *space, unsigned long addr, bool inherited)
{
	unsigned long next = 0;
	const struct vma *at;
	uint64_t anon_id;
	struct vma *vma;

	if (space_is_snapshot(space))
		return;
	sync_enter(space);
	at = find_first(space, addr);
	anon_id = at && at->start <= addr ? at->anon_id : 0;
	while (anon_id && (vma = find_first(space, next))) {
		next = vma->end;
		if (vma->anon_id == anon_id)
			correct(space, vma, inherit_anon, inherited);
	}
	sync_leave(space);
}
