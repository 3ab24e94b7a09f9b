/* SPDX-License-Identifier: MIT */
/*
 * whole.h - failures of the calls that make or drop a whole tree. All abort on a finding.
 */
#ifndef FAULT_WHOLE_H
#define FAULT_WHOLE_H

#include "trees.h"

/* mtree_dup() and __mt_dup() of @from; adds the failures made to *@failures. */
void whole_dup(struct scene *from, unsigned long long *failures);

/* mas_expected_entries(), then stores that may not fail. */
void whole_bulk(unsigned int flags, unsigned int entries, unsigned long long *failures);

/* mtree_destroy() without memory. */
void whole_destroy(struct scene *from);

/* A write after each number of earlier ones, so that the batch of retired nodes is at each fill. */
void whole_batches(struct scene *from, unsigned long long *failures);

#endif
