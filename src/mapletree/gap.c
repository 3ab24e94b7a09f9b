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

static bool search_below(const struct mt_area *want, struct place at, unsigned long *start);

/* Slot i of a node: free and large enough itself, or the root of a subtree that may hold one. */
static bool search_slot(const struct mt_area *want, struct mt_node *node, enum node_kind kind,
			unsigned int i, struct place slot, unsigned long *start)
{
	if (kind == KIND_LEAF)
		return !slot_load(node, kind, i) && fits(want, slot.min, slot.max, start);
	if (gap_load(node, i) < want->size)
		return false;
	slot.enode = slot_child(node, kind, i);
	return search_below(want, slot, start);
}

/* Slots in the order of the fit, only those that reach into the window. */
static bool search_below(const struct mt_area *want, struct place at, unsigned long *start)
{
	struct mt_node *node = enode_node(at.enode);
	enum node_kind kind = enode_kind(at.enode);
	unsigned int end = node_end(node, kind);
	unsigned int low = at.min < want->min ? node_search(node, kind, want->min) : 0;
	unsigned int high = at.max > want->max ? node_search(node, kind, want->max) : end;
	bool upwards = want->fit == MT_FIT_LOWEST;
	unsigned int n;

	/* a reader may see the leaf change between the two searches: then high < low is possible */
	for (n = 0; low + n <= high; n++) {
		unsigned int i = upwards ? low + n : high - n;
		struct place slot = { NULL, slot_first(node, i, at.min),
				      slot_last(node, kind, i, at.max) };

		if (search_slot(want, node, kind, i, slot, start))
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
