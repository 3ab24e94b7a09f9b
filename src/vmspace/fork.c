/* SPDX-License-Identifier: MIT */
/*
 * fork.c - the child's address space, and exact copies (vmspace_clone()): the tree is duplicated
 * node by node, then every entry is replaced in place by an area of the copy; those that a child
 * does not inherit are erased.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "accounting.h"
#include "commit.h"
#include "find.h"
#include "ops.h"
#include "outcome.h"
#include "sync.h"
#include "words.h"

/* How many areas are prefetched ahead of the copying. */
#define AHEAD 64

/* A copy in progress. Backings and names of the parent point to their copies, and are listed. */
struct copier {
	struct vmspace *child;
	struct pages *pages; /* of the parent; NULL: they are not copied */
	bool exact;
	size_t skipped; /* areas of the parent in the child's tree that it does not inherit */
	struct backing *backings;
	struct anon_name *names;
};

/* An area of the parent in the child's tree. */
struct place {
	unsigned long first, last;
	const struct vma *old;
};

static struct backing *copy_backing(struct copier *copier, struct backing *old)
{
	if (!old)
		return NULL;
	if (old->copy)
		return backing_get(old->copy);
	old->copy = backing_new(&old->is);
	if (old->copy) {
		old->next = copier->backings;
		copier->backings = old;
	}
	return old->copy;
}

static struct anon_name *copy_name(struct copier *copier, struct anon_name *old)
{
	if (!old)
		return NULL;
	if (old->copy)
		return anon_name_get(old->copy);
	old->copy = anon_name_new(old->text);
	if (old->copy) {
		old->next = copier->names;
		copier->names = old;
	}
	return old->copy;
}

/* The pointers to copies are valid only during one fork. */
static void clear_copy_links(struct copier *copier)
{
	struct backing *backing;
	struct anon_name *name;

	while ((backing = copier->backings)) {
		copier->backings = backing->next;
		backing->copy = backing->next = NULL;
	}
	while ((name = copier->names)) {
		copier->names = name->next;
		name->copy = NULL;
		name->next = NULL;
	}
}

static struct vma *copy_area(struct copier *copier, const struct vma *old)
{
	struct vmspace *child = copier->child;
	struct vma *vma = vma_alloc(&child->vmas);

	if (!vma)
		return NULL;
	vma_fill(vma, old);
	vma->backing = copy_backing(copier, old->backing);
	vma->name = copy_name(copier, old->name);
	policy_get(vma->policy);
	if ((old->backing && !vma->backing) || (old->name && !vma->name)) {
		vma_free(&child->vmas, vma);
		return NULL;
	}
	vma->asked = 0;
	vma->anon_since = 0;
	if (copier->exact)
		return vma;
	vma->flags &= ~VMA_LOCK_FLAGS;
	if (!vma->uffd_forks) {
		vma->flags &= ~VMA_UFFD_FLAGS;
		vma->uffd = 0;
		vma->uffd_moves = false;
	}
	if (!old->anon_id)
		return vma;
	vma->anon_shared = !(vma->flags & VMA_WIPEONFORK);
	vma->anon_id = vma->anon_shared ? child->next_anon_id++ : 0;
	if (!vma->anon_id)
		vma->anon_shift = 0;
	return vma;
}

/* Is this an area of the parent that the child does not inherit? Areas of the child never are. */
static bool is_skipped(const struct copier *copier, const struct vma *vma)
{
	return !copier->exact && vma->flags & VMA_DONTCOPY;
}

/* Copy the area's pages to the child. */
static int copy_pages(struct copier *copier, const struct vma *old)
{
	if (old->flags & VMA_WIPEONFORK)
		return 0;
	return pages_copy(copier->child->pages, copier->pages, old);
}

/* Replace the parent's area by the child's, if it is inherited. */
static int replace_area(struct copier *copier, struct ma_state *mas, const struct place *place)
{
	struct vmspace *child = copier->child;
	struct vma *vma;

	if (is_skipped(copier, place->old)) {
		copier->skipped++;
		return 0;
	}
	vma = copy_area(copier, place->old);
	if (!vma)
		return -ENOMEM;
	sync_attach(child, vma);
	mas_set_range(mas, place->first, place->last);
	if ((copier->pages && copy_pages(copier, place->old)) ||
	    mas_store_gfp(mas, vma, GFP_KERNEL)) {
		vma_free(&child->vmas, vma);
		return -ENOMEM;
	}
	account_pages(child, vma->flags, space_pages(child, vma->end - vma->start), 1);
	account_area(child, vma, 1);
	return 0;
}

/* Prefetch the next area after the cursor. False: there is none. */
static bool find_ahead(struct ma_state *mas, struct place *place)
{
	place->old = mas_find(mas, ULONG_MAX);
	if (!place->old)
		return false;
	__builtin_prefetch(place->old);
	place->first = mas->index;
	place->last = mas->last;
	return true;
}

/*
 * Replace the parent's areas, which the duplicated tree holds, by the child's. Replacing an entry
 * in place moves nothing, so the reading cursor, AHEAD areas before, stays valid; therefore areas
 * that are not inherited are erased only later. On failure the tree still holds areas of the parent
 * from *stopped on.
 */
static int copy_areas(struct copier *copier, unsigned long *stopped)
{
	MA_STATE(mas, &copier->child->tree, 0, 0);
	MA_STATE(to, &copier->child->tree, 0, 0);
	struct place place[AHEAD];
	size_t found = 0, done;

	while (found < AHEAD && find_ahead(&mas, &place[found]))
		found++;
	for (done = 0; done < found; done++) {
		struct place *next = &place[done % AHEAD];

		if (replace_area(copier, &to, next)) {
			*stopped = next->first;
			return -ENOMEM;
		}
		if (found - done == AHEAD && find_ahead(&mas, next))
			found++;
	}
	return 0;
}

/* Erase the parent's areas that the child does not inherit. */
static int erase_skipped(struct copier *copier)
{
	MA_STATE(mas, &copier->child->tree, 0, 0);
	struct vma *vma;

	while (copier->skipped && (vma = mas_find(&mas, ULONG_MAX))) {
		if (!is_skipped(copier, vma))
			continue;
		if (mas_store_gfp(&mas, NULL, GFP_KERNEL))
			return -ENOMEM;
		copier->skipped--;
	}
	return 0;
}

/* Undo a copy that reached `from`: free the child's areas below, and the tree. */
static void undo_copy(struct copier *copier, unsigned long from)
{
	MA_STATE(mas, &copier->child->tree, 0, 0);
	struct vma *vma;

	while ((vma = mas_find(&mas, ULONG_MAX)) && mas.index < from) {
		if (!is_skipped(copier, vma))
			vma_free(&copier->child->vmas, vma);
	}
	__mt_destroy(&copier->child->tree);
}

static void inherit(struct vmspace *child, const struct vmspace *parent)
{
	child->image = parent->image;
	child->pkeys = parent->pkeys;
	child->mmap_base = parent->mmap_base;
	child->base_guessed = parent->base_guessed;
	child->largest_area = parent->largest_area;
	child->next_anon_id = parent->next_anon_id;
	child->next_file_id = parent->next_file_id;
}

/* This thread has switched the child's tree into RCU mode before, so it can again. */
static void set_rcu(struct maple_tree *tree, bool rcu)
{
	int err = 0;

	if (rcu)
		err = mt_set_in_rcu(tree);
	else
		mt_clear_in_rcu(tree);
	assert(!err);
	(void)err;
}

static long duplicate(struct vmspace *parent, struct vmspace *child, bool exact)
{
	struct copier copier = { .child = child, .exact = exact };
	unsigned long stopped = ULONG_MAX;
	int err;

	if (child->pages)
		copier.pages = parent->pages;
	sync_write_lock_all(parent);
	child->vmas.expected = parent->areas;
	set_rcu(&child->tree, mt_in_rcu(&parent->tree));
	err = __mt_dup(&parent->tree, &child->tree, GFP_KERNEL);
	/* No thread reads the child's tree yet. */
	mt_clear_in_rcu(&child->tree);
	if (err)
		return -ENOMEM;
	err = copy_areas(&copier, &stopped);
	clear_copy_links(&copier);
	if (!err)
		err = erase_skipped(&copier);
	if (err)
		undo_copy(&copier, stopped);
	assert(err || (account_valid(child) && child->areas + copier.skipped <= parent->areas));
	set_rcu(&child->tree, child->sync);
	if (child->sync)
		sync_unlock_areas(child);
	return err;
}

long fork_call(struct vmspace *space, struct vmspace_request *req)
{
	struct vmspace_config config = space->config;
	struct vmspace *child;
	long err;

	req->fork.child = NULL;
	if (space->host_error)
		return outcome_fail(space, space->host_error, "refused by the host");
	err = commit_check_fork(space);
	if (err)
		return err;
	config.host = req->fork.child_host ? *req->fork.child_host : (struct vmspace_host){ 0 };
	config.hooks = req->fork.child_hooks;
	if (req->fork.child_memory)
		config.memory = req->fork.child_memory;
	else if (config.memory && config.memory->map)
		return outcome_fail(space, -EINVAL,
				    "fork needs child_memory: the parent's has a map()");
	if (vmspace_create(&child, &config))
		return outcome_no_memory(space);
	inherit(child, space);
	if (words_inherit(child, space, false) || duplicate(space, child, false)) {
		vmspace_destroy(child);
		return outcome_no_memory(space);
	}
	words_fork(space, child);
	req->fork.child = child;
	return req->host.valid ? req->host.result : 0;
}

static int make_clone(struct vmspace **out, const struct vmspace *space)
{
	struct vmspace_config config = space->config;
	struct vmspace *copy;
	int err;

	*out = NULL;
	config.memory = NULL;
	config.hooks = NULL;
	/* A copy to try requests on is not charged. */
	if (config.commit_pool) {
		config.committed_elsewhere = commit_total(space) - space->committed_vm;
		config.commit_pool = NULL;
	}
	err = vmspace_create(&copy, &config);
	if (err)
		return err;
	inherit(copy, space);
	err = words_inherit(copy, space, true);
	/* duplicate() temporarily links backings and names to their copies. */
	if (!err)
		err = (int)duplicate((struct vmspace *)space, copy, true);
	if (err) {
		vmspace_destroy(copy);
		return err;
	}
	/* Of the counters, only locked_vm is more than a sum over the areas. */
	copy->locked_vm = space->locked_vm;
	copy->locked_leak = space->locked_leak;
	copy->pinned_vm = space->pinned_vm;
	copy->default_flags = space->default_flags;
	copy->request_seq = space->request_seq;
	memcpy(copy->requests, space->requests, sizeof(copy->requests));
	copy->areas_peak = space->areas_peak;
	copy->merges = space->merges;
	copy->splits = space->splits;
	copy->changes = space->changes;
	copy->host_questions = space->host_questions;
	*out = copy;
	return 0;
}

int vmspace_clone(struct vmspace **out, const struct vmspace *space)
{
	int err;

	*out = NULL;
	if (space_is_snapshot(space))
		return -EROFS;
	sync_enter(space);
	err = make_clone(out, space);
	sync_leave(space);
	return err;
}
