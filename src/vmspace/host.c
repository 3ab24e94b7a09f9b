/* SPDX-License-Identifier: MIT */
/* host.c - asks the host about anonymous pages and stacks, and draws the conclusions. */
#include <errno.h>

#include "fault.h"
#include "find.h"
#include "host.h"
#include "merge.h"
#include "sync.h"

void host_give_anon_vma(struct vmspace *space, struct vma *vma)
{
	unsigned long page = space->config.page_size;
	const struct vma *right, *left;

	if (vma->anon_id || !vma_may_have_anon_vma(vma))
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
}

static bool worth_asking(const struct vmspace *space, const struct vma *vma)
{
	return !vma->anon_id && vma->asked != space->era && vma_may_have_anon_vma(vma) &&
	       (vma->may_have_anon || fault_huge_somewhere(space, vma));
}

static void ask(struct vmspace *space, struct vma *vma)
{
	const struct vmspace_host *host = &space->config.host;

	if (!worth_asking(space, vma))
		return;
	space->host_questions++;
	sync_write_lock(space, vma);
	vma->asked = space->era;
	if (host->has_anon(host->ctx, vma->start, vma->end))
		host_give_anon_vma(space, vma);
	else if (!vma_takes_anon(vma->flags))
		vma->may_have_anon = false;
}

static bool is_run(const struct vmspace *space, const struct vma *left, const struct vma *right)
{
	return left && right && merge_anon_compatible(left, right, space->config.page_size) &&
	       (worth_asking(space, left) || worth_asking(space, right));
}

void host_learn(struct vmspace *space, unsigned long start, unsigned long end)
{
	struct vma *first, *other, *vma;
	unsigned long last_end;

	if (!space->config.host.has_anon)
		return;
	first = find_first(space, start ? start - 1 : 0);
	if (!first || first->start > end)
		return;
	while (is_run(space, other = find_left(space, first), first))
		first = other;
	for (vma = first, last_end = first->end; vma; vma = find_first(space, vma->end)) {
		other = find_left(space, vma);
		if (vma->start > end && !is_run(space, other, vma))
			break;
		last_end = vma->end;
	}
	for (vma = first; vma && vma->start < last_end; vma = find_first(space, vma->end))
		ask(space, vma);
}

int host_grow_stacks(struct vmspace *space, unsigned long start, unsigned long end)
{
	const struct vmspace_host *host = &space->config.host;
	unsigned long left = space->grow_areas;
	struct vma *vma;
	int grown = 0;

	if (!host->stack_start || !left)
		return 0;
	if (space_reserve(space, left, 0))
		return -ENOMEM;
	vma = find_first(space, start ? start - 1 : 0);
	for (; vma && left; vma = find_first(space, vma->end)) {
		unsigned long now;
		long err;

		if (find_guarded_start(space, vma) > end)
			break;
		if (!(vma->flags & VMA_GROWSDOWN))
			continue;
		left--;
		space->host_questions++;
		now = host->stack_start(host->ctx, vma->start, vma->end);
		if (now >= vma->start)
			continue;
		err = fault_grow_down(space, vma, now);
		if (err)
			return (int)err;
		grown++;
	}
	return grown;
}

int vmspace_refresh(struct vmspace *space)
{
	int grown;

	sync_enter(space);
	grown = host_grow_stacks(space, 0, ULONG_MAX);
	space_end_call(space);
	sync_leave(space);
	return grown;
}

void vmspace_join_anon(struct vmspace *space, uint64_t keep, uint64_t gone)
{
	struct vma *vma;

	/* 0 is not the name of one: areas without would get one, or lose theirs. */
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
