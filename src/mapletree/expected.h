/* SPDX-License-Identifier: MIT */
/*
 * expected.h - debug builds: a short cut must have the same result as a layout. Part of write.c.
 */
#ifndef MT_EXPECTED_H
#define MT_EXPECTED_H

#include "layout.h"

#ifdef NDEBUG

struct expected {
	char none;
};

static inline void expect(struct expected *expected, const struct maple_tree *mt,
			  unsigned long first, unsigned long last, void *entry, unsigned long step)
{
	(void)expected, (void)mt, (void)first, (void)last, (void)entry, (void)step;
}

#else

/* The content that the finger's leaf must have after a write, if the write keeps it one leaf. */
struct expected {
	bool one_leaf;
	struct mt_content content;
};

/* Computes that content in the way a layout of the leaf would. */
static inline void expect(struct expected *expected, const struct maple_tree *mt, unsigned long first,
		   unsigned long last, void *entry, unsigned long step)
{
	struct mt_layout_level s = { .last = mt->ma_finger.max };
	struct mt_leaf_plan p;
	struct mt_items items;
	struct mt_ends ends;

	expected->one_leaf = leaf_plan(&p, mt, first, last, entry, step) < WRITE_LAYOUT;
	if (!expected->one_leaf)
		return;
	ends.first = p.below + 1;
	ends.last = p.top;
	ends.first_entry = p.leaf->wide.slot[p.low];
	ends.last_entry = p.leaf->wide.slot[p.high];
	layout_items(&items, &ends, p.first, p.last, entry);
	s.left = s.right = p.leaf;
	s.keep_left = p.low;
	s.inserted = items.count;
	s.keep_right_from = p.high + 1;
	s.total = p.new_end + 1;
	content_gather(&expected->content, &s, KIND_LEAF, &items);
}

/* Whether the finger's leaf, which was not laid out anew, now has that content. */
static inline bool is_met(const struct expected *expected, const struct maple_tree *mt)
{
	struct mt_node *leaf = step_node(mt->ma_finger.step[0]);
	const struct mt_content *content = &expected->content;
	unsigned int i, end = node_end(leaf, KIND_LEAF);

	if (!expected->one_leaf || end + 1 != content->count)
		return false;
	for (i = 0; i <= end; i++)
		if (slot_last(leaf, KIND_LEAF, i, mt->ma_finger.max) != content->pivot[i] ||
		    leaf->wide.slot[i] != content->slot[i])
			return false;
	return node_is_valid(leaf, KIND_LEAF);
}

/* Whether the tree is consistent; builds with MT_DEBUG=2 check all of it after every write. */
static inline bool tree_is_sound(struct maple_tree *mt)
{
#if defined(MT_DEBUG) && MT_DEBUG >= 2
	mt_validate(mt);
#endif
	return root_is_node(mt->ma_root) == (mt_height(mt) > 0);
}

#endif

#endif
