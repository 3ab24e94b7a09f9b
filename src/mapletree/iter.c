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

/*
 * After a write of NULL the cursor stands on the whole gap, wider maybe than what was written. But it
 * goes on from index and last if an entry was stored there since, or they were set by hand.
 */
static void settle(struct ma_state *mas)
{
	unsigned long first = mas->index, last = mas->last;

	if (mas->gap_written && on_leaf(mas)) {
		bool entry = walk_here(mas);

		mas->index = entry || first < mas->index ? first : mas->index;
		mas->last = entry || last > mas->last ? last : mas->last;
	}
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

/* ---- short cuts ------------------------------------------------------------------------- */

/* Not inlined into the quick way, which would save registers for it. */
#define APART __attribute__((noinline))
#define QUICK inline __attribute__((always_inline))

/*
 * The common case of going up: the next entry is in the same leaf, at most one gap further, and
 * below the limit. NULL: it is not, or the leaf has changed, and the cursor is where it was. Each
 * word of the leaf is read once under one version, so all are of one state of it; that it follows
 * on what the cursor has seen is what the comparison with last is for.
 */
static QUICK void *take_up(struct ma_state *mas, struct mt_node *leaf, size_t offset,
			   unsigned long below, void *entry)
{
	unsigned long last = mas->max;

	if (LIKELY(offset < WIDE_SLOTS - 1)) {
		unsigned long pivot = pivot_load(leaf, offset);

		last = pivot < last ? pivot : last;
	}
	if (UNLIKELY(last <= below) || UNLIKELY(!watch_held(mas)))
		return NULL;
	mas->offset = (unsigned char)offset;
	mas->index = below + 1;
	mas->last = last;
	return entry;
}

static QUICK void *next_in_leaf(struct ma_state *mas, unsigned long max)
{
	struct mt_node *leaf = node_of(mas->node, KIND_LEAF);
	size_t offset = mas->offset;
	unsigned long below = mas->last;
	void *entry;

	if (UNLIKELY(below >= max) || UNLIKELY(below >= mas->max) ||
	    UNLIKELY(!watch_holds(mas)) || UNLIKELY(offset >= WIDE_SLOTS - 1) || UNLIKELY(pivot_load(leaf, offset) != below))
		return NULL;
	entry = slot_load(leaf, KIND_LEAF, offset + 1);
	if (LIKELY(entry))
		return take_up(mas, leaf, offset + 1, below, entry);
	if (UNLIKELY(offset >= WIDE_SLOTS - 2))
		return NULL;
	below = pivot_load(leaf, offset + 1);
	if (UNLIKELY(below >= max) || UNLIKELY(below >= mas->max))
		return NULL;
	entry = slot_load(leaf, KIND_LEAF, offset + 2);
	if (UNLIKELY(!entry))
		return NULL;
	return take_up(mas, leaf, offset + 2, below, entry);
}

/* The same downwards. */
static QUICK void *prev_in_leaf(struct ma_state *mas, unsigned long min)
{
	struct mt_node *leaf = node_of(mas->node, KIND_LEAF);
	unsigned int offset = mas->offset;
	unsigned long last = mas->index - 1;
	unsigned long first;
	void *entry;

	if (UNLIKELY(mas->index <= min) || UNLIKELY(mas->index <= mas->min) ||
	    UNLIKELY(!watch_holds(mas)) || UNLIKELY(offset == 0) || UNLIKELY(pivot_load(leaf, --offset) != last))
		return NULL;
	entry = slot_load(leaf, KIND_LEAF, offset);
	if (!entry) {
		if (UNLIKELY(offset == 0))
			return NULL;
		last = pivot_load(leaf, --offset);
		if (UNLIKELY(last < min) || UNLIKELY(last < mas->min))
			return NULL;
		entry = slot_load(leaf, KIND_LEAF, offset);
		if (UNLIKELY(!entry))
			return NULL;
	}
	first = slot_first(leaf, offset, mas->min);
	if (UNLIKELY(first > last) || UNLIKELY(!watch_held(mas)))
		return NULL;
	mas->offset = (unsigned char)offset;
	mas->index = first;
	mas->last = last;
	return entry;
}

/*
 * From the end of a leaf to the first entry of the next leaf, below the limit; *@entry is NULL if
 * the cursor has come to a gap, from where it has to go on. False, and nothing has changed, if
 * that is not where the cursor stands or the way there is not as easy.
 */
static inline bool to_next_leaf(struct ma_state *mas, unsigned long max, void **entry)
{
	if (mas->status != ma_active || mas->last != mas->max || mas->last >= max ||
	    !walk_next_leaf(mas, entry))
		return false;
	if (!*entry)
		*entry = next_in_leaf(mas, max);
	return true;
}

static inline bool to_prev_leaf(struct ma_state *mas, unsigned long min, void **entry)
{
	if (mas->status != ma_active || mas->index != mas->min || mas->index <= min ||
	    !walk_prev_leaf(mas, entry))
		return false;
	if (!*entry)
		*entry = prev_in_leaf(mas, min);
	return true;
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

static APART void *next_beyond(struct ma_state *mas, unsigned long max)
{
	void *entry;

	if (UNLIKELY(!to_next_leaf(mas, max, &entry)))
		return next(mas, max, false);
	if (UNLIKELY(!entry))
		return step_up(mas, max, false, ma_overflow);
	return UNLIKELY(walk_up_is_due(mas)) ? walk_ahead_up(mas, entry) : entry;
}

void *mas_next(struct ma_state *mas, unsigned long max)
{
	void *entry = mas->status == ma_active ? next_in_leaf(mas, max) : NULL;

	return LIKELY(entry) ? entry : next_beyond(mas, max);
}

void *mas_next_range(struct ma_state *mas, unsigned long max)
{
	return next(mas, max, true);
}

static APART void *prev_beyond(struct ma_state *mas, unsigned long min)
{
	void *entry;

	if (UNLIKELY(!to_prev_leaf(mas, min, &entry)))
		return prev(mas, min, false);
	if (UNLIKELY(!entry))
		return step_down(mas, min, false);
	return UNLIKELY(walk_down_is_due(mas)) ? walk_ahead_down(mas, entry) : entry;
}

void *mas_prev(struct ma_state *mas, unsigned long min)
{
	void *entry = mas->status == ma_active ? prev_in_leaf(mas, min) : NULL;

	return LIKELY(entry) ? entry : prev_beyond(mas, min);
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

static APART void *find_beyond(struct ma_state *mas, unsigned long max)
{
	void *entry;

	if (UNLIKELY(!to_next_leaf(mas, max, &entry)))
		return find(mas, max, false);
	if (UNLIKELY(!entry))
		return step_up(mas, max, false, ma_active);
	return UNLIKELY(walk_up_is_due(mas)) ? walk_ahead_up(mas, entry) : entry;
}

void *mas_find(struct ma_state *mas, unsigned long max)
{
	void *entry = mas->status == ma_active ? next_in_leaf(mas, max) : NULL;

	return LIKELY(entry) ? entry : find_beyond(mas, max);
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

static APART void *find_rev_beyond(struct ma_state *mas, unsigned long min)
{
	void *entry;

	if (UNLIKELY(!to_prev_leaf(mas, min, &entry)))
		return find_rev(mas, min, false);
	if (UNLIKELY(!entry))
		return step_down(mas, min, false);
	return UNLIKELY(walk_down_is_due(mas)) ? walk_ahead_down(mas, entry) : entry;
}

void *mas_find_rev(struct ma_state *mas, unsigned long min)
{
	void *entry = mas->status == ma_active ? prev_in_leaf(mas, min) : NULL;

	return LIKELY(entry) ? entry : find_rev_beyond(mas, min);
}

void *mas_find_range_rev(struct ma_state *mas, unsigned long min)
{
	return find_rev(mas, min, true);
}
