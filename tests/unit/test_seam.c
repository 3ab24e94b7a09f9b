/* SPDX-License-Identifier: MIT */
/*
 * test_seam.c - a gap grows at the border of a leaf and joins the one in the leaf beside it, whose
 * lowest node in common is their parent, that one's parent, and so on.
 *
 * Ascending stores leave full leaves: eight entries, each with the gap behind (or before) it. So
 * the first (last) entry of each eight lies at a border beyond which there is a gap.
 */
#include "fixture.h"

#include <stdlib.h>

#define COUNT    2400
#define PER_LEAF 8
#define STRIDE   8
#define WIDTH    4

enum part { WHOLE, HALF, PAIR };

/* What the tree should hold: entry i over [first[i], last[i]], if that is not empty. */
static unsigned long first[COUNT], last[COUNT];

static void *entry_of(unsigned long i)
{
	return xa_mk_value(i);
}

static bool is_there(unsigned long i)
{
	return first[i] <= last[i];
}

static void build(struct maple_tree *mt, unsigned int flags, unsigned long start)
{
	unsigned long i;

	mt_init_flags(mt, flags);
	for (i = 0; i < COUNT; i++) {
		first[i] = start + i * STRIDE;
		last[i] = first[i] + WIDTH - 1;
		assert_int_equal(mtree_store_range(mt, first[i], last[i], entry_of(i), GFP_KERNEL),
				 0);
	}
}

/* The cursor that erased there continues to the entries next to the gap. */
static void expect_beside(struct ma_state *mas, unsigned long at)
{
	unsigned long next = at, prev = at;

	while (next < COUNT && !is_there(next))
		next++;
	while (prev > 0 && !is_there(prev))
		prev--;
	if (next < COUNT) {
		assert_ptr_equal(mas_next(mas, ULONG_MAX), entry_of(next));
		expect_place(mas, first[next], last[next], ma_active);
		assert_ptr_equal(mas_prev(mas, 0), is_there(prev) ? entry_of(prev) : NULL);
	}
	if (next < COUNT && is_there(prev))
		expect_place(mas, first[prev], last[prev], ma_active);
}

/* Erases at entry @at: all of it, the half at the border, or also the one further inside. */
static void erase(struct maple_tree *mt, unsigned long at, enum part part, bool at_first)
{
	unsigned long other = part != PAIR ? at : at_first ? at + 1 : at - 1;
	unsigned long low = at_first ? first[at] : first[other];
	unsigned long high = at_first ? last[other] : last[at];
	MA_STATE(mas, mt, low, high);

	if (part == HALF && at_first)
		mas.last = high = low + WIDTH / 2 - 1;
	if (part == HALF && !at_first)
		mas.index = low = high - WIDTH / 2 + 1;
	mtree_lock(mt);
	assert_int_equal(mas_store_gfp(&mas, NULL, GFP_KERNEL), 0);
	if (part != HALF) {
		first[at] = first[other] = ULONG_MAX;
		last[at] = last[other] = 0;
		expect_beside(&mas, at);
	} else if (at_first) {
		first[at] = high + 1;
	} else {
		last[at] = low - 1;
	}
	mtree_unlock(mt);
	assert_null(mtree_load(mt, low));
	assert_null(mtree_load(mt, high));
}

static void expect_all(struct maple_tree *mt)
{
	unsigned long i = 0;
	MA_STATE(mas, mt, 0, 0);
	void *entry;

	mtree_lock(mt);
	mt_validate(mt);
	mas_for_each(&mas, entry, ULONG_MAX) {
		while (i < COUNT && !is_there(i))
			i++;
		assert_true(i < COUNT);
		assert_ptr_equal(entry, entry_of(i));
		expect_place(&mas, first[i], last[i], ma_active);
		i++;
	}
	while (i < COUNT && !is_there(i))
		i++;
	assert_int_equal(i, COUNT);
	mtree_unlock(mt);
}

static void erase_at_borders(unsigned int flags, bool at_first, enum part part, bool down)
{
	struct maple_tree mt;
	unsigned long i, leaf, leaves = COUNT / PER_LEAF;

	build(&mt, flags, at_first ? 0 : STRIDE - WIDTH);
	for (i = 1; i + 1 < leaves; i++) {
		leaf = down ? leaves - 1 - i : i;
		erase(&mt, leaf * PER_LEAF + (at_first ? 0 : PER_LEAF - 1), part, at_first);
		if (i % 10 < 2 || i + 2 == leaves)
			expect_all(&mt);
	}
	end(&mt);
}

/* All of it, border after border, until the leaves are joined. */
static void erase_it_all(unsigned int flags, bool at_first)
{
	struct maple_tree mt;
	unsigned long i, leaf;

	build(&mt, flags, at_first ? 0 : STRIDE - WIDTH);
	for (i = 0; i < PER_LEAF; i++) {
		for (leaf = 0; leaf < COUNT / PER_LEAF; leaf++)
			erase(&mt, leaf * PER_LEAF + (at_first ? i : PER_LEAF - 1 - i), WHOLE,
			      at_first);
		expect_all(&mt);
	}
	assert_true(mtree_empty(&mt));
	end(&mt);
}

static const unsigned int modes[] = { 0, MT_FLAGS_ALLOC_RANGE, MT_FLAGS_USE_RCU,
				      MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU };

static void a_gap_goes_on_in_the_leaf_before(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 6 * LENGTH(modes); i++)
		erase_at_borders(modes[i / 6], true, (enum part)(i % 3), i % 2);
}

static void a_gap_goes_on_in_the_leaf_behind(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 6 * LENGTH(modes); i++)
		erase_at_borders(modes[i / 6], false, (enum part)(i % 3), i % 2);
}

static void leaves_shrink_from_their_borders(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 2 * LENGTH(modes); i++)
		erase_it_all(modes[i / 2], i % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_goes_on_in_the_leaf_before),
		cmocka_unit_test(a_gap_goes_on_in_the_leaf_behind),
		cmocka_unit_test(leaves_shrink_from_their_borders),
	};

	return cmocka_run_group_tests_name("seam", tests, NULL, NULL);
}
