/* SPDX-License-Identifier: MIT */
/*
 * work.h - counters of the work that a debug build does, so that tests can notice a lost short cut
 * without measuring time.
 *
 * Each thread has its own counters, for all trees. In release builds WORK() does nothing.
 */
#ifndef MT_WORK_H
#define MT_WORK_H

/*
 * enum work_kind - what is counted, each kind in one place of the code where possible.
 *
 * WORK_WALK: a cursor or a writer walks down from the root.
 * WORK_WALK_AHEAD: an iterating cursor looks up, from the root, the next node above leaves, without
 * waiting for it.
 * WORK_LEAF_SEARCHED: a writer searches its leaf: no slot next to that of the last write will do.
 * WORK_LEAF_STEPPED: a cursor goes to a neighbouring leaf through the node above.
 * WORK_BATCH_READ: a leaf is read as a whole for a loop.
 * WORK_WRITE_IN_PLACE: a live leaf is changed in place; no node is allocated or retired.
 * WORK_WRITE_SHORT: such a change is one of the shortest (leaf_short.h).
 * WORK_GAPS_MEASURED: a leaf is searched for its widest gap.
 * WORK_NODE_COPIED: a changed copy replaces one node.
 * WORK_NODE_BUILT: a node is laid out anew: filled, or some of its slots replaced.
 * WORK_BOUNDARY_MOVED: an erase at the border of two leaves moves it (shared_gap.h).
 * WORK_LEAVES_PAIRED: two leaves share their slots in another way (leaf_pair.h).
 * WORK_LEAVES_LAID_OUT: the slots of a leaf and of one or two neighbours are redistributed.
 * WORK_LEVEL_SPREAD: all slots of a level are gathered and spread over its nodes.
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
	WORK_BOUNDARY_MOVED,
	WORK_LEAVES_PAIRED,
	WORK_LEAVES_LAID_OUT,
	WORK_LEVEL_SPREAD,
	WORK_KINDS
};

#ifdef NDEBUG
#define WORK(kind) ((void)0)
#else
/* How often this thread has done each kind of work; tests may reset the counters to 0. */
extern _Thread_local unsigned long work_done[WORK_KINDS];

/* WORK - count WORK_@kind. */
#define WORK(kind) ((void)work_done[WORK_##kind]++)
#endif

#endif
