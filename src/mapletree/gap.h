/* SPDX-License-Identifier: MIT */
/*
 * gap.h - the widest run of free indexes: of a node, kept along a path, and searched for.
 */
#ifndef MT_GAP_H
#define MT_GAP_H

#include "path.h"

/* gap_widest - the widest free run below @node, which covers [min, max]; 0 if there is none. */
unsigned long gap_widest(struct mt_node *node, enum node_kind kind, unsigned long min,
			 unsigned long max);

/*
 * gap_update_path - after the node at @step of @path changed: bring the gaps above it up to date,
 * as far as they change. Lock held; gap-tracking trees only.
 */
void gap_update_path(struct mt_path *path, unsigned int step);

/*
 * gap_find - set *@start to the lowest or highest place for @want, whose members are sound:
 * size > 0, min <= max, align a power of two. False: no room. Lock or read side; beside a writer
 * the answer may be a moment old.
 */
bool gap_find(const struct maple_tree *mt, const struct mt_area *want, unsigned long *start);

#endif
