/* SPDX-License-Identifier: MIT */
/*
 * test_step.c - what a step of a cursor guarantees after the tree was changed since the last step,
 * by the body of a loop or by others: what it returns is in the tree at that moment, and it
 * continues after the range on which the cursor stands.
 */
#include "fixture.h"

#include <stdio.h>
#include <string.h>
#include <urcu-bp.h>

#define TENS 8

/* How a tree is kept: in RCU mode the loops run inside a read-side section, else under the lock. */
static const unsigned int kinds[] = {
	MT_FLAGS_USE_RCU,
	MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE,
	0,
	MT_FLAGS_ALLOC_RANGE,
};

static struct maple_tree mt;

/* Indexes 0, 10, 20 ...; many: in several leaves. */
static void begin(unsigned int flags, unsigned long many)
{
	mt_init_flags(&mt, flags);
	for (unsigned long i = 0; i < many; i++)
		assert_int_equal(mtree_store(&mt, 10 * i, xa_mk_value(10 * i), GFP_KERNEL), 0);
}

static void enter(void)
{
	if (mt_in_rcu(&mt))
		urcu_bp_read_lock();
	else
		mtree_lock(&mt);
}

static void leave(void)
{
	if (mt_in_rcu(&mt))
		urcu_bp_read_unlock();
	else
		mtree_unlock(&mt);
}

/* Around another call, which takes the lock: readers by RCU do not hold it. */
static void lend_lock(void)
{
	if (!mt_in_rcu(&mt))
		mtree_unlock(&mt);
}

static void take_lock_back(void)
{
	if (!mt_in_rcu(&mt))
		mtree_lock(&mt);
}

/* The change is another call's, made at once: what it replaces is freed when it returns. */
static void erase_outside(unsigned long index)
{
	assert_non_null(mtree_erase(&mt, index));
	if (mt_in_rcu(&mt))
		urcu_bp_synchronize_rcu();
}

/* ---- the place is given up and taken again ---------------------------------------------- */

enum rest { BY_PAUSE, BY_RESET, BY_SET };

static void rest(struct ma_state *mas, enum rest how)
{
	if (how == BY_PAUSE)
		mas_pause(mas);
	else if (how == BY_RESET)
		mas_reset(mas);
	else
		mas_set(mas, mas->last);
}

/* At 0 and 30 the body leaves, the entry behind is erased, and the body walks again. */
static void loop_with_rests(unsigned int flags, enum rest how, unsigned long many)
{
	MA_STATE(mas, &mt, 0, 0);
	unsigned long expected = 0;
	void *entry;

	begin(flags, many);
	enter();
	mas_for_each(&mas, entry, ULONG_MAX) {
		assert_int_equal(mas.index, expected);
		assert_ptr_equal(entry, xa_mk_value(expected));
		expected += 10;
		if (mas.index % 30 == 0 && expected < 10 * many) {
			rest(&mas, how);
			leave();
			erase_outside(mas.index + 10);
			enter();
			assert_ptr_equal(mas_walk(&mas), entry);
			expected += 10;
		}
	}
	leave();
	assert_int_equal(expected, 10 * many);
	end(&mt);
}

static void a_loop_that_rests_and_walks_again_gives_out_nothing_erased(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		for (int how = BY_PAUSE; how <= BY_SET; how++) {
			loop_with_rests(kinds[k], how, TENS);
			loop_with_rests(kinds[k], how, 300);
		}
	}
}

/* ---- the body moves the cursor ------------------------------------------------------------ */

/*
 * Walks, or steps back and forth, at every entry: the loop continues from where the cursor stands.
 */
static void loop_with_steps(unsigned int flags, bool walks)
{
	MA_STATE(mas, &mt, 0, 0);
	unsigned long expected = 0;
	void *entry;

	begin(flags, 300);
	enter();
	mas_for_each(&mas, entry, ULONG_MAX) {
		assert_int_equal(mas.index, expected);
		assert_ptr_equal(entry, xa_mk_value(expected));
		if (walks) {
			assert_ptr_equal(mas_walk(&mas), entry);
		} else if (expected) {
			assert_ptr_equal(mas_prev(&mas, 0), xa_mk_value(expected - 10));
			assert_ptr_equal(mas_next(&mas, ULONG_MAX), entry);
		}
		expected += 10;
	}
	leave();
	assert_int_equal(expected, 3000);
	end(&mt);
}

static void a_body_that_walks_or_steps_back_and_forth(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		loop_with_steps(kinds[k], true);
		loop_with_steps(kinds[k], false);
	}
}

/* From wherever the body comes back, what it finds there is not what the loop once read. */
static void a_body_that_comes_back_from_another_leaf(void **state)
{
	const unsigned long many = 80;

	(void)state;
	for (unsigned long i = 0; i < 2 * (many - 2); i++) {
		unsigned long at = i / 2 * 10, expected = 0;
		MA_STATE(mas, &mt, 0, 0);
		void *entry;

		begin(kinds[i % 2], many);
		urcu_bp_read_lock();
		mas_for_each(&mas, entry, ULONG_MAX) {
			assert_int_equal(mas.index, expected);
			expected += 10;
			if (mas.index != at)
				continue;
			assert_ptr_equal(mas_next(&mas, ULONG_MAX), xa_mk_value(at + 10));
			assert_ptr_equal(mas_next(&mas, ULONG_MAX), xa_mk_value(at + 20));
			assert_ptr_equal(mtree_erase(&mt, at + 10), xa_mk_value(at + 10));
			assert_ptr_equal(mas_prev(&mas, 0), entry);
			expected += 10;
		}
		urcu_bp_read_unlock();
		assert_int_equal(expected, 10 * many);
		end(&mt);
	}
}

/* The body walks where a writer has just been: there the entries have other slots. */
static void loop_with_walks_beside_writes(unsigned int flags)
{
	MA_STATE(mas, &mt, 0, 0);
	unsigned long visits = 0, last = 0;
	void *entry;

	begin(flags, 300);
	enter();
	mas_for_each(&mas, entry, ULONG_MAX) {
		assert_true(!visits || mas.index > last);
		assert_true(mas.index - last <= 10);
		last = mas.index;
		visits++;
		if (visits % 7)
			continue;
		lend_lock();
		assert_int_equal(mtree_store(&mt, last < 5 ? 1 : last - 5, E('x'), GFP_KERNEL), 0);
		assert_int_equal(mtree_store(&mt, last + 5, E('y'), GFP_KERNEL), 0);
		take_lock_back();
		assert_ptr_equal(mas_walk(&mas), entry);
	}
	leave();
	assert_int_equal(last / 10, 299);
	end(&mt);
}

static void a_body_that_walks_where_something_was_written(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++)
		loop_with_walks_beside_writes(kinds[k]);
}

/* The same offset in another state of the leaf is another entry. */
static void a_step_back_from_an_overflow_after_a_walk_in_a_loop(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		MA_STATE(mas, &mt, 0, 0);
		void *entry;

		begin(kinds[k], TENS);
		enter();
		mas_for_each(&mas, entry, 20) {
			if (mas.index != 10)
				continue;
			lend_lock();
			assert_int_equal(mtree_store(&mt, 5, E('x'), GFP_KERNEL), 0);
			take_lock_back();
			assert_ptr_equal(mas_walk(&mas), xa_mk_value(10));
		}
		expect_place(&mas, 20, 20, ma_active);
		assert_null(mas_next(&mas, 20));
		assert_ptr_equal(mas_prev(&mas, 0), xa_mk_value(20));
		assert_ptr_equal(mas_prev(&mas, 0), xa_mk_value(10));
		assert_ptr_equal(mas_prev(&mas, 0), E('x'));
		leave();
		end(&mt);
	}
}

/* ---- other calls change what comes next ------------------------------------------------------ */

enum by { BY_ERASE, BY_STORE, BY_CURSOR };

static void change(unsigned long index, enum by by)
{
	MA_STATE(other, &mt, index, index);

	if (by == BY_CURSOR) {
		if (mt_in_rcu(&mt))
			mtree_lock(&mt);
		assert_non_null(mas_erase(&other));
		if (mt_in_rcu(&mt))
			mtree_unlock(&mt);
		return;
	}
	lend_lock();
	if (by == BY_ERASE)
		assert_ptr_equal(mtree_erase(&mt, index), xa_mk_value(index));
	else
		assert_int_equal(mtree_store(&mt, index, E('n'), GFP_KERNEL), 0);
	take_lock_back();
}

/* As a list of indexes; a lower-case n for one whose entry was replaced before it was reached. */
static void visit(unsigned int flags, enum by by, unsigned long at, bool find, char *text)
{
	MA_STATE(mas, &mt, 0, 0);
	void *entry;

	begin(flags, TENS);
	enter();
	text[0] = 0;
#define VISIT                                                                           \
	do {                                                                            \
		sprintf(text + strlen(text), " %lu%s", mas.index,                       \
			entry == E('n') ? "n" : "");                                    \
		if (mas.index % at == 0 && mas.index + 10 < 10 * TENS)                  \
			change(mas.index + 10, by);                                     \
	} while (0)
	if (find)
		while ((entry = mas_find(&mas, ULONG_MAX)))
			VISIT;
	else
		mas_for_each(&mas, entry, ULONG_MAX)
			VISIT;
	leave();
	end(&mt);
}

static void a_body_that_changes_what_comes_next_never_gets_the_old_entry(void **state)
{
	char text[200];

	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		for (int find = 0; find < 2; find++) {
			visit(kinds[k], BY_ERASE, 30, find, text);
			assert_string_equal(text, " 0 20 30 50 60");
			visit(kinds[k], BY_CURSOR, 30, find, text);
			assert_string_equal(text, " 0 20 30 50 60");
			visit(kinds[k], BY_STORE, 30, find, text);
			assert_string_equal(text, " 0 10n 20 30 40n 50 60 70n");
			visit(kinds[k], BY_STORE, 10, find, text);
			assert_string_equal(text, " 0 10n 20n 30n 40n 50n 60n 70n");
		}
	}
}

/* The leaf itself goes, with the one above it: no step may look into what was freed. */
static void a_step_from_a_leaf_that_other_calls_have_dropped(void **state)
{
	static void *(*const up[])(struct ma_state *, unsigned long) = {
		mas_next, mas_find, mas_next_range, mas_find_range,
	};
	static void *(*const down[])(struct ma_state *, unsigned long) = {
		mas_prev, mas_find_rev, mas_prev_range, mas_find_range_rev,
	};

	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		for (size_t i = 0; i < 2 * LENGTH(up); i++) {
			MA_STATE(mas, &mt, 15000, 15000);
			void *entry;

			begin(kinds[k], 3000);
			mtree_lock(&mt);
			assert_ptr_equal(mas_walk(&mas), xa_mk_value(15000));
			mtree_unlock(&mt);
			assert_int_equal(mtree_store_range(&mt, 11, 29989, NULL, GFP_KERNEL), 0);
			if (mt_in_rcu(&mt))
				urcu_bp_barrier();
			mt_cache_shrink();
			mtree_lock(&mt);
			if (i < LENGTH(up)) {
				while (!(entry = up[i](&mas, ULONG_MAX)))
					;
				assert_ptr_equal(entry, xa_mk_value(29990));
			} else {
				while (!(entry = down[i - LENGTH(up)](&mas, 0)))
					;
				assert_ptr_equal(entry, xa_mk_value(10));
			}
			mtree_unlock(&mt);
			end(&mt);
		}
	}
}

/* What comes into a gap of the leaf that the cursor stands on, by a call that only fills gaps. */
static void a_step_to_an_entry_that_another_call_has_inserted(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		for (int way = 0; way < 4; way++) {
			unsigned long at = way & 1 ? 52 : 48;
			MA_STATE(mas, &mt, 50, 50);

			mt_init_flags(&mt, kinds[k]);
			fill(&mt, 0, 1, 10, 12);
			enter();
			assert_ptr_equal(mas_walk(&mas), xa_mk_value(5));
			if (way & 2) {
				mas_next(&mas, ULONG_MAX);
				assert_ptr_equal(mas_prev(&mas, 0), xa_mk_value(5));
			}
			lend_lock();
			assert_int_equal(mtree_insert_range(&mt, at, at, E('x'), GFP_KERNEL), 0);
			take_lock_back();
			assert_ptr_equal(way & 1 ? mas_next(&mas, ULONG_MAX) : mas_prev(&mas, 0), E('x'));
			assert_int_equal(mas.index, at);
			leave();
			end(&mt);
		}
	}
}

/* A loop reads leaves as a whole; its body inserts what comes next. */
static void a_loop_finds_what_its_body_inserts(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		MA_STATE(mas, &mt, 0, 0);
		unsigned long seen = 0;
		void *entry;

		mt_init_flags(&mt, kinds[k]);
		fill(&mt, 0, 1, 10, 12);
		enter();
		mas_for_each(&mas, entry, ULONG_MAX) {
			seen++;
			if (mas.index != 40)
				continue;
			lend_lock();
			assert_int_equal(mtree_insert(&mt, 45, E('x'), GFP_KERNEL), 0);
			take_lock_back();
		}
		assert_int_equal(seen, 13);
		leave();
		end(&mt);
	}
}

/* The tree's only leaf goes with the last entry, and another one comes. */
static void a_step_from_a_last_entry_that_other_calls_have_erased(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		for (int way = 0; way < 4; way++) {
			MA_STATE(mas, &mt, 50, 50);

			mt_init_flags(&mt, kinds[k]);
			assert_int_equal(mtree_store(&mt, 50, E('a'), GFP_KERNEL), 0);
			enter();
			assert_ptr_equal(mas_walk(&mas), E('a'));
			lend_lock();
			if (way & 1)
				assert_ptr_equal(mtree_erase(&mt, 50), E('a'));
			else
				assert_int_equal(mtree_store_range(&mt, 0, ULONG_MAX, NULL,
								   GFP_KERNEL), 0);
			assert_int_equal(mtree_store(&mt, 40, E('b'), GFP_KERNEL), 0);
			assert_int_equal(mtree_store(&mt, 60, E('c'), GFP_KERNEL), 0);
			take_lock_back();
			if (way & 2)
				assert_ptr_equal(mas_next(&mas, ULONG_MAX), E('c'));
			else
				assert_ptr_equal(mas_prev(&mas, 0), E('b'));
			assert_int_equal(mas.index, way & 2 ? 60 : 40);
			leave();
			end(&mt);
		}
	}
}

/*
 * A leaf is full, and divided: by an entry in the middle, or by one behind all others. For which
 * number of entries that is does not matter: all are tried.
 */
static void a_step_from_a_leaf_that_another_call_has_divided(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		for (unsigned long n = 3; n < 2 * 40; n++) {
			unsigned long entries = n / 2 + 2, at = entries / 2, last = entries - 1;
			unsigned long other = n % 2 ? 10 * last + 15 : 10 * last - 15;
			MA_STATE(mas, &mt, 10 * at, 10 * at);

			mt_init_flags(&mt, kinds[k]);
			for (unsigned long i = 0; i < entries; i++)
				assert_int_equal(mtree_store_range(&mt, 10 * i, 10 * i + 3, E('a'),
								   GFP_KERNEL), 0);
			enter();
			assert_ptr_equal(mas_walk(&mas), E('a'));
			lend_lock();
			assert_int_equal(mtree_insert(&mt, other, E('b'), GFP_KERNEL), 0);
			for (unsigned long i = 0; i < entries; i++)
				if (i != at)
					assert_ptr_equal(mtree_erase(&mt, 10 * i), E('a'));
			take_lock_back();
			assert_ptr_equal(other > 10 * at ? mas_next(&mas, ULONG_MAX) : mas_prev(&mas, 0),
					 E('b'));
			assert_int_equal(mas.index, other);
			leave();
			end(&mt);
		}
	}
}

static void a_step_in_a_tree_that_was_destroyed_finds_nothing(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		MA_STATE(mas, &mt, 0, 0);
		unsigned long visits = 0;
		void *entry;

		begin(kinds[k], 300);
		enter();
		mas_for_each(&mas, entry, ULONG_MAX) {
			if (++visits != 20)
				continue;
			lend_lock();
			mtree_destroy(&mt);
			take_lock_back();
		}
		leave();
		assert_int_equal(visits, 20);
		end(&mt);
	}
}

/* ---- stores through a cursor that others have overtaken --------------------------------- */

/* Found, then locked and stored through; in between a store replaced the leaf, or changed it. */
static void store_after(unsigned int flags, unsigned long first, unsigned long last)
{
	MA_STATE(mas, &mt, 70, 70);

	begin(flags, 100);
	for (unsigned long i = 0; i < 100; i++)
		assert_int_equal(mtree_store_range(&mt, 10 * i, 10 * i + 6, xa_mk_value(i),
						   GFP_KERNEL), 0);
	enter();
	assert_ptr_equal(mas_find(&mas, ULONG_MAX), xa_mk_value(7));
	lend_lock();
	assert_int_equal(mtree_store_range(&mt, first, last, E('x'), GFP_KERNEL), 0);
	mtree_lock(&mt);
	assert_int_equal(mas_store_gfp(&mas, E('n'), GFP_KERNEL), 0);
	mtree_unlock(&mt);
	if (mt_in_rcu(&mt))
		urcu_bp_read_unlock();
	assert_ptr_equal(mtree_load(&mt, 70), E('n'));
	assert_ptr_equal(mtree_load(&mt, 76), E('n'));
	assert_ptr_equal(mtree_load(&mt, 77), first <= 77 && 77 <= last ? E('x') : NULL);
	assert_ptr_equal(mtree_load(&mt, first), first < 70 || first > 76 ? E('x') : E('n'));
	end(&mt);
}

static void a_store_through_a_cursor_whose_leaf_was_replaced_is_not_lost(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		store_after(kinds[k], 82, 84);	 /* the middle of an entry: the leaf is copied */
		store_after(kinds[k], 78, 78);	 /* into a gap: in place */
		store_after(kinds[k], 62, 77);	 /* over the very range */
		store_after(kinds[k], 75, 400);	 /* over leaves */
		store_after(kinds[k], 20, 74);
	}
}

/* Both cursors under one lock: the other one's store copies the leaf, in RCU mode. */
static void a_store_through_a_cursor_after_another_ones_is_not_lost(void **state)
{
	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++) {
		MA_STATE(mas, &mt, 70, 70);
		MA_STATE(other, &mt, 62, 64);

		mt_init_flags(&mt, kinds[k]);
		fill(&mt, 0, 7, 10, 100);
		mtree_lock(&mt);
		assert_ptr_equal(mas_find(&mas, ULONG_MAX), xa_mk_value(7));
		assert_ptr_equal(mas_store(&other, E('x')), xa_mk_value(6));
		assert_ptr_equal(mas_store(&mas, E('n')), xa_mk_value(7));
		mtree_unlock(&mt);
		assert_ptr_equal(mtree_load(&mt, 70), E('n'));
		assert_ptr_equal(mtree_load(&mt, 76), E('n'));
		assert_ptr_equal(mtree_load(&mt, 63), E('x'));
		end(&mt);
	}
}

/* The body's erase leaves no node; what is stored there again lies behind the loop. */
static void a_loop_does_not_return_to_what_its_body_erased(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		for (int how = 0; how < 2; how++) {
			MA_STATE(mas, &mt, 0, 0);
			unsigned int visits = 0;
			void *entry;

			mt_init_flags(&mt, flags);
			mtree_store_range(&mt, 5, 9, xa_mk_value(1), GFP_KERNEL);
			mas_for_each(&mas, entry, ULONG_MAX) {
				MA_STATE(other, &mt, 5, 9);

				if (++visits == 3)
					break;
				if (how)
					mas_erase(&mas);
				else
					mas_store_gfp(&mas, NULL, GFP_KERNEL);
				mas_store_gfp(&other, xa_mk_value(2), GFP_KERNEL);
			}
			assert_int_equal(visits, 1);
			mtree_destroy(&mt);
		}
	}
}

/*
 * An erase at the border of two leaves replaces both. A cursor beside them, which would step into
 * either through the node that it remembers, must not find the erased entry there: going down, the
 * first of the upper leaf; going up, the last of the lower one.
 */
static void an_erase_at_a_border_is_seen_from_the_leaves_beside(void **state)
{
	const unsigned long leaf = sizeof(long) == 8 ? 64 : 128; /* indexes of a leaf */

	(void)state;
	for (unsigned int kind = 0; kind < 2; kind++)
		for (unsigned int up = 0; up < 2; up++) {
			unsigned long first = up ? 4 : 0, erased = up ? 2 * leaf - 4 : 2 * leaf;
			MA_STATE(mas, &mt, up ? leaf - 4 : 3 * leaf, up ? leaf - 4 : 3 * leaf);

			mt_init_flags(&mt, kinds[kind]);
			fill(&mt, first, 4, 8, 200);
			urcu_bp_read_lock();
			assert_non_null(mas_walk(&mas));
			assert_non_null(mtree_erase(&mt, erased));
			while (up ? mas_next(&mas, 3 * leaf) : mas_prev(&mas, leaf))
				assert_int_not_equal(mas.index, erased);
			urcu_bp_read_unlock();
			mt_validate(&mt);
			mtree_destroy(&mt);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_does_not_return_to_what_its_body_erased),
		cmocka_unit_test(a_loop_that_rests_and_walks_again_gives_out_nothing_erased),
		cmocka_unit_test(a_body_that_walks_or_steps_back_and_forth),
		cmocka_unit_test(a_body_that_comes_back_from_another_leaf),
		cmocka_unit_test(a_body_that_walks_where_something_was_written),
		cmocka_unit_test(a_step_back_from_an_overflow_after_a_walk_in_a_loop),
		cmocka_unit_test(a_body_that_changes_what_comes_next_never_gets_the_old_entry),
		cmocka_unit_test(a_step_from_a_leaf_that_other_calls_have_dropped),
		cmocka_unit_test(a_step_to_an_entry_that_another_call_has_inserted),
		cmocka_unit_test(a_loop_finds_what_its_body_inserts),
		cmocka_unit_test(a_step_from_a_last_entry_that_other_calls_have_erased),
		cmocka_unit_test(a_step_from_a_leaf_that_another_call_has_divided),
		cmocka_unit_test(a_step_in_a_tree_that_was_destroyed_finds_nothing),
		cmocka_unit_test(a_store_through_a_cursor_whose_leaf_was_replaced_is_not_lost),
		cmocka_unit_test(a_store_through_a_cursor_after_another_ones_is_not_lost),
		cmocka_unit_test(an_erase_at_a_border_is_seen_from_the_leaves_beside),
	};

	return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
