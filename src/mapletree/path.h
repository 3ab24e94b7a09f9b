/* SPDX-License-Identifier: MIT */
/*
 * path.h - a writer's way down: the nodes from the root to the first and to the last index.
 *
 * Nodes hold no pointer upwards, so a writer keeps its path here, on its stack. Step 0 is the
 * root, step depth-1 the leaf. Both sides share the nodes of steps 0 .. parted and differ in
 * all below; above `parted` they share the offsets too.
 *   0 <= parted < depth <= MAPLE_HEIGHT_MAX
 *   left[i].node == right_step(i).node   if and only if i <= parted
 */
#ifndef MT_PATH_H
#define MT_PATH_H

#include "node.h"

/* A node, what it covers, and the slot in it that the way down takes. offset <= end. */
struct mt_step {
	struct mt_node *node;
	unsigned long min;
	unsigned long max;
	enum node_kind kind;
	unsigned char offset;
	unsigned char end;
};

/*
 * struct mt_path - see above.
 * @virtual_leaf: the tree has no node; the one step is @scratch, a leaf made up from the root.
 */
struct mt_path {
	unsigned int depth;
	unsigned int parted;
	bool virtual_leaf;
	struct mt_step left[MAPLE_HEIGHT_MAX];
	struct mt_step right[MAPLE_HEIGHT_MAX]; /* valid from @parted on */
	struct mt_node scratch;
};

static inline struct mt_step *path_left(struct mt_path *path, unsigned int step)
{
	return &path->left[step];
}

static inline struct mt_step *path_right(struct mt_path *path, unsigned int step)
{
	return step < path->parted ? &path->left[step] : &path->right[step];
}

/*
 * path_descend - fill @step[@from ..] with the way from the subtree @at to @index, which it covers.
 * Returns the number of the step behind the leaf's. Lock held.
 */
unsigned int path_descend(struct mt_step *step, unsigned int from, struct place at,
			  unsigned long index);

/* path_walk - fill @path for the indexes @first <= @last; lock held. */
void path_walk(struct mt_path *path, struct maple_tree *mt, unsigned long first,
	       unsigned long last);

/*
 * path_join_gaps - widen [*@first, *@last], which is about to become a gap, by the gaps that lie
 * in it partly or next to it, and move @path along. Lock held.
 */
void path_join_gaps(struct mt_path *path, struct maple_tree *mt, unsigned long *first,
		    unsigned long *last);

/* path_gap_at - whether @index lies in a gap; the root is a node. Lock held. */
bool path_gap_at(struct maple_tree *mt, unsigned long index);

/*
 * path_update_gaps - gap_update_path() from the node at @level (0 is the leaf) over @index up. Lock
 * held.
 */
void path_update_gaps(struct maple_tree *mt, unsigned long index, unsigned int level);

/*
 * path_dropped_children - how many children of the nodes at @step lie strictly between the two
 * sides of @path: a write over all of it drops them with all below them.
 */
unsigned int path_dropped_children(struct mt_path *path, unsigned int step);

#endif
