/* SPDX-License-Identifier: MIT */
/* anon_vma.c - gives areas an anon_vma, and lets attached mirrors correct it later. */
#include <assert.h>

#include "anon_vma.h"
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
	if (right && right->anon_id && !right->anon_shared &&
	    merge_anon_compatible(vma, right, page)) {
		vma->anon_id = right->anon_id;
		return;
	}
	left = find_left(space, vma);
	if (left && left->anon_id && !left->anon_shared && merge_anon_compatible(left, vma, page)) {
		vma->anon_id = left->anon_id;
		return;
	}
	vma->anon_id = space->next_anon_id++;
	assert(vma_is_valid(vma, space->config.page_size));
}

void anon_vma_prepare(struct vmspace *space, struct vma *vma)
{
	if (vma_may_have_anon_vma(vma))
		anon_vma_prepare_guard(space, vma);
}

void vmspace_join_anon(struct vmspace *space, uint64_t keep, uint64_t gone)
{
	struct vma *vma;

	/* 0 is no anon_vma: areas without one must not get one, nor the others lose theirs. */
	if (!keep || !gone)
		return;
	sync_enter(space);
	for (vma = find_first(space, 0); vma; vma = find_first(space, vma->end)) {
		if (vma->anon_id != gone)
			continue;
		sync_write_lock(space, vma);
		vma->anon_id = keep;
	}
	sync_leave(space);
}

void vmspace_part_anon(struct vmspace *space, unsigned long addr)
{
	struct vma *vma;

	sync_enter(space);
	vma = find_first(space, addr);
	if (vma && vma->start <= addr && (vma->anon_id || vma_may_have_anon_vma(vma))) {
		sync_write_lock(space, vma);
		vma->anon_id = space->next_anon_id++;
	}
	sync_leave(space);
}

void vmspace_drop_anon(struct vmspace *space, unsigned long addr)
{
	struct vma *vma;

	sync_enter(space);
	vma = find_first(space, addr);
	if (vma && vma->start <= addr && vma->anon_id) {
		sync_write_lock(space, vma);
		vma->anon_id = 0;
		vma->anon_shared = false;
		vma->anon_shift = 0;
		if (vma_is_anon(vma))
			vma->pgoff = vma->start >> space->page_shift;
	}
	sync_leave(space);
}

void vmspace_place_anon(struct vmspace *space, unsigned long addr, uint64_t page_offset)
{
	struct vma *vma;

	sync_enter(space);
	vma = find_first(space, addr);
	if (vma && vma->start <= addr && vma_is_anon(vma)) {
		sync_write_lock(space, vma);
		vma->pgoff = page_offset - ((addr - vma->start) >> space->page_shift);
	}
	sync_leave(space);
}

void vmspace_inherit_anon(struct vmspace *space, unsigned long addr, bool inherited)
{
	const struct vma *at;
	uint64_t anon_id;
	struct vma *vma;

	sync_enter(space);
	at = find_first(space, addr);
	anon_id = at && at->start <= addr ? at->anon_id : 0;
	for (vma = find_first(space, 0); vma && anon_id; vma = find_first(space, vma->end)) {
		if (vma->anon_id != anon_id)
			continue;
		sync_write_lock(space, vma);
		vma->anon_shared = inherited;
	}
	sync_leave(space);
}
