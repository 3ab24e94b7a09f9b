/* SPDX-License-Identifier: MIT */
/*
 * test_check.c - mt_check: every invariant of node.h is broken by hand, one at a time, and found.
 */
#include "fixture.h"

#include <string.h>

#include "node.h"

static struct maple_tree mt;
static struct mt_node *root;
static unsigned int root_end;

/* Entries of 3 from @first up, a gap of 1 behind each: one inner node above full leaves. */
static void build(unsigned long first)
{
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	fill(&mt, first, 3, 4, 60);
	assert_int_equal(mt_height(&mt), 2);
	root = enode_node(mt.ma_root);
	root_end = node_end(root, KIND_GAPS);
	assert_true(mt_check(&mt, NULL));
}

static int set_up(void **state)
{
	(void)state;
	build(4);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	end(&mt);
	return 0;
}

static struct mt_node *leaf_at(unsigned int i)
{
	return enode_node(slot_child(root, KIND_GAPS, i));
}

static struct mt_node *last_leaf(void)
{
	return leaf_at(root_end);
}

static void expect_broken(const char *why)
{
	const char *reason = "";

	assert_false(mt_check(&mt, &reason));
	if (!strstr(reason, why))
		fail_msg("'%s' is not about '%s'", reason, why);
}

static void expect_sound(void)
{
	const char *reason = "not set";

	if (!mt_check(&mt, &reason))
		fail_msg("%s", reason);
	assert_string_equal(reason, "");
}

static void ends_lie_inside_the_node(void **state)
{
	struct mt_node saved = *root;

	(void)state;
	node_set_end(root, KIND_GAPS, GAPS_SLOTS);
	expect_broken("past its");
	*root = saved;
	saved = *last_leaf();
	node_set_end(last_leaf(), KIND_LEAF, WIDE_SLOTS);
	expect_broken("past its");
	*last_leaf() = saved;
	expect_sound();
}

static void expect_bad_pivot(struct mt_node *node, unsigned int i, unsigned long pivot,
			     const char *why)
{
	unsigned long saved = node->pivot[i];

	node->pivot[i] = pivot;
	expect_broken(why);
	node->pivot[i] = saved;
	expect_sound();
}

static void pivots_ascend_inside_the_bounds(void **state)
{
	struct mt_node *leaf = leaf_at(1);
	unsigned int leaf_end = node_end(leaf, KIND_LEAF);
	unsigned int last_end = node_end(last_leaf(), KIND_LEAF);

	(void)state;
	expect_bad_pivot(leaf, 0, root->pivot[0], "outside"); /* one below the least */
	expect_bad_pivot(leaf, 1, leaf->pivot[0], "outside");
	expect_bad_pivot(leaf, leaf_end - 1, root->pivot[1], "outside"); /* nothing is left */
	expect_bad_pivot(root, root_end - 1, ULONG_MAX, "outside");
	expect_bad_pivot(last_leaf(), last_end, ULONG_MAX - 1, "past the end is not the maximum");
	expect_bad_pivot(last_leaf(), WIDE_PIVOTS - 1, ULONG_MAX - 1, "past the end");
	expect_bad_pivot(root, GAPS_PIVOTS - 1, ULONG_MAX - 1, "past the end");
}

static void what_is_unused_is_cleared(void **state)
{
	static const unsigned int behind[] = { 0, 1 };
	struct mt_node *leaf = last_leaf();
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(behind); i++) {
		unsigned int at = behind[i] ? WIDE_SLOTS - 1 : node_end(leaf, KIND_LEAF) + 1;
		unsigned int in_root = behind[i] ? GAPS_SLOTS - 1 : root_end + 1;

		leaf->wide.slot[at] = E('x');
		expect_broken("past the end is not NULL");
		leaf->wide.slot[at] = NULL;
		root->gaps.slot[in_root] = E('x');
		expect_broken("past the end is not NULL");
		root->gaps.slot[in_root] = NULL;
		root->gaps.gap[in_root] = 1;
		expect_broken("past the end is not 0");
		root->gaps.gap[in_root] = 0;
	}
	expect_sound();
}

static void gaps_are_joined(void **state)
{
	struct mt_node *leaf = leaf_at(1);
	void *saved = leaf->wide.slot[1];

	(void)state;
	leaf->wide.slot[1] = NULL;
	expect_broken("slot 1 is a gap that should be joined");
	leaf->wide.slot[1] = saved;
	end(&mt);

	build(0); /* so leaves end with a gap */
	leaf = leaf_at(1);
	leaf->wide.slot[0] = NULL;
	expect_broken("slot 0 is a gap that should be joined");
	leaf->wide.slot[0] = xa_mk_value(0);
	expect_sound();
}

static void no_leaf_of_the_tree_is_dead(void **state)
{
	struct mt_node *leaf = leaf_at(1);

	(void)state;
	leaf->wide.meta |= META_DEAD;
	expect_broken("marked as dead");
	leaf->wide.meta &= ~META_DEAD;
	expect_sound();
}

static void expect_bad_child(void *child, const char *why)
{
	void *saved = root->gaps.slot[1];

	root->gaps.slot[1] = child;
	expect_broken(why);
	root->gaps.slot[1] = saved;
	expect_sound();
}

static void children_are_nodes_of_the_level(void **state)
{
	(void)state;
	expect_bad_child(NULL, "is no node");
	expect_bad_child(E('x'), "is no node");
	expect_bad_child((void *)2, "is no node");
	expect_bad_child(enode_make(leaf_at(1), KIND_GAPS), "has kind");
	expect_bad_child(mt.ma_root, "has kind");
}

static void gaps_are_the_widest_below(void **state)
{
	(void)state;
	root->gaps.gap[1]++;
	expect_broken("but the widest below is");
	root->gaps.gap[1] -= 2;
	expect_broken("but the widest below is");
	root->gaps.gap[1]++;
	root->gaps.gap[root_end]--;
	expect_broken("but the widest below is");
	root->gaps.gap[root_end]++;
	expect_sound();
}

static void a_full_leaf_has_no_gap(void **state)
{
	(void)state;
	end(&mt);
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE);
	fill(&mt, 0, 4, 4, 60);
	root = enode_node(mt.ma_root);
	assert_int_equal(gap_load(root, 0), 0);
	assert_int_equal(gap_load(root, 1), node_end(root, KIND_GAPS) == 1 ? ULONG_MAX - 239 : 0);
	assert_int_equal(gap_load(root, node_end(root, KIND_GAPS)), ULONG_MAX - 239);
}

static void the_height_is_the_trees(void **state)
{
	unsigned int flags = mt.ma_flags;
	void *word = mt.ma_root;

	(void)state;
	mt.ma_flags &= ~MT_FLAGS_HEIGHT_MASK;
	expect_broken("height 0, but the root is a node");
	mt.ma_flags = flags;
	mt.ma_root = NULL;
	expect_broken("but the root is no node");
	mt.ma_root = word;
	expect_sound();
}

static void the_root_has_two_children(void **state)
{
	struct mt_node saved = *root;
	unsigned int i;

	(void)state;
	for (i = 0; i < GAPS_PIVOTS; i++)
		root->pivot[i] = ULONG_MAX;
	for (i = 1; i < GAPS_SLOTS; i++) {
		root->gaps.slot[i] = NULL;
		root->gaps.gap[i] = 0;
	}
	node_set_end(root, KIND_GAPS, 0);
	expect_broken("the root has one child");
	*root = saved;
	expect_sound();
}

static struct mt_node *one_leaf(unsigned int leaf_end)
{
	struct mt_node *leaf;

	end(&mt);
	mtree_store_range(&mt, 0, leaf_end ? 9 : ULONG_MAX, E('a'), GFP_KERNEL);
	assert_int_equal(mt_height(&mt), 1);
	expect_sound();
	leaf = enode_node(mt.ma_root);
	assert_int_equal(node_end(leaf, KIND_LEAF), leaf_end);
	return leaf;
}

static void a_tree_has_a_node_only_if_it_needs_one(void **state)
{
	struct mt_node *leaf = one_leaf(0);

	(void)state;
	leaf->wide.slot[0] = NULL;
	expect_broken("holds nothing");
	leaf->wide.slot[0] = E('a');
	leaf = one_leaf(1);
	leaf->pivot[0] = 0;
	expect_broken("a lone entry at 0");
	leaf->wide.slot[1] = E('b');
	expect_sound();
	leaf->wide.slot[0] = NULL; /* a gap at 0 needs a node */
	expect_sound();
	end(&mt);
	mtree_store(&mt, 0, (void *)0x10002, GFP_KERNEL); /* in the root it would pass for a node */
	assert_int_equal(mt_height(&mt), 1);
	expect_sound();
}

#define CHECK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHECK_TEST(ends_lie_inside_the_node),
		CHECK_TEST(pivots_ascend_inside_the_bounds),
		CHECK_TEST(what_is_unused_is_cleared),
		CHECK_TEST(gaps_are_joined),
		CHECK_TEST(no_leaf_of_the_tree_is_dead),
		CHECK_TEST(children_are_nodes_of_the_level),
		CHECK_TEST(gaps_are_the_widest_below),
		CHECK_TEST(a_full_leaf_has_no_gap),
		CHECK_TEST(the_height_is_the_trees),
		CHECK_TEST(the_root_has_two_children),
		CHECK_TEST(a_tree_has_a_node_only_if_it_needs_one),
	};

	return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
