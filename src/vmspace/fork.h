/* SPDX-License-Identifier: MIT */
/* fork.h - the two ways in which a child gets its areas. */
#ifndef VMSPACE_FORK_H
#define VMSPACE_FORK_H

#include "space.h"

/* The child has of its parent what is neither areas nor configuration. */
void fork_inherit(struct vmspace *child, const struct vmspace *parent);

/*
 * Copy all areas of the parent to the child, which has none; with their pages, if both have some.
 * exact: a clone; else as fork does. 0 or -ENOMEM, with nothing copied.
 */
long fork_copy(struct vmspace *parent, struct vmspace *child, bool exact);
/* An area's copy becomes what a child has of it. It may still have its parent's anon_vma. */
void fork_change(struct vma *vma);

/* Is it worth while, and possible, that the child shares the parent's areas? */
bool fork_may_share(const struct vmspace *parent, const struct vmspace *child);
/*
 * The child, which has none, gets all areas that the parent has now, and copies of its own of those
 * that differ. 0; -ENOMEM: the child is to be destroyed; -EOVERFLOW: nothing has happened, and it
 * cannot be.
 */
int fork_share(struct vmspace *parent, struct vmspace *child);

#endif
