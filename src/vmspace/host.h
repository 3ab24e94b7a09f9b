/* SPDX-License-Identifier: MIT */
/*
 * host.h - what has to be asked of the host: anonymous pages and grown stacks.
 *
 * An area's anon_vma appears with its first anonymous page. A mirror cannot see that happen, so
 * before a decision depends on it the host is asked, for the whole run of neighbours that could
 * have taken an anon_vma from each other.
 */
#ifndef VMSPACE_HOST_H
#define VMSPACE_HOST_H

#include "space.h"

/* Know, as far as the host can tell, whether the areas that touch [start, end] have pages. */
void host_learn(struct vmspace *space, unsigned long start, unsigned long end);

/* The first anonymous page of vma was made: give it an anon_vma, a neighbour's if that fits. */
void host_give_anon_vma(struct vmspace *space, struct vma *vma);

/* Grow the growsdown areas that touch [start, end] as the host says. Number grown or -errno. */
int host_grow_stacks(struct vmspace *space, unsigned long start, unsigned long end);

#endif
