/* SPDX-License-Identifier: MIT */
/*
 * build.c - fill the new nodes of a plan, slots streaming from the old ones into them.
 */
#include "build.h"

#include <string.h>

#include "gap.h"

/*
 * The nodes of one level while they are filled, one after the other.
 *   pos < cut of the node being filled; next_min == 1 + last of the node before it
 */
struct builder {
	const unsigned char *cut;
	struct pool_list *reserve;
	struct mt_items *built;
	struct mt_node *node;
	unsigned long next_min;
	enum node_kind kind;
	bool gaps;
	unsigned int pos;
};

/* Pads what is not used, so that the layout's invariants hold, and notes the node as an item. */
static void finish_node(struct builder *b, unsigned long last)
{
	struct mt_item *item = &b->built->item[b->built->count];
	unsigned int slots = kind_slots(b->kind);
	struct mt_node *node = b->node;
	void **slot = node_slots(node, b->kind);
	unsigned int i;

	WORK(NODE_BUILT);
	for (i = b->pos - 1; i < slots - 1; i++)
		node->pivot[i] = ULONG_MAX;
	for (i = b->pos; i < slots; i++) {
		slot[i] = NULL;
		if (b->kind == KIND_GAPS)
			node->gaps.gap[i] = 0;
	}
	node_set_end(node, b->kind, b->pos - 1);
	item->last = last;
	item->slot = enode_make(node, b->kind);
	item->gap = b->gaps ? gap_widest(node, b->kind, b->next_min, last) : 0;
	b->next_min = last + 1;
	b->built->count++;
	b->node = NULL;
}

/* Room in the node being filled; begins the next one if there is none. */
static unsigned int room(struct builder *b)
{
	if (!b->node) {
		b->node = pool_take(b->reserve);
		b->pos = 0;
	}
	return b->cut[b->built->count] - b->pos;
}

/* Takes over the slots [from, to) of an old node that covers up to @max. */
static void put_run(struct builder *b, struct mt_node *old, unsigned long max, unsigned int from,
		    unsigned int to)
{
	while (from < to) {
		unsigned int left = room(b);
		unsigned int n = to - from < left ? to - from : left;
		unsigned long last = slot_last(old, b->kind, from + n - 1, max);

		memcpy(&b->node->pivot[b->pos], &old->pivot[from], (n - 1) * sizeof(long));
		memcpy(&node_slots(b->node, b->kind)[b->pos], &node_slots(old, b->kind)[from],
		       n * sizeof(void *));
		if (b->kind == KIND_GAPS)
			memcpy(&b->node->gaps.gap[b->pos], &old->gaps.gap[from], n * sizeof(long));
		b->pos += n;
		from += n;
		if (n == left)
			finish_node(b, last);
		else
			b->node->pivot[b->pos - 1] = last;
	}
}

static void put_items(struct builder *b, const struct mt_item *item, unsigned int items)
{
	for (; items; items--, item++) {
		unsigned int left = room(b);

		node_slots(b->node, b->kind)[b->pos] = item->slot;
		if (b->kind == KIND_GAPS)
			b->node->gaps.gap[b->pos] = item->gap;
		if (left > 1)
			b->node->pivot[b->pos] = item->last;
		b->pos++;
		if (left == 1)
			finish_node(b, item->last);
	}
}

static void put_sibling(struct builder *b, const struct mt_splice *s, unsigned long max)
{
	struct mt_node *node = enode_node(s->sibling);

	put_run(b, node, max, 0, node_end(node, b->kind) + 1);
}

static void build_level(const struct mt_splice *s, const struct mt_items *in,
			const struct maple_tree *mt, struct pool_list *reserve,
			struct mt_items *out)
{
	struct builder b = {
		.cut = s->cut,
		.reserve = reserve,
		.built = out,
		.next_min = s->min,
		.kind = s->left->kind,
		.gaps = tree_tracks_gaps(mt),
	};

	out->count = 0;
	if (s->side == SIBLING_LEFT)
		put_sibling(&b, s, s->left->min - 1);
	put_run(&b, s->left->node, s->left->max, 0, s->keep_left);
	put_items(&b, in->item, in->count);
	put_run(&b, s->right->node, s->right->max, s->keep_right_from, s->right->end + 1u);
	if (s->side == SIBLING_RIGHT)
		put_sibling(&b, s, s->max);
	assert(!b.node && out->count == s->nodes);
}

/* Finds the range written among the new leaves. */
static void find_place(const struct mt_plan *plan, const struct mt_items *leaves,
		       struct mt_place *place)
{
	const struct mt_splice *s = &plan->level[0];
	unsigned int offset = s->keep_left + plan->own;
	unsigned int i;

	if (s->side == SIBLING_LEFT)
		offset += node_end(enode_node(s->sibling), KIND_LEAF) + 1;
	for (i = 0; offset >= s->cut[i]; i++)
		offset -= s->cut[i];
	place->node = enode_node(leaves->item[i].slot);
	place->min = i ? leaves->item[i - 1].last + 1 : s->min;
	place->max = leaves->item[i].last;
	place->offset = (unsigned char)offset;
	place->end = (unsigned char)(s->cut[i] - 1);
}

const struct mt_items *build_levels(const struct mt_plan *plan, const struct maple_tree *mt,
				    struct pool_list *reserve, struct mt_items *built,
				    struct mt_place *place)
{
	unsigned int levels = plan_rebuilt_levels(plan);
	unsigned int level;

	for (level = 0; level < levels; level++) {
		struct mt_items in;

		if (level)
			in = *built;
		build_level(&plan->level[level], level ? &in : &plan->items, mt, reserve, built);
		if (level == 0)
			find_place(plan, built, place);
	}
	return levels ? built : &plan->items;
}

struct maple_enode *build_root(const struct mt_items *built, const struct maple_tree *mt,
			       struct pool_list *reserve)
{
	unsigned char cut = (unsigned char)built->count;
	struct mt_items root = { .count = 0 };
	struct builder b = {
		.cut = &cut,
		.reserve = reserve,
		.built = &root,
		.kind = inner_kind(mt),
		.gaps = tree_tracks_gaps(mt),
	};

	put_items(&b, built->item, built->count);
	assert(root.count == 1);
	return root.item[0].slot;
}
