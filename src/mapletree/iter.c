/* SPDX-License-Identifier: MIT */
/*
 * iter.c - the cursor's reads: walk, next, prev and find, each over entries or over all ranges.
 *
 * A tree without nodes has two ranges, the lone entry at 0 and the gap above it, for which the
 * statuses ma_root and ma_none stand; a status from a time when the tree had none is taken as
 * ma_start.
 */
#include "walk.h"

static bool rootless(const struct ma_state *mas)
{
	return !root_is_node(root_load(mas->tree));
}

/*
 * Whether the cursor has a leaf to go on from; then index and last become the bounds of its
 * range there (after an erase they are those of the range erased, and the gap may be wider).
 */
static bool on_leaf(struct ma_state *mas)
{
	if (!mas->node || (mas->status != ma_active && mas->status != ma_overflow &&
			   mas->status != ma_underflow))
		return false;
	walk_here(mas);
	return true;
}

static void *end_at(struct ma_state *mas, enum maple_status status)
{
	mas->status = status;
	return NULL;
}

/* Steps to the next entry, or range if @gaps, unless the limit is reached before. */
static void *step_up(struct ma_state *mas, unsigned long max, bool gaps,
		     enum maple_status at_end)
{
	void *entry;

	do {
		if (mas->last >= max)
			return end_at(mas, at_end);
		entry = walk_up(mas);
		if (!mas->node)
			return entry;
		mas->status = ma_active;
	} while (!entry && !gaps);
	return entry;
}

/* Going down in a tree without nodes: what is left is index 0. */
static void *rootless_at_0(struct ma_state *mas, unsigned long min)
{
	if (root_load(mas->tree) && min > 0) {
		mas->index = 1;
		mas->last = ULONG_MAX;
		return end_at(mas, ma_underflow);
	}
	return walk_to(mas, 0);
}

static void *step_down(struct ma_state *mas, unsigned long min, bool gaps)
{
	void *entry;

	do {
		if (mas->index <= min)
			return end_at(mas, ma_underflow);
		entry = walk_down(mas);
		if (!mas->node)
			return entry || gaps ? entry : rootless_at_0(mas, min);
		mas->status = ma_active;
	} while (!entry && !gaps);
	return entry;
}

/*
 * The common case of going up: the cursor stands on a range of a leaf and the next entry is in the
 * same leaf, below the limit. NULL: it is not, and nothing has changed.
 */
static inline void *next_in_leaf(struct ma_state *mas, unsigned long max)
{
	struct mt_node *leaf = enode_node(mas->node);
	unsigned int offset = mas->offset;
	unsigned long below, last;
	void *entry;

	if (mas->status != ma_active || !mas->node)
		return NULL;
	do {
		if (offset == WIDE_SLOTS - 1)
			return NULL;
		below = pivot_load(leaf, offset);
		if (below >= max || below >= mas->max)
			return NULL;
		entry = slot_load(leaf, KIND_LEAF, ++offset);
	} while (!entry);
	last = slot_last(leaf, KIND_LEAF, offset, mas->max);
	if (!leaf_unchanged(leaf, mas->version))
		return NULL;
	mas->offset = (unsigned char)offset;
	mas->index = below + 1;
	mas->last = last;
	return entry;
}

/* The lone entry, or an empty tree: upwards nothing is left behind index 0. */
static void *rootless_above(struct ma_state *mas)
{
	if (root_load(mas->tree)) {
		mas->index = 1;
		mas->last = ULONG_MAX;
	}
	mas->node = NULL;
	return end_at(mas, ma_none);
}

static void *rootless_below(struct ma_state *mas)
{
	mas->node = NULL;
	if (root_load(mas->tree))
		mas->index = mas->last = 0;
	return end_at(mas, ma_none);
}

void *mas_walk(struct ma_state *mas)
{
	return walk_to(mas, mas->index);
}

void mas_pause(struct ma_state *mas)
{
	mas->status = ma_pause;
	mas->node = NULL;
}

/* Goes to the range the cursor stands on or is to start from; returns its entry. */
static void *begin(struct ma_state *mas, bool active)
{
	if (!active)
		return walk_to(mas, mas->index);
	mas->status = ma_active;
	return walk_here(mas);
}

static void *next(struct ma_state *mas, unsigned long max, bool gaps)
{
	enum maple_status was = mas->status;
	bool active = on_leaf(mas);
	void *entry;

	if (was == ma_error)
		return NULL;
	if (mas->last >= max)
		return end_at(mas, ma_overflow);
	if (rootless(mas))
		return was == ma_underflow && mas->index == 0 ? walk_to(mas, 0)
							      : rootless_above(mas);
	entry = begin(mas, active);
	if (was == ma_underflow && entry)
		return entry;
	return step_up(mas, max, gaps, ma_overflow);
}

static void *prev(struct ma_state *mas, unsigned long min, bool gaps)
{
	enum maple_status was = mas->status;
	bool active = on_leaf(mas);
	void *entry;

	if (was == ma_error)
		return NULL;
	if (mas->index <= min)
		return end_at(mas, ma_underflow);
	if (rootless(mas))
		return rootless_at_0(mas, min);
	entry = begin(mas, active);
	if (was == ma_overflow && entry)
		return entry;
	return step_down(mas, min, gaps);
}

void *mas_next(struct ma_state *mas, unsigned long max)
{
	void *entry = next_in_leaf(mas, max);

	return entry ? entry : next(mas, max, false);
}

void *mas_next_range(struct ma_state *mas, unsigned long max)
{
	return next(mas, max, true);
}

void *mas_prev(struct ma_state *mas, unsigned long min)
{
	return prev(mas, min, false);
}

void *mas_prev_range(struct ma_state *mas, unsigned long min)
{
	return prev(mas, min, true);
}

static void *find_rootless(struct ma_state *mas, enum maple_status was, unsigned long max)
{
	if (was == ma_none && mas->index >= max)
		return NULL;
	if (was == ma_root || mas->index > 0)
		return rootless_above(mas);
	return walk_to(mas, mas->index);
}

static void *find(struct ma_state *mas, unsigned long max, bool gaps)
{
	enum maple_status at_end = gaps ? ma_overflow : ma_active;
	enum maple_status was = mas->status;
	bool go_on = (was == ma_active || was == ma_overflow) && on_leaf(mas);
	void *entry;

	if (was == ma_error)
		return NULL;
	if (was == ma_pause) {
		if (mas->last >= max)
			return end_at(mas, ma_overflow);
		mas->index = ++mas->last;
	}
	if (was == ma_none && rootless(mas))
		return find_rootless(mas, was, max);
	if (go_on ? mas->last >= max
		  : was == ma_underflow ? mas->index >= max : mas->index > max)
		return NULL;
	if (rootless(mas))
		return find_rootless(mas, was, max);
	entry = begin(mas, go_on);
	if (entry && !go_on)
		return entry;
	return step_up(mas, max, gaps, at_end);
}

void *mas_find(struct ma_state *mas, unsigned long max)
{
	void *entry = next_in_leaf(mas, max);

	return entry ? entry : find(mas, max, false);
}

void *mas_find_range(struct ma_state *mas, unsigned long max)
{
	return find(mas, max, true);
}

static void *find_rev_rootless(struct ma_state *mas, enum maple_status was, unsigned long min)
{
	if (was == ma_root || (was == ma_none && mas->index == 0) ||
	    (was == ma_active && mas->index == 0))
		return rootless_below(mas);
	if (mas->index == 0)
		return walk_to(mas, 0);
	return rootless_at_0(mas, min);
}

static void *find_rev(struct ma_state *mas, unsigned long min, bool gaps)
{
	enum maple_status was = mas->status;
	bool go_on = on_leaf(mas);
	void *entry;

	if (was == ma_error)
		return NULL;
	if (was == ma_pause) {
		if (mas->index <= min)
			return end_at(mas, ma_underflow);
		mas->last = --mas->index;
	}
	if (mas->index < min)
		return NULL;
	if (rootless(mas))
		return find_rev_rootless(mas, was, min);
	entry = begin(mas, go_on);
	if (!go_on && (entry || mas->index < min))
		return entry;
	return step_down(mas, min, gaps);
}

void *mas_find_rev(struct ma_state *mas, unsigned long min)
{
	return find_rev(mas, min, false);
}

void *mas_find_range_rev(struct ma_state *mas, unsigned long min)
{
	return find_rev(mas, min, true);
}
