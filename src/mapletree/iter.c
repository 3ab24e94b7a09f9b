/* SPDX-License-Identifier: MIT */
/*
 * iter.c - the cursor's reads: walk, next, prev and find, each over entries or over all ranges.
 *
 * A cursor stands on the range it last saw, [index, last]. Going up means going to the range that
 * holds last + 1 now, going down to the one that holds index - 1: whatever a writer did meanwhile,
 * nothing is skipped and nothing shown twice. Steps inside a leaf are a short cut to the same.
 *
 * A tree without nodes has two ranges, the lone entry at 0 (ma_root) and the gap above it
 * (ma_none), or just one gap.
 */
#include "walk.h"

static bool rootless(const struct ma_state *mas)
{
	return !root_is_node(root_load(mas->tree));
}

/* Whether the cursor has stood on a range of a leaf and goes on from there. */
static bool on_leaf(const struct ma_state *mas)
{
	return mas->node && (mas->status == ma_active || mas->status == ma_overflow ||
			     mas->status == ma_underflow);
}

/* After a write of NULL the cursor stands on the whole gap, wider maybe than what was written. */
static void settle(struct ma_state *mas)
{
	if (mas->gap_written && on_leaf(mas))
		walk_here(mas);
	mas->gap_written = false;
}

static void *end_at(struct ma_state *mas, enum maple_status status)
{
	mas->status = status;
	return NULL;
}

/* ---- trees without nodes ---------------------------------------------------------------- */

/* Upwards nothing is left behind index 0. */
static void *rootless_above(struct ma_state *mas)
{
	if (root_load(mas->tree)) {
		mas->index = 1;
		mas->last = ULONG_MAX;
	}
	mas->node = NULL;
	return end_at(mas, ma_none);
}

/* Downwards, from above 0: the lone entry, unless the limit is above it. */
static void *rootless_at_0(struct ma_state *mas, unsigned long min)
{
	mas->node = NULL;
	if (root_load(mas->tree) && min > 0) {
		mas->index = 1;
		mas->last = ULONG_MAX;
		return end_at(mas, ma_underflow);
	}
	return walk_to(mas, 0);
}

/* Downwards, from 0: nothing is left. */
static void *rootless_below(struct ma_state *mas)
{
	mas->node = NULL;
	if (root_load(mas->tree))
		mas->index = mas->last = 0;
	return end_at(mas, ma_none);
}

/* ---- steps ------------------------------------------------------------------------------ */

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
	} while (!entry && !gaps);
	return entry;
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
	} while (!entry && !gaps);
	return entry;
}

/*
 * The common case of going up: the next entry is in the same leaf and below the limit. NULL: it is
 * not, or the leaf has changed, and the cursor is where it was.
 */
static inline void *next_in_leaf(struct ma_state *mas, unsigned long max)
{
	struct mt_node *leaf = enode_node(mas->node);
	unsigned int offset = mas->offset;
	unsigned long below = mas->last;
	unsigned long last;
	void *entry;

	if (mas->status != ma_active || !mas->node)
		return NULL;
	do {
		if (offset == WIDE_SLOTS - 1 || below >= max || below >= mas->max)
			return NULL;
		if (pivot_load(leaf, offset) != below)
			return NULL;
		entry = slot_load(leaf, KIND_LEAF, ++offset);
		last = slot_last(leaf, KIND_LEAF, offset, mas->max);
		if (entry)
			break;
		below = last;
	} while (true);
	if (!leaf_unchanged(leaf, mas->version))
		return NULL;
	mas->offset = (unsigned char)offset;
	mas->index = below + 1;
	mas->last = last;
	return entry;
}

/* ---- the calls -------------------------------------------------------------------------- */

void *mas_walk(struct ma_state *mas)
{
	return walk_to(mas, mas->index);
}

void mas_pause(struct ma_state *mas)
{
	mas->status = ma_pause;
	mas->node = NULL;
}

static void *next(struct ma_state *mas, unsigned long max, bool gaps)
{
	enum maple_status was = mas->status;
	bool stands = on_leaf(mas) || was == ma_root;
	void *entry;

	if (was == ma_error)
		return NULL;
	settle(mas);
	if (mas->last >= max)
		return end_at(mas, ma_overflow);
	if (rootless(mas))
		return was == ma_underflow && mas->index == 0 ? walk_to(mas, 0)
							      : rootless_above(mas);
	if (!stands || was == ma_underflow) {
		entry = stands ? walk_here(mas) : walk_to(mas, mas->index);
		if (!mas->node)
			return rootless_above(mas);
		if (was == ma_underflow && entry)
			return entry;
	}
	mas->status = ma_active;
	return step_up(mas, max, gaps, ma_overflow);
}

static void *prev(struct ma_state *mas, unsigned long min, bool gaps)
{
	enum maple_status was = mas->status;
	bool stands = on_leaf(mas) || was == ma_none;
	void *entry;

	if (was == ma_error)
		return NULL;
	settle(mas);
	if (mas->index <= min)
		return end_at(mas, ma_underflow);
	if (rootless(mas)) /* since the cursor stood on a leaf: the gap above 0 comes first */
		return gaps && on_leaf(mas) ? walk_to(mas, mas->index - 1) : rootless_at_0(mas, min);
	if (!stands || was == ma_overflow) {
		entry = stands ? walk_here(mas) : walk_to(mas, mas->index);
		if (!mas->node)
			return rootless_at_0(mas, min);
		if (was == ma_overflow && entry)
			return entry;
	}
	mas->status = ma_active;
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

/* A find upwards in a tree without nodes; @stands: on a range already seen. */
static void *find_rootless(struct ma_state *mas, bool stands)
{
	return stands || mas->index > 0 ? rootless_above(mas) : walk_to(mas, 0);
}

static void *find(struct ma_state *mas, unsigned long max, bool gaps)
{
	enum maple_status was = mas->status;
	bool stands = (on_leaf(mas) && was != ma_underflow) || was == ma_root ||
		      (was == ma_none && mas->last > 0);
	void *entry;

	if (was == ma_error)
		return NULL;
	settle(mas);
	if (was == ma_pause) {
		if (mas->last >= max)
			return end_at(mas, ma_overflow);
		mas->index = ++mas->last;
	}
	if (was == ma_root && rootless(mas))
		return rootless_above(mas);
	if (stands ? mas->last >= max
		   : was == ma_underflow || was == ma_none ? mas->index >= max : mas->index > max)
		return NULL;
	if (rootless(mas))
		return find_rootless(mas, stands);
	if (!stands) {
		entry = walk_to(mas, mas->index);
		if (entry)
			return entry;
		if (!mas->node)
			return rootless_above(mas);
	}
	mas->status = ma_active;
	return step_up(mas, max, gaps, gaps ? ma_overflow : ma_active);
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

/* A find downwards in a tree without nodes. */
static void *find_rev_rootless(struct ma_state *mas, bool stands, unsigned long min)
{
	if (mas->index > 0)
		return rootless_at_0(mas, min);
	return stands ? rootless_below(mas) : walk_to(mas, 0);
}

static void *find_rev(struct ma_state *mas, unsigned long min, bool gaps)
{
	enum maple_status was = mas->status;
	bool stands = on_leaf(mas) || was == ma_root || was == ma_none;
	void *entry;

	if (was == ma_error)
		return NULL;
	settle(mas);
	if (was == ma_pause) {
		if (mas->index <= min)
			return end_at(mas, ma_underflow);
		mas->last = --mas->index;
	}
	if (mas->index < min)
		return NULL;
	if (rootless(mas))
		return find_rev_rootless(mas, stands, min);
	if (!stands) {
		entry = walk_to(mas, mas->index);
		if (entry)
			return entry;
		if (!mas->node)
			return rootless_at_0(mas, min);
		if (mas->index < min)
			return NULL;
	}
	mas->status = ma_active;
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
