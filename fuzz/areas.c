/* SPDX-License-Identifier: MIT */
/*
 * areas.c - searches for free indexes with an alignment, on the oracle's ranges and on the tree.
 */
#include "world.h"

#include <errno.h>

static struct mt_area take_area(struct world *world, const struct tree *tree)
{
	unsigned int how = input_byte(&world->in);
	struct mt_area area = { .fit = how & 1 ? MT_FIT_HIGHEST : MT_FIT_LOWEST };

	area.size = how & 2 ? take_index(world, tree) : how >> 4;
	if (how & 4)
		area.align = how & 8 ? take_index(world, tree) : 1UL << (how >> 4);
	area.min = take_index(world, tree);
	area.max = take_limit(world, tree, area.min, true);
	return area;
}

void op_alloc_area(struct world *world, struct tree *tree)
{
	struct mt_area area = take_area(world, tree);
	void *entry = take_entry(world, tree);
	gfp_t gfp = take_gfp(world);
	unsigned long start = 0;
	int expected = -EINVAL;

	if (!oracle_reserved(entry, true))
		expected = oracle_area(&tree->oracle, &area, &start);
	record(world, tree, "mtree_alloc_area", area.min, area.max, area.size, entry);
	if (!refused(world, mtree_alloc_area(&tree->mt, &area, entry, gfp), expected, gfp) &&
	    !expected) {
		expect_number(world, "start", area.start, start);
		oracle_store(&tree->oracle, start, start + (area.size - 1), entry);
	}
	tree_changed(world, tree, NULL);
}

/* The three searches of a cursor; it stands on the place found. */
void op_cursor_area(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_cursor(world, tree);
	struct mt_area area = take_area(world, tree);
	unsigned long start = 0;
	int expected, got;

	cursor_set(cursor, cursor->place.index, cursor->place.last);
	record(world, tree, "mas_find_area", area.min, area.max, area.size, NULL);
	expected = oracle_area(&tree->oracle, &area, &start);
	mtree_lock(&tree->mt);
	if (area.align > 1)
		got = mas_find_area(&cursor->mas, &area);
	else if (area.fit == MT_FIT_LOWEST)
		got = mas_empty_area(&cursor->mas, area.min, area.max, area.size);
	else
		got = mas_empty_area_rev(&cursor->mas, area.min, area.max, area.size);
	mtree_unlock(&tree->mt);
	expect_number(world, "result", (unsigned long)got, (unsigned long)expected);
	if (expected) {
		cursor_set(cursor, cursor->place.index, cursor->place.last);
		return;
	}
	expect_number(world, "index", cursor->mas.index, start);
	expect_number(world, "last", cursor->mas.last, start + (area.size - 1));
	cursor->place = (struct oracle_cursor){ start, start + (area.size - 1), ma_start };
}
