/* SPDX-License-Identifier: MIT */
/*
 * fork.c - the child's address space, and exact copies: the tree is duplicated node by node, then
 * every entry is replaced in place by the copy's own area (or by nothing, for areas that a child
 * does not inherit).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "find.h"
#include "host.h"
#include "ops.h"

static struct backing *copy_backing(struct backing *old)
{
	if (!old)
		return NULL;
	if (old->copy)
		return backing_get(old->copy);
	old->copy = backing_new(&old->is);
	return old->copy;
}

static struct anon_name *copy_name(struct anon_name *old)
{
	if (!old)
		return NULL;
	if (old->copy)
		return anon_name_get(old->copy);
	old->copy = anon_name_new(old->text);
	return old->copy;
}

static struct vma *copy_area(struct vmspace *child, const struct vma *old, bool exact)
{
	struct vma *vma = malloc(sizeof(*vma));

	if (!vma)
		return NULL;
	*vma = *old;
	vma->backing = copy_backing(old->backing);
	vma->name = copy_name(old->name);
	if ((old->backing && !vma->backing) || (old->name && !vma->name)) {
		vma_free(vma);
		return NULL;
	}
	vma->asked = 0;
	if (exact)
		return vma;
	vma->flags &= ~(VMA_LOCK_FLAGS | VMA_UFFD_MISSING | VMA_UFFD_WP | VMA_UFFD_MINOR);
	if (!old->anon_id)
		return vma;
	vma->anon_id = 0;
	vma->anon_shared = false;
	if (!(vma->flags & VMA_WIPEONFORK)) {
		vma->anon_id = child->next_anon_id++;
		vma->anon_shared = true;
	}
	return vma;
}

/* The pointers to copies are only good during one fork. */
static void forget_copies(struct vmspace *parent)
{
	MA_STATE(mas, &parent->tree, 0, 0);
	struct vma *vma;

	mas_for_each(&mas, vma, ULONG_MAX) {
		if (vma->backing)
			vma->backing->copy = NULL;
		if (vma->name)
			vma->name->copy = NULL;
	}
}

/*
 * Replace the parent's areas, which the duplicated tree holds, by the child's. On failure the tree
 * still holds areas of the parent from *stopped on.
 */
static int copy_areas(struct vmspace *child, bool exact, unsigned long *stopped)
{
	MA_STATE(mas, &child->tree, 0, 0);
	struct vma *old, *vma;

	mas_for_each(&mas, old, ULONG_MAX) {
		unsigned long start = old->start, end = old->end;
		bool skip = !exact && old->flags & VMA_DONTCOPY;

		vma = skip ? NULL : copy_area(child, old, exact);
		mas_set_range(&mas, start, end - 1);
		if ((!skip && !vma) || mas_store_gfp(&mas, vma, GFP_KERNEL)) {
			if (vma)
				vma_free(vma);
			*stopped = start;
			return -ENOMEM;
		}
		if (vma) {
			space_account(child, vma->flags, space_pages(child, end - start), 1);
			space_count_area(child, vma, 1);
		}
		mas_set(&mas, end);
	}
	return 0;
}

/* Take the parent's areas out of a half copied tree, so that the child's can be freed. */
static void drop_parent_areas(struct vmspace *child, unsigned long from)
{
	MA_STATE(mas, &child->tree, 0, 0);
	struct vma *vma;

	mas_for_each(&mas, vma, from ? from - 1 : 0) {
		if (vma->start >= from)
			break;
		vma_free(vma);
	}
	__mt_destroy(&child->tree);
}

static void inherit(struct vmspace *child, const struct vmspace *parent)
{
	child->image = parent->image;
	child->mmap_base = parent->mmap_base;
	child->base_guessed = parent->base_guessed;
	child->next_anon_id = parent->next_anon_id;
	child->next_file_id = parent->next_file_id;
}

static long duplicate(struct vmspace *parent, struct vmspace *child, bool exact)
{
	unsigned long stopped = 0;
	int err;

	if (__mt_dup(&parent->tree, &child->tree, GFP_KERNEL))
		return -ENOMEM;
	err = copy_areas(child, exact, &stopped);
	forget_copies(parent);
	if (err)
		drop_parent_areas(child, stopped);
	return err;
}

long fork_call(struct vmspace *space, struct vmspace_request *req)
{
	struct vmspace_config config = space->config;
	struct vmspace *child;

	req->fork.child = NULL;
	if (space->host_error)
		return space_fail(space, space->host_error, "refused by the host");
	config.host = req->fork.child_host ? *req->fork.child_host : (struct vmspace_host){ 0 };
	if (vmspace_create(&child, &config))
		return space_no_memory(space);
	inherit(child, space);
	if (duplicate(space, child, false)) {
		vmspace_destroy(child);
		return space_no_memory(space);
	}
	req->fork.child = child;
	return req->host.valid ? req->host.result : 0;
}

int vmspace_clone(struct vmspace **out, const struct vmspace *space)
{
	struct vmspace *copy;
	int err;

	*out = NULL;
	err = vmspace_create(&copy, &space->config);
	if (err)
		return err;
	inherit(copy, space);
	/* duplicate() keeps notes in the areas' backings and names while it works. */
	err = (int)duplicate((struct vmspace *)space, copy, true);
	if (err) {
		vmspace_destroy(copy);
		return err;
	}
	/* Of the counters, only this one is more than a sum over the areas. */
	copy->locked_vm = space->locked_vm;
	copy->locked_leak = space->locked_leak;
	copy->default_flags = space->default_flags;
	copy->era = space->era;
	memcpy(copy->requests, space->requests, sizeof(copy->requests));
	copy->areas_peak = space->areas_peak;
	copy->merges = space->merges;
	copy->splits = space->splits;
	copy->host_questions = space->host_questions;
	*out = copy;
	return 0;
}
