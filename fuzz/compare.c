/* SPDX-License-Identifier: MIT */
/*
 * compare.c - compare trees with their oracles; draw arguments where trees break: at the bounds of
 * ranges, at 0 and at ULONG_MAX.
 */
#include "world.h"

#include <limits.h>

#define LONG_BITS (sizeof(long) * 8)

void tree_compare(struct world *world, struct tree *tree)
{
	const struct oracle *oracle = &tree->oracle;
	const char *reason = "no reason given";
	MA_STATE(mas, &tree->mt, 0, 0);

	mtree_lock(&tree->mt);
	if (!mt_check(&tree->mt, &reason))
		fail(world, "mt_check: %s", reason);
	expect_number(world, "mtree_empty", mtree_empty(&tree->mt), oracle_empty(oracle));
	for (size_t i = 0; i < oracle->count; i++) {
		const struct oracle_range *range = &oracle->ranges[i];
		void *entry;

		mas_set(&mas, range->first);
		entry = mas_walk(&mas);
		if (entry != range->entry || mas.index != range->first || mas.last != range->last)
			fail(world, "walk gives 0x%lx-0x%lx:%p, expected 0x%lx-0x%lx:%p",
			     mas.index, mas.last, entry, range->first, range->last, range->entry);
	}
	mtree_unlock(&tree->mt);
}

void tree_changed(struct world *world, struct tree *tree, const struct cursor *but)
{
	reader_saw(world, tree);
	for (unsigned int i = 0; i < CURSORS; i++) {
		struct cursor *cursor = &tree->cursor[i];

		if (cursor != but)
			cursor_set(cursor, cursor->place.index, cursor->place.last);
	}
	tree_compare(world, tree);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static unsigned long near_bound(struct world *world, const struct tree *tree, unsigned int how)
{
	const struct oracle_range *range =
		&tree->oracle.ranges[input_below(&world->in, tree->oracle.count)];
	unsigned long index = how & 1 ? range->first : range->last;

	switch (how >> 1 & 3) {
	case 0: return index - (index > 0);
	case 1: return index + (index < ULONG_MAX);
	default: return index;
	}
}

unsigned long take_index(struct world *world, const struct tree *tree)
{
	unsigned int kind = input_byte(&world->in);

	if (kind < 128)
		return kind;
	if (kind < 160)
		return near_bound(world, tree, kind);
	if (kind < 192)
		return ULONG_MAX - (kind - 160);
	if (kind < 224)
		return (unsigned long)(kind - 192) << 8 | input_byte(&world->in);
	return (1UL << (kind * 2 % LONG_BITS)) - 1 + input_byte(&world->in) % 3;
}

static unsigned long add(unsigned long a, unsigned long b)
{
	return a + b < a ? ULONG_MAX : a + b;
}

/* The end of one of the ranges from @first upwards. */
static unsigned long end_above(const struct tree *tree, unsigned long first, size_t steps)
{
	const struct oracle *oracle = &tree->oracle;
	size_t at = oracle_at(oracle, first) + steps;

	return oracle->ranges[at < oracle->count ? at : oracle->count - 1].last;
}

unsigned long take_last(struct world *world, const struct tree *tree, unsigned long first)
{
	unsigned int kind = input_byte(&world->in);

	if (kind < 96)
		return add(first, kind / 4);
	if (kind < 192)
		return end_above(tree, first, (kind - 96) / 4);
	if (kind < 224)
		return ULONG_MAX;
	return take_index(world, tree);
}

void take_range(struct world *world, const struct tree *tree, unsigned long *first,
		unsigned long *last)
{
	unsigned long a = take_index(world, tree);
	unsigned long b = take_last(world, tree, a);

	*first = a < b ? a : b;
	*last = a < b ? b : a;
}

unsigned long take_limit(struct world *world, const struct tree *tree, unsigned long index, bool up)
{
	unsigned int kind = input_byte(&world->in);

	if (kind < 128)
		return up ? ULONG_MAX : 0;
	if (kind < 192)
		return up ? add(index, kind - 128) : index - (index < kind - 128 ? index : kind - 128);
	return take_index(world, tree);
}

void *take_plain_entry(struct world *world)
{
	world->entries_made++;
	if (world->entries_made % 4 == 0)
		return xa_mk_value(world->entries_made);
	/* also pointers that look like a tagged node */
	return (void *)((world->entries_made << 8) + 0x10000 +
			(world->entries_made % 8 == 1 ? 2 : 0));
}

void *take_entry(struct world *world, const struct tree *tree)
{
	unsigned int kind = input_byte(&world->in);

	if (kind < 64)
		return NULL;
	if (kind < 72)
		return XA_ZERO_ENTRY;
	if (kind < 80)
		return tree->oracle.ranges[input_below(&world->in, tree->oracle.count)].entry;
	if (kind < 84)
		return (void *)(2UL + 4 * input_below(&world->in, 1024));
	return take_plain_entry(world);
}

gfp_t take_gfp(struct world *world)
{
	static const gfp_t often[8] = { GFP_KERNEL, GFP_KERNEL, GFP_KERNEL, GFP_KERNEL,
					GFP_KERNEL, GFP_NOWAIT, GFP_ATOMIC, GFP_KERNEL };

	return often[input_byte(&world->in) % 8];
}
