/* SPDX-License-Identifier: MIT */
/*
 * finger.h - the path of the last write, remembered on the tree for the next write.
 *
 * Nodes hold no pointer upwards, so a writer has to find the nodes above its leaf in some other
 * way. Most writes are near the previous one; so each write leaves its path from the root on the
 * tree (a "finger": Guibas, McCreight, Plass and Roberts, 1977), and a write into the same leaf
 * need not walk. The lock covers the finger; readers never use it. Either
 *   min > max: nothing is remembered, or
 *   height == mt_height(), step[0] is a slot of the leaf, which covers [min, max], and for 0 < i <
 *   height step[i] is the slot that holds the node of step[i - 1].
 * A writer's own finger describes the path to another leaf of the same tree in the same way.
 */
#ifndef MT_FINGER_H
#define MT_FINGER_H

#include "node.h"

/* ---- a step: an aligned node, and in its low bits the slot taken ----------------------------- */

static inline unsigned long step_make(struct mt_node *node, unsigned int offset)
{
	assert(offset < WIDE_SLOTS);
	return (unsigned long)(uintptr_t)node | offset;
}

static inline struct mt_node *step_node(unsigned long step)
{
	return (struct mt_node *)(uintptr_t)(step & ~(unsigned long)(NODE_BYTES - 1));
}

static inline unsigned int step_offset(unsigned long step)
{
	return (unsigned int)(step & (NODE_BYTES - 1));
}

/* @step; tells the compiler that it is one, which 0 is not. */
static inline unsigned long a_step(unsigned long step)
{
	assert(step_node(step));
	if (!step)
		__builtin_unreachable();
	return step;
}

/* ---- walks from the root: see descend.c ------------------------------------------------------ */

/*
 * finger_descend - walk from the root of @mt, which is a node, to @index, and record the path in
 * @finger. Returns its step[0]. Lock held.
 */
unsigned long finger_descend(const struct maple_tree *mt, struct mt_finger *finger,
			     unsigned long index) NO_PLT;

/* leaf_find - find @index in the leaf of @step, which must cover it. Returns the step to it. */
unsigned long leaf_find(unsigned long step, unsigned long index) NO_PLT;

/* finger_forget - the next write has to walk. */
static inline void finger_forget(struct maple_tree *mt)
{
	mt->ma_finger.min = 1;
	mt->ma_finger.max = 0;
}

/*
 * finger_to - let the tree's finger lead to the leaf of @index. Returns the step to @index in it,
 * or 0 if the tree has no nodes. Tries the slot of the last write and its neighbours first. The
 * finger's own step[0] changes only if the leaf does. Lock held.
 */
static inline unsigned long finger_to(struct maple_tree *mt, unsigned long index)
{
	const struct mt_finger *finger = &mt->ma_finger;
	unsigned long step = finger->step[0];
	const struct mt_node *leaf = step_node(step);
	unsigned int offset = step_offset(step);

	if (UNLIKELY(index < finger->min || index > finger->max))
		return mt->ma_flags & MT_FLAGS_HEIGHT_MASK
			       ? a_step(finger_descend(mt, &mt->ma_finger, index))
			       : 0;
	if (!offset || leaf->pivot[offset - 1] < index) {
		if (offset == WIDE_PIVOTS || index <= leaf->pivot[offset])
			return a_step(step);
		if (offset + 1 == WIDE_PIVOTS || index <= leaf->pivot[offset + 1])
			return a_step(step + 1);
	} else if (offset == 1 || leaf->pivot[offset - 2] < index) {
		return a_step(step - 1);
	}
	WORK(LEAF_SEARCHED);
	return a_step(leaf_find(step, index));
}

/*
 * ---- bounds along the path, and neighbouring leaves -------------------------------------------
 */

/* finger_child_first - the first index of child @at of the finger's node at @level > 0. */
static inline unsigned long finger_child_first(const struct mt_finger *finger, unsigned int level,
					       unsigned int at)
{
	while (!at) {
		if (++level >= finger->height)
			return 0;
		at = step_offset(finger->step[level]);
	}
	return step_node(finger->step[level])->pivot[at - 1] + 1;
}

/* finger_child_last - its last index. @kind: that of the tree's inner nodes. */
static inline unsigned long finger_child_last(const struct mt_finger *finger, unsigned int level,
					      enum node_kind kind, unsigned int at)
{
	while (at == node_end(step_node(finger->step[level]), kind)) {
		if (++level >= finger->height)
			return ULONG_MAX;
		at = step_offset(finger->step[level]);
	}
	return step_node(finger->step[level])->pivot[at];
}

/* finger_first, finger_last - the bounds of the node at @level. */
static inline unsigned long finger_first(const struct mt_finger *finger, unsigned int level)
{
	if (level + 1 >= finger->height)
		return 0;
	return finger_child_first(finger, level + 1, step_offset(finger->step[level + 1]));
}

static inline unsigned long finger_last(const struct mt_finger *finger, unsigned int level,
					enum node_kind kind)
{
	if (level + 1 >= finger->height)
		return ULONG_MAX;
	return finger_child_last(finger, level + 1, kind, step_offset(finger->step[level + 1]));
}

/* finger_copy - copy the levels in use of *@from to *@to. */
static inline void finger_copy(struct mt_finger *to, const struct mt_finger *from)
{
	unsigned int level;

	to->min = from->min;
	to->max = from->max;
	to->height = from->height;
	for (level = 0; level < from->height; level++)
		to->step[level] = from->step[level];
}

/*
 * finger_move_up, finger_move_down - move the finger to the first (last) slot of the next
 * (previous) leaf, which must exist. @kind: that of inner nodes.
 */
static inline void finger_move_up(struct mt_finger *finger, enum node_kind kind)
{
	unsigned int level = 1;
	struct mt_node *node;

	assert(finger->max != ULONG_MAX);
	while (step_offset(finger->step[level]) == node_end(step_node(finger->step[level]), kind))
		level++;
	finger->step[level]++;
	finger->min = finger->max + 1;
	finger->max = finger_child_last(finger, level, kind, step_offset(finger->step[level]));
	for (;; finger->step[level] = step_make(node, 0)) {
		node = enode_node(slot_child(step_node(finger->step[level]), kind,
					     step_offset(finger->step[level])));
		if (!--level)
			break;
		finger->max = slot_last(node, kind, 0, finger->max);
	}
	finger->step[0] = step_make(node, 0);
}

static inline void finger_move_down(struct mt_finger *finger, enum node_kind kind)
{
	unsigned int level = 1, end;
	struct mt_node *node;

	assert(finger->min != 0);
	while (!step_offset(finger->step[level]))
		level++;
	finger->step[level]--;
	finger->max = finger->min - 1;
	finger->min = finger_child_first(finger, level, step_offset(finger->step[level]));
	for (;; finger->step[level] = step_make(node, end)) {
		node = enode_node(slot_child(step_node(finger->step[level]), kind,
					     step_offset(finger->step[level])));
		if (!--level)
			break;
		end = node_end(node, kind);
		finger->min = slot_first(node, end, finger->min);
	}
	finger->step[0] = step_make(node, node_end(node, KIND_LEAF));
}

#endif
