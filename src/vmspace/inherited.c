/* SPDX-License-Identifier: MIT */
/* inherited.c - how a child shows the areas that it has from its parent; see inherited.h. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "inherited.h"

int origin_create(struct vmspace *child, const struct vmspace *parent, const struct vmspace *view)
{
	unsigned int generation = parent->vmas.generation + 1u, i;
	struct origin *origin = malloc(sizeof(*origin) + generation * sizeof(origin->number[0]));

	assert(generation <= GENERATIONS_MAX && view->number && !child->origin);
	if (!origin)
		return -ENOMEM;
	origin->refs = 1;
	origin->view = view;
	origin->first_id = parent->next_anon_id;
	for (i = 0; i + 1 < generation; i++)
		origin->number[i] = parent->origin->number[i];
	origin->number[i] = view->number;
	child->origin = origin;
	child->vmas.generation = (uint8_t)generation;
	/* One for each page: none is given to two areas. */
	child->next_anon_id = origin->first_id + space_pages(parent, parent->config.task_size);
	return 0;
}

struct origin *origin_get(struct origin *origin)
{
	if (origin)
		__atomic_add_fetch(&origin->refs, 1, __ATOMIC_RELAXED);
	return origin;
}

void origin_put(struct origin *origin)
{
	if (!origin || __atomic_sub_fetch(&origin->refs, 1, __ATOMIC_ACQ_REL))
		return;
	vmspace_snapshot_close(origin->view); /* which drops the parent's origin in turn */
	free(origin);
}

uint64_t inherited_anon_id(const struct vmspace *space, const struct vma *vma)
{
	const struct origin *origin = space->origin;

	assert(is_inherited(space, vma));
	if (!vma_anon_id_shown(vma, origin->number[vma->birth - 1]))
		return 0;
	return origin->first_id + space_pages(space, vma->start);
}

void shown_look(const struct vmspace *space, struct vma *shown, const struct vma *vma)
{
	*shown = (struct vma){
		.start = vma->start, .end = vma->end, .flags = vma->flags, .pgoff = vma->pgoff,
		.anon_shift = vma->anon_shift, .backing = vma->backing, .name = vma->name,
		.policy = vma->policy, .anon_id = shown_anon_id(space, vma), .word = vma->word,
		.tags = vma->tags, .anon_shared = shown_anon_shared(space, vma),
		.may_have_anon = vma->may_have_anon,
		.dropped = vma->dropped,
	};
}

struct vma *shown_new(struct vmspace *space, const struct vma *like)
{
	struct vma room;

	return vma_new(&space->vmas, shown_as(space, like, &room));
}
