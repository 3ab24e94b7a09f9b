/* SPDX-License-Identifier: MIT */
/*
 * host.h - what a mirror has to ask the host: anonymous pages and grown stacks.
 *
 * An area gets its anon_vma with its first anonymous page. A mirror does not see that happen; so
 * before a decision depends on it, the host is asked about the whole run of neighbours that could
 * share an anon_vma.
 */
#ifndef VMSPACE_HOST_H
#define VMSPACE_HOST_H

#include "space.h"

/* Find out from the host which areas that overlap or touch [start, end] have anonymous pages. */
void host_query_anon(struct vmspace *space, unsigned long start, unsigned long end);

/* Grow the growsdown areas near [start, end] as the host says. Returns how many grew, or -errno. */
int host_grow_stacks(struct vmspace *space, unsigned long start, unsigned long end);

#endif
