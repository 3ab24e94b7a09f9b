/* SPDX-License-Identifier: MIT */
/* host.c - asks the host about anonymous pages and stacks, and applies the answers. */
#include <errno.h>

#include "anon_vma.h"
#include "change.h"
#include "fault.h"
#include "find.h"
#include "host.h"
#include "inherited.h"
#include "merge.h"
#include "store.h"
#include "sync.h"

static bool worth_asking(const struct vmspace *space, const struct vma *vma)
{
	if (!is_inherited(space, vma) && vma->asked == space->request_seq)
		return false;
	return !shown_anon_id(space, vma) && vma_may_have_anon_vma(vma) &&
	       (vma->may_have_anon || fault_huge_somewhere(space, vma));
}

static void ask(struct vmspace *space, struct vma *vma)
{
	const struct vmspace_host *host = &space->config.host;
	unsigned long start = vma->start, end = vma->end;
	struct vma *changed;

	if (!worth_asking(space, vma))
		return;
	space->host_questions++;
	sync_write_lock(space, vma);
	/* Without memory for that it will be asked again. */
	vma = change_own(space, vma);
	if (vma)
		vma->asked = space->request_seq;
	if (host->has_anon(host->ctx, start, end)) {
		if (vma)
			anon_vma_prepare(space, vma);
	} else if (vma && vma->may_have_anon && !vma_takes_anon(vma->flags)) {
		changed = change_begin(space, vma);
		if (changed) {
			changed->may_have_anon = false;
			change_end(space, vma, changed);
		}
	}
}

static bool is_run(const struct vmspace *space, const struct vma *left, const struct vma *right)
{
	return left && right && merge_anon_compatible(left, right, space->config.page_size) &&
	       (worth_asking(space, left) || worth_asking(space, right));
}

void host_query_anon(struct vmspace *space, unsigned long start, unsigned long end)
{
	MA_STATE(mas, &space->tree, 0, 0);
	struct vma *first, *left, *vma, *next;

	if (!space->config.host.has_anon)
		return;
	first = find_first(space, start ? start - 1 : 0);
	if (!first || first->start > end)
		return;
	while (is_run(space, left = find_left(space, first), first))
		first = left;
	mas_set(&mas, first->start);
	for (vma = mas_walk(&mas); vma; vma = next) {
		next = mas_find(&mas, ULONG_MAX);
		if (next && next->start > end && !is_run(space, vma, next))
			next = NULL;
		ask(space, vma);	/* which may put another in its place */
	}
}

int host_grow_stacks(struct vmspace *space, unsigned long start, unsigned long end)
{
	const struct vmspace_host *host = &space->config.host;
	unsigned long left = space->grow_areas, vma_end;
	struct vma *vma;
	int grown = 0;

	if (!host->stack_start || !left)
		return 0;
	if (store_reserve(space, left, 0))
		return -ENOMEM;
	vma = find_first(space, start ? start - 1 : 0);
	for (; vma && left; vma = find_first(space, vma_end)) {
		unsigned long now;
		long err;

		vma_end = vma->end;
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

	if (space_is_snapshot(space))
		return -EROFS;
	sync_enter(space);
	grown = host_grow_stacks(space, 0, ULONG_MAX);
	store_end_call(space);
	sync_leave(space);
	return grown;
}
