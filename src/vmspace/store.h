/* SPDX-License-Identifier: MIT */
/* store.h - stores into a space's tree of areas, and reservations that keep them from failing. */
#ifndef VMSPACE_STORE_H
#define VMSPACE_STORE_H

#include "space.h"

/*
 * Store vma (NULL: nothing) into the tree at [start, end). 0, or -ENOMEM: nothing has changed.
 * Cannot fail where vma replaces one entry that stands at exactly [start, end). In a space that
 * several threads use, the area comes into the tree write-locked.
 */
int store_area(struct vmspace *space, unsigned long start, unsigned long end, struct vma *vma);

/* Store vma where the tree holds an area at exactly its range. Cannot fail. */
void store_in_place(struct vmspace *space, struct vma *vma);

/*
 * Reserve for the present call, before it changes anything: its next `stores` calls of store_area()
 * and `areas` calls of vma_new() cannot fail then. A store over many areas counts as one more for
 * each 64 of them. Where areas are copied to be changed (change.h), the copies that come with so
 * many stores are reserved as well. What is reserved already counts. 0, or -ENOMEM: nothing has
 * changed.
 */
int store_reserve(struct vmspace *space, unsigned long stores, unsigned long areas);
/* The same for all that the present call may do, so that edit_change() reserves nothing more. */
int store_reserve_call(struct vmspace *space, unsigned long stores, unsigned long areas);
/* The present call is going to reserve frames or page tables with pages_reserve*(). */
static inline void store_reserve_pages(struct vmspace *space)
{
	space->reserve.active = space->reserve.pages = true;
}

/* A call ends: give back what it reserved and did not use. */
void store_end_call_slow(struct vmspace *space);
static inline void store_end_call(struct vmspace *space)
{
	if (space->reserve.active)
		store_end_call_slow(space);
}

/*
 * What every call in a space with pages reserves, stores and areas: enough for most calls that take
 * several steps.
 */
#define STORE_STEPS RESERVE_KEEP

#endif
