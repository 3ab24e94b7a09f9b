/* SPDX-License-Identifier: MIT */
/*
 * become.c - in a child of the host's fork(), which has a copy of the parent's space, that copy becomes
 * the child's own: what VMSPACE_FORK would have made of it.
 */
#include <errno.h>

#include <mapletree/vmspace_window.h>

#include "commit.h"
#include "create.h"
#include "fork.h"
#include "ops.h"
#include "sync.h"
#include "words.h"

/* The areas that a child has, in a space without pages. 0 or -ENOMEM, with nothing changed. */
static int make_areas(struct vmspace *space, struct vmspace **out)
{
	struct vmspace_config config = space->config;
	int err = (int)commit_check_fork(space);

	*out = NULL;
	config.memory = NULL;
	config.hooks = NULL;
	config.threads = space->sync;
	if (!err)
		err = create_beside(out, &config);
	if (err)
		return err;
	fork_inherit(*out, space);
	err = (int)fork_copy(space, *out, false);
	if (err)
		vmspace_destroy(*out);
	return err;
}

/* What is told of an area that the child does not have. */
static void tell_of_missing(const struct vmspace *space)
{
	MA_STATE(mas, (struct maple_tree *)&space->tree, 0, 0);
	const struct vma *vma;

	if (!words_told(space))
		return;
	mas_for_each(&mas, vma, ULONG_MAX)
		if (vma->flags & VMA_DONTCOPY)
			words_drop(space, vma->start, vma->end, vma->word);
}

/* The pages of areas of which a child has none, as faults fill them, or nothing does. */
static void drop_pages(struct vmspace *space)
{
	unsigned long floor = 0, start = 0, end = 0;
	MA_STATE(mas, &space->tree, 0, 0);
	const struct vma *vma;

	mas_for_each(&mas, vma, ULONG_MAX) {
		if (!pages_inherited(vma)) {
			start = end ? start : vma->start;
			end = vma->end;
			continue;
		}
		if (end)
			pages_unmap(space->pages, start, end, floor, vma->start);
		end = 0;
		floor = vma->end;
	}
	if (end)
		pages_unmap(space->pages, start, end, floor, 0);
	pages_reclaim(space->pages, 0, space->config.task_size);
}

/* Cannot fail, and leaves `fresh` empty. */
static void take_areas(struct vmspace *space, struct vmspace *fresh)
{
	unsigned long of_parent = space->committed_vm;

	tell_of_missing(space);
	if (space->pages)
		drop_pages(space);
	create_clear_areas(space);
	/* The parent still has its own. */
	if (space->config.commit_pool)
		__atomic_add_fetch(space->config.commit_pool, of_parent, __ATOMIC_RELAXED);
	create_adopt(space, fresh);
	space->areas_peak = space->areas;
}

int vmspace_become_child(struct vmspace *space)
{
	struct vmspace_request fork = { .op = VMSPACE_FORK };
	struct vmspace *fresh;
	int err = vmspace_gather(space, &fork);

	if (err)
		return err;
	sync_enter(space);
	err = make_areas(space, &fresh);
	sync_leave(space);
	if (err)
		return err;
	take_areas(space, fresh);
	vmspace_destroy(fresh);
	return 0;
}
