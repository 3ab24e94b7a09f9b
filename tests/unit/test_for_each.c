/* SPDX-License-Identifier: MIT */
/*
 * test_for_each.c - mas_for_each() reads leaves ahead of its body; whatever the body does with the
 * cursor and by other calls, each step is the one that mas_find() makes, and what a new cursor
 * finds behind the last range. Two trees of the same content go through the same, one by the
 * loop, the other step by step.
 *
 * Arguments: the seed and the number of loops.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <urcu-bp.h>

#include "../model/random.h"

static unsigned long seed = 1, loops = 3000;
static struct random random_numbers;

/* [0]: the loop's. */
static struct maple_tree trees[2];
static struct ma_state mas[2];

#define TOP 4000

static unsigned long below(unsigned long limit)
{
	return (unsigned long)random_below(&random_numbers, limit);
}

static void *some_entry(void)
{
	return below(10) ? xa_mk_value(below(1000)) : XA_ZERO_ENTRY;
}

static void expect_same_place(void)
{
	assert_int_equal(mas[0].index, mas[1].index);
	assert_int_equal(mas[0].last, mas[1].last);
	assert_int_equal(mas[0].status, mas[1].status);
}

static void store_both(unsigned long first, unsigned long last, void *entry)
{
	void *old[2];

	for (int i = 0; i < 2; i++) {
		__mas_set_range(&mas[i], first, last);
		old[i] = mas_store(&mas[i], entry);
	}
	assert_ptr_equal(old[0], old[1]);
}

static void step_both(void *(*step)(struct ma_state *, unsigned long), unsigned long limit)
{
	assert_ptr_equal(step(&mas[0], limit), step(&mas[1], limit));
}

/* What a body may do by other calls, to what comes next or elsewhere. */
static void change_both(unsigned long last)
{
	unsigned long at = below(4) ? last + below(30) : below(TOP), to = at + below(30);
	unsigned int kind = (unsigned int)below(4);
	void *entry = some_entry();

	for (int i = 0; i < 2; i++) {
		MA_STATE(other, &trees[i], at, at);

		switch (kind) {
		case 0:
			mtree_erase(&trees[i], at);
			break;
		case 1:
			mtree_store_range(&trees[i], at, to, entry, GFP_KERNEL);
			break;
		case 2:
			mtree_store_range(&trees[i], at, to, NULL, GFP_KERNEL);
			break;
		default:
			mtree_lock(&trees[i]);
			mas_find(&other, ULONG_MAX);
			mas_store(&other, entry);
			mtree_unlock(&trees[i]);
			break;
		}
	}
}

/* What a body may do to a cursor on an entry. *@limit: the loop's, from now on. */
static void disturb(unsigned long *limit)
{
	unsigned long first = mas[0].index, last = mas[0].last, by = below(60);

	switch (below(20)) {
	case 0: /* the very range */
		store_both(first, last, some_entry());
		break;
	case 1: /* over what comes next */
		store_both(first, last + by, some_entry());
		break;
	case 2: /* a part */
		store_both(first + below(last - first + 1), last, below(2) ? some_entry() : NULL);
		break;
	case 3:
		assert_ptr_equal(mas_erase(&mas[0]), mas_erase(&mas[1]));
		break;
	case 4:
		step_both(mas_next, *limit);
		break;
	case 5:
		step_both(mas_prev, 0);
		break;
	case 6:
		step_both(below(2) ? mas_next_range : mas_prev_range, below(2) ? 0 : ULONG_MAX);
		break;
	case 7:
		assert_ptr_equal(mas_walk(&mas[0]), mas_walk(&mas[1]));
		break;
	case 8: /* by hand: go on behind there */
		mas[0].last += by;
		mas[1].last += by;
		break;
	case 9:
		mas_pause(&mas[0]);
		mas_pause(&mas[1]);
		break;
	case 10:
		mas_set(&mas[0], last + by);
		mas_set(&mas[1], last + by);
		break;
	case 11:
		*limit = last + below(200);
		break;
	case 12: /* and back to the same place */
		step_both(mas_next, ULONG_MAX);
		store_both(mas[0].index, mas[0].last + by, some_entry());
		step_both(mas_prev, 0);
		break;
	case 13: /* elsewhere, then where it was */
		store_both(last + by, last + by + 3, below(2) ? some_entry() : NULL);
		mas_set(&mas[0], first);
		mas_set(&mas[1], first);
		step_both(mas_find, ULONG_MAX);
		break;
	case 14: /* there and back */
		step_both(mas_prev, 0);
		step_both(mas_next, ULONG_MAX);
		break;
	case 15:
		assert_null(mas_next(&mas[0], last));
		assert_null(mas_next(&mas[1], last));
		step_both(mas_prev, 0);
		break;
	case 16:
	case 17:
	case 18:
		change_both(last);
		break;
	default:
		break;
	}
}

/* What a new cursor finds after the range on which the loop's cursor stands. */
static void *find_behind(unsigned long limit)
{
	MA_STATE(fresh, &trees[0], mas[0].last + 1, mas[0].last + 1);

	return mas[0].last >= limit ? NULL : mas_find(&fresh, limit);
}

/* One loop, with another one inside now and then; left by break at times. */
static void loop(unsigned int depth, unsigned int calm)
{
	unsigned long limit = below(4) ? ULONG_MAX : below(TOP);
	void *entry, *behind = NULL;
	bool known = false;

	mas_for_each(&mas[0], entry, limit) {
		assert_true(!known || entry == behind);
		assert_ptr_equal(mas_find(&mas[1], limit), entry);
		expect_same_place();
		if (!below(calm)) {
			disturb(&limit);
			expect_same_place();
		}
		if (depth && !below(40))
			loop(depth - 1, calm);
		if (!below(60))
			return;
		known = mas[0].status == ma_active;
		behind = known ? find_behind(limit) : NULL;
	}
	assert_null(behind);
	assert_null(mas_find(&mas[1], limit));
	expect_same_place();
}

static void fill_both(void)
{
	static const unsigned int flags[] = { 0, MT_FLAGS_ALLOC_RANGE, MT_FLAGS_USE_RCU };
	unsigned int flag = flags[below(LENGTH(flags))];
	unsigned long next = below(2) ? 0 : below(20);
	unsigned long ranges = below(2) ? below(8) : below(300);

	mt_init_flags(&trees[0], flag);
	mt_init_flags(&trees[1], flag);
	for (; ranges; ranges--) {
		unsigned long first = next + below(2) * below(20), last = first + below(20);
		void *entry = some_entry();

		for (int i = 0; i < 2; i++) {
			mas_init(&mas[i], &trees[i], first);
			mas[i].last = last;
			assert_int_equal(mas_store_gfp(&mas[i], entry, GFP_KERNEL), 0);
		}
		next = last + 1;
	}
}

static void a_loop_is_what_its_steps_are(void **state)
{
	bool section;

	(void)state;
	for (unsigned long i = 0; i < loops; i++) {
		random_seed(&random_numbers, seed + i);
		fill_both();
		for (int t = 0; t < 2; t++)
			mas_init(&mas[t], &trees[t], 0);
		section = mt_in_rcu(&trees[0]) && below(2);
		if (section)
			urcu_bp_read_lock();
		for (int rounds = 0; rounds < 3; rounds++) {
			loop(2, 1 + (unsigned int)below(30));
			if (mas[0].status == ma_active && below(2))
				continue; /* on from where it was left */
			mas_set(&mas[0], below(2) ? 0 : mas[1].last / 2);
			mas_set(&mas[1], mas[0].index);
		}
		if (section)
			urcu_bp_read_unlock();
		end(&trees[0]);
		end(&trees[1]);
	}
}

/* A loop by mt_for_each(), beside one by mt_find(). Bodies change tree, index and limit. */
static void find_loop(unsigned int depth, unsigned int calm)
{
	unsigned long limit = below(4) ? ULONG_MAX : below(TOP), index = below(2) ? 0 : below(TOP);
	unsigned long other = index;
	bool begun = false;
	void *entry;

	mt_for_each(&trees[0], entry, index, limit) {
		assert_ptr_equal(begun ? mt_find_after(&trees[1], &other, limit)
				       : mt_find(&trees[1], &other, limit), entry);
		assert_int_equal(index, other);
		begun = true;
		if (!below(calm))
			change_both(index - 1);
		if (!below(calm))
			other = index += below(3) ? below(40) : -below(40);
		if (!below(10 * calm))
			limit = index + below(200);
		if (depth && !below(40))
			find_loop(depth - 1, calm);
		if (!below(60))
			return;
	}
	assert_null(begun ? mt_find_after(&trees[1], &other, limit)
			  : mt_find(&trees[1], &other, limit));
	assert_int_equal(index, other);
}

static void a_loop_without_a_cursor_is_what_its_steps_are(void **state)
{
	(void)state;
	for (unsigned long i = 0; i < loops; i++) {
		random_seed(&random_numbers, seed + i);
		fill_both();
		for (int rounds = 0; rounds < 3; rounds++)
			find_loop(2, 1 + (unsigned int)below(30));
		end(&trees[0]);
		end(&trees[1]);
	}
}

/* An entry that ends at the last index is the last, though the index behind it is 0. */
static void a_loop_ends_at_the_last_index(void **state)
{
	unsigned long index = 5, steps = 0;
	DEFINE_MTREE(mt);
	void *entry;

	(void)state;
	mtree_store_range(&mt, 0, 9, E('a'), GFP_KERNEL);
	mtree_store_range(&mt, 10, 11, XA_ZERO_ENTRY, GFP_KERNEL);
	mtree_store_range(&mt, 12, ULONG_MAX, E('b'), GFP_KERNEL);
	mt_for_each(&mt, entry, index, ULONG_MAX)
		assert_ptr_equal(entry, steps++ ? E('b') : E('a'));
	assert_int_equal(steps, 2);
	assert_int_equal(index, 0);
	end(&mt);
}

/*
 * Of a write in progress only the stamp may be there when a loop begins, and the store comes later:
 * the loop must not go on from what it read before that. Played by a body that takes the stamp back.
 */
static void loop_beside_a_write(unsigned int flags)
{
	struct maple_tree mt;
	unsigned long index = 0, steps = 0;
	void *entry;

	mt_init_flags(&mt, MT_FLAGS_USE_RCU | flags);
	for (unsigned long i = 0; i < 8; i++)
		mtree_store(&mt, i, E('a'), GFP_KERNEL);
	mtree_lock(&mt);
	mt_for_each(&mt, entry, index, ULONG_MAX) {
		MA_STATE(fifth, &mt, 5, 5);

		assert_ptr_equal(entry, index == 6 ? E('b') : E('a'));
		if (steps++ == 2) {
			unsigned long stamp = mt.ma_writes;

			assert_int_equal(mas_store_gfp(&fifth, E('b'), GFP_KERNEL), 0);
			mt.ma_writes = stamp;
		}
	}
	mtree_unlock(&mt);
	assert_int_equal(steps, 8);
	end(&mt);
}

static void a_loop_beside_a_write_is_told_of_its_store(void **state)
{
	(void)state;
	loop_beside_a_write(0);
	loop_beside_a_write(MT_FLAGS_LOCK_EXTERN); /* nobody else is here to take it */
}

struct beside {
	struct maple_tree *mt;
	bool stop;
};

static void *store_rising_values(void *data)
{
	struct beside *beside = data;

	for (unsigned long v = 1; !__atomic_load_n(&beside->stop, __ATOMIC_RELAXED); v++)
		mtree_store(beside->mt, 5, xa_mk_value(v), GFP_KERNEL);
	return NULL;
}

/* What a lookup has found is not older in the loop later on. */
static void a_loop_beside_a_writer_does_not_go_back(void **state)
{
	struct maple_tree mt;
	struct beside beside = { &mt, false };
	pthread_t writer;
	void *entry;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	for (unsigned long i = 0; i < 10; i++)
		mtree_store(&mt, i, xa_mk_value(0), GFP_KERNEL);
	assert_int_equal(pthread_create(&writer, NULL, store_rising_values, &beside), 0);
	for (unsigned long i = 0; i < 200000; i++) {
		unsigned long index = 0, seen = 0;

		mt_for_each(&mt, entry, index, ULONG_MAX) {
			if (index < 6)
				seen = xa_to_value(mtree_load(&mt, 5));
			else if (index == 6)
				assert_true(xa_to_value(entry) >= seen);
		}
	}
	__atomic_store_n(&beside.stop, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	end(&mt);
}

/* The trees have been written as often as each other. */
static void a_loop_follows_its_tree(void **state)
{
	struct maple_tree trees_of[2];
	struct maple_tree *mt = &trees_of[0];
	unsigned long index = 0;
	void *entry;

	(void)state;
	for (int t = 0; t < 2; t++) {
		mt_init(&trees_of[t]);
		for (unsigned long i = 0; i < 8; i++)
			mtree_store(&trees_of[t], i, xa_mk_value(i + 100 * (unsigned long)t),
				    GFP_KERNEL);
	}
	mt_for_each(mt, entry, index, ULONG_MAX) {
		assert_int_equal(xa_to_value(entry), index - 1 + (mt == trees_of ? 0 : 100));
		mt = mt == trees_of ? trees_of + 1 : trees_of;
	}
	assert_int_equal(index, 8);
	end(&trees_of[0]);
	end(&trees_of[1]);
}

static int say_seed(void **state)
{
	(void)state;
	print_message("# seed %lu, %lu loops\n", seed, loops);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_is_what_its_steps_are),
		cmocka_unit_test(a_loop_without_a_cursor_is_what_its_steps_are),
		cmocka_unit_test(a_loop_ends_at_the_last_index),
		cmocka_unit_test(a_loop_beside_a_write_is_told_of_its_store),
		cmocka_unit_test(a_loop_beside_a_writer_does_not_go_back),
		cmocka_unit_test(a_loop_follows_its_tree),
	};

	if (argc > 1)
		seed = strtoul(argv[1], NULL, 0);
	if (argc > 2)
		loops = strtoul(argv[2], NULL, 0);
	return cmocka_run_group_tests(tests, say_seed, NULL);
}
