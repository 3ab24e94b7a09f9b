/* SPDX-License-Identifier: MIT */
/*
 * intervals.h - what users of a map of intervals do, by a loop of steps and stores as they would
 * write it, and by the call that does the same.
 */
#ifndef COUNTS_INTERVALS_H
#define COUNTS_INTERVALS_H

#include "../../bench/engine.h"

/* Each on a tree, about @range; returns false if it failed. */
typedef bool interval_fn(void *map, const struct range *range);

/* Store the entry, joined with neighbours that have the same. */
interval_fn join_by_hand, join_by_call;
/* Give each piece another entry, joined with neighbours that have the same. */
interval_fn update_by_hand, update_by_call;
/* Remove what is there, and look at each piece of it. */
interval_fn take_by_hand, take_by_call;

#endif
