/* SPDX-License-Identifier: MIT */
/* fault.h - the rules of page faults. */
#ifndef VMSPACE_FAULT_H
#define VMSPACE_FAULT_H

#include "pkey.h"

/* Would a page fault at addr grow the growsdown area vma down to there? 0 or -errno. */
long fault_may_grow_down(struct vmspace *space, const struct vma *vma, unsigned long addr);
/* Grow it, if allowed. 0 or -errno. (As in Linux, it gets an anon_vma in most cases even then.) */
long fault_grow_down(struct vmspace *space, struct vma *vma, unsigned long addr);

/* A VMSPACE_FAULT request in a space without memory. */
long fault_call(struct vmspace *space, struct vmspace_request *req);

/* Can a first read anywhere in an anonymous area map a huge page, and so need an anon_vma? */
bool fault_huge_somewhere(const struct vmspace *space, const struct vma *vma);

/* Do the area's protection and its key allow the access? Under the area's lock or the space's. */
static inline bool fault_permitted(const struct vmspace *space, const struct vma *vma,
				   unsigned int access)
{
	return vma_permits(vma, access) && pkey_permits(space, vma, access);
}

/* Does the access map an anonymous page in a private area? The area is read-locked. */
bool fault_needs_anon(const struct vmspace *space, const struct vma *vma, unsigned long addr,
		      unsigned int access);

#endif
