/* SPDX-License-Identifier: MIT */
/* splice.h - replace slots of a node that no reader can see. */
#ifndef MT_SPLICE_H
#define MT_SPLICE_H

#include <string.h>

#include "node.h"

/* The content of a slot that ends at @last; @gap is used only in trees that track gaps. */
struct mt_item {
	unsigned long last;
	void *slot;
	unsigned long gap;
};

/*
 * put_items - put @count items into consecutive slots, beginning with @at, of a node whose last
 * slot is @end.
 */
static inline void put_items(struct mt_node *node, enum node_kind kind, unsigned int at,
			     const struct mt_item *item, unsigned int count, unsigned int end)
{
	for (; count; count--, item++, at++) {
		node_slots(node, kind)[at] = item->slot;
		if (at < end)
			node->pivot[at] = item->last;
		if (kind == KIND_GAPS)
			node->gaps.gap[at] = item->gap;
	}
}

/* splice_node - replace the slots @at .. @from - 1 of @node by @count items. */
static inline void splice_node(struct mt_node *node, enum node_kind kind, unsigned int at,
			       unsigned int from, const struct mt_item *item, unsigned int count)
{
	unsigned int to = at + count, old_end = node_end(node, kind);
	unsigned int tail = old_end + 1 - from, end = to + tail - 1;
	void **slot = node_slots(node, kind);

	WORK(NODE_BUILT);
	if (to != from && tail) {
		memmove(&slot[to], &slot[from], tail * sizeof(void *));
		memmove(&node->pivot[to], &node->pivot[from], (tail - 1) * sizeof(long));
		if (kind == KIND_GAPS)
			memmove(&node->gaps.gap[to], &node->gaps.gap[from], tail * sizeof(long));
	}
	put_items(node, kind, at, item, count, end);
	node_pad(node, kind, end, old_end);
	assert(node_is_valid(node, kind));
}

#endif
