/* SPDX-License-Identifier: MIT */
/*
 * plan.h - what a write will do, decided before anything is reserved or changed.
 *
 * A write replaces, in each level from the leaf upwards, a run of slots by a few items: in the
 * leaf the new range and what is left of the ranges it cuts; above it the nodes built below.
 * The plan says for each level what is kept, how many nodes are built and where they are cut,
 * and at which level the write becomes visible.
 */
#ifndef MT_PLAN_H
#define MT_PLAN_H

#include "path.h"

#define PLAN_MAX_ITEMS 3

/* Something that takes a slot: it ends at @last; @gap counts in trees that track gaps. */
struct mt_item {
	unsigned long last;
	void *slot;
	unsigned long gap;
};

/* What goes into a level: in the leaf the new ranges, above it the nodes built below. */
struct mt_items {
	unsigned int count;
	struct mt_item item[PLAN_MAX_ITEMS];
};

/* Which node a too empty one is joined with. */
enum sibling_side { SIBLING_NONE, SIBLING_LEFT, SIBLING_RIGHT };

/*
 * struct mt_splice - one level of a plan. Counts are of slots.
 *   total == (sibling if left) + keep_left + inserted + kept of right + (sibling if right)
 *   kept of right == right->end + 1 - keep_right_from
 *   cut[0] + .. + cut[nodes - 1] == total
 * @min, @max: what the nodes built cover together.
 */
struct mt_splice {
	const struct mt_step *left;
	const struct mt_step *right;
	struct maple_enode *sibling;
	unsigned long min;
	unsigned long max;
	enum sibling_side side;
	unsigned char keep_left;
	unsigned char inserted;
	unsigned char keep_right_from;
	unsigned char total;
	unsigned char nodes;
	unsigned char cut[PLAN_MAX_ITEMS];
};

/*
 * enum publish_kind - how the write becomes visible, and whether readers may be running meanwhile
 * (RCU mode). The kinds marked "leaf" are chosen in leaf.c and carried out in inplace.c; where they
 * move slots, it is word by word, and one word alone changes what an index holds.
 *
 *   kind              RCU   what is stored
 *   PUBLISH_NOTHING   yes   nothing
 *   PUBLISH_VALUE     yes   the root word: NULL or a lone entry at 0
 *   PUBLISH_SLOT      yes   one slot of a live node, its bounds unchanged
 *   PUBLISH_PIVOT     leaf  one pivot: a boundary between two ranges moves
 *   PUBLISH_FILL      leaf  a gap is divided, then one slot: an entry comes into a gap
 *   PUBLISH_CLEAR     leaf  one slot, then gaps are joined: an entry goes
 *   PUBLISH_CUT       leaf  a slot that covers nothing is filled, then one pivot: an entry loses
 *                           one end to a new range
 *   PUBLISH_ABSORB    leaf  one pivot: an entry takes over all of the range beside it
 *   PUBLISH_SPLICE    no    pivots and slots of a live node; beside readers, of a copy of a leaf
 *   PUBLISH_ROOT      yes   the root word: a node
 *   PUBLISH_GROW      yes   the root word: a new node above those built
 */
enum publish_kind {
	PUBLISH_NOTHING,
	PUBLISH_VALUE,
	PUBLISH_SLOT,
	PUBLISH_PIVOT,
	PUBLISH_FILL,
	PUBLISH_CLEAR,
	PUBLISH_CUT,
	PUBLISH_ABSORB,
	PUBLISH_SPLICE,
	PUBLISH_ROOT,
	PUBLISH_GROW,
};

/*
 * struct mt_plan - the value of a write.
 * @publish: how; @top: at which level (0 is the leaf). Levels below @top are rebuilt; @top too
 *           for PUBLISH_ROOT and PUBLISH_GROW.
 * @value:   for PUBLISH_VALUE.
 * @items:   what goes into the leaf; @own: which of them is the range written.
 * @nodes:   how many nodes are built in all.
 * @retired: how many things are handed to the grace period (see retire.h).
 */
struct mt_plan {
	enum publish_kind publish;
	unsigned int top;
	void *value;
	unsigned int own;
	struct mt_items items;
	unsigned int nodes;
	unsigned int retired;
	struct mt_splice level[MAPLE_HEIGHT_MAX];
};

/*
 * plan_make - plan the store of @entry over [@first, @last], whose way down is @path. Pure: it
 * reads nodes and changes nothing but @plan.
 */
void plan_make(struct mt_plan *plan, const struct maple_tree *mt, struct mt_path *path,
	       unsigned long first, unsigned long last, void *entry);

/*
 * plan_cut - where @total slots, too many for one node of @slots, are divided: evenly, or so that
 * what is appended or prepended to the whole tree, over and over, leaves full nodes behind.
 */
static inline unsigned int plan_cut(unsigned int total, unsigned int slots, bool appends,
				    bool prepends)
{
	return appends ? slots : prepends ? total - slots : (total + 1) / 2;
}

/* What a write over two leaves leaves of them becomes one if it is no more than this. */
#define PLAN_JOINED_SLOTS (WIDE_SLOTS - WIDE_SLOTS / 8)

/* plan_rebuilt_levels - how many levels, from the leaf up, get new nodes. */
static inline unsigned int plan_rebuilt_levels(const struct mt_plan *plan)
{
	switch (plan->publish) {
	case PUBLISH_ROOT:
	case PUBLISH_GROW:
		return plan->top + 1;
	case PUBLISH_SLOT:
	case PUBLISH_SPLICE:
		return plan->top;
	default:
		return 0;
	}
}

/*
 * plan_replaced_levels - how many levels, from the leaf up, lose the nodes on the path: those
 * rebuilt, or, when the root changes, all.
 */
static inline unsigned int plan_replaced_levels(const struct mt_plan *plan,
						const struct mt_path *path)
{
	switch (plan->publish) {
	case PUBLISH_VALUE:
	case PUBLISH_ROOT:
	case PUBLISH_GROW:
		return path->virtual_leaf ? 0 : path->depth;
	case PUBLISH_SLOT:
	case PUBLISH_SPLICE:
		return plan->top;
	default:
		return 0;
	}
}

#endif
