/* SPDX-License-Identifier: MIT */
/*
 * content.h - a level that is laid out anew: which nodes it has, and all their slots, gathered from
 * them and spread over others.
 */
#ifndef MT_CONTENT_H
#define MT_CONTENT_H

#include "splice.h"

/* The most items that go into a level, and the most nodes that come out of it. */
#define LAYOUT_ITEMS 3
#define LAYOUT_NODES 3

struct mt_items {
	unsigned int count;
	struct mt_item item[LAYOUT_ITEMS];
};

/* Which neighbour of the nodes that a level changes takes part, under the same parent. */
enum sibling_side { SIBLING_NONE, SIBLING_LEFT, SIBLING_RIGHT };

/*
 * struct mt_layout_level - a level that is laid out anew. Counts are of slots.
 *   left == right, or left comes before right
 *   total == (all of sibling) + keep_left + inserted + (right's end + 1 - keep_right_from)
 *   cut[0] + .. + cut[nodes - 1] == total, 1 <= nodes <= LAYOUT_NODES
 * @left, @right: the nodes at both ends of what is replaced: the slots of @left below @keep_left
 *                and those of @right from @keep_right_from on stay.
 * @border:  the last index of the lower one of @sibling and the node next to it.
 * @last:    the last index that the level covers.
 * @old:     the nodes that are in the tree now, in order: @left, @right and @sibling.
 */
struct mt_layout_level {
	struct mt_node *left;
	struct mt_node *right;
	struct mt_node *sibling;
	unsigned long border;
	unsigned long last;
	enum sibling_side side;
	unsigned int keep_left;
	unsigned int inserted;
	unsigned int keep_right_from;
	unsigned int total;
	unsigned int nodes;
	unsigned int cut[LAYOUT_NODES];
	unsigned int old_count;
	struct mt_node *old[LAYOUT_NODES];
};

#define CONTENT_SLOTS (2 * WIDE_SLOTS + LAYOUT_ITEMS)

/*
 * All slots of a level and their ends. count <= CONTENT_SLOTS; the arrays have room for one more
 * whole node, so that nodes can be copied at a constant size, without a call.
 */
struct mt_content {
	unsigned int count;
	unsigned long pivot[CONTENT_SLOTS + WIDE_SLOTS];
	void *slot[CONTENT_SLOTS + WIDE_SLOTS];
	unsigned long gap[CONTENT_SLOTS + WIDE_SLOTS];
};

/* ---- gather ---------------------------------------------------------------------------------- */

/* Adds the first @count slots of @node; the last one ends at @last at the latest. */
static inline void add_first(struct mt_content *content, struct mt_node *node, enum node_kind kind,
			     unsigned int count, unsigned long last)
{
	unsigned int at = content->count;

	if (kind == KIND_GAPS) {
		memcpy(&content->pivot[at], node->pivot, GAPS_PIVOTS * sizeof(long));
		memcpy(&content->slot[at], node->gaps.slot, sizeof(node->gaps.slot));
		memcpy(&content->gap[at], node->gaps.gap, sizeof(node->gaps.gap));
	} else {
		memcpy(&content->pivot[at], node->pivot, sizeof(node->wide.pivot));
		memcpy(&content->slot[at], node->wide.slot, sizeof(node->wide.slot));
	}
	content->count = at + count;
	if (count)
		content->pivot[at + count - 1] = slot_last(node, kind, count - 1, last);
}

/* Adds the slots of @node, which ends at @last, beginning with slot @from. */
static inline void add_rest(struct mt_content *content, struct mt_node *node, enum node_kind kind,
			    unsigned int from, unsigned long last)
{
	unsigned int at = content->count, count = node_end(node, kind) + 1 - from;

	if (!count)
		return;
	memcpy(&content->slot[at], &node_slots(node, kind)[from], count * sizeof(void *));
	memcpy(&content->pivot[at], &node->pivot[from], (count - 1) * sizeof(long));
	if (kind == KIND_GAPS)
		memcpy(&content->gap[at], &node->gaps.gap[from], count * sizeof(long));
	content->count = at + count;
	content->pivot[at + count - 1] = last;
}

static inline void add_items(struct mt_content *content, const struct mt_items *items)
{
	unsigned int i;

	assert(items->count <= LAYOUT_ITEMS);
	if (items->count > LAYOUT_ITEMS)
		__builtin_unreachable(); /* gcc 14 warns of items behind the array's end */
	for (i = 0; i < items->count; i++) {
		content->pivot[content->count] = items->item[i].last;
		content->slot[content->count] = items->item[i].slot;
		content->gap[content->count++] = items->item[i].gap;
	}
}

/* content_gather - gather the content of level @s, of nodes of @kind, including @items. */
static ALWAYS_INLINE void content_gather(struct mt_content *content,
					 const struct mt_layout_level *s, enum node_kind kind,
					 const struct mt_items *items)
{
	unsigned long last = s->side == SIBLING_RIGHT ? s->border : s->last;

	content->count = 0;
	if (s->side == SIBLING_LEFT)
		add_first(content, s->sibling, kind, node_end(s->sibling, kind) + 1, s->border);
	add_first(content, s->left, kind, s->keep_left, ULONG_MAX);
	add_items(content, items);
	add_rest(content, s->right, kind, s->keep_right_from, last);
	if (s->side == SIBLING_RIGHT)
		add_first(content, s->sibling, kind, node_end(s->sibling, kind) + 1, s->last);
	assert(content->count == s->total);
}

/* ---- spread ---------------------------------------------------------------------------------- */

/* content_fill - fill @node with slots @from .. @to - 1. */
static inline void content_fill(struct mt_node *node, enum node_kind kind,
				const struct mt_content *content, unsigned int from,
				unsigned int to)
{
	unsigned int count = to - from;

	WORK(NODE_BUILT);
	if (kind == KIND_GAPS) {
		memcpy(node->pivot, &content->pivot[from], GAPS_PIVOTS * sizeof(long));
		memcpy(node->gaps.slot, &content->slot[from], sizeof(node->gaps.slot));
		memcpy(node->gaps.gap, &content->gap[from], sizeof(node->gaps.gap));
	} else {
		memcpy(node->pivot, &content->pivot[from], sizeof(node->wide.pivot));
		memcpy(node->wide.slot, &content->slot[from], sizeof(node->wide.slot));
	}
	node_pad(node, kind, count - 1, kind_slots(kind) - 1);
	assert(node_is_valid(node, kind));
}

#endif
