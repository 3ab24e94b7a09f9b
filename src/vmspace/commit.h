/* SPDX-License-Identifier: MIT */
/* commit.h - committed memory: what a space is charged for, and whether it may be charged more. */
#ifndef VMSPACE_COMMIT_H
#define VMSPACE_COMMIT_H

#include "space.h"

/* Charge `pages` more (sign 1) or less (sign -1) to the space, and to the pool that it shares. */
void commit_charge(struct vmspace *space, unsigned long pages, int sign);

/*
 * May `pages` more be committed at once? 0 or -ENOMEM; see outcome_limit(). Charges nothing.
 */
long commit_check(struct vmspace *space, unsigned long pages);

/* Does mode 0 refuse so many pages, whatever else is committed? */
bool commit_too_large(const struct vmspace *space, unsigned long pages);

/* May a child be charged for the areas that it would inherit? 0 or -ENOMEM. */
long commit_check_fork(struct vmspace *space);

/* Pages committed by all that share the space's pool; the most there may be in mode 2. */
unsigned long commit_total(const struct vmspace *space);
unsigned long commit_limit(const struct vmspace *space);

#endif
