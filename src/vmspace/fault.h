/* SPDX-License-Identifier: MIT */
/* fault.h - the rules of page faults. */
#ifndef VMSPACE_FAULT_H
#define VMSPACE_FAULT_H

#include "space.h"

/* May the growsdown area vma grow down to addr, as a page fault there makes it? 0 or -errno. */
long fault_may_grow_down(struct vmspace *space, const struct vma *vma, unsigned long addr);
/* Let it, if it may. 0 or -errno. (An anon_vma it gets in most cases, as in Linux.) */
long fault_grow_down(struct vmspace *space, struct vma *vma, unsigned long addr);

/* A VMSPACE_FAULT request in a space without memory. */
long fault_call(struct vmspace *space, struct vmspace_request *req);

/* May a first read somewhere in an anonymous area give it a huge page, and so an anon_vma? */
bool fault_huge_somewhere(const struct vmspace *space, const struct vma *vma);

/* Does the access give a private area an anonymous page? The area's lock, for reading. */
bool fault_needs_anon(const struct vmspace *space, const struct vma *vma, unsigned long addr,
		      unsigned int access);

#endif
