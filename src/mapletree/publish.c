/* SPDX-License-Identifier: MIT */
/*
 * publish.c - the stores that make a write visible that builds nodes: a slot, the root, or, without
 * readers, a splice in place.
 *
 * Each release store of a pointer pairs with the acquire load of the same word by a reader going
 * down: who sees the new pointer sees the nodes built behind it.
 */
#include "publish.h"

#include <string.h>

#include "gap.h"
#include "retire.h"
#include "way.h"

void publish_root(struct maple_tree *mt, void *root, unsigned int height)
{
	unsigned int flags = mt->ma_flags & ~MT_FLAGS_HEIGHT_MASK;

	assert(height <= MAPLE_HEIGHT_MAX);
	flags |= height << MT_FLAGS_HEIGHT_OFFSET;
	__atomic_store_n(&mt->ma_root, root, __ATOMIC_RELEASE);
	if (flags != mt->ma_flags)
		__atomic_store_n(&mt->ma_flags, flags, __ATOMIC_RELAXED);
	way_forget(mt);
}

static void publish_slot(const struct mt_step *s, const struct mt_item *item)
{
	if (s->kind == KIND_GAPS)
		gap_set(s->node, s->offset, item->gap);
	slot_publish(s->node, s->kind, s->offset, item->slot);
}

/* Moves the slots behind the splice, @tail of them, from @from to @to. */
static void move_tail(struct mt_node *node, enum node_kind kind, unsigned int to,
		      unsigned int from, unsigned int tail)
{
	void **slot = node_slots(node, kind);

	if (to == from || !tail)
		return;
	memmove(&slot[to], &slot[from], tail * sizeof(void *));
	memmove(&node->pivot[to], &node->pivot[from], (tail - 1) * sizeof(long));
	if (kind == KIND_GAPS)
		memmove(&node->gaps.gap[to], &node->gaps.gap[from], tail * sizeof(long));
}

/* Restores the padding behind the last slot. */
static void pad_tail(struct mt_node *node, enum node_kind kind, unsigned int old_end,
		     unsigned int end)
{
	void **slot = node_slots(node, kind);
	unsigned int i;

	for (i = end; i <= old_end && i < kind_slots(kind) - 1; i++)
		node->pivot[i] = ULONG_MAX;
	for (i = end + 1; i <= old_end; i++) {
		slot[i] = NULL;
		if (kind == KIND_GAPS)
			node->gaps.gap[i] = 0;
	}
	node_set_end(node, kind, end);
}

/* Changes a node where it is; nobody may be reading. */
static void splice_in_place(const struct mt_splice *s, const struct mt_items *built)
{
	struct mt_node *node = s->left->node;
	enum node_kind kind = s->left->kind;
	void **slot = node_slots(node, kind);
	unsigned int end = s->total - 1u;
	unsigned int i;

	move_tail(node, kind, s->keep_left + built->count, s->keep_right_from,
		  s->right->end + 1u - s->keep_right_from);
	for (i = 0; i < built->count; i++) {
		const struct mt_item *item = &built->item[i];
		unsigned int at = s->keep_left + i;

		slot[at] = item->slot;
		if (kind == KIND_GAPS)
			node->gaps.gap[at] = item->gap;
		if (at < kind_slots(kind) - 1)
			node->pivot[at] = at < end ? item->last : ULONG_MAX;
	}
	pad_tail(node, kind, s->right->end, end);
}

static void place_at_step(const struct mt_step *leaf, struct mt_place *place)
{
	place->node = leaf->node;
	place->min = leaf->min;
	place->max = leaf->max;
	place->offset = leaf->offset;
	place->end = leaf->end;
}

/* The kinds that change a live node above the leaves. */
static void publish_in_node(struct maple_tree *mt, const struct mt_plan *plan,
			    struct mt_path *path, const struct mt_items *built)
{
	const struct mt_splice *s = &plan->level[plan->top];
	unsigned int step = path->depth - 1 - plan->top;

	if (plan->publish == PUBLISH_SLOT) {
		publish_slot(s->left, &built->item[0]);
	} else {
		retire_dropped(mt, path, step, NULL);
		splice_in_place(s, built);
	}
	if (tree_tracks_gaps(mt))
		gap_update_path(path, step);
}

void publish_write(struct maple_tree *mt, const struct mt_plan *plan, struct mt_path *path,
		   const struct mt_items *built, struct pool_list *reserve,
		   struct mt_place *place)
{
	switch (plan->publish) {
	case PUBLISH_NOTHING:
		if (!path->virtual_leaf)
			place_at_step(path_left(path, path->depth - 1), place);
		break;
	case PUBLISH_VALUE:
		publish_root(mt, plan->value, 0);
		break;
	case PUBLISH_SLOT:
	case PUBLISH_SPLICE:
		publish_in_node(mt, plan, path, built);
		break;
	case PUBLISH_ROOT:
		publish_root(mt, built->item[0].slot, plan->top + 1);
		break;
	case PUBLISH_GROW:
		publish_root(mt, build_root(built, mt, reserve), plan->top + 2);
		break;
	default:
		assert(!"a write that stays in its leaf is not published here");
	}
}
