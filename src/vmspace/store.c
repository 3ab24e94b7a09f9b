/* SPDX-License-Identifier: MIT */
/* store.c - stores into the tree of areas, and what is reserved for them. */
#include <assert.h>

#include "accounting.h"
#include "outcome.h"
#include "past.h"
#include "store.h"
#include "sync.h"

/* `vma` is about to cover [start, end) as well, and that is adjacent to what it covers now. */
static void note_size(struct vmspace *space, unsigned long start, unsigned long end,
		      const struct vma *vma)
{
	start = vma->start < start ? vma->start : start;
	end = vma->end > end ? vma->end : end;
	if (end - start > space->largest_area)
		space->largest_area = end - start;
	account_place(space, vma, start, end);
}

int store_area(struct vmspace *space, unsigned long start, unsigned long end, struct vma *vma)
{
	assert(start < end && space_aligned(space, start) && space_aligned(space, end));
	if (vma)
		note_size(space, start, end, vma);
	sync_attach(space, vma);
	assert(!vma || sync_write_locked(space, vma));
	if (__builtin_expect(reserve_store(&space->reserve, &space->tree, start, end, vma), 0))
		return (int)outcome_no_memory(space);
	space->recent = vma;
	return 0;
}

void store_in_place(struct vmspace *space, struct vma *vma)
{
	sync_attach(space, vma);
	reserve_store_same(&space->reserve, &space->tree, vma);
	space->recent = vma;
}

int store_reserve(struct vmspace *space, unsigned long stores, unsigned long areas)
{
	if (!past_is_private(space))
		areas += RESERVE_COPIES(stores);
	return reserve_prepare(&space->reserve, &space->vmas, stores, areas)
		       ? (int)outcome_no_memory(space) : 0;
}

int store_reserve_call(struct vmspace *space, unsigned long stores, unsigned long areas)
{
	space->reserve.covers_call = true;
	return store_reserve(space, stores, areas);
}

void store_end_call_slow(struct vmspace *space)
{
	if (space->reserve.pages) {
		space->reserve.pages = false;
		pages_end_reserve(space->pages);
	}
	reserve_end_call(&space->reserve, &space->vmas);
}
