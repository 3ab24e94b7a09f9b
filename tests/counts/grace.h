/* SPDX-License-Identifier: MIT */
/*
 * grace.h - a flavour of RCU without readers whose grace periods end when they are told to.
 *
 * With liburcu's, a thread of its own frees nodes whenever the machine lets it, and whether a store
 * finds a free block at hand would depend on that. Here, too, another thread frees them, as in
 * every program; but it does so between operations that are counted, and is waited for.
 */
#ifndef GRACE_H
#define GRACE_H

#include <mapletree/maple_tree.h>

extern const struct mt_rcu grace_flavour;

/* grace_start - before the first tree of this flavour; ends the program if it cannot. */
void grace_start(void);

/* grace_end - every callback that waits is run, by the other thread. */
void grace_end(void);

#endif
