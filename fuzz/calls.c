/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the normal API: each call made to the tree and to the oracle.
 */
#include "world.h"

#include <errno.h>

void op_store(struct world *world, struct tree *tree)
{
	unsigned long first = take_index(world, tree);
	unsigned long last = take_last(world, tree, first);
	void *entry = take_entry(world, tree);
	gfp_t gfp = take_gfp(world);
	int expected = first > last || oracle_reserved(entry, false) ? -EINVAL : 0;
	int got;

	record(world, tree, "mtree_store_range", first, last, gfp, entry);
	if (first == last)
		got = mtree_store(&tree->mt, first, entry, gfp);
	else
		got = mtree_store_range(&tree->mt, first, last, entry, gfp);
	if (!refused(world, got, expected, gfp))
		oracle_store_checked(&tree->oracle, first, last, entry);
	tree_changed(world, tree, NULL);
}

void op_insert(struct world *world, struct tree *tree)
{
	unsigned long first = take_index(world, tree);
	unsigned long last = take_last(world, tree, first);
	void *entry = take_entry(world, tree);
	gfp_t gfp = take_gfp(world);
	int expected = 0;
	int got;

	record(world, tree, "mtree_insert_range", first, last, gfp, entry);
	if (first > last || oracle_reserved(entry, false))
		expected = -EINVAL;
	else if (!oracle_vacant(&tree->oracle, first, last))
		expected = -EEXIST;
	if (first == last)
		got = mtree_insert(&tree->mt, first, entry, gfp);
	else
		got = mtree_insert_range(&tree->mt, first, last, entry, gfp);
	if (!refused(world, got, expected, gfp) && !expected)
		oracle_store(&tree->oracle, first, last, entry);
	tree_changed(world, tree, NULL);
}

void op_erase(struct world *world, struct tree *tree)
{
	unsigned long index = take_index(world, tree);
	void *expected = oracle_load(&tree->oracle, index);
	bool zero = !expected && !oracle_vacant(&tree->oracle, index, index);
	void *got;

	record(world, tree, "mtree_erase", index, 0, 0, NULL);
	got = mtree_erase(&tree->mt, index);
	if (memory_failed(world)) {
		expect_entry(world, got, NULL);
	} else {
		if (!zero) /* what it returns for a zero entry is not promised */
			expect_entry(world, got, expected);
		oracle_erase(&tree->oracle, index);
	}
	tree_changed(world, tree, NULL);
}

void op_alloc(struct world *world, struct tree *tree)
{
	unsigned int how = input_byte(&world->in);
	bool reverse = how & 1;
	unsigned long size = how & 2 ? take_index(world, tree) : how >> 4;
	unsigned long min = take_index(world, tree);
	unsigned long max = take_limit(world, tree, min, true);
	void *entry = take_entry(world, tree);
	gfp_t gfp = take_gfp(world);
	unsigned long start = 0, expected_start = 0;
	int got, expected = -EINVAL;

	record(world, tree, reverse ? "mtree_alloc_rrange" : "mtree_alloc_range", size, min, max,
	       entry);
	if (!oracle_reserved(entry, true))
		expected = oracle_gap(&tree->oracle, size, min, max, reverse, &expected_start);
	if (reverse)
		got = mtree_alloc_rrange(&tree->mt, &start, entry, size, min, max, gfp);
	else
		got = mtree_alloc_range(&tree->mt, &start, entry, size, min, max, gfp);
	if (!refused(world, got, expected, gfp) && !expected) {
		expect_number(world, "start", start, expected_start);
		oracle_store(&tree->oracle, start, start + (size - 1), entry);
	}
	tree_changed(world, tree, NULL);
}

void op_alloc_cyclic(struct world *world, struct tree *tree)
{
	unsigned long low = take_index(world, tree);
	unsigned long high = take_limit(world, tree, low, true);
	void *entry = take_entry(world, tree);
	gfp_t gfp = take_gfp(world);
	unsigned long start = 0, expected_start = 0, next;
	struct oracle before = { 0 };
	bool wrapped = tree->cyclic_wrapped;
	int got, expected;

	if (input_byte(&world->in) % 8 == 0)
		tree->cyclic_next = take_index(world, tree);
	next = tree->cyclic_next;
	record(world, tree, "mtree_alloc_cyclic", low, high, next, entry);
	oracle_copy(&before, &tree->oracle);
	expected = oracle_alloc_cyclic(&tree->oracle, &expected_start, entry, low, high,
				       &tree->cyclic_next, &tree->cyclic_wrapped);
	got = mtree_alloc_cyclic(&tree->mt, &start, entry, low, high, &next, gfp);
	if (refused(world, got, expected, gfp)) {
		oracle_copy(&tree->oracle, &before);
		tree->cyclic_next = next;
		tree->cyclic_wrapped = wrapped;
	} else if (expected >= 0) {
		expect_number(world, "start", start, expected_start);
		expect_number(world, "next", next, tree->cyclic_next);
	}
	oracle_free(&before);
	tree_changed(world, tree, NULL);
}

void op_gap(struct world *world, struct tree *tree)
{
	unsigned long index = take_index(world, tree);
	void *entry = take_entry(world, tree);
	gfp_t gfp = take_gfp(world);
	const struct oracle_range range = tree->oracle.ranges[oracle_at(&tree->oracle, index)];
	unsigned long first = 0, last = 0;
	int got, expected = range.entry ? -EEXIST : 0;

	record(world, tree, "mtree_gap_around", index, 0, 0, entry);
	expect_number(world, "free", mtree_gap_around(&tree->mt, index, &first, &last),
		      !range.entry);
	if (!range.entry) {
		expect_number(world, "first", first, range.first);
		expect_number(world, "last", last, range.last);
	}
	if (input_byte(&world->in) % 4)
		return;
	if (!entry || oracle_reserved(entry, false))
		expected = -EINVAL;
	record(world, tree, "mtree_fill_gap", index, 0, gfp, entry);
	got = mtree_fill_gap(&tree->mt, index, entry, &first, &last, gfp);
	if (!refused(world, got, expected, gfp) && !expected) {
		expect_number(world, "first", first, range.first);
		expect_number(world, "last", last, range.last);
		oracle_store(&tree->oracle, first, last, entry);
	}
	tree_changed(world, tree, NULL);
}

void op_look(struct world *world, struct tree *tree)
{
	unsigned long index = take_index(world, tree);
	unsigned long max = take_limit(world, tree, index, true);
	unsigned long min = take_limit(world, tree, index, false);
	void *next = oracle_next(&tree->oracle, index, max);
	void *prev = oracle_prev(&tree->oracle, index, min);

	record(world, tree, "mtree_load, mt_next, mt_prev", index, min, max, NULL);
	expect_entry(world, mtree_load(&tree->mt, index), oracle_load(&tree->oracle, index));
	if (!xa_is_zero(next)) /* zero entries: not promised */
		expect_entry(world, mt_next(&tree->mt, index, max), next);
	if (!xa_is_zero(prev))
		expect_entry(world, mt_prev(&tree->mt, index, min), prev);
}

void op_find(struct world *world, struct tree *tree)
{
	unsigned long index = take_index(world, tree);
	unsigned long max = take_limit(world, tree, index, true);
	unsigned long got = index, expected = index;

	record(world, tree, "mt_find, mt_find_after", index, max, 0, NULL);
	expect_entry(world, mt_find(&tree->mt, &got, max),
		     oracle_find(&tree->oracle, &expected, max));
	expect_number(world, "index", got, expected);
	got = expected = index;
	expect_entry(world, mt_find_after(&tree->mt, &got, max),
		     index ? oracle_find(&tree->oracle, &expected, max) : NULL);
	expect_number(world, "index", got, expected);
}

void op_iterate(struct world *world, struct tree *tree)
{
	unsigned long index = take_index(world, tree);
	unsigned long max = take_limit(world, tree, index, true);
	unsigned long expected = index;
	unsigned long found = 0;
	void *entry;

	record(world, tree, "mt_for_each", index, max, 0, NULL);
	mt_for_each(&tree->mt, entry, index, max) {
		expect_entry(world, entry, oracle_find(&tree->oracle, &expected, max));
		expect_number(world, "index", index, expected);
		found++;
	}
	if (!found || expected) /* it ended before ULONG_MAX */
		expect_entry(world, NULL, oracle_find(&tree->oracle, &expected, max));
}
