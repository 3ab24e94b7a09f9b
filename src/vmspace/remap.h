/* SPDX-License-Identifier: MIT */
/* remap.h - an mremap under way; and its source, if MREMAP_DONTUNMAP leaves it where it is. */
#ifndef VMSPACE_REMAP_H
#define VMSPACE_REMAP_H

#include <stdbool.h>

#include "find.h"
#include "mman_names.h"
#include "space.h"

/* The request with lengths rounded to pages. */
struct move {
	unsigned long addr, old_length, new_length, new_addr;
	int flags;
	bool to_given;               /* MREMAP_FIXED or MREMAP_DONTUNMAP */
	unsigned long cut;           /* bytes that were cut off, as it is to become shorter */
	long host;                   /* where the host moved it; 0: not known */
	bool inner;                  /* a part that neither begins nor ends its area */
	bool refused;                /* the host refuses it, when room has been made */
	bool reserved;               /* the page tables that the move needs */
};

/*
 * What is moved out of a locked area and stays becomes an area of its own before it is copied, where
 * it will be unlocked as one. The area that contains it then, or NULL: no memory.
 */
struct vma *remap_part_source(struct vmspace *space, struct vma *vma, const struct move *m);

/* Would the copy merge with its source @vma, which stays, and does Linux merge it with no other? */
bool remap_stays_alone(struct vmspace *space, const struct vma *vma, const struct move *m,
		       const struct vma *proto);

/* Take a source that stays out of the neighbours of @hole that the copy may merge with. */
void remap_ignore_source(struct vmspace *space, const struct vma *vma, const struct move *m,
			 struct hole *hole);

/* The copy has been made at @at: the source stays, unlocked and without pages. 0 or -errno. */
long remap_leave_source(struct vmspace *space, const struct move *m, unsigned long at);

#endif
