/* SPDX-License-Identifier: MIT */
/*
 * publish.h - the stores that make nodes visible.
 *
 * Each is a release store of a pointer and pairs with the acquire load of the same word by a reader
 * going down: who sees the pointer sees the node behind it as it was filled.
 */
#ifndef MT_PUBLISH_H
#define MT_PUBLISH_H

#include "finger.h"

/*
 * publish_root - make @root the tree's root word and @height its height. The tree's finger is
 * forgotten. Lock held.
 */
void publish_root(struct maple_tree *mt, void *root, unsigned int height);

/* publish_leaf - let @leaf take the place of the finger's leaf, whose bounds it has. Lock held. */
void publish_leaf(struct maple_tree *mt, struct mt_node *leaf);

#endif
