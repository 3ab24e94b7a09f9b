/* SPDX-License-Identifier: MIT */
/*
 * change.h - changes areas that others may be looking at.
 *
 * What is seen of an area stays as it is as long as somebody may see it. So a change is made in a
 * copy, which one store into the tree puts in the area's place: readers find the one or the other.
 * Where nobody can look, the area itself is changed, and that is all there is to it. (Two things
 * need no copy: vma_set_anon_id(), and what only calls read: see struct vma.)
 *
 *	changed = change_begin(space, vma);		NULL: no memory
 *	changed->flags |= ...
 *	change_end(space, vma, changed);		from now on `changed` is the area
 */
#ifndef VMSPACE_CHANGE_H
#define VMSPACE_CHANGE_H

#include "past.h"
#include "store.h"
#include "sync.h"

/* For change_begin(): a copy, or NULL. */
struct vma *change_copy(struct vmspace *space, const struct vma *vma);

/*
 * The area to change: vma, write-locked, or a copy of it that is in no tree. NULL: no memory, as
 * the request's outcome then says. It cannot fail after change_secure(), or in a call that has
 * reserved what it needs.
 */
static inline struct vma *change_begin(struct vmspace *space, struct vma *vma)
{
	sync_write_lock(space, vma);
	if (__builtin_expect(past_is_private(space), 1))
		return vma;
	/* In a space that one thread uses, an area that is younger than all snapshots is so, too. */
	if (!space->sync && !is_inherited(space, vma) &&
	    !(space->past && past_shows(space->past, vma)))
		return vma;
	return change_copy(space, vma);
}

void change_drop(struct vmspace *space, struct vma *changed);
/* `changed` != vma was stored over a larger range, and with it over vma: this one has died. */
void change_stored(struct vmspace *space, struct vma *vma);

/* Give `changed` up, which change_begin(vma) has returned: vma has to be as it was. */
static inline void change_cancel(struct vmspace *space, const struct vma *vma, struct vma *changed)
{
	if (changed != vma)
		change_drop(space, changed);
}

void change_put(struct vmspace *space, struct vma *vma, struct vma *changed);

/*
 * The area that the space may change in place in what only its calls look at: vma, or the copy that
 * has taken its place if it was inherited. NULL: no memory, and the outcome says so.
 */
struct vma *change_own(struct vmspace *space, struct vma *vma);

/* Put `changed` where the tree still holds vma, which must be what it now covers. Cannot fail. */
static inline void change_end(struct vmspace *space, struct vma *vma, struct vma *changed)
{
	if (__builtin_expect(changed != vma, 0))
		change_put(space, vma, changed);
}

/*
 * Before the first store of a change: the next @areas copies cannot fail. 0, or -ENOMEM with
 * nothing changed.
 */
int change_secure_slow(struct vmspace *space, unsigned long areas);
static inline int change_secure(struct vmspace *space, unsigned long areas)
{
	return __builtin_expect(past_is_private(space), 1) ? 0 : change_secure_slow(space, areas);
}

#endif
