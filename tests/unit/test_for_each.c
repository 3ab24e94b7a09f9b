/* SPDX-License-Identifier: MIT */
/*
 * test_for_each.c - mas_for_each() and mas_for_each_rev() read leaves ahead of their body; whatever
 * that does with the cursor and by other calls, each step is the one that mas_find() (or
 * mas_find_rev()) makes, and what a new cursor finds behind (before) the last range. Two trees of
 * the same content go through the same, one by the loop, the other step by step.
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

static void set_both(unsigned long index)
{
	mas_set(&mas[0], index);
	mas_set(&mas[1], index);
}

static void step_both(void *(*step)(struct ma_state *, unsigned long), unsigned long limit)
{
	assert_ptr_equal(step(&mas[0], limit), step(&mas[1], limit));
}

/* An index further in a loop that goes up or down from the range where the cursors stand. */
static unsigned long onward(bool up, unsigned long by)
{
	if (up)
		return mas[0].last + by;
	return mas[0].index > by ? mas[0].index - by : 0;
}

/* What a body may do by other calls, to what comes next or elsewhere. */
static void change_both(unsigned long next)
{
	unsigned long at = below(4) ? next : below(TOP), to = at + below(30);
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

/* Stores over the range and what comes next. */
static void store_onward(bool up, unsigned long by)
{
	unsigned long first = mas[0].index, last = mas[0].last;

	if (up)
		store_both(first, onward(up, by), some_entry());
	else
		store_both(onward(up, by), last, some_entry());
}

/* A step to where the loop goes, or back. */
static void step_onward(bool up, unsigned long limit)
{
	step_both(up ? mas_next : mas_prev, limit);
}

static void step_back(bool up)
{
	step_both(up ? mas_prev : mas_next, up ? 0 : ULONG_MAX);
}

/* Away from the range where the cursors stand, and back. */
static void go_and_return(unsigned int way, bool up, unsigned long by)
{
	unsigned long first = mas[0].index, last = mas[0].last, end = up ? ULONG_MAX : 0;

	switch (way) {
	case 0: /* onward, a change, and back */
		step_onward(up, end);
		store_onward(up, by);
		step_back(up);
		break;
	case 1: /* elsewhere, then where it was */
		store_both(onward(up, by), onward(up, by) + 3, below(2) ? some_entry() : NULL);
		set_both(up ? first : last);
		step_both(up ? mas_find : mas_find_rev, end);
		break;
	case 2: /* there and back */
		step_back(up);
		step_onward(up, end);
		break;
	default:
		step_onward(up, up ? last : first);
		assert_int_not_equal(mas[0].status, ma_active);
		step_back(up);
		break;
	}
}

/* What a body may do to a cursor on an entry. *@limit: the loop's, from now on. */
static void disturb(bool up, unsigned long *limit)
{
	unsigned long first = mas[0].index, last = mas[0].last, by = below(60);
	unsigned int kind = (unsigned int)below(20);

	switch (kind) {
	case 0: /* the very range */
		store_both(first, last, some_entry());
		break;
	case 1:
		store_onward(up, by);
		break;
	case 2: /* a part */
		store_both(first + below(last - first + 1), last, below(2) ? some_entry() : NULL);
		break;
	case 3:
		assert_ptr_equal(mas_erase(&mas[0]), mas_erase(&mas[1]));
		break;
	case 4:
		step_onward(up, *limit);
		break;
	case 5:
		step_back(up);
		break;
	case 6:
		step_both(below(2) ? mas_next_range : mas_prev_range, below(2) ? 0 : ULONG_MAX);
		break;
	case 7:
		assert_ptr_equal(mas_walk(&mas[0]), mas_walk(&mas[1]));
		break;
	case 8: /* by hand: go on behind there */
		for (int i = 1; i >= 0; i--)
			*(up ? &mas[i].last : &mas[i].index) = onward(up, by);
		break;
	case 9:
		mas_pause(&mas[0]);
		mas_pause(&mas[1]);
		break;
	case 10:
		set_both(onward(up, by));
		break;
	case 11:
		*limit = onward(up, below(200));
		break;
	case 12:
	case 13:
	case 14:
	case 15:
		go_and_return(kind - 12, up, by);
		break;
	case 16:
	case 17:
	case 18:
		change_both(onward(up, below(30)));
		break;
	default:
		break;
	}
}

/* What a new cursor finds after (before) the range on which the loop's cursor stands. */
static void *find_behind(bool up, unsigned long limit)
{
	unsigned long from = up ? mas[0].last + 1 : mas[0].index - 1;
	MA_STATE(fresh, &trees[0], from, from);

	if (up ? mas[0].last >= limit : mas[0].index <= limit)
		return NULL;
	return up ? mas_find(&fresh, limit) : mas_find_rev(&fresh, limit);
}

static void loop(bool up, unsigned int depth, unsigned int calm);

/* The body of a loop, at @entry. False: leave it. */
static bool body(bool up, unsigned int depth, unsigned int calm, unsigned long *limit, void *entry)
{
	assert_ptr_equal((up ? mas_find : mas_find_rev)(&mas[1], *limit), entry);
	expect_same_place();
	if (!below(calm)) {
		disturb(up, limit);
		expect_same_place();
	}
	if (depth && !below(40))
		loop(below(4) ? up : !up, depth - 1, calm);
	return below(60);
}

/* One loop, with another one inside now and then; left by break at times. */
static void loop(bool up, unsigned int depth, unsigned int calm)
{
	unsigned long limit = below(4) ? (up ? ULONG_MAX : 0) : below(TOP);
	void *entry, *behind = NULL;
	bool known = false;

#define LOOP(mas_each) \
	mas_each(&mas[0], entry, limit) { \
		assert_true(!known || entry == behind); \
		if (!body(up, depth, calm, &limit, entry)) \
			return; \
		known = mas[0].status == ma_active; \
		behind = known ? find_behind(up, limit) : NULL; \
	}
	if (up)
		LOOP(mas_for_each)
	else
		LOOP(mas_for_each_rev)
#undef LOOP
	assert_null(behind);
	assert_null((up ? mas_find : mas_find_rev)(&mas[1], limit));
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

static void a_loop_is_what_its_steps_are(bool up)
{
	bool section;

	for (unsigned long i = 0; i < loops; i++) {
		random_seed(&random_numbers, seed + i);
		fill_both();
		for (int t = 0; t < 2; t++)
			mas_init(&mas[t], &trees[t], up ? 0 : ULONG_MAX);
		section = mt_in_rcu(&trees[0]) && below(2);
		if (section)
			urcu_bp_read_lock();
		for (int rounds = 0; rounds < 3; rounds++) {
			loop(up, 2, 1 + (unsigned int)below(30));
			if (mas[0].status == ma_active && below(2))
				continue; /* on from where it was left */
			if (up)
				mas_set(&mas[0], below(2) ? 0 : mas[1].last / 2);
			else
				mas_set(&mas[0], below(2) ? ULONG_MAX : mas[1].index * 2);
			mas_set(&mas[1], mas[0].index);
		}
		if (section)
			urcu_bp_read_unlock();
		end(&trees[0]);
		end(&trees[1]);
	}
}

static void a_loop_up_is_what_its_steps_are(void **state)
{
	(void)state;
	a_loop_is_what_its_steps_are(true);
}

static void a_loop_down_is_what_its_steps_are(void **state)
{
	(void)state;
	a_loop_is_what_its_steps_are(false);
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
			change_both(index - 1 + below(30));
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

/* Whole leaves of zero entries, which mt_for_each() does not show. */
static void a_loop_passes_over_leaves_of_zero_entries(void **state)
{
	static const unsigned int flags[] = { 0, MT_FLAGS_USE_RCU };

	(void)state;
	for (size_t f = 0; f < LENGTH(flags); f++) {
		for (unsigned long zeros = 1; zeros < 400; zeros += 3) {
			unsigned long index = 0, steps = 0;
			struct maple_tree mt;
			void *entry;

			mt_init_flags(&mt, flags[f]);
			for (unsigned long i = 0; i < 440; i++)
				mtree_store(&mt, i, i >= 30 && i < 30 + zeros ? XA_ZERO_ENTRY : E('a'),
					    GFP_KERNEL);
			mt_for_each(&mt, entry, index, ULONG_MAX)
				assert_int_equal(index - 1, steps < 30 ? steps++ : zeros + steps++);
			assert_int_equal(steps, 440 - zeros);
			index = steps = 0;
			mt_for_each(&mt, entry, index, 29 + zeros) /* ends among the zero entries */
				steps++;
			assert_int_equal(steps, 30);
			end(&mt);
		}
	}
}

/* What the loop knows of the tree's nodes is not used when they are gone. */
static void a_body_may_empty_the_tree(void **state)
{
	static const unsigned int flags[] = { 0, MT_FLAGS_ALLOC_RANGE, MT_FLAGS_USE_RCU };

	(void)state;
	for (size_t f = 0; f < LENGTH(flags); f++) {
		for (unsigned long when = 1; when < 100; when++) {
			unsigned long index = 0, steps = 0;
			struct maple_tree mt;
			void *entry;

			mt_init_flags(&mt, flags[f]);
			for (unsigned long i = 0; i < 200; i++)
				mtree_store(&mt, i, E('a'), GFP_KERNEL);
			mt_for_each(&mt, entry, index, ULONG_MAX) {
				if (++steps == when) {
					mtree_destroy(&mt);
					mt_cache_shrink();
				}
			}
			assert_int_equal(steps, when);
			end(&mt);
		}
	}
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
	unsigned long index;
	bool stop;
};

static void *store_rising_values(void *data)
{
	struct beside *beside = data;

	for (unsigned long v = 1; !__atomic_load_n(&beside->stop, __ATOMIC_RELAXED); v++)
		mtree_store(beside->mt, beside->index, xa_mk_value(v), GFP_KERNEL);
	return NULL;
}

/* What a lookup has found is not older in the loop later on: the writer's is one of @n indexes. */
static void loop_beside_a_writer(unsigned long n, unsigned long rounds)
{
	struct maple_tree mt;
	struct beside beside = { &mt, n / 2, false };
	pthread_t writer;
	void *entry;

	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	for (unsigned long i = 0; i < n; i++)
		mtree_store(&mt, i, xa_mk_value(0), GFP_KERNEL);
	assert_int_equal(pthread_create(&writer, NULL, store_rising_values, &beside), 0);
	for (unsigned long i = 0; i < rounds; i++) {
		unsigned long index = 0, seen = 0;

		mt_for_each(&mt, entry, index, ULONG_MAX) {
			if (index <= n / 2)
				seen = xa_to_value(mtree_load(&mt, n / 2));
			else if (index == n / 2 + 1)
				assert_true(xa_to_value(entry) >= seen);
		}
		assert_int_equal(index, n);
	}
	__atomic_store_n(&beside.stop, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	end(&mt);
}

static void a_loop_beside_a_writer_does_not_go_back(void **state)
{
	(void)state;
	loop_beside_a_writer(10, 150000);
	loop_beside_a_writer(60, 10000); /* several leaves */
}

/* The trees have been written as often as each other; the loop changes over after @every steps. */
static void loop_through_two_trees(unsigned long every)
{
	const unsigned long count = 100;
	struct maple_tree trees_of[2];
	struct maple_tree *mt = &trees_of[0];
	unsigned long index = 0, steps = 0;
	void *entry;

	for (int t = 0; t < 2; t++) {
		mt_init(&trees_of[t]);
		for (unsigned long i = 0; i < count; i++)
			mtree_store(&trees_of[t], i, xa_mk_value(i + count * (unsigned long)t),
				    GFP_KERNEL);
	}
	mt_for_each(mt, entry, index, ULONG_MAX) {
		assert_int_equal(xa_to_value(entry),
				 index - 1 + (mt == trees_of ? 0 : count));
		if (++steps % every == 0)
			mt = mt == trees_of ? trees_of + 1 : trees_of;
	}
	assert_int_equal(index, count);
	end(&trees_of[0]);
	end(&trees_of[1]);
}

static void a_loop_follows_its_tree(void **state)
{
	(void)state;
	for (unsigned long every = 1; every < 40; every++)
		loop_through_two_trees(every);
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
		cmocka_unit_test(a_loop_up_is_what_its_steps_are),
		cmocka_unit_test(a_loop_down_is_what_its_steps_are),
		cmocka_unit_test(a_loop_without_a_cursor_is_what_its_steps_are),
		cmocka_unit_test(a_loop_ends_at_the_last_index),
		cmocka_unit_test(a_loop_passes_over_leaves_of_zero_entries),
		cmocka_unit_test(a_body_may_empty_the_tree),
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
