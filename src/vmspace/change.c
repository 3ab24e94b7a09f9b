/* SPDX-License-Identifier: MIT */
/* change.c - copies of areas, which are changed and then take their place. */
#include <assert.h>

#include "change.h"
#include "inherited.h"
#include "outcome.h"

struct vma *change_copy(struct vmspace *space, const struct vma *vma)
{
	struct vma *copy = shown_new(space, vma);

	/* Where nodes are shared, its store takes some. */
	if (copy && space->reserve.shared && reserve_copies(&space->reserve, 1)) {
		vma_free(&space->vmas, copy);
		copy = NULL;
	}
	if (!copy)
		outcome_no_memory(space);
	else
		space->reserve.owed++;
	return copy;
}

void change_stored(struct vmspace *space, struct vma *vma)
{
	assert(space->reserve.owed);
	space->reserve.owed--;
	past_retire(space, vma);
}

void change_drop(struct vmspace *space, struct vma *changed)
{
	assert(space->reserve.owed);
	space->reserve.owed--;
	vma_free(&space->vmas, changed);
}

void change_put(struct vmspace *space, struct vma *vma, struct vma *changed)
{
	assert(vma->start <= changed->start && changed->end <= vma->end);
	store_in_place(space, changed);
	change_stored(space, vma);
}

struct vma *change_own(struct vmspace *space, struct vma *vma)
{
	struct vma *own;

	if (!is_inherited(space, vma))
		return vma;
	own = change_begin(space, vma);
	if (own)
		change_end(space, vma, own);
	return own;
}

int change_secure_slow(struct vmspace *space, unsigned long areas)
{
	if (!vma_reserve(&space->vmas, areas) ||
	    (space->reserve.shared && reserve_copies(&space->reserve, areas)))
		return (int)outcome_no_memory(space);
	return 0;
}
