/* SPDX-License-Identifier: MIT */
/*
 * test_fill.c - how full nodes are after splits and joins: what a tree costs, not what it holds.
 */
#include "fixture.h"

#include "node.h"

static struct maple_tree mt;

/* A leaf with fewer slots in use is joined with a neighbour; in a tree of two levels half of that. */
static const unsigned int least_of_large = (WIDE_SLOTS + 2) / 3;
static const unsigned int least = ((WIDE_SLOTS + 2) / 3 + 1) / 2;

/* The node above the leaves: the root, or of three levels its second child. */
static struct mt_node *above_leaves(void)
{
	struct mt_node *root = enode_node(mt.ma_root);

	assert_in_range(mt_height(&mt), 2, 3);
	return mt_height(&mt) == 2 ? root : enode_node(slot_child(root, inner_kind(&mt), 1));
}

static unsigned int leaves(void)
{
	return node_end(above_leaves(), inner_kind(&mt)) + 1;
}

/* The number of slots in use of leaf @i below that node. */
static unsigned int leaf_slots(unsigned int i)
{
	assert_true(i < leaves());
	return node_end(enode_node(slot_child(above_leaves(), inner_kind(&mt), i)), KIND_LEAF) + 1;
}

static void erase(unsigned long index)
{
	assert_non_null(mtree_erase(&mt, index));
}

static void store(unsigned long first, unsigned long last)
{
	assert_int_equal(mtree_store_range(&mt, first, last, E('x'), GFP_KERNEL), 0);
}

/* A tree of @entries entries of 4 indexes from 0 on, loaded upwards: full leaves, then the rest. */
static void begin(unsigned int flags, unsigned long entries)
{
	mt_init_flags(&mt, flags);
	fill(&mt, 0, 4, 4, entries);
}

static void expect_leaves(unsigned int first, unsigned int second)
{
	assert_int_equal(leaves(), 2);
	assert_int_equal(leaf_slots(0), first);
	assert_int_equal(leaf_slots(1), second);
}

static unsigned long leaves_of_run(long stride)
{
	struct mt_statistics stats;
	long i, start = stride > 0 ? 4 : 4000;

	mt_init(&mt);
	for (i = 0; i < 900; i++)
		store((unsigned long)(start + stride * i), (unsigned long)(start + stride * i + 3));
	mtree_lock(&mt);
	mt_get_statistics(&mt, &stats);
	mtree_unlock(&mt);
	end(&mt);
	assert_int_equal(stats.entries + stats.gaps, 902);
	return stats.leaves;
}

static void a_run_fills_its_leaves(void **state)
{
	(void)state;
	assert_in_range(leaves_of_run(4), 902 / WIDE_SLOTS, 902 / WIDE_SLOTS + 2);
	assert_in_range(leaves_of_run(-4), 902 / WIDE_SLOTS, 902 / WIDE_SLOTS + 2);
}

/*
 * Where slots are divided instead of before slot @cut when three are inserted, of which @first is
 * the first: they stay together.
 */
static unsigned int beside(unsigned int cut, unsigned long first)
{
	if (first >= cut || cut >= first + 3)
		return cut;
	return (unsigned int)(cut - first <= first + 3 - cut ? first : first + 3);
}

static void other_splits_make_halves(unsigned int flags)
{
	unsigned int cut;
	unsigned long i;

	for (i = 1; i < WIDE_SLOTS - 1; i++) {
		begin(flags, WIDE_SLOTS - 1); /* and a gap: one full leaf */
		assert_int_equal(mt_height(&mt), 1);
		store(4 * i + 1, 4 * i + 2); /* one range becomes three */
		cut = beside((WIDE_SLOTS + 2) / 2, i);
		expect_leaves(cut, WIDE_SLOTS + 2 - cut);
		end(&mt);
	}
}

/*
 * Four leaves, of which three are full, below a node that has room. @levels: of the tree, 2 or 3.
 * Returns which entry is the first one in them.
 */
static unsigned long begin_four_leaves(unsigned int flags, unsigned int levels)
{
	enum node_kind kind = flags & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER;
	unsigned long before = levels == 3 ? kind_slots(kind) * WIDE_SLOTS : 0;

	begin(flags, before + 3 * WIDE_SLOTS);
	assert_int_equal(mt_height(&mt), levels);
	assert_int_equal(leaves(), 4);
	return before;
}

/*
 * Neither the first nor the last slot of a leaf between others is the end of a run. Beside readers
 * the leaf is divided, and so it is in a small tree; else it and the full one before it become
 * three.
 */
static void full_leaves_between_others_are_divided_in(unsigned int flags, unsigned int levels)
{
	const unsigned int all = 2 * WIDE_SLOTS + 2;
	unsigned int cut, at;
	unsigned long i, before;

	for (i = WIDE_SLOTS; i < 2 * WIDE_SLOTS; i++) {
		before = begin_four_leaves(flags, levels);
		store(4 * (before + i) + 1, 4 * (before + i) + 2);
		assert_int_equal(leaves(), 5);
		if (levels == 2 || flags & MT_FLAGS_USE_RCU) {
			cut = beside((WIDE_SLOTS + 2) / 2, i - WIDE_SLOTS);
			assert_int_equal(leaf_slots(0), WIDE_SLOTS);
			assert_int_equal(leaf_slots(1), cut);
			assert_int_equal(leaf_slots(2), WIDE_SLOTS + 2 - cut);
		} else {
			cut = (all + 2) / 3;
			at = beside(cut + (all + 1) / 3, i);
			assert_int_equal(leaf_slots(0), cut);
			assert_int_equal(leaf_slots(1), at - cut);
			assert_int_equal(leaf_slots(2), all - at);
		}
		assert_int_equal(leaf_slots(3), WIDE_SLOTS);
		end(&mt);
	}
}

static void full_leaves_between_others_are_divided(unsigned int flags)
{
	full_leaves_between_others_are_divided_in(flags, 2);
	full_leaves_between_others_are_divided_in(flags, 3);
}

/*
 * Without readers, and below another node than the root, a full leaf and the emptier one beside it
 * hold the same then.
 */
static void a_full_leaf_shares_with_the_emptier_one(unsigned int flags)
{
	const unsigned int gone = 4, each = WIDE_SLOTS + 1 - gone / 2;
	unsigned int emptier;
	unsigned long i, at, before;

	if (flags & MT_FLAGS_USE_RCU)
		return;
	for (emptier = 0; emptier <= 2; emptier += 2) {
		before = begin_four_leaves(flags, 3);
		for (i = 0; i <= gone; i++)
			erase(4 * (before + emptier * WIDE_SLOTS + 2 + i)); /* one gap of them */
		at = 4 * (before + WIDE_SLOTS + WIDE_SLOTS / 2);
		store(at + 1, at + 2);
		assert_int_equal(leaves(), 4);
		assert_int_equal(leaf_slots(emptier), each);
		assert_int_equal(leaf_slots(1), each);
		assert_int_equal(leaf_slots(2 - emptier), WIDE_SLOTS);
		end(&mt);
	}
}

/* As long as the root of a small tree has room: then its full leaves share, too. */
static void a_full_root_lets_leaves_share(unsigned int flags)
{
	enum node_kind kind = flags & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER;
	unsigned long at = WIDE_SLOTS + WIDE_SLOTS / 2;

	if (flags & MT_FLAGS_USE_RCU)
		return;
	begin(flags, kind_slots(kind) * WIDE_SLOTS - 2);
	assert_int_equal(leaves(), kind_slots(kind));
	erase(4 * 2);
	erase(4 * 3);
	erase(4 * 4); /* two slots less */
	store(4 * at + 1, 4 * at + 2); /* two more in the second one */
	assert_int_equal(mt_height(&mt), 2);
	assert_int_equal(leaves(), kind_slots(kind));
	assert_int_equal(leaf_slots(0), WIDE_SLOTS);
	assert_int_equal(leaf_slots(1), WIDE_SLOTS);
	end(&mt);
}

/* A full leaf and one that loses slots: so long as it keeps a sixth, both stay as they are. */
static void too_empty_a_leaf_is_joined(unsigned int flags)
{
	unsigned long last = 2 * WIDE_SLOTS - 2, i;

	begin(flags, last + 1);
	for (i = last; i > WIDE_SLOTS + least - 2; i--) {
		expect_leaves(WIDE_SLOTS, (unsigned int)(i + 2 - WIDE_SLOTS));
		erase(4 * i);
	}
	expect_leaves(WIDE_SLOTS, least);
	erase(4 * i);
	expect_leaves((WIDE_SLOTS + least) / 2, (WIDE_SLOTS + least - 1) / 2);
	end(&mt);

	begin(flags, last + 1);
	erase(0); /* a gap in its place */
	for (i = 1; i <= WIDE_SLOTS - least; i++) {
		expect_leaves((unsigned int)(WIDE_SLOTS + 1 - i), WIDE_SLOTS);
		erase(4 * i);
	}
	expect_leaves(least, WIDE_SLOTS);
	erase(4 * i);
	expect_leaves((WIDE_SLOTS + least) / 2, (WIDE_SLOTS + least - 1) / 2);
	end(&mt);
}

/* Below another node than the root a leaf keeps a third of its slots. */
static void too_empty_a_leaf_of_a_large_tree_is_joined(unsigned int flags)
{
	unsigned long before = begin_four_leaves(flags, 3), i;

	erase(4 * before); /* a gap in its place */
	for (i = 1; i <= WIDE_SLOTS - least_of_large; i++) {
		assert_int_equal(leaf_slots(0), WIDE_SLOTS + 1 - i);
		assert_int_equal(leaf_slots(1), WIDE_SLOTS);
		erase(4 * (before + i));
	}
	assert_int_equal(leaf_slots(0), least_of_large);
	erase(4 * (before + i));
	assert_int_equal(leaves(), 4);
	assert_int_equal(leaf_slots(0), (WIDE_SLOTS + least_of_large) / 2);
	assert_int_equal(leaf_slots(1), (WIDE_SLOTS + least_of_large - 1) / 2);
	end(&mt);
}

/* Leaf after leaf goes, from the lower end: so does the node above them, a child at a time. */
static void too_empty_an_inner_node_is_joined(unsigned int flags)
{
	enum node_kind kind = flags & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER;
	unsigned long i;

	begin(flags, kind_slots(kind) * WIDE_SLOTS * 5ul / 2);
	assert_int_equal(mt_height(&mt), 3);
	for (i = 0; mt_height(&mt) == 3; i++) {
		struct maple_enode *first = slot_child(enode_node(mt.ma_root), kind, 0);

		assert_true(node_end(enode_node(first), kind) + 1 >= kind_min_slots(kind));
		erase(4 * i);
	}
	end(&mt);
}

/* How many children child @i of the root has. */
static unsigned int grandchildren(unsigned int i)
{
	enum node_kind kind = inner_kind(&mt);

	return node_end(enode_node(slot_child(enode_node(mt.ma_root), kind, i)), kind) + 1;
}

/* What is stored over the border of two leaves, each the outermost one of its node. */
static void two_leaves_stay_under_their_nodes(unsigned int flags)
{
	unsigned int slots = kind_slots(flags & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER);
	unsigned long border = 4ul * slots * WIDE_SLOTS;
	unsigned int second;

	begin(flags, border / 4 * 3 / 2);
	assert_int_equal(mt_height(&mt), 3);
	assert_int_equal(grandchildren(0), slots);
	second = grandchildren(1);
	store(border - 4, border + 7);
	assert_int_equal(grandchildren(0), slots);
	assert_int_equal(grandchildren(1), second);
	end(&mt);
}

static unsigned long count_leaves(void)
{
	struct mt_statistics stats;

	mtree_lock(&mt);
	mt_get_statistics(&mt, &stats);
	mtree_unlock(&mt);
	return stats.leaves;
}

/*
 * Two leaves under different nodes may be nearly empty, so long as there is something left in each;
 * what is too little together is joined with a third one.
 */
static void too_little_in_two_leaves_is_joined_with_a_third(unsigned int flags)
{
	enum node_kind kind = flags & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER;
	unsigned long border = 4ul * kind_slots(kind) * WIDE_SLOTS, leaf = 4 * WIDE_SLOTS, before;

	begin(flags, border / 2);
	assert_int_equal(mt_height(&mt), 3);
	before = count_leaves();
	assert_int_equal(mtree_store_range(&mt, border - leaf + 4, border + 11, NULL, GFP_KERNEL),
			 0);
	assert_int_equal(count_leaves(), before);
	assert_int_equal(mtree_store_range(&mt, border - leaf, border + leaf - 9, NULL, GFP_KERNEL),
			 0);
	assert_int_equal(count_leaves(), before - 1);
	end(&mt);
}

static void two_leaves_that_fit_one_become_one(unsigned int flags)
{
	unsigned long i;

	begin(flags, WIDE_SLOTS + least + 1);
	for (i = 1; i <= least; i++)
		erase(4 * i);
	expect_leaves(WIDE_SLOTS - least + 1, least + 2);
	for (i = WIDE_SLOTS + least; mt_height(&mt) == 2; i--)
		erase(4 * i);
	assert_int_equal(mt_height(&mt), 1);
	assert_int_equal(node_end(enode_node(mt.ma_root), KIND_LEAF) + 1, WIDE_SLOTS);
	end(&mt);
}

/*
 * Beside readers the first range of a leaf is cut together with the one before it: what fits one
 * leaf becomes one, and no node is left above two of them.
 */
static void a_root_over_two_leaves_goes_with_one_of_them(unsigned int flags)
{
	unsigned long i, cut = 4 * WIDE_SLOTS;
	const unsigned int few = least + 1;
	void *before, *held;

	if (!(flags & MT_FLAGS_USE_RCU))
		return;
	begin(flags, WIDE_SLOTS + 2);
	for (i = 1; i <= WIDE_SLOTS + 1 - few; i++)
		erase(4 * i); /* one gap of them */
	expect_leaves(few, 3);
	before = mtree_load(&mt, cut - 1);
	held = mtree_load(&mt, cut);
	assert_int_equal(mtree_store_range(&mt, cut, cut + 1, E('y'), GFP_KERNEL), 0);
	assert_int_equal(mt_height(&mt), 1);
	assert_ptr_equal(mtree_load(&mt, cut - 1), before);
	assert_ptr_equal(mtree_load(&mt, cut + 2), held);
	assert_ptr_equal(mtree_load(&mt, cut), E('y'));
	assert_int_equal(node_end(enode_node(mt.ma_root), KIND_LEAF) + 1, few + 3 + 1);
	end(&mt);
}

/* The end of a run is nearly empty, and no reason to move what lies before it. */
static void what_does_not_shrink_is_left_alone(unsigned int flags)
{
	begin(flags, WIDE_SLOTS + 1);
	expect_leaves(WIDE_SLOTS, 2);
	store(4 * WIDE_SLOTS + 4, 4 * WIDE_SLOTS + 7);
	expect_leaves(WIDE_SLOTS, 3);
	store(4 * WIDE_SLOTS + 2, 4 * WIDE_SLOTS + 7); /* two ranges where two were */
	expect_leaves(WIDE_SLOTS, 3);
	store(4 * WIDE_SLOTS + 4, 4 * WIDE_SLOTS + 5);
	expect_leaves(WIDE_SLOTS, 5);
	end(&mt);
}

static void for_all_flags(void (*test)(unsigned int flags))
{
	unsigned int flags;

	for (flags = 0; flags <= (MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU); flags++)
		test(flags);
}

#define FOR_ALL_FLAGS(name) \
	static void test_##name(void **state) \
	{ \
		(void)state; \
		for_all_flags(name); \
	}

FOR_ALL_FLAGS(other_splits_make_halves)
FOR_ALL_FLAGS(full_leaves_between_others_are_divided)
FOR_ALL_FLAGS(a_full_leaf_shares_with_the_emptier_one)
FOR_ALL_FLAGS(a_full_root_lets_leaves_share)
FOR_ALL_FLAGS(too_empty_a_leaf_is_joined)
FOR_ALL_FLAGS(too_empty_a_leaf_of_a_large_tree_is_joined)
FOR_ALL_FLAGS(too_empty_an_inner_node_is_joined)
FOR_ALL_FLAGS(two_leaves_stay_under_their_nodes)
FOR_ALL_FLAGS(too_little_in_two_leaves_is_joined_with_a_third)
FOR_ALL_FLAGS(two_leaves_that_fit_one_become_one)
FOR_ALL_FLAGS(a_root_over_two_leaves_goes_with_one_of_them)
FOR_ALL_FLAGS(what_does_not_shrink_is_left_alone)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_fills_its_leaves),
		cmocka_unit_test(test_other_splits_make_halves),
		cmocka_unit_test(test_full_leaves_between_others_are_divided),
		cmocka_unit_test(test_a_full_leaf_shares_with_the_emptier_one),
		cmocka_unit_test(test_a_full_root_lets_leaves_share),
		cmocka_unit_test(test_too_empty_a_leaf_is_joined),
		cmocka_unit_test(test_too_empty_a_leaf_of_a_large_tree_is_joined),
		cmocka_unit_test(test_too_empty_an_inner_node_is_joined),
		cmocka_unit_test(test_two_leaves_stay_under_their_nodes),
		cmocka_unit_test(test_too_little_in_two_leaves_is_joined_with_a_third),
		cmocka_unit_test(test_two_leaves_that_fit_one_become_one),
		cmocka_unit_test(test_a_root_over_two_leaves_goes_with_one_of_them),
		cmocka_unit_test(test_what_does_not_shrink_is_left_alone),
	};

	return cmocka_run_group_tests_name("fill", tests, NULL, NULL);
}
