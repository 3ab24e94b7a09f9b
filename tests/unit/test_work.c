/* SPDX-License-Identifier: MIT */
/*
 * test_work.c - how much work the tree does for what is done most often (work.h), so that a short
 * cut that is lost is noticed without a clock.
 *
 * Trees have areas of 4 indexes, each followed by a gap of 4. Bounds are what is needed, with
 * little room for another choice of where nodes are divided.
 */
#include "fixture.h"

#include <string.h>

#include "node.h"
#include "work.h"

#define AREAS 10000ul

#ifdef NDEBUG

/* The counters do not exist there, so this would not link if WORK() were anything. */
static void a_release_counts_nothing(void **state)
{
	(void)state;
	WORK(WALK);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_release_counts_nothing) };

	return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}

#else

static struct maple_tree mt;

static const unsigned int modes[] = {
	0,
	MT_FLAGS_ALLOC_RANGE,
	MT_FLAGS_USE_RCU,
	MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU,
};

static void begin(unsigned int flags, unsigned long areas)
{
	mt_init_flags(&mt, flags);
	fill(&mt, 0, 4, 8, areas);
}

static unsigned long leaves(void)
{
	struct mt_statistics stats;

	mtree_lock(&mt);
	mt_get_statistics(&mt, &stats);
	mtree_unlock(&mt);
	return stats.leaves;
}

static void count_anew(void)
{
	memset(work_done, 0, sizeof(work_done));
}

static void store(unsigned long first, unsigned long last, void *entry)
{
	assert_int_equal(mtree_store_range(&mt, first, last, entry, GFP_KERNEL), 0);
}

/* No node was taken for all of @writes: the leaf changed where it is, each time. */
static void expect_in_place(unsigned long writes, unsigned long walks)
{
	assert_int_equal(work_done[WORK_WRITE_IN_PLACE], writes);
	assert_int_equal(work_done[WORK_NODE_COPIED], 0);
	assert_int_equal(work_done[WORK_NODE_BUILT], 0);
	assert_int_equal(work_done[WORK_LEAVES_LAID_OUT], 0);
	assert_in_range(work_done[WORK_WALK], 0, walks);
}

/* Each of these @writes was one of the shortest, and had its slot beside that of the one before. */
static void expect_short(unsigned long writes)
{
	assert_int_equal(work_done[WORK_WRITE_SHORT], writes);
	assert_int_equal(work_done[WORK_LEAF_SEARCHED], 0);
}

/* ---- writes --------------------------------------------------------------------------------- */

static void appends_divide_full_leaves_only(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		unsigned long before, grown;

		begin(modes[m], 1000);
		before = leaves();
		count_anew();
		fill(&mt, 8000, 4, 8, 1000);
		grown = leaves() - before;
		/* Full leaves are divided: the leaf, the new one, their parent, at times a root. */
		assert_in_range(work_done[WORK_WALK], 0, grown / 4);
		assert_int_equal(work_done[WORK_WRITE_IN_PLACE], 1000 - grown);
		assert_int_equal(work_done[WORK_NODE_COPIED], 0);
		/* by levels only where the parent is full, too */
		assert_in_range(work_done[WORK_LEAVES_LAID_OUT], 1, grown / 4);
		assert_int_equal(work_done[WORK_LEAVES_PAIRED],
				 grown - work_done[WORK_LEAVES_LAID_OUT]);
		assert_in_range(work_done[WORK_NODE_BUILT], grown, 4 * grown);
		/* Each node keeps its own. */
		assert_int_equal(work_done[WORK_LEVEL_SPREAD], 0);
		end(&mt);
	}
}

/* The first entry of a tree, wherever it is, and the last one that goes are no layout. */
static void the_first_entry_and_the_last_are_no_layout(void **state)
{
	static const unsigned long bounds[][2] = {
		{ 0, 0 }, { 0, 9 }, { 5, 5 }, { 7, ULONG_MAX }, { 0, ULONG_MAX },
		{ ULONG_MAX, ULONG_MAX },
	};

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		for (size_t i = 0; i < LENGTH(bounds); i++) {
			unsigned long first = bounds[i][0], last = bounds[i][1];
			unsigned long nodes = last > 0;

			mt_init_flags(&mt, modes[m]);
			count_anew();
			store(first, last, xa_mk_value(1));
			assert_int_equal(mt_height(&mt), nodes);
			assert_int_equal(work_done[WORK_NODE_BUILT], nodes);
			mt_validate(&mt);
			assert_ptr_equal(mtree_load(&mt, first), xa_mk_value(1));
			assert_ptr_equal(mtree_load(&mt, last), xa_mk_value(1));
			if (first)
				assert_null(mtree_load(&mt, first - 1));
			if (last != ULONG_MAX)
				assert_null(mtree_load(&mt, last + 1));
			assert_ptr_equal(mtree_erase(&mt, last), xa_mk_value(1));
			assert_null(mt.ma_root);
			assert_int_equal(mtree_insert_range(&mt, first, last, xa_mk_value(2),
							    GFP_KERNEL),
					 0);
			store(first, last, NULL);
			assert_int_equal(mt_height(&mt), 0);
			assert_int_equal(work_done[WORK_NODE_BUILT], 2 * nodes);
			assert_int_equal(work_done[WORK_LEAVES_LAID_OUT], 0);
			end(&mt);
		}
	}
}

/* The gap that begins the tree is its first slot. */
static void an_insert_at_the_very_beginning_changes_a_leaf_in_place(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		for (unsigned long last = 2; last <= 3; last++) { /* a part of it, and all */
			mt_init_flags(&mt, modes[m]);
			fill(&mt, 4, 4, 8, 5);
			count_anew();
			assert_int_equal(mtree_insert_range(&mt, 0, last, E('x'), GFP_KERNEL), 0);
			expect_in_place(1, 1);
			assert_int_equal(work_done[WORK_WRITE_SHORT], 1);
			end(&mt);
		}
	}
}

/* The last area grows into the gap after it, and shrinks again. */
static void brk_changes_a_leaf_in_place(void **state)
{
	const unsigned long first = 8 * (AREAS - 1);

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		begin(modes[m], AREAS);
		count_anew();
		for (int i = 0; i < 100; i++) {
			store(first, first + 5, mtree_load(&mt, first));
			store(first + 4, first + 5, NULL);
		}
		expect_in_place(200, 1);
		expect_short(200);
		assert_int_equal(work_done[WORK_GAPS_MEASURED], 0); /* of the widest gap enough is left */
		end(&mt);
	}
}

/* The same in the middle of the tree, where the gap ends in another area. */
static void an_area_in_the_middle_grows_in_place(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		unsigned long first = 8 * (AREAS / 2);

		begin(modes[m], AREAS);
		count_anew();
		for (int i = 0; i < 100; i++) {
			store(first, first + 5, mtree_load(&mt, first));
			store(first + 4, first + 5, NULL);
		}
		expect_in_place(200, 1);
		expect_short(200);
		end(&mt);
	}
}

/* The same beside a wider gap: that of the leaf is another one, whatever the write does. */
static void a_gap_that_is_not_the_widest_is_not_measured(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		unsigned long first = 8 * (AREAS / 2) + 8;

		begin(modes[m], AREAS);
		for (unsigned long i = 0; i < AREAS; i += 4)
			store(8 * i, 8 * i + 3, NULL);
		count_anew();
		for (int i = 0; i < 100; i++) {
			store(first, first + 5, mtree_load(&mt, first));
			store(first + 4, first + 5, NULL);
		}
		expect_in_place(200, 1);
		expect_short(200);
		assert_int_equal(work_done[WORK_GAPS_MEASURED], 0);
		end(&mt);
	}
}

static void an_area_comes_and_goes_in_place(void **state)
{
	const unsigned long above = 8 * AREAS;

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		begin(modes[m], AREAS);
		for (int i = 0; i < 4; i++) { /* maybe leaves are divided, joined and shared */
			store(above, above + 3, E('x'));
			store(above, above + 3, NULL);
		}
		count_anew();
		for (int i = 0; i < 100; i++) {
			store(above, above + 3, E('x'));
			store(above, above + 3, NULL);
		}
		expect_in_place(200, 1);
		expect_short(200);
		end(&mt);
	}
}

/* So long as a leaf keeps enough of its slots. */
static void erases_shrink_a_leaf_in_place(void **state)
{
	const unsigned long erases = WIDE_SLOTS + 1 - leaf_min_slots(2);

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		mt_init_flags(&mt, modes[m]);
		fill(&mt, 0, 4, 4, 3 * WIDE_SLOTS);
		count_anew();
		for (unsigned long i = 0; i < erases; i++)
			assert_non_null(mtree_erase(&mt, 4 * i));
		expect_in_place(erases, 1);
		assert_non_null(mtree_erase(&mt, 4 * erases));
		/* Joined with the next one, without a layout by levels. */
		assert_int_equal(work_done[WORK_LEAVES_PAIRED], 1);
		assert_int_equal(work_done[WORK_LEAVES_LAID_OUT], 0);
		end(&mt);
	}
}

/*
 * A leaf that is too full shares with the emptier one beside it, without a layout: two leaves are
 * built, and when both are full three, and the node above them.
 */
static void a_full_leaf_shares_with_the_one_beside_it(void **state)
{
	const unsigned long under_another = WIDE_SLOTS * WIDE_SLOTS; /* not the first node */
	unsigned long before, paired = 0, i;

	(void)state;
	mt_init(&mt);
	fill(&mt, 0, 1000, 1000, under_another + 3 * WIDE_SLOTS);
	assert_int_equal(mt_height(&mt), 3);
	before = leaves();
	for (i = 1; leaves() == before; i++, paired += work_done[WORK_LEAVES_PAIRED]) {
		unsigned long at = (under_another + WIDE_SLOTS + WIDE_SLOTS / 2) * 1000;

		count_anew();
		assert_int_equal(mtree_store_range(&mt, at + 2 * i, at + 2 * i + 1, xa_mk_value(i),
						   GFP_KERNEL),
				 0);
		assert_int_equal(work_done[WORK_LEAVES_LAID_OUT], 0);
		assert_int_equal(work_done[WORK_NODE_BUILT],
				 work_done[WORK_LEAVES_PAIRED] * (leaves() == before ? 2 : 4));
		mt_validate(&mt);
	}
	assert_true(paired > 0);
	assert_int_equal(leaves(), before + 1);
	end(&mt);
}

/* Where the root is all there is above the leaves a full one is divided, as long as it has room. */
static void a_full_leaf_of_a_small_tree_is_divided_alone(void **state)
{
	unsigned long at = (WIDE_SLOTS + WIDE_SLOTS / 2) * 1000, before;

	(void)state;
	mt_init(&mt);
	fill(&mt, 0, 1000, 1000, 3 * WIDE_SLOTS);
	for (before = leaves(); before < WIDE_SLOTS; before++) {
		count_anew();
		for (; leaves() == before; at += 2)
			assert_int_equal(mtree_store_range(&mt, at, at + 1, xa_mk_value(at),
							   GFP_KERNEL),
					 0);
		assert_int_equal(leaves(), before + 1);
		assert_int_equal(work_done[WORK_LEAVES_PAIRED], 1);
		assert_int_equal(work_done[WORK_LEAVES_LAID_OUT], 0);
		assert_int_equal(work_done[WORK_NODE_BUILT], 3);
		mt_validate(&mt);
	}
	end(&mt);
}

/* At the end of a run, where the node above has no other leaf to join it with. */
static void a_leaf_without_a_sibling_shrinks_in_place(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		enum node_kind kind = modes[m] & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER;
		/* A full node of full leaves. */
		unsigned long before = kind_slots(kind) * WIDE_SLOTS;

		mt_init_flags(&mt, modes[m]);
		fill(&mt, 0, 4, 4, before + 3);
		assert_int_equal(mt_height(&mt), 3);
		count_anew();
		assert_non_null(mtree_erase(&mt, 4 * (before + 1)));
		assert_non_null(mtree_erase(&mt, 4 * before)); /* they become one gap */
		expect_in_place(2, 0);
		end(&mt);
	}
}

/* The node above has no other one to be joined with, so it stays, however few leaves it has. */
static void leaves_below_a_node_without_a_sibling_are_joined(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		enum node_kind kind = modes[m] & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER;
		unsigned long at = kind_slots(kind) * kind_slots(kind) * WIDE_SLOTS, before;

		mt_init_flags(&mt, modes[m]);
		fill(&mt, 0, 4, 4, at + 3 * WIDE_SLOTS);
		assert_int_equal(mt_height(&mt), 4);
		for (before = leaves(); leaves() == before; at++) {
			count_anew();
			assert_non_null(mtree_erase(&mt, 4 * at));
		}
		assert_int_equal(work_done[WORK_NODE_BUILT], 2); /* a leaf, and the node above */
		end(&mt);
	}
}

/* One area a leaf, which holds as many gaps, begins it behind the gap of the leaf before. */
static void an_erase_at_a_border_moves_it(void **state)
{
	const unsigned long areas = 400, borders = areas / (WIDE_SLOTS / 2);
	unsigned long i, m, moved, laid_out, built;

	(void)state;
	for (m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		moved = laid_out = built = 0;
		for (i = 0; i < areas; i++) {
			begin(modes[m], areas);
			count_anew();
			assert_non_null(mtree_erase(&mt, i * 8));
			moved += work_done[WORK_BOUNDARY_MOVED];
			laid_out += work_done[WORK_LEAVES_LAID_OUT];
			built += work_done[WORK_NODE_BUILT];
			mt_validate(&mt);
			mtree_destroy(&mt);
		}
		assert_in_range(moved, borders * 3 / 4, borders);
		assert_in_range(laid_out, 0, borders / 4); /* under different parents */
		assert_in_range(built, 0, 2 * moved + 6 * laid_out);
	}
}

static void a_cursor_that_erased_at_a_border_goes_on_without_a_walk(void **state)
{
	const unsigned long leaf = 4 * WIDE_SLOTS; /* indexes */

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		begin(modes[m], 400);
		mtree_lock(&mt);
		for (unsigned long border = leaf; border < 2000; border += 2 * leaf) {
			MA_STATE(mas, &mt, border, border);

			assert_non_null(mas_erase(&mas));
			count_anew();
			assert_ptr_equal(mas_next(&mas, ULONG_MAX), xa_mk_value(border / 8 + 1));
			assert_int_equal(work_done[WORK_WALK], 0);
		}
		mtree_unlock(&mt);
		end(&mt);
	}
}

/* Entries of 4 indexes, @stride apart: the end of a leaf is stored over by what is around it. */
static void store_over_borders(unsigned long stride, unsigned long before, unsigned long behind)
{
	const unsigned long leaf = 4 * WIDE_SLOTS, top = 24 * leaf; /* indexes */

	fill(&mt, 0, 4, stride, top / stride);
	for (unsigned long border = leaf; border < top; border += 2 * leaf) {
		unsigned long first = border - stride; /* of an entry, of which a part remains */

		store(border - before, border + behind, E('x'));
		count_anew();
		store(first, border - before, mtree_load(&mt, first));
		expect_in_place(1, 0);
	}
}

/* What goes over a border stays together: the next write finds both neighbours in one leaf. */
static void a_boundary_stored_over_a_border_moves_in_place(void **state)
{
	static const struct {
		unsigned long stride;
		unsigned long before;
		unsigned long behind;
	} stores[] = { { 8, 6, 3 }, { 8, 6, 7 }, { 4, 2, 7 } }; /* one leaf or the other is full */

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		for (size_t i = 0; i < LENGTH(stores); i++) {
			mt_init_flags(&mt, modes[m]);
			store_over_borders(stores[i].stride, stores[i].before, stores[i].behind);
			end(&mt);
		}
	}
}

static void a_value_is_replaced_in_place(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		begin(modes[m], AREAS);
		count_anew();
		for (unsigned long i = 0; i < AREAS; i++)
			store(8 * i, 8 * i + 3, E('x'));
		expect_in_place(AREAS, leaves());
		assert_int_equal(work_done[WORK_WRITE_SHORT], AREAS);
		assert_int_equal(work_done[WORK_GAPS_MEASURED], 0);
		end(&mt);
	}
}

static void the_next_range_and_the_one_before_are_not_searched_for(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		mt_init_flags(&mt, modes[m]);
		fill(&mt, 0, 4, 4, AREAS);
		count_anew();
		for (unsigned long i = 0; i < AREAS; i++)
			store(4 * i, 4 * i + 3, E('x'));
		for (unsigned long i = AREAS; i-- > 0;)
			store(4 * i, 4 * i + 3, E('y'));
		expect_in_place(2 * AREAS, 2 * leaves());
		expect_short(2 * AREAS);
		end(&mt);
	}
}

static void an_erase_of_nothing_does_nothing(void **state)
{
	const unsigned long first = 8 * (AREAS / 2) + 4; /* of a gap */

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		begin(modes[m], AREAS);
		count_anew();
		store(first, first + 3, NULL);
		store(first + 1, first + 2, NULL);
		assert_null(mtree_erase(&mt, first));
		expect_in_place(0, 2);
		assert_int_equal(work_done[WORK_GAPS_MEASURED], 0);
		end(&mt);
	}
}

/* One way down; above the leaves a look ahead or so for each node. Lock not held. */
static void expect_one_walk(unsigned long stepped, unsigned long batches)
{
	assert_int_equal(work_done[WORK_WALK], 1);
	assert_int_equal(work_done[WORK_LEAF_STEPPED], stepped);
	assert_int_equal(work_done[WORK_BATCH_READ], batches);
	assert_in_range(work_done[WORK_WALK_AHEAD], 0, leaves() / 8);
}

/* A loop that replaces what it finds: the cursor knows where it stands. */
static void a_cursor_replaces_where_it_stands(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		MA_STATE(mas, &mt, 0, 0);

		begin(modes[m], AREAS);
		count_anew();
		mtree_lock(&mt);
		while (mas_find(&mas, ULONG_MAX))
			assert_int_equal(mas_store_gfp(&mas, E('x'), GFP_KERNEL), 0);
		mtree_unlock(&mt);
		expect_one_walk(leaves() - 1, 0);
		assert_int_equal(work_done[WORK_WRITE_IN_PLACE], AREAS);
		end(&mt);
	}
}

/* ---- reading -------------------------------------------------------------------------------- */

static void a_loop_reads_each_leaf_once(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		MA_STATE(mas, &mt, 0, 0);
		unsigned long seen = 0;
		void *entry;

		begin(modes[m], AREAS);
		count_anew();
		mtree_lock(&mt);
		mas_for_each(&mas, entry, ULONG_MAX)
			seen++;
		assert_int_equal(seen, AREAS);
		mtree_unlock(&mt);
		expect_one_walk(0, leaves());

		mas_set(&mas, ULONG_MAX);
		count_anew();
		mtree_lock(&mt);
		mas_for_each_rev(&mas, entry, 0)
			seen--;
		assert_int_equal(seen, 0);
		mtree_unlock(&mt);
		expect_one_walk(0, leaves());
		end(&mt);
	}
}

/* It walks only to the first leaf below each node above leaves, from the gap before it. */
static void a_loop_without_a_cursor_reads_each_leaf_once(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		unsigned long seen = 0, index = 0;
		struct mt_statistics stats;
		void *entry;

		begin(modes[m], AREAS);
		count_anew();
		mt_for_each(&mt, entry, index, ULONG_MAX)
			seen++;
		assert_int_equal(seen, AREAS);
		assert_int_equal(work_done[WORK_BATCH_READ], leaves());
		mtree_lock(&mt);
		mt_get_statistics(&mt, &stats);
		mtree_unlock(&mt);
		assert_in_range(work_done[WORK_WALK], 1, 2 * stats.level[1].nodes);
		end(&mt);
	}
}

static void a_loop_up_to_the_end_of_a_leaf_reads_no_further(void **state)
{
	const unsigned long first_leaves = 5, max = first_leaves * 4 * WIDE_SLOTS - 1;

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		MA_STATE(mas, &mt, 0, 0);
		void *entry;

		begin(modes[m], AREAS);
		mtree_lock(&mt);
		count_anew();
		mas_for_each(&mas, entry, max)
			assert_true(mas.last < max);
		assert_int_equal(mas.max, max);
		assert_int_equal(work_done[WORK_BATCH_READ], first_leaves);
		mtree_unlock(&mt);
		end(&mt);
	}
}

/* The limit is in the gap that begins the next leaf: the cursor stands there, on its way. */
static void a_loop_that_ended_in_a_gap_goes_on_without_a_walk(void **state)
{
	const unsigned long leaf = 4 * WIDE_SLOTS; /* indexes */

	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		MA_STATE(mas, &mt, 0, 0);
		void *entry;

		mt_init_flags(&mt, modes[m]);
		fill(&mt, 4, 4, 8, 400);
		mtree_lock(&mt);
		mas_for_each(&mas, entry, 5 * leaf + 1)
			assert_true(mas.last < 5 * leaf);
		assert_int_equal(mas.index, 5 * leaf);
		count_anew();
		assert_ptr_equal(mas_find(&mas, ULONG_MAX), xa_mk_value(5 * leaf / 8));
		assert_int_equal(work_done[WORK_WALK], 0);
		mtree_unlock(&mt);
		end(&mt);
	}
}

/* After a store the loop makes some steps one by one, then it reads whole leaves again. */
static void a_loop_whose_body_stored_once_reads_leaves_again(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		MA_STATE(mas, &mt, 0, 0);
		unsigned long seen = 0;
		void *entry;

		begin(modes[m], AREAS);
		count_anew();
		mtree_lock(&mt);
		mas_for_each(&mas, entry, ULONG_MAX)
			if (!seen++)
				assert_ptr_equal(mas_store(&mas, E('x')), entry);
		mtree_unlock(&mt);
		assert_int_equal(seen, AREAS);
		assert_in_range(work_done[WORK_BATCH_READ], leaves() - 2, leaves() + 1);
		assert_in_range(work_done[WORK_LEAF_STEPPED], 0, 2);
		assert_in_range(work_done[WORK_WALK], 1, 2);
		end(&mt);
	}
}

static void a_cursor_steps_from_leaf_to_leaf(void **state)
{
	(void)state;
	for (size_t m = 0; m < LENGTH(modes); m++) {
		MA_STATE(mas, &mt, 0, 0);

		begin(modes[m], AREAS);
		count_anew();
		mtree_lock(&mt);
		while (mas_find(&mas, ULONG_MAX))
			;
		mtree_unlock(&mt);
		expect_one_walk(leaves() - 1, 0);

		mas_set(&mas, ULONG_MAX);
		count_anew();
		mtree_lock(&mt);
		while (mas_prev(&mas, 0))
			;
		mtree_unlock(&mt);
		expect_one_walk(leaves() - 1, 0);
		end(&mt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_divide_full_leaves_only),
		cmocka_unit_test(the_first_entry_and_the_last_are_no_layout),
		cmocka_unit_test(an_insert_at_the_very_beginning_changes_a_leaf_in_place),
		cmocka_unit_test(brk_changes_a_leaf_in_place),
		cmocka_unit_test(an_area_in_the_middle_grows_in_place),
		cmocka_unit_test(a_gap_that_is_not_the_widest_is_not_measured),
		cmocka_unit_test(an_area_comes_and_goes_in_place),
		cmocka_unit_test(erases_shrink_a_leaf_in_place),
		cmocka_unit_test(a_full_leaf_shares_with_the_one_beside_it),
		cmocka_unit_test(a_full_leaf_of_a_small_tree_is_divided_alone),
		cmocka_unit_test(a_leaf_without_a_sibling_shrinks_in_place),
		cmocka_unit_test(leaves_below_a_node_without_a_sibling_are_joined),
		cmocka_unit_test(an_erase_at_a_border_moves_it),
		cmocka_unit_test(a_cursor_that_erased_at_a_border_goes_on_without_a_walk),
		cmocka_unit_test(a_boundary_stored_over_a_border_moves_in_place),
		cmocka_unit_test(a_value_is_replaced_in_place),
		cmocka_unit_test(the_next_range_and_the_one_before_are_not_searched_for),
		cmocka_unit_test(an_erase_of_nothing_does_nothing),
		cmocka_unit_test(a_cursor_replaces_where_it_stands),
		cmocka_unit_test(a_loop_reads_each_leaf_once),
		cmocka_unit_test(a_loop_without_a_cursor_reads_each_leaf_once),
		cmocka_unit_test(a_loop_up_to_the_end_of_a_leaf_reads_no_further),
		cmocka_unit_test(a_loop_that_ended_in_a_gap_goes_on_without_a_walk),
		cmocka_unit_test(a_loop_whose_body_stored_once_reads_leaves_again),
		cmocka_unit_test(a_cursor_steps_from_leaf_to_leaf),
	};

	return cmocka_run_group_tests_name("work", tests, NULL, NULL);
}

#endif
