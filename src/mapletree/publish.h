/* SPDX-License-Identifier: MIT */
/*
 * publish.h - the stores that make nodes visible.
 *
 * Each is a release store of a pointer and pairs with the acquire load of the same word by a reader
 * on its way down: a reader that sees the pointer sees the node completely filled.
 */
#ifndef MT_PUBLISH_H
#define MT_PUBLISH_H

#include "finger.h"

/*
 * publish_root - make @root the tree's root word and @height its height, and forget the tree's
 * finger. Lock held.
 */
void publish_root(struct maple_tree *mt, void *root, unsigned int height);

/*
 * publish_new_height - publish_root() of @enode; the tree's finger leads through it at height @height
 * already, and is kept. Lock held.
 */
void publish_new_height(struct maple_tree *mt, struct maple_enode *enode, unsigned int height);

/*
 * publish_node - replace the node at @level of the path @way by @enode, which has the same bounds.
 * Changes neither the path nor the height. Lock held.
 */
void publish_node(struct maple_tree *mt, const struct mt_finger *way, unsigned int level,
		  struct maple_enode *enode);

#endif
