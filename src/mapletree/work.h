/* SPDX-License-Identifier: MIT */
/*
 * work.h - what a debug build counts of the tree's work, so that tests notice a short cut that is
 * lost without looking at a clock.
 *
 * Each thread counts for itself, over all trees. In a release WORK() is nothing.
 */
#ifndef MT_WORK_H
#define MT_WORK_H

/*
 * enum work_kind - what is counted, each at one place in the code if that can be.
 *
 * WORK_WALK:             a cursor or a writer goes down from the root.
 * WORK_WALK_AHEAD:       a cursor that iterates looks up, from the root, the next node above
 *                        leaves, for which it need not wait.
 * WORK_LEAF_SEARCHED:    a writer searches its leaf: no slot beside that of the last write will do.
 * WORK_LEAF_STEPPED:     a cursor goes from a leaf to the one beside it by the node above them.
 * WORK_BATCH_READ:       a leaf is read at once for a loop.
 * WORK_WRITE_IN_PLACE:   a live leaf changes where it is; no node is taken, none retired.
 * WORK_WRITE_SHORT:      such a change is one of the shortest (leaf_short.h).
 * WORK_GAPS_MEASURED:    a leaf is looked through for its widest gap.
 * WORK_NODE_COPIED:      a changed copy takes the place of one node.
 * WORK_NODE_BUILT:       a node is laid out anew: filled, or some of its slots replaced by others.
 * WORK_LEAVES_LAID_OUT:  a leaf and one or two beside it get new shares of their slots, or a gap
 *                        that two leaves share moves into one of them.
 * WORK_LEVEL_SPREAD:     all slots of a level are gathered and spread over its nodes.
 */
enum work_kind {
	WORK_WALK,
	WORK_WALK_AHEAD,
	WORK_LEAF_SEARCHED,
	WORK_LEAF_STEPPED,
	WORK_BATCH_READ,
	WORK_WRITE_IN_PLACE,
	WORK_WRITE_SHORT,
	WORK_GAPS_MEASURED,
	WORK_NODE_COPIED,
	WORK_NODE_BUILT,
	WORK_LEAVES_LAID_OUT,
	WORK_LEVEL_SPREAD,
	WORK_KINDS
};

#ifdef NDEBUG
#define WORK(kind) ((void)0)
#else
/* How often each kind of work was done by this thread since it began; tests may set them to 0. */
extern _Thread_local unsigned long work_done[WORK_KINDS];

/* WORK - once more WORK_@kind. */
#define WORK(kind) ((void)work_done[WORK_##kind]++)
#endif

#endif
