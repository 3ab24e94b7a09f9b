/* SPDX-License-Identifier: MIT */
/* anon_vma.c - gives areas an anon_vma, and lets attached mirrors correct it later. */
#include <assert.h>

#include "anon_vma.h"
#include "change.h"
#include "find.h"
#include "inherited.h"
#include "merge.h"
#include "sync.h"

struct vma *anon_vma_prepare_guard(struct vmspace *space, struct vma *vma)
{
	unsigned long page = space->config.page_size;
	const struct vma *right, *left;

	if (shown_anon_id(space, vma))
		return vma;
	vma = change_own(space, vma);
	if (!vma)
		return NULL;
	sync_write_lock(space, vma);
	right = find_right(space, vma);
	left = find_left(space, vma);
	if (right && shown_anon_id(space, right) && !shown_anon_shared(space, right) &&
	    merge_anon_compatible(vma, right, page))
		vma_give_anon_id(vma, right->anon_id, space->snapshots);
	else if (left && shown_anon_id(space, left) && !shown_anon_shared(space, left) &&
		 merge_anon_compatible(left, vma, page))
		vma_give_anon_id(vma, left->anon_id, space->snapshots);
	else
		vma_give_anon_id(vma, space->next_anon_id++, space->snapshots);
	assert(vma_is_valid(vma, space->config.page_size));
	return vma;
}

struct vma *anon_vma_prepare(struct vmspace *space, struct vma *vma)
{
	return vma_may_have_anon_vma(vma) ? anon_vma_prepare_guard(space, vma) : vma;
}

/*
 * What follows are corrections: the areas were so before. An anon_vma alone is corrected in place;
 * and so is what takes a copy, if there is no memory for one. (Not what is inherited: without memory
 * for a copy of its own, it stays as it is.) What a child has got by fork is not corrected in it.
 */
static void correct_id(struct vmspace *space, struct vma *vma, uint64_t anon_id)
{
	sync_write_lock(space, vma);
	vma = change_own(space, vma);
	if (!vma)
		return;
	/* A child that shares the area has it as it was known to be. */
	if (!vma->anon_id)
		vma_give_anon_id(vma, anon_id, space->last_child);
	else
		vma_set_anon_id(vma, anon_id);
}

static void correct(struct vmspace *space, struct vma *vma,
		    void (*change)(const struct vmspace *space, struct vma *vma, uint64_t to),
		    uint64_t to)
{
	struct vma *changed = change_begin(space, vma);

	if (changed || !is_inherited(space, vma))
		change(space, changed ? changed : vma, to);
	if (changed)
		change_end(space, vma, changed);
}

void vmspace_join_anon(struct vmspace *space, uint64_t keep, uint64_t gone)
{
	unsigned long next;
	struct vma *vma;

	/* 0 is no anon_vma: areas without one must not get one, nor the others lose theirs. */
	if (!keep || !gone || space_is_snapshot(space))
		return;
	sync_enter(space);
	for (vma = find_first(space, 0); vma; vma = find_first(space, next)) {
		next = vma->end;
		if (shown_anon_id(space, vma) == gone)
			correct_id(space, vma, keep);
	}
	sync_leave(space);
}

void vmspace_part_anon(struct vmspace *space, unsigned long addr)
{
	struct vma *vma;

	if (space_is_snapshot(space))
		return;
	sync_enter(space);
	vma = find_first(space, addr);
	if (vma && vma->start <= addr && (shown_anon_id(space, vma) || vma_may_have_anon_vma(vma)))
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
	if (vma && vma->start <= addr && shown_anon_id(space, vma))
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
	anon_id = at && at->start <= addr ? shown_anon_id(space, at) : 0;
	while (anon_id && (vma = find_first(space, next))) {
		next = vma->end;
		if (shown_anon_id(space, vma) == anon_id)
			correct(space, vma, inherit_anon, inherited);
	}
	sync_leave(space);
}
