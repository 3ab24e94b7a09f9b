/* SPDX-License-Identifier: MIT */
/*
 * pkey.h - memory protection keys: which are allocated, and the one of execute-only areas.
 *
 * Processors with such keys have no other way to map memory that can be executed but not read: when
 * a process first asks for PROT_EXEC alone, Linux allocates a key that denies every other access,
 * and gives it to all such areas from then on. What other keys deny is each thread's own choice,
 * which is not modelled. (pkeys(7), "Memory Protection Keys" in Linux's documentation; the rest as
 * observed.)
 */
#ifndef VMSPACE_PKEY_H
#define VMSPACE_PKEY_H

#include "space.h"

/* A new program has key 0 alone. */
void pkey_reset(struct pkeys *keys);
/* An area that exists has the key: so it is allocated, or the one of execute-only areas. */
void pkey_take_over(struct vmspace *space, const struct vma *vma);

/* The key of areas that can only be executed; allocated if there is none yet. 0: none is free. */
unsigned int pkey_execute_only(struct vmspace *space);
/*
 * The key that a part of vma has after mprotect() with `prot`; it may be one that
 * pkey_execute_only() is still to allocate.
 */
unsigned int pkey_protected(const struct vmspace *space, const struct vma *vma, int prot);
/* May pkey_mprotect() give the key to an area? What the host did may tell that it is allocated. */
bool pkey_usable(struct vmspace *space, int pkey);

/* The lowest free key becomes allocated, and is returned; -ENOSPC: there is none. */
long pkey_allocate(struct vmspace *space);
/* The key, which is usable, becomes free. */
void pkey_release(struct vmspace *space, int pkey);
/*
 * What pkey_alloc() returned to the host tells of a process that was attached to: that all lower
 * keys are allocated, or all there are.
 */
void pkey_learn(struct vmspace *space, long result);

/* Does the area's key permit the access (VMSPACE_ACCESS_*)? Under the area's lock or the space's. */
static inline bool pkey_permits(const struct vmspace *space, const struct vma *vma,
				unsigned int access)
{
	return !(access & (VMSPACE_ACCESS_READ | VMSPACE_ACCESS_WRITE)) ||
	       !vma_is_opaque(vma, &space->pkeys.execute_only);
}

#endif
