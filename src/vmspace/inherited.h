/* SPDX-License-Identifier: MIT */
/*
 * inherited.h - areas that a child has from its parent, as long as it has not changed them.
 *
 * A large space is forked without a look at its areas: the child's tree is a snapshot of the
 * parent's, and so holds the parent's areas. What of them may change is looked at as it was then:
 * the child keeps a snapshot of the parent open. That makes the parent change its areas in copies
 * (change.h), and keeps those that die. The child changes them in copies, too; what differs in the
 * child's eyes is computed when it is looked at:
 *
 *   anon_id, anon_shared   an area that had an anon_vma has one of its own, which it inherited
 *   asked                  the child's host was not asked yet
 *
 * Areas whose flags differ in the child (VMA_FORK_FLAGS) are few; it gets its own of them at once.
 *
 * A tree holds areas of the space and of its ancestors. The ancestors are told apart by their
 * generation: 0 for a space that has nothing of another, else one more than its parent's. An area
 * says in which it was born (vma->birth, plus 1). docs/concurrency.md has the argument.
 */
#ifndef VMSPACE_INHERITED_H
#define VMSPACE_INHERITED_H

#include "space.h"

/* The most generations that share areas: a child of the last one gets copies of all. */
#define GENERATIONS_MAX 64

/*
 * What a child keeps of its parent. Immutable but for `refs`; all snapshots of the child use it, too.
 * Invariant: number[g] is of the snapshot that shows areas of generation g, g < the child's.
 */
struct origin {
	unsigned int refs;           /* atomic: the child until it has no areas, and its snapshots */
	const struct vmspace *view;  /* a snapshot of the parent; it has the parent's origin */
	uint64_t first_id;           /* of the inherited anon_vmas, each has one by its address */
	uint32_t number[];
};

/* The child of `parent`, whose snapshot `view` is, gets its origin. 0 or -ENOMEM. */
int origin_create(struct vmspace *child, const struct vmspace *parent, const struct vmspace *view);
/* NULL stays that. */
struct origin *origin_get(struct origin *origin);
void origin_put(struct origin *origin);

/* Is it an area of an ancestor? Copies that are in no tree never are. */
static inline bool is_inherited(const struct vmspace *space, const struct vma *vma)
{
	return __builtin_expect(vma->birth && vma->birth <= space->vmas.generation, 0);
}

uint64_t inherited_anon_id(const struct vmspace *space, const struct vma *vma);

/* The area's anon_vma, as the space shows it: a snapshot, or a live one. 0: none. */
static inline uint64_t shown_anon_id(const struct vmspace *space, const struct vma *vma)
{
	return is_inherited(space, vma) ? inherited_anon_id(space, vma)
					: vma_anon_id_shown(vma, space->number);
}

static inline bool shown_anon_shared(const struct vmspace *space, const struct vma *vma)
{
	return is_inherited(space, vma) ? inherited_anon_id(space, vma) != 0 : vma->anon_shared;
}

/*
 * Fill *shown with the area as a child, or a snapshot, shows it; it is in no tree, and holds nothing.
 * What calls on a live space may change of it at this moment is not read, or as an atomic.
 */
void shown_look(const struct vmspace *space, struct vma *shown, const struct vma *vma);
/* Fill *shown with all but the lock, as the space shows it. It is in no tree, and holds nothing. */
static inline void shown_fill(const struct vmspace *space, struct vma *shown, const struct vma *vma)
{
	if (is_inherited(space, vma))
		shown_look(space, shown, vma);
	else
		vma_fill(shown, vma);
}

/* The area itself, or *room, filled so: for functions that know no space. */
static inline const struct vma *shown_as(const struct vmspace *space, const struct vma *vma,
					 struct vma *room)
{
	if (!is_inherited(space, vma))
		return vma;
	shown_look(space, room, vma);
	return room;
}

/* A new area of the space like this one, with references of its own. NULL: no memory. */
struct vma *shown_new(struct vmspace *space, const struct vma *like);

#endif
