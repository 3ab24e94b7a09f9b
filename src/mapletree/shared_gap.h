/* SPDX-License-Identifier: MIT */
/*
 * shared_gap.h - an erase at the border of two leaves: the boundary between them moves.
 *
 * The range that is erased is the last of its leaf and the next leaf begins with a gap, or the
 * other way round. The joined gap goes to one of the two leaves, and the node above them gets
 * another pivot. Of erases at random one in six is like this. layout.h would produce the same, in
 * three times as many instructions, since it does not know beforehand that two leaves and their
 * parent are all that changes.
 */
#ifndef MT_SHARED_GAP_H
#define MT_SHARED_GAP_H

#include "leaf_plan.h"
#include "pool.h"

/*
 * struct mt_shared_gap - the plan. Of @left the first @keep_left slots stay, of @right those from
 * @keep_right_from on; the gap [@first, @last] becomes the last slot of @left if @left_takes, else
 * the first of @right.
 * @at: the slot of @left in the parent, which is the finger's node above the leaf; @right's is the
 *      next one.
 * @min, @max: the bounds of both leaves together.
 */
struct mt_shared_gap {
	struct mt_node *left;
	struct mt_node *right;
	unsigned int at;
	unsigned int keep_left;
	unsigned int keep_right_from;
	bool left_takes;
	unsigned long first;
	unsigned long last;
	unsigned long min;
	unsigned long max;
};

/*
 * shared_gap_plan - plan a write for which leaf_plan() returned WRITE_LAYOUT and p->beside is not 0.
 * Returns false if a part of an entry remains, if the gap continues on both sides, or if the two
 * leaves have different parents or would be joined. Changes nothing but *@g. Lock held.
 */
bool shared_gap_plan(struct mt_shared_gap *g, const struct maple_tree *mt,
		     const struct mt_leaf_plan *p);

/* shared_gap_blocks - how many blocks shared_gap_write() needs: as many as a layout would. */
unsigned int shared_gap_blocks(const struct maple_tree *mt);

/*
 * shared_gap_write - carry the plan out, with blocks of @reserve. Afterwards the tree's finger
 * leads to the gap. Lock held; the tree is unchanged since the plan was made.
 */
void shared_gap_write(const struct mt_shared_gap *g, struct maple_tree *mt,
		      struct pool_list *reserve);

#endif
