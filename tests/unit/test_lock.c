/* SPDX-License-Identifier: MIT */
/*
 * test_lock.c - locks, RCU mode, and readers beside a writer.
 */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <urcu-bp.h>

static void the_lock_excludes(void **state)
{
	DEFINE_MTREE(mt);
	MA_STATE(mas, &mt, 0, 0);
	unsigned long flags;

	(void)state;
	mtree_lock(&mt);
	assert_false(mtree_trylock(&mt));
	mtree_unlock(&mt);
	mas_lock(&mas);
	assert_false(mtree_trylock(&mt));
	mas_unlock(&mas);
	mas_lock_irqsave(&mas, flags);
	assert_false(mtree_trylock(&mt));
	mas_unlock_irqrestore(&mas, flags);
	mtree_lock_nested(&mt, 1);
	mtree_unlock(&mt);
	assert_true(mtree_trylock(&mt));
	mtree_unlock(&mt);
}

/* Whether it succeeds or fails. One that unlocked without having locked would end the process. */
static void every_call_gives_the_lock_back(void **state)
{
	struct maple_tree mt, copy;
	struct mt_area area = { .max = 99, .size = 2 };
	unsigned long start, last, next = 0;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_IRQ);
	mt_init_flags(&copy, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_IRQ);
#define EXPECT_BALANCE(call) \
	do { \
		call; \
		assert_int_equal(mt.ma_lock.word, 0); \
	} while (0)
	EXPECT_BALANCE(mtree_store(&mt, 3, E('a'), GFP_KERNEL));
	EXPECT_BALANCE(mtree_store_range(&mt, 5, 9, E('a'), GFP_KERNEL));
	EXPECT_BALANCE(mtree_store_range(&mt, 9, 5, E('a'), GFP_KERNEL));
	EXPECT_BALANCE(mtree_insert(&mt, 5, E('a'), GFP_KERNEL));
	EXPECT_BALANCE(mtree_insert_range(&mt, 50, 59, E('a'), GFP_KERNEL));
	EXPECT_BALANCE(mtree_insert_range(&mt, 9, 5, E('a'), GFP_KERNEL));
	EXPECT_BALANCE(mtree_alloc_range(&mt, &start, E('b'), 1, 0, 9, GFP_KERNEL));
	EXPECT_BALANCE(mtree_alloc_range(&mt, &start, E('b'), 0, 0, 9, GFP_KERNEL));
	EXPECT_BALANCE(mtree_alloc_rrange(&mt, &start, E('b'), 8, 0, 9, GFP_KERNEL));
	EXPECT_BALANCE(mtree_alloc_cyclic(&mt, &start, E('b'), 0, 9, &next, GFP_KERNEL));
	EXPECT_BALANCE(mtree_alloc_area(&mt, &area, E('b'), GFP_KERNEL));
	EXPECT_BALANCE(mtree_fill_gap(&mt, 70, E('c'), &start, &last, GFP_KERNEL));
	EXPECT_BALANCE(mtree_erase(&mt, 5));
	EXPECT_BALANCE(mtree_erase(&mt, 5));
	EXPECT_BALANCE(mt_set_in_rcu(&mt));
	EXPECT_BALANCE(mt_clear_in_rcu(&mt));
	EXPECT_BALANCE(assert_int_equal(mtree_dup(&mt, &copy, GFP_KERNEL), 0));
	EXPECT_BALANCE(assert_int_equal(mtree_dup(&mt, &copy, GFP_KERNEL), -EINVAL));
	assert_int_equal(copy.ma_lock.word, 0);
	EXPECT_BALANCE(mtree_destroy(&mt));
#undef EXPECT_BALANCE
	end(&copy);
}

static void reading_calls_work_under_the_lock(void **state)
{
	DEFINE_MTREE(mt);
	unsigned long index = 0;

	(void)state;
	mtree_store_range(&mt, 5, 9, E('a'), GFP_KERNEL);
	mtree_lock(&mt);
	assert_ptr_equal(mtree_load(&mt, 5), E('a'));
	assert_ptr_equal(mt_find(&mt, &index, ULONG_MAX), E('a'));
	assert_null(mt_find_after(&mt, &index, ULONG_MAX));
	assert_ptr_equal(mt_next(&mt, 0, ULONG_MAX), E('a'));
	assert_ptr_equal(mt_prev(&mt, 10, 0), E('a'));
	assert_false(mtree_empty(&mt));
	mtree_unlock(&mt);
	end(&mt);
}

static void an_external_lock_is_the_users(void **state)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct maple_tree mt = MTREE_INIT_EXT(mt, MT_FLAGS_ALLOC_RANGE, lock);
	MA_STATE(mas, &mt, 5, 9);

	(void)state;
	mt_set_external_lock(&mt, &lock);
	assert_true(mt_external_lock(&mt));
	pthread_mutex_lock(&lock);
	assert_int_equal(mas_store_gfp(&mas, E('a'), GFP_KERNEL), 0);
	mas_set(&mas, 0);
	assert_int_equal(mas_empty_area(&mas, 0, 100, 6), 0);
	mas_store(&mas, E('b'));
	mas_set(&mas, 7);
	assert_ptr_equal(mas_erase(&mas), E('a'));
	pthread_mutex_unlock(&lock);
	expect_content(&mt, "a-f:b");
	end(&mt);
}

static void rcu_mode_is_switched_on_a_live_tree(void **state)
{
	struct maple_tree mt;

	(void)state;
	mt_init(&mt);
	fill(&mt, 0, 3, 4, 1000);
	assert_false(mt_in_rcu(&mt));
	mt_set_in_rcu(&mt);
	assert_true(mt_in_rcu(&mt));
	mtree_store_range(&mt, 100, 200, E('a'), GFP_KERNEL);
	mt_clear_in_rcu(&mt);
	assert_false(mt_in_rcu(&mt));
	mtree_store_range(&mt, 300, 400, E('b'), GFP_KERNEL);
	assert_ptr_equal(mtree_load(&mt, 150), E('a'));
	assert_ptr_equal(mtree_load(&mt, 350), E('b'));
	assert_ptr_equal(mtree_load(&mt, 201), xa_mk_value(50));
	end(&mt);
}

#define WRITERS 4
#define EACH    3000

struct worker {
	struct maple_tree *mt;
	unsigned long number;
};

static void *write_own(void *data)
{
	const struct worker *worker = data;

	for (unsigned long i = 0; i < EACH; i++) {
		unsigned long index = (i * WRITERS + worker->number) * 2;

		if (mtree_insert_range(worker->mt, index, index + 1, xa_mk_value(index),
				       GFP_KERNEL))
			return data;
	}
	return NULL;
}

static void writers_take_turns(void **state)
{
	struct worker workers[WRITERS];
	pthread_t threads[WRITERS];
	DEFINE_MTREE(mt);

	(void)state;
	for (unsigned long i = 0; i < WRITERS; i++) {
		workers[i] = (struct worker){ &mt, i };
		assert_int_equal(pthread_create(&threads[i], NULL, write_own, &workers[i]), 0);
	}
	for (unsigned long i = 0; i < WRITERS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	for (unsigned long i = 0; i < WRITERS * EACH * 2; i++)
		assert_ptr_equal(mtree_load(&mt, i), xa_mk_value(i & ~1UL));
	end(&mt);
}

/* Reads until told to stop; entries at odd hundreds are never removed, so they are always found. */
struct reader {
	struct maple_tree *mt;
	bool stop;
	unsigned long rounds;
	const char *wrong;
};

static void *read_all(void *data)
{
	struct reader *reader = data;

	while (!__atomic_load_n(&reader->stop, __ATOMIC_RELAXED) && !reader->wrong) {
		MA_STATE(mas, reader->mt, 0, 0);
		unsigned long next = 0;
		unsigned long kept = 0;
		void *entry;

		urcu_bp_read_lock();
		mas_for_each(&mas, entry, ULONG_MAX) {
			if (mas.index < next || mas.last < mas.index)
				reader->wrong = "iteration went backwards";
			next = mas.last + 1;
			kept += mas.index % 200 == 100;
		}
		urcu_bp_read_unlock();
		if (kept != 200)
			reader->wrong = "iteration missed an entry";
		for (unsigned long i = 100; i < 40000; i += 200) {
			if (mtree_load(reader->mt, i + 3) != xa_mk_value(i))
				reader->wrong = "load missed an entry";
		}
		__atomic_add_fetch(&reader->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void readers_need_no_lock(void **state)
{
	struct reader reader = { 0 };
	struct maple_tree mt;
	pthread_t thread;

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);
	for (unsigned long i = 100; i < 40000; i += 200)
		mtree_store_range(&mt, i, i + 9, xa_mk_value(i), GFP_KERNEL);
	reader.mt = &mt;
	assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
	for (unsigned long i = 0; __atomic_load_n(&reader.rounds, __ATOMIC_RELAXED) < 3000; i++) {
		unsigned long base = i * 7919 % 200 * 200;

		mtree_store_range(&mt, base + 110 + i % 7, base + 150 + i % 11, E('x'),
				  GFP_KERNEL);
		mtree_store_range(&mt, base + 120, base + 130, XA_ZERO_ENTRY, GFP_KERNEL);
		mtree_store_range(&mt, base, base + 99, i % 2 ? E('y') : NULL, GFP_KERNEL);
		mtree_store_range(&mt, base + 110, base + 199, NULL, GFP_KERNEL);
		if (__atomic_load_n(&reader.wrong, __ATOMIC_RELAXED))
			break;
	}
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	if (reader.wrong)
		fail_msg("%s", reader.wrong);
	end(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lock_excludes),
		cmocka_unit_test(every_call_gives_the_lock_back),
		cmocka_unit_test(reading_calls_work_under_the_lock),
		cmocka_unit_test(an_external_lock_is_the_users),
		cmocka_unit_test(rcu_mode_is_switched_on_a_live_tree),
		cmocka_unit_test(writers_take_turns),
		cmocka_unit_test(readers_need_no_lock),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
