/* SPDX-License-Identifier: MIT */
/*
 * build.h - carry out a plan on memory no reader can see: fill new nodes.
 */
#ifndef MT_BUILD_H
#define MT_BUILD_H

#include "plan.h"
#include "pool.h"

/* Where the range written ended up: a leaf, or no node at all (@node NULL). */
struct mt_place {
	struct mt_node *node;
	unsigned long min;
	unsigned long max;
	unsigned char offset;
	unsigned char end;
};

/*
 * build_levels - build all nodes @plan asks for below the level it publishes at, from blocks of
 * @reserve, and return the topmost of them as items in *@built; sets *@place if the leaf is
 * among them. With nothing to build it returns the items of the leaf. Lock held.
 */
const struct mt_items *build_levels(const struct mt_plan *plan, const struct maple_tree *mt,
				    struct pool_list *reserve, struct mt_items *built,
				    struct mt_place *place);

/* build_root - one more node, above those @built. */
struct maple_enode *build_root(const struct mt_items *built, const struct maple_tree *mt,
			       struct pool_list *reserve);

#endif
