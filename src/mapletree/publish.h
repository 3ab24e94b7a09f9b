/* SPDX-License-Identifier: MIT */
/*
 * publish.h - make a built write visible with one store.
 */
#ifndef MT_PUBLISH_H
#define MT_PUBLISH_H

#include "build.h"

/*
 * publish_write - publish what @built holds as @plan says, with upkeep of gaps and height; a root
 * that grows takes its node from @reserve. Sets *@place if the leaf itself was changed. Lock
 * held.
 */
void publish_write(struct maple_tree *mt, const struct mt_plan *plan, struct mt_path *path,
		   const struct mt_items *built, struct pool_list *reserve,
		   struct mt_place *place);

/* publish_root - make @root the tree's root word and @height its height. Lock held. */
void publish_root(struct maple_tree *mt, void *root, unsigned int height);

#endif
