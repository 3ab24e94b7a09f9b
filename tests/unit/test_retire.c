/* SPDX-License-Identifier: MIT */
/*
 * test_retire.c - memory that waits for readers: it is counted, and a limit keeps writers that may
 * wait from adding to it.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#include "node.h"

#define ENTRIES 20000ul
#define LIMIT	(1ul << 20)
/* Beyond the limit: what a tree keeps until it hands it over, a write of each thread. */
#define SLACK	65536ul

static struct maple_tree mt = MTREE_INIT(mt, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);

/* A reader that stays in its section until it is told to leave. */
static pthread_barrier_t inside;
static bool leave;
static pthread_t reader;

static void *stay_inside(void *unused)
{
	urcu_bp_read_lock();
	pthread_barrier_wait(&inside);
	while (!__atomic_load_n(&leave, __ATOMIC_RELAXED))
		usleep(1000);
	urcu_bp_read_unlock();
	return unused;
}

static void begin_reading(void)
{
	leave = false;
	assert_int_equal(pthread_barrier_init(&inside, NULL, 2), 0);
	assert_int_equal(pthread_create(&reader, NULL, stay_inside, NULL), 0);
	pthread_barrier_wait(&inside);
}

static void end_reading(void)
{
	__atomic_store_n(&leave, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(reader, NULL), 0);
}

static void set_up_tree(void)
{
	fill(&mt, 0, 2, 4, ENTRIES);
	urcu_bp_barrier();
	assert_int_equal(mt_retired_bytes(), 0);
}

static void end_tree(void)
{
	mt_set_retire_limit(0);
	mtree_destroy(&mt);
	urcu_bp_barrier();
	assert_int_equal(mt_retired_bytes(), 0);
}

/* An entry becomes two, or two become one, which copies the leaf. */
static int write_one(unsigned long i, gfp_t gfp)
{
	unsigned long first = 4 * (i * 7919 % ENTRIES);
	bool whole = i / ENTRIES % 2;

	return mtree_store_range(&mt, first, first + whole, xa_mk_value(i), gfp);
}

static void what_waits_for_readers_is_counted(void **state)
{
	struct mt_statistics stats;
	unsigned long i, one;

	(void)state;
	set_up_tree();
	begin_reading();
	for (i = 0; i < 4 * ENTRIES; i++)
		assert_int_equal(write_one(i, GFP_KERNEL), 0);
	one = mt_retired_bytes();
	assert_true(one > 500000);
	mtree_lock(&mt);
	mt_get_statistics(&mt, &stats);
	mtree_unlock(&mt);
	/* Subtrees are counted with all nodes below them. */
	assert_int_equal(mtree_store_range(&mt, 10, 70000, NULL, GFP_KERNEL), 0);
	assert_true(mt_retired_bytes() > one + stats.bytes / 5 * 4);
	mtree_destroy(&mt);
	assert_true(mt_retired_bytes() >= one + stats.bytes);
	assert_true(mt_retired_bytes() < one + stats.bytes + SLACK);
	end_reading();
	end_tree();
}

/*
 * All nodes of a tree, whatever its shape: as it is appended to, a node at its end has one child,
 * which may have children of its own.
 */
static void a_tree_of_any_shape_is_counted(void **state)
{
	const unsigned long step = GAPS_SLOTS * WIDE_SLOTS / 2;
	struct maple_tree grown, copy;
	struct mt_statistics stats;
	unsigned long i, before, wrong = 0;

	(void)state;
	mt_init_flags(&grown, MT_FLAGS_ALLOC_RANGE);
	begin_reading();
	for (i = 0; mt_height(&grown) < 4 || i % (4 * step); i += step) {
		fill(&grown, i, 1, 1, step);
		mt_init_flags(&copy, MT_FLAGS_ALLOC_RANGE);
		assert_int_equal(mtree_dup(&grown, &copy, GFP_KERNEL), 0);
		assert_int_equal(mt_set_in_rcu(&copy), 0);
		mtree_lock(&copy);
		mt_get_statistics(&copy, &stats);
		mtree_unlock(&copy);
		before = mt_retired_bytes();
		mtree_destroy(&copy);
		/* One block holds what waits. */
		wrong += mt_retired_bytes() - before != stats.bytes + NODE_BYTES;
	}
	end_reading();
	assert_int_equal(wrong, 0);
	mtree_destroy(&grown);
	urcu_bp_barrier();
	assert_int_equal(mt_retired_bytes(), 0);
}

/* The tree's first leaf becomes full, and is replaced by two and a node above them. */
static void a_leaf_that_is_replaced_counts_as_one_node(void **state)
{
	struct maple_tree grown = MTREE_INIT(grown, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);

	(void)state;
	begin_reading();
	for (unsigned long i = 0; mt_height(&grown) < 2; i++)
		assert_int_equal(mtree_store(&grown, 2 * i, xa_mk_value(i), GFP_KERNEL), 0);
	mtree_destroy(&grown);
	/* One block holds what waits: these three, and the first. */
	assert_int_equal(mt_retired_bytes(), 5 * NODE_BYTES);
	end_reading();
	urcu_bp_barrier();
	assert_int_equal(mt_retired_bytes(), 0);
}

/*
 * A snapshot that goes gives no node back that its tree has: however many, the reference counts as
 * one.
 */
static void a_snapshot_that_goes_counts_as_one_node(void **state)
{
	struct maple_tree snap = MTREE_INIT(snap, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);

	(void)state;
	set_up_tree();
	assert_int_equal(mtree_snapshot(&mt, &snap, GFP_KERNEL), 0);
	begin_reading();
	mtree_destroy(&snap);
	/* One block holds what waits. */
	assert_int_equal(mt_retired_bytes(), 2 * NODE_BYTES);
	end_reading();
	end_tree();
}

/* Writes on and on; a limit and a reader keep it waiting. */
static unsigned long written;
static bool stop;

static void *write_on(void *unused)
{
	for (unsigned long i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		if (write_one(i, GFP_KERNEL))
			abort();
		__atomic_add_fetch(&written, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

/* Until nothing has been written for a fifth of a second. */
static void await_standstill(unsigned long limit)
{
	unsigned long before;

	do {
		before = __atomic_load_n(&written, __ATOMIC_RELAXED);
		usleep(200000);
	} while (!before || before != __atomic_load_n(&written, __ATOMIC_RELAXED) ||
		 mt_retired_bytes() <= limit);
}

static void writers_wait_for_a_reader(unsigned long limit, unsigned long go_on)
{
	pthread_t writers[2];
	unsigned long before;

	set_up_tree();
	stop = false;
	written = 0;
	begin_reading();
	mt_set_retire_limit(limit);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, write_on, NULL), 0);
	await_standstill(limit);
	assert_true(mt_retired_bytes() < limit + SLACK);
	/* Neither the lock nor other readers are kept. */
	assert_non_null(mtree_load(&mt, 0));
	assert_true(mtree_trylock(&mt));
	mtree_unlock(&mt);
	before = __atomic_load_n(&written, __ATOMIC_RELAXED);
	end_reading();
	while (__atomic_load_n(&written, __ATOMIC_RELAXED) < before + go_on) {
		assert_true(mt_retired_bytes() < limit + SLACK);
		usleep(1000);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(writers[i], NULL), 0);
	end_tree();
}

static void a_limit_makes_writers_wait_for_a_reader(void **state)
{
	(void)state;
	writers_wait_for_a_reader(LIMIT, ENTRIES);
	writers_wait_for_a_reader(1, 500); /* less than a node is not no limit */
}

/* Each of these would never come back. */
static void who_may_not_wait_does_not(void **state)
{
	MA_STATE(mas, &mt, 0, 0);
	unsigned long i;

	(void)state;
	set_up_tree();
	begin_reading();
	for (i = 0; mt_retired_bytes() < 2 * LIMIT; i++)
		assert_int_equal(write_one(i, GFP_KERNEL), 0);
	mt_set_retire_limit(LIMIT);
	/* In place of one entry, however wide it was left: takes no memory. */
	mas_lock(&mas);
	assert_non_null(mas_walk(&mas));
	mas_unlock(&mas);
	assert_int_equal(mtree_store_range(&mt, mas.index, mas.last, E('a'), GFP_NOWAIT), 0);
	mas_lock(&mas); /* a reader may wait for the lock */
	for (i = 0; i < 1000; i++) {
		mas_set(&mas, 4 * i);
		assert_int_equal(mas_store_gfp(&mas, E('b'), GFP_KERNEL), 0);
	}
	mas_unlock(&mas);
	urcu_bp_read_lock(); /* it would wait for itself */
	for (i = 0; i < 1000; i++)
		assert_int_equal(write_one(i, GFP_KERNEL), 0);
	mt_wait_retired(&mt);
	urcu_bp_read_unlock();
	mtree_destroy(&mt);
	end_reading();
	mt_wait_retired(&mt);
	assert_true(mt_retired_bytes() <= LIMIT);
	end_tree();
}

/* Under the least limit there is: a lock that is not the tree's own is held by then. */
static void who_holds_a_lock_of_its_own_does_not_wait(void **state)
{
	struct maple_tree tree;
	unsigned long i;

	(void)state;
	set_up_tree();
	begin_reading();
	for (i = 0; mt_retired_bytes() == 0; i++)
		assert_int_equal(write_one(i, GFP_KERNEL), 0);
	mt_set_retire_limit(1);
	mt_init_flags(&tree, MT_FLAGS_USE_RCU | MT_FLAGS_LOCK_EXTERN);
	assert_int_equal(mtree_store_range(&tree, 3, 5, E('a'), GFP_KERNEL), 0);
	__mt_destroy(&tree);
	end_reading();
	end_tree();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_for_readers_is_counted),
		cmocka_unit_test(a_tree_of_any_shape_is_counted),
		cmocka_unit_test(a_leaf_that_is_replaced_counts_as_one_node),
		cmocka_unit_test(a_snapshot_that_goes_counts_as_one_node),
		cmocka_unit_test(a_limit_makes_writers_wait_for_a_reader),
		cmocka_unit_test(who_may_not_wait_does_not),
		cmocka_unit_test(who_holds_a_lock_of_its_own_does_not_wait),
	};

	return cmocka_run_group_tests_name("retire", tests, NULL, NULL);
}
