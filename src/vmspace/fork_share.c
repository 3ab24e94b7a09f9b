/* SPDX-License-Identifier: MIT */
/* fork_share.c - a child that has its parent's areas until one of the two changes them. */
#include <assert.h>
#include <errno.h>

#include "accounting.h"
#include "commit.h"
#include "fork.h"
#include "inherited.h"
#include "words.h"

/* From so many areas on. Below, copies are made sooner than a snapshot, and need no care later. */
#define SHARED_FROM 256
/* Not if more than one in so many has to be changed at once. */
#define CHANGED_PART 8

/* Debug builds share every other time whatever they can: tests of children are tests of both ways. */
static bool is_worth_it(const struct vmspace *parent)
{
#ifndef NDEBUG
	if (!((parent->areas + parent->requests[VMSPACE_FORK]) & 1))
		return true;
#endif
	return parent->areas >= SHARED_FROM && parent->fork_areas <= parent->areas / CHANGED_PART;
}

bool fork_may_share(const struct vmspace *parent, const struct vmspace *child)
{
	return !parent->sync && !child->sync && !words_told(parent) &&
	       parent->vmas.generation < GENERATIONS_MAX &&
	       parent->next_anon_id <= UINT64_MAX / 2 && is_worth_it(parent);
}

/* The parent's areas as they are, with the same counters. */
static void share_areas(struct vmspace *parent, struct vmspace *child)
{
	MA_STATE(mas, &parent->tree, 0, 0);
	int err = mt_set_allocator(&child->tree, parent->tree.ma_alloc);

	if (!err)
		err = mas_snapshot(&mas, &child->tree, GFP_KERNEL);
	assert(!err); /* both are alike, and the child's is empty */
	(void)err;
	reserve_share(&child->reserve);
	child->areas = parent->areas;
	child->grow_areas = parent->grow_areas;
	child->fork_areas = parent->fork_areas;
	child->fork_from = parent->fork_from;
	child->fork_to = parent->fork_to;
	child->total_vm = parent->total_vm;
	child->locked_vm = parent->locked_vm - parent->locked_leak;
	child->data_vm = parent->data_vm;
	child->stack_vm = parent->stack_vm;
	child->exec_vm = parent->exec_vm;
	commit_charge(child, parent->committed_vm, 1);
	/*
	 * By the child others may have the parent's backings, also when it has gone. The child
	 * need not be marked: it has an origin, which vmspace_identify() asks for, too.
	 */
	parent->related = true;
}

/* The child does not inherit the area at the cursor. */
static int erase_area(struct vmspace *child, struct ma_state *mas, const struct vma *vma)
{
	int err = mas_store_gfp(mas, NULL, GFP_KERNEL);

	if (err)
		return err;
	account_pages(child, vma->flags, space_pages(child, vma->end - vma->start), -1);
	account_area(child, vma, -1);
	return 0;
}

/* The child's area at the cursor is another than the parent's. */
static int replace_area(struct vmspace *child, struct ma_state *mas, const struct vma *vma)
{
	struct vma *own = shown_new(child, vma);
	int err = -ENOMEM;

	if (!own)
		return err;
	fork_change(own);
	err = mas_store_gfp(mas, own, GFP_KERNEL);
	if (err) {
		vma_free(&child->vmas, own);
		return err;
	}
	account_change(child, vma->flags, own->flags, space_pages(child, own->end - own->start));
	account_area_flags(child, own, vma->flags);
	return 0;
}

/* What fork changes of areas by their flags. */
static int change_areas(struct vmspace *child)
{
	unsigned long left = child->fork_areas;
	MA_STATE(mas, &child->tree, child->fork_from, child->fork_from);
	const struct vma *vma;
	int err = 0;

	while (!err && left && (vma = mas_find(&mas, ULONG_MAX))) {
		if (!(vma->flags & VMA_FORK_FLAGS))
			continue;
		left--;
		err = vma->flags & VMA_DONTCOPY ? erase_area(child, &mas, vma)
						: replace_area(child, &mas, vma);
	}
	assert(err || !left);
	return err;
}

int fork_share(struct vmspace *parent, struct vmspace *child)
{
	const struct vmspace *view;
	int err = vmspace_snapshot(&view, parent);

	if (err)
		return err;
	err = origin_create(child, parent, view);
	if (err) {
		vmspace_snapshot_close(view);
		return err;
	}
	parent->last_child = view->number;
	share_areas(parent, child);
	err = change_areas(child);
	child->areas_peak = child->areas;
	assert(err || account_valid(child));
	return err;
}
