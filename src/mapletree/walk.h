/* SPDX-License-Identifier: MIT */
/*
 * walk.h - move a cursor.
 *
 * Lock or read side. A step uses the cursor's leaf only while the leaf is as the cursor knows it
 * (watch.h); otherwise it walks again from the root.
 *
 * A cursor that leaves its leaf finds the next one through the node above, which it remembers as
 * well. If that next leaf is marked as dead, the cursor walks from the root.
 */
#ifndef MT_WALK_H
#define MT_WALK_H

#include "search.h"
#include "watch.h"

/*
 * walk_to - put the cursor on the range that holds @index. Sets index and last to the range's
 * bounds and the status to active (root or none in a tree without nodes). Returns the entry there.
 */
void *walk_to(struct ma_state *mas, unsigned long index);

/*
 * lookup_range - the entry at @index, as it is stored, and the range or gap [*@first, *@last] that
 * holds @index. Lock or read side.
 */
void *lookup_range(struct maple_tree *mt, unsigned long index, unsigned long *first,
		   unsigned long *last);

/*
 * walk_look - read the range at @offset of the cursor's leaf into index, last and *@entry. Returns
 * false if the leaf is not as the cursor knows it, or no longer has such a range (a slot that is
 * being moved in or out may be empty for a moment). The caller has just checked that the leaf was
 * as the cursor knows it: see watch.h.
 * walk_read_range - the same, including that check.
 */
static inline bool walk_look(struct ma_state *mas, unsigned int offset, void **entry)
{
	struct mt_node *leaf = enode_node(mas->node);
	unsigned long below = offset ? pivot_load(leaf, offset - 1) : mas->min - 1;
	unsigned long last = slot_last(leaf, KIND_LEAF, offset, mas->max);

	*entry = slot_load(leaf, KIND_LEAF, offset);
	if (!watch_held(mas) || (offset && below >= mas->max) || below + 1 > last)
		return false;
	mas->offset = (unsigned char)offset;
	mas->index = below + 1;
	mas->last = last;
	mas->status = ma_active;
	return true;
}

static inline bool walk_read_range(struct ma_state *mas, unsigned int offset, void **entry)
{
	return watch_holds(mas) && walk_look(mas, offset, entry);
}

/* How many leaves in advance a cursor prefetches that goes from leaf to leaf. */
#define LEAVES_AHEAD 6

/* walk_prefetch - prefetch the leaf in slot @offset of the node above, if there is such a slot. */
static inline void walk_prefetch(const struct ma_state *mas, unsigned int offset)
{
	if (offset <= mas->parent_end)
		node_prefetch(slot_child(enode_node(mas->parent), enode_kind(mas->parent),
					 offset));
}

/* The part of entering a neighbouring leaf that is the same in both directions. */
static inline void walk_set_leaf(struct ma_state *mas, struct maple_enode *leaf,
				 unsigned long version)
{
	mas->node = leaf;
	if (watches_leaf(mas))
		watch_leaf(mas, node_of(leaf, KIND_LEAF), version);
	mas->end = (unsigned char)(version & META_END_MASK);
	mas->status = ma_active;
	mas->batch = NULL;
}

/*
 * A leaf next to the cursor's, which it has not entered yet: its bounds, and its slot in the node
 * above.
 */
struct neighbour {
	struct maple_enode *enode;
	unsigned long min;
	unsigned long max;
	unsigned int offset;
};

/*
 * walk_find_next_leaf, walk_find_prev_leaf - find the leaf after (before) the cursor's. Return
 * false if the cursor's leaf is not as the cursor knows it, or if the node above does not hold that
 * leaf.
 */
static inline bool walk_find_next_leaf(const struct ma_state *mas, struct neighbour *leaf)
{
	struct mt_node *parent = enode_node(mas->parent);
	enum node_kind kind = enode_kind(mas->parent);
	unsigned int offset = (mas->parent_offset + 1u) & UCHAR_MAX;

	leaf->offset = offset;
	leaf->min = mas->max + 1;
	if (!mas->parent || !watch_holds(mas) || offset > mas->parent_end ||
	    slot_first(parent, offset, mas->parent_min) != leaf->min)
		return false;
	walk_prefetch(mas, offset + LEAVES_AHEAD);
	leaf->enode = slot_child(parent, kind, offset);
	leaf->max = slot_last(parent, kind, offset, mas->parent_max);
	return true;
}

static inline bool walk_find_prev_leaf(const struct ma_state *mas, struct neighbour *leaf)
{
	struct mt_node *parent = enode_node(mas->parent);
	enum node_kind kind = enode_kind(mas->parent);
	unsigned int offset = (mas->parent_offset - 1u) & UCHAR_MAX;

	leaf->offset = offset;
	leaf->max = mas->min - 1;
	if (!mas->parent || !watch_holds(mas) || offset > mas->parent_end ||
	    slot_last(parent, kind, offset, mas->parent_max) != leaf->max)
		return false;
	walk_prefetch(mas, offset - LEAVES_AHEAD);
	leaf->enode = slot_child(parent, kind, offset);
	leaf->min = slot_first(parent, offset, mas->parent_min);
	return true;
}

/* walk_enter - make @leaf the cursor's leaf. */
static inline void walk_enter(struct ma_state *mas, const struct neighbour *leaf,
			      unsigned long version)
{
	walk_set_leaf(mas, leaf->enode, version);
	mas->parent_offset = (unsigned char)leaf->offset;
	mas->min = leaf->min;
	mas->max = leaf->max;
}

/*
 * walk_next_leaf, walk_prev_leaf - go from the last (first) range of the cursor's leaf to the first
 * (last) range of the leaf after (before) it, whose *@entry may be NULL. Returns false, having
 * changed nothing, if the cursor's leaf has changed, the node above does not hold the neighbour, or
 * the neighbour is changing or dead: the caller then walks from the root.
 */
static inline bool walk_next_leaf(struct ma_state *mas, void **entry)
{
	struct neighbour next;
	struct mt_node *leaf;
	unsigned long version, last;

	if (!walk_find_next_leaf(mas, &next))
		return false;
	leaf = node_of(next.enode, KIND_LEAF);
	version = leaf_version(leaf);
	if (UNLIKELY(version & META_DEAD) && watches_leaf(mas))
		return false;
	*entry = slot_load(leaf, KIND_LEAF, 0);
	last = slot_last(leaf, KIND_LEAF, 0, next.max);
	if (last < next.min || !leaf_unchanged(leaf, version))
		return false;
	WORK(LEAF_STEPPED);
	walk_enter(mas, &next, version);
	mas->offset = 0;
	mas->index = next.min;
	mas->last = last;
	return true;
}

static inline bool walk_prev_leaf(struct ma_state *mas, void **entry)
{
	struct neighbour prev;
	struct mt_node *leaf;
	unsigned long below, version;
	unsigned int end;

	if (!walk_find_prev_leaf(mas, &prev))
		return false;
	leaf = node_of(prev.enode, KIND_LEAF);
	version = leaf_version(leaf);
	if (UNLIKELY(version & META_DEAD) && watches_leaf(mas))
		return false;
	end = (unsigned int)(version & META_END_MASK);
	*entry = slot_load(leaf, KIND_LEAF, end);
	below = end ? pivot_load(leaf, end - 1) : prev.min - 1;
	if ((end && below >= prev.max) || slot_last(leaf, KIND_LEAF, end, prev.max) != prev.max ||
	    !leaf_unchanged(leaf, version))
		return false;
	WORK(LEAF_STEPPED);
	walk_enter(mas, &prev, version);
	mas->offset = (unsigned char)end;
	mas->index = below + 1;
	mas->last = prev.max;
	return true;
}

/*
 * walk_ahead - find the node above the leaf that covers @index, where @index is just above (@step
 * 1) or just below (@step -1) what the cursor's node above covers. Prefetches its first leaves and
 * the node next to it. If @move, it becomes the cursor's node above. This runs while the processor
 * still waits for the leaf that the cursor has just entered.
 *
 * walk_up_is_due, walk_down_is_due - whether it is time for that after a step to another leaf: at
 * the last child of the node above, and a few children earlier for a first look, without a move.
 * walk_ahead_up, walk_ahead_down - do it, and return @entry.
 */
#define LEAVES_LEFT_AT_LOOK 3

void walk_ahead(struct ma_state *mas, unsigned long index, int step, bool move);
void *walk_ahead_up(struct ma_state *mas, void *entry);
void *walk_ahead_down(struct ma_state *mas, void *entry);

static inline bool walk_up_is_due(const struct ma_state *mas)
{
	int left = mas->parent_end - mas->parent_offset;

	return (left == 0 || left == LEAVES_LEFT_AT_LOOK) && mas->parent_max < ULONG_MAX;
}

static inline bool walk_down_is_due(const struct ma_state *mas)
{
	int left = mas->parent_offset;

	return (left == 0 || left == LEAVES_LEFT_AT_LOOK) && mas->parent_min > 0;
}

/*
 * walk_reread - read the range again that the cursor stands on; if the leaf has changed, the range
 * that now holds index.
 * walk_up, walk_down - go to the range that holds last + 1 (index - 1), which must exist.
 * All three set the status to active; if the tree no longer has nodes, they set mas->node to NULL.
 */
void *walk_reread(struct ma_state *mas);
void *walk_up(struct ma_state *mas);
void *walk_down(struct ma_state *mas);

#endif
