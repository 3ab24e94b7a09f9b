/* SPDX-License-Identifier: MIT */
/* change.c - copies of areas, which are changed and then take their place. */
#include <assert.h>

#include "change.h"
#include "outcome.h"

struct vma *change_copy(struct vmspace *space, const struct vma *vma)
{
	struct vma *copy = vma_new(&space->vmas, vma);

	if (!copy)
		outcome_no_memory(space);
	return copy;
}

void change_put(struct vmspace *space, struct vma *vma, struct vma *changed)
{
	assert(vma->start <= changed->start && changed->end <= vma->end);
	store_in_place(space, changed);
	past_retire(space, vma);
}

int change_secure_slow(struct vmspace *space, unsigned long areas)
{
	return vma_reserve(&space->vmas, areas) ? 0 : (int)outcome_no_memory(space);
}
