/* SPDX-License-Identifier: MIT */
/*
 * gap.c - upkeep of the widest gap per child, and the search for a free range by it.
 */
#include "gap.h"

#include "search.h"

static unsigned long widest_in_leaf(struct mt_node *leaf, unsigned long min, unsigned long max)
{
	unsigned int end = node_end(leaf, KIND_LEAF);
	unsigned long widest = 0, first = min;
	unsigned int i;

	for (i = 0; i <= end; i++) {
		unsigned long last = slot_last(leaf, KIND_LEAF, i, max);

		if (!leaf->wide.slot[i] && last - first + 1 > widest)
			widest = last - first + 1;
		first = last + 1;
	}
	return widest;
}

unsigned long gap_widest(struct mt_node *node, enum node_kind kind, unsigned long min,
			 unsigned long max)
{
	unsigned long widest = 0;
	unsigned int i;

	if (kind == KIND_LEAF)
		return widest_in_leaf(node, min, max);
	for (i = 0; i < GAPS_SLOTS; i++) /* gaps past the end are 0 */
		if (node->gaps.gap[i] > widest)
			widest = node->gaps.gap[i];
	return widest;
}

void gap_update_path(struct mt_path *path, unsigned int step)
{
	for (; step > 0; step--) {
		const struct mt_step *s = path_left(path, step);
		const struct mt_step *parent = path_left(path, step - 1);
		unsigned long widest = gap_widest(s->node, s->kind, s->min, s->max);

		if (gap_load(parent->node, parent->offset) == widest)
			return;
		gap_set(parent->node, parent->offset, widest);
	}
}

/* The place for @want in the free range [first, last]. */
static bool fits(const struct mt_area *want, unsigned long first, unsigned long last,
		 unsigned long *start)
{
	unsigned long mask = want->align - 1;
	unsigned long span = want->size - 1;

	if (first < want->min)
		first = want->min;
	if (last > want->max)
		last = want->max;
	if (first > last || last - first < span)
		return false;
	if (want->fit == MT_FIT_LOWEST) {
		*start = (first + mask) & ~mask;
		return *start >= first && *start <= last && last - *start >= span;
	}
	*start = (last - span) & ~mask;
	return *start >= first;
}

/* The slots of a subtree that reach into the window: those of the first and last index in it. */
struct window {
	unsigned int low;
	unsigned int high;
};

static struct window window_of(const struct mt_area *want, struct place at)
{
	struct mt_node *node = enode_node(at.enode);
	enum node_kind kind = enode_kind(at.enode);

	return (struct window){
		node_search(node, kind, at.min < want->min ? want->min : at.min),
		node_search(node, kind, at.max > want->max ? want->max : at.max),
	};
}

/* The i-th slot of the window in the order of the fit. */
static unsigned int pick(const struct mt_area *want, struct window w, unsigned int i)
{
	return want->fit == MT_FIT_LOWEST ? w.low + i : w.high - i;
}

/*
 * Searches the leaf from slot to slot. False: a slot did not go on where the one before ended, so
 * the leaf changed meanwhile; under one version a boundary may have moved.
 */
static bool scan_leaf(const struct mt_area *want, struct place at, unsigned long *start,
		      bool *found)
{
	struct mt_node *leaf = enode_node(at.enode);
	unsigned long low = at.min < want->min ? want->min : at.min;
	unsigned long high = at.max > want->max ? want->max : at.max;
	bool up = want->fit == MT_FIT_LOWEST;
	unsigned long index = up ? low : high;
	unsigned int i = node_search(leaf, KIND_LEAF, index);

	for (*found = false;; i += up ? 1u : -1u) {
		unsigned long first = slot_first(leaf, i, at.min);
		unsigned long last = slot_last(leaf, KIND_LEAF, i, at.max);

		if (index < first || index > last || (i && !first)) /* 0: past the end by now */
			return false;
		*found = !slot_load(leaf, KIND_LEAF, i) && fits(want, first, last, start);
		if (*found || (up ? last >= high : first <= low))
			return true;
		index = up ? last + 1 : first - 1;
	}
}

static bool search_leaf(const struct mt_area *want, struct place at, unsigned long *start)
{
	struct mt_node *leaf = enode_node(at.enode);
	unsigned long version;
	bool found;

	do {
		version = leaf_version(leaf);
	} while (!scan_leaf(want, at, start, &found) || !leaf_unchanged(leaf, version));
	return found;
}

static bool search_below(const struct mt_area *want, struct place at, unsigned long *start)
{
	struct mt_node *node = enode_node(at.enode);
	enum node_kind kind = enode_kind(at.enode);
	struct window w;
	unsigned int n;

	if (kind == KIND_LEAF)
		return search_leaf(want, at, start);
	w = window_of(want, at);
	for (n = 0; w.low + n <= w.high; n++) {
		unsigned int i = pick(want, w, n);
		struct place below = { slot_child(node, kind, i), slot_first(node, i, at.min),
				       slot_last(node, kind, i, at.max) };

		if (gap_load(node, i) >= want->size && search_below(want, below, start))
			return true;
	}
	return false;
}

bool gap_find(const struct maple_tree *mt, const struct mt_area *want, unsigned long *start)
{
	struct place all = { root_load(mt), 0, ULONG_MAX };

	if (root_is_node(all.enode))
		return search_below(want, all, start);
	/* without nodes there is one gap: everything, or everything above the lone entry */
	return fits(want, all.enode ? 1 : 0, ULONG_MAX, start);
}
