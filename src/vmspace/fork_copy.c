/* SPDX-License-Identifier: MIT */
/*
 * fork_copy.c - copies of all areas: the tree is duplicated node by node, then every entry is
 * replaced in place by an area of the copy; those that a child does not inherit are erased.
 */
#include <assert.h>
#include <errno.h>

#include "accounting.h"
#include "fork.h"
#include "inherited.h"
#include "past.h"
#include "sync.h"

/* How many areas are prefetched ahead of the copying. */
#define AHEAD 64

/* A copy in progress. */
struct copier {
	struct vmspace *parent, *child;
	struct pages *pages; /* of the parent; NULL: they are not copied */
	bool exact;
	size_t skipped; /* areas of the parent in the child's tree that it does not inherit */
};

/* An area of the parent in the child's tree. */
struct place {
	unsigned long first, last;
	const struct vma *old;
};

void fork_change(struct vma *vma)
{
	vma->flags &= ~VMA_LOCK_FLAGS;
	if (!vma->tags.uffd_forks) {
		vma->flags &= ~VMA_UFFD_FLAGS;
		vma->tags = vma_tags_unregistered(vma->tags);
	}
	vma->anon_shared = vma->anon_id && !(vma->flags & VMA_WIPEONFORK);
	if (!vma->anon_shared) {
		vma->anon_id = 0;
		vma->anon_shift = 0;
	}
}

static struct vma *copy_area(struct copier *copier, const struct vma *old)
{
	struct vmspace *child = copier->child;
	const struct vma *like;
	struct vma room, *vma;

	if (space_is_snapshot(copier->parent)) { /* beside its space */
		shown_look(copier->parent, &room, old);
		like = &room;
	} else {
		like = shown_as(copier->parent, old, &room);
	}
	vma = vma_new(&child->vmas, like);
	if (!vma)
		return NULL;
	vma->asked = 0;
	vma->anon_since = 0;
	if (copier->exact)
		return vma;
	fork_change(vma);
	if (vma->anon_id)
		vma->anon_id = child->next_anon_id++;
	return vma;
}

/* Is this an area of the parent that the child does not inherit? Areas of the child never are. */
static bool is_skipped(const struct copier *copier, const struct vma *vma)
{
	return !copier->exact && vma->flags & VMA_DONTCOPY;
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
	if ((copier->pages && pages_copy(child->pages, copier->pages, place->old)) ||
	    mas_store_gfp(mas, vma, GFP_KERNEL)) {
		vma_free(&child->vmas, vma);
		return -ENOMEM;
	}
	account_pages(child, vma->flags, space_pages(child, vma->end - vma->start), 1);
	account_area(child, vma, 1);
	account_place(child, vma, vma->start, vma->end);
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

/* Backings and names are those of both from now on: see vmspace_identify(). */
static void relate(struct vmspace *parent, struct vmspace *child)
{
	child->related = true;
	if (space_is_snapshot(parent))
		past_relate(parent->past);
	else
		parent->related = true;
}

long fork_copy(struct vmspace *parent, struct vmspace *child, bool exact)
{
	struct copier copier = { .parent = parent, .child = child, .exact = exact };
	unsigned long stopped = ULONG_MAX;
	int err;

	if (child->pages)
		copier.pages = parent->pages;
	assert(exact || !space_is_snapshot(parent));
	if (!space_is_snapshot(parent))
		sync_write_lock_all(parent);
	child->vmas.expected = parent->areas;
	relate(parent, child);
	set_rcu(&child->tree, mt_in_rcu(&parent->tree));
	err = __mt_dup(&parent->tree, &child->tree, GFP_KERNEL);
	/* No thread reads the child's tree yet. */
	mt_clear_in_rcu(&child->tree);
	if (err)
		return -ENOMEM;
	err = copy_areas(&copier, &stopped);
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
