/* SPDX-License-Identifier: MIT */
/*
 * test_entries.c - trees that hold references to their entries, case by case. test_family.c draws
 * at random.
 */
#include "fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu-bp.h>

/* Objects a .. z, as entries; how many references there are to each. */
static struct object {
	unsigned int references;
} objects[26] __attribute__((aligned(8)));

static struct object *object(char letter)
{
	return &objects[letter - 'a'];
}

static unsigned int count(char letter)
{
	return __atomic_load_n(&object(letter)->references, __ATOMIC_RELAXED);
}

static unsigned int gets, puts_done; /* calls */

static void get(void *entry)
{
	gets++;
	__atomic_add_fetch(&((struct object *)entry)->references, 1, __ATOMIC_RELAXED);
}

/* What mt_barrier() says in put(), if it is asked there. */
static bool asks_to_wait;
static int said_to_wait;

static void put(void *entry)
{
	struct object *object = entry;

	if (asks_to_wait)
		__atomic_store_n(&said_to_wait, mt_barrier(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&puts_done, 1, __ATOMIC_RELAXED);
	assert_true(object >= objects && object < objects + LENGTH(objects));
	assert_true(__atomic_fetch_sub(&object->references, 1, __ATOMIC_RELAXED));
}

static const struct mt_entry_ops ops = { get, put };

static void begin(struct maple_tree *mt, unsigned int flags)
{
	mt_init_flags(mt, flags);
	assert_int_equal(mt_set_entry_ops(mt, &ops), 0);
}

static void store(struct maple_tree *mt, unsigned long first, unsigned long last, char letter)
{
	assert_int_equal(mtree_store_range(mt, first, last, object(letter), GFP_KERNEL), 0);
}

/* How often the library hands something to liburcu; the name is found here before liburcu's. */
static unsigned long deferred;

/* How long a callback that does so takes, and how often one has begun to. */
static unsigned int callback_delay_us, delayed;
static pthread_t tester;

void urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	void (*real)(struct rcu_head *head, void (*func)(struct rcu_head *head));
	void *address = dlsym(RTLD_NEXT, "urcu_bp_call_rcu");

	__atomic_fetch_add(&deferred, 1, __ATOMIC_RELAXED);
	if (callback_delay_us && !pthread_equal(pthread_self(), tester)) {
		__atomic_fetch_add(&delayed, 1, __ATOMIC_RELEASE);
		usleep(callback_delay_us);
	}
	memcpy(&real, &address, sizeof(real));
	real(head, func);
}

static void nothing_is_referred_to(void)
{
	assert_int_equal(mt_barrier(), 0);
	for (char letter = 'a'; letter <= 'z'; letter++)
		assert_int_equal(count(letter), 0);
}

/* ---- which trees, which operations ---------------------------------------------------------- */

static void operations_are_set_while_a_tree_is_empty(void **state)
{
	static const struct mt_entry_ops no_put = { get, NULL }, no_get = { NULL, put };
	DEFINE_MTREE(mt);

	(void)state;
	assert_int_equal(mt_set_entry_ops(&mt, &no_put), -EINVAL);
	assert_int_equal(mt_set_entry_ops(&mt, &no_get), -EINVAL);
	store(&mt, 0, 0, 'a');
	assert_int_equal(count('a'), 0);
	assert_int_equal(mt_set_entry_ops(&mt, &ops), -EBUSY);
	mtree_erase(&mt, 0);
	assert_int_equal(mt_set_entry_ops(&mt, &ops), 0);
	store(&mt, 0, 0, 'a');
	assert_int_equal(count('a'), 1);
	assert_int_equal(mt_set_entry_ops(&mt, NULL), -EBUSY);
	mtree_destroy(&mt);
	assert_int_equal(mt_set_entry_ops(&mt, NULL), 0);
	store(&mt, 0, 0, 'a');
	assert_int_equal(count('a'), 0);
	mtree_destroy(&mt);
}

static void trees_that_share_have_the_same_operations(void **state)
{
	static const struct mt_entry_ops others = { get, put };
	struct maple_tree mt, other;

	(void)state;
	for (int lone = 0; lone < 2; lone++) {
		begin(&mt, 0);
		store(&mt, 0, lone ? 0 : 7, 'a');
		mt_init_flags(&other, 0);
		assert_int_equal(mtree_snapshot(&mt, &other, GFP_KERNEL), -EINVAL);
		assert_int_equal(mtree_dup(&mt, &other, GFP_KERNEL), -EINVAL);
		assert_int_equal(mt_set_entry_ops(&other, &others), 0);
		assert_int_equal(mtree_snapshot(&mt, &other, GFP_KERNEL), -EINVAL);
		assert_int_equal(count('a'), 1);
		assert_int_equal(mt_set_entry_ops(&other, &ops), 0);
		assert_int_equal(mtree_snapshot(&mt, &other, GFP_KERNEL), 0);
		assert_int_equal(count('a'), lone ? 2 : 1); /* one leaf, or two words */
		mtree_destroy(&other);
		assert_int_equal(mtree_dup(&mt, &other, GFP_KERNEL), 0);
		assert_int_equal(count('a'), 2);
		mtree_destroy(&mt);
		assert_int_equal(count('a'), 1);
		mtree_destroy(&other);
		nothing_is_referred_to();
	}
}

/* ---- each range is a reference -------------------------------------------------------------- */

static void ranges_are_counted(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin(&mt, 0);
	store(&mt, 10, 90, 'a');
	assert_int_equal(count('a'), 1);
	store(&mt, 40, 50, 'b'); /* divides it */
	assert_int_equal(count('a'), 2);
	assert_int_equal(count('b'), 1);
	store(&mt, 40, 50, 'b');
	assert_int_equal(count('b'), 1);
	store(&mt, 45, 60, 'c'); /* cuts both */
	assert_int_equal(count('a'), 2);
	assert_int_equal(count('b'), 1);
	store(&mt, 0, 90, 'd');
	assert_int_equal(count('a') + count('b') + count('c'), 0);
	assert_int_equal(count('d'), 1);
	assert_int_equal(mtree_insert(&mt, 5, object('e'), GFP_KERNEL), -EEXIST);
	assert_int_equal(count('e'), 0);
	assert_ptr_equal(mtree_erase(&mt, 5), object('d'));
	assert_true(mtree_empty(&mt));
	nothing_is_referred_to();
}

/* What only becomes shorter keeps its reference: neither function is called for it. */
static void only_what_comes_and_goes_is_counted(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin(&mt, 0);
	store(&mt, 10, 90, 'a');
	gets = puts_done = 0;
	store(&mt, 80, 95, 'b'); /* the end of a */
	assert_int_equal(gets, 1);
	store(&mt, 5, 15, 'c'); /* its beginning */
	assert_int_equal(gets, 2);
	store(&mt, 40, 50, 'd'); /* its middle: there are two of it now */
	assert_int_equal(gets, 4);
	assert_int_equal(puts_done, 0);
	store(&mt, 45, 60, 'e');
	assert_int_equal(gets, 5);
	assert_int_equal(puts_done, 0);
	store(&mt, 20, 85, 'f'); /* d, e and one of a are gone; what is cut stays */
	assert_int_equal(gets, 6);
	assert_int_equal(puts_done, 3);
	mtree_destroy(&mt);
	nothing_is_referred_to();
}

static void a_lone_entry_is_a_reference(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree mt;

		begin(&mt, flags);
		store(&mt, 0, 0, 'a');
		assert_int_equal(mt_height(&mt), 0);
		store(&mt, 0, 0, 'b');
		store(&mt, 7, 9, 'c');
		assert_int_equal(mt_barrier(), 0);
		assert_int_equal(count('b'), 1);
		assert_int_equal(count('c'), 1);
		mtree_erase(&mt, 8); /* one is left, again in the root word */
		assert_int_equal(mt_height(&mt), 0);
		assert_int_equal(mt_barrier(), 0);
		assert_int_equal(count('a'), 0);
		assert_int_equal(count('b'), 1);
		assert_int_equal(count('c'), 0);
		mtree_destroy(&mt);
		nothing_is_referred_to();
	}
}

static void zero_entries_are_not_counted(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);

	(void)state;
	begin(&mt, 0);
	mtree_lock(&mt);
	assert_int_equal(mas_store_gfp(&mas, XA_ZERO_ENTRY, GFP_KERNEL), 0);
	mas_set_range(&mas, 5, 9);
	assert_int_equal(mas_store_gfp(&mas, XA_ZERO_ENTRY, GFP_KERNEL), 0);
	mtree_unlock(&mt);
	store(&mt, 6, 7, 'a');
	assert_int_equal(count('a'), 1);
	mtree_destroy(&mt);
	nothing_is_referred_to();
}

/* A write over many leaves drops what is between as a whole. */
static void whole_subtrees_are_dropped(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree mt, snap;

		begin(&mt, flags);
		begin(&snap, flags);
		for (unsigned long i = 0; i < 5000; i++)
			store(&mt, 3 * i, 3 * i + 1, 'a');
		assert_int_equal(count('a'), 5000);
		assert_int_equal(mtree_snapshot(&mt, &snap, GFP_KERNEL), 0);
		assert_int_equal(count('a'), 5000);
		store(&mt, 100, 14000, 'b');
		assert_true(count('a') < 5050);
		mtree_destroy(&snap);
		assert_int_equal(mt_barrier(), 0);
		/* those that end before 100, and that begin behind 14000; one is cut */
		assert_int_equal(count('a'), 34 + 333);
		assert_int_equal(mtree_store_range(&mt, 0, ULONG_MAX, NULL, GFP_KERNEL), 0);
		nothing_is_referred_to();
	}
}

/* ---- when ------------------------------------------------------------------------------------ */

static void readers_keep_what_they_find(void **state)
{
	struct maple_tree mt;
	struct object *found;

	(void)state;
	begin(&mt, MT_FLAGS_USE_RCU);
	store(&mt, 5, 9, 'a');
	store(&mt, 20, 29, 'b');
	urcu_bp_read_lock();
	found = mtree_load(&mt, 7);
	store(&mt, 6, 8, 'c');
	store(&mt, 0, 15, 'd');
	mtree_erase(&mt, 25);
	assert_true(found->references);
	assert_int_equal(count('b'), 1);
	urcu_bp_read_unlock();
	mtree_destroy(&mt);
	nothing_is_referred_to();
}

/* Readers that find an object without references find one that is freed. */
static struct maple_tree contended;
static bool stop;

static void *read_all_the_time(void *unused)
{
	unsigned long reads = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct object *found;

		urcu_bp_read_lock();
		found = mtree_load(&contended, reads++ % 64);
		if (found && !__atomic_load_n(&found->references, __ATOMIC_RELAXED))
			unused = found;
		urcu_bp_read_unlock();
	}
	return unused;
}

static void readers_beside_writers_find_living_objects(void **state)
{
	pthread_t reader;
	void *dead;

	(void)state;
	begin(&contended, MT_FLAGS_USE_RCU);
	stop = false;
	assert_int_equal(pthread_create(&reader, NULL, read_all_the_time, NULL), 0);
	for (unsigned long i = 0; i < 20000; i++) {
		struct maple_tree snap;

		begin(&snap, MT_FLAGS_USE_RCU);
		if (i % 16 == 0)
			assert_int_equal(mtree_snapshot(&contended, &snap, GFP_KERNEL), 0);
		store(&contended, i * 7 % 64, i * 7 % 64 + i % 5, (char)('a' + i % 26));
		mtree_erase(&contended, i * 11 % 64);
		if (i % 16 == 0)
			store(&snap, i % 64, i % 64, 'a');
		mtree_destroy(&snap);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(reader, &dead);
	assert_null(dead);
	mtree_destroy(&contended);
	nothing_is_referred_to();
}

/* In RCU mode; nothing waits to be freed. */
static void begin_of_twenty(struct maple_tree *mt)
{
	begin(mt, MT_FLAGS_USE_RCU);
	for (unsigned long i = 0; i < 20; i++)
		store(mt, 2 * i, 2 * i, 'a');
	assert_int_equal(mt_barrier(), 0);
}

/*
 * Stores that replace one entry each while nobody's grace period can end: one call_rcu() for all,
 * and no further write is needed for what they replaced.
 */
static void stores_share_grace_periods(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin_of_twenty(&mt);
	puts_done = 0;
	urcu_bp_read_lock();
	__atomic_store_n(&deferred, 0, __ATOMIC_RELAXED);
	for (unsigned long i = 0; i < 1000; i++)
		store(&mt, 2 * (i % 20), 2 * (i % 20), i % 40 < 20 ? 'b' : 'c');
	assert_int_equal(deferred, 1);
	assert_int_equal(puts_done, 0);
	urcu_bp_read_unlock();
	urcu_bp_barrier(); /* the first, whose callback defers the others */
	urcu_bp_barrier();
	assert_int_equal(puts_done, 1000);
	assert_int_equal(deferred, 2);
	mtree_destroy(&mt);
	nothing_is_referred_to();
}

/* Threads that write to trees of their own; each batch is freed, whoever defers it. */
static void *replace_all_the_time(void *unused)
{
	struct maple_tree mt;

	begin(&mt, MT_FLAGS_USE_RCU);
	for (unsigned long i = 0; i < 30000; i++)
		store(&mt, i % 10, i % 10, (char)('a' + i % 26));
	mtree_destroy(&mt);
	return unused;
}

static void stores_of_several_threads_share_grace_periods(void **state)
{
	pthread_t thread[4];

	(void)state;
	for (unsigned int i = 0; i < LENGTH(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, replace_all_the_time, NULL), 0);
	for (unsigned int i = 0; i < LENGTH(thread); i++)
		pthread_join(thread[i], NULL);
	nothing_is_referred_to();
}

/*
 * What was given up while a callback is handing over what was before: mt_barrier() returned while it
 * still waited for the next callback.
 */
static void regress_a_barrier_waits_for_all_that_is_gathered(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin_of_twenty(&mt);
	tester = pthread_self();
	delayed = 0;
	callback_delay_us = 50000;
	urcu_bp_read_lock();
	store(&mt, 0, 0, 'b'); /* its grace period cannot end yet */
	store(&mt, 2, 2, 'b');
	urcu_bp_read_unlock();
	while (!__atomic_load_n(&delayed, __ATOMIC_ACQUIRE))
		usleep(100);
	store(&mt, 4, 4, 'b');
	assert_int_equal(mt_barrier(), 0);
	assert_int_equal(count('a'), 17);
	callback_delay_us = 0;
	mtree_destroy(&mt);
	nothing_is_referred_to();
}

/* It is called by the thread for which it would wait. */
static void a_put_must_not_wait_for_others(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin_of_twenty(&mt);
	asks_to_wait = true;
	store(&mt, 0, 0, 'b');
	assert_int_equal(mt_barrier(), 0);
	assert_int_equal(count('a'), 19);
	assert_int_equal(__atomic_load_n(&said_to_wait, __ATOMIC_RELAXED), -EDEADLK);
	asks_to_wait = false;
	mtree_destroy(&mt);
	nothing_is_referred_to();
}

/* ---- memory --------------------------------------------------------------------------------- */

static long allowed, asked;

static void *scarce_alloc(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	asked++;
	return allowed-- > 0 ? aligned_alloc(align, size) : NULL;
}

static void scarce_free(void *ctx, void *block, size_t size)
{
	(void)ctx, (void)size;
	free(block);
}

static const struct mt_allocator scarce = { scarce_alloc, scarce_free, NULL };

static unsigned int all_counts(void)
{
	unsigned int sum = 0;

	for (char letter = 'a'; letter <= 'z'; letter++)
		sum += count(letter);
	return sum;
}

/* Each store with the first allocation refused, the second, and so on until it succeeds. */
static void stores_without_memory_count_nothing(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree mt, snap;

		begin(&mt, flags);
		begin(&snap, flags);
		mt_set_allocator(&mt, &scarce);
		mt_set_allocator(&snap, &scarce);
		for (unsigned long i = 0; i < (flags & MT_FLAGS_USE_RCU ? 60 : 500); i++) {
			unsigned long first = i * 37 % 500, last = first + i % 23 * (i % 7);
			void *entry = i % 5 ? object((char)('a' + i % 26)) : NULL;
			unsigned int before;
			int error;

			if (flags & MT_FLAGS_USE_RCU)
				assert_int_equal(mt_barrier(), 0); /* hundredths of a second */
			before = all_counts();
			for (long more = 0;; more++) {
				allowed = more;
				error = mtree_store_range(&mt, first, last, entry, GFP_KERNEL);
				allowed = 0;
				if (!error)
					break;
				assert_int_equal(error, -ENOMEM);
				assert_int_equal(all_counts(), before);
			}
			if (i % 12)
				continue;
			mtree_destroy(&snap);
			assert_int_equal(mtree_snapshot(&mt, &snap, GFP_KERNEL), 0);
		}
		mtree_destroy(&mt);
		mtree_destroy(&snap);
		nothing_is_referred_to();
	}
}

/* Outside RCU mode what changes one leaf in place needs no memory, as in any tree. */
static void stores_in_place_need_no_memory(void **state)
{
	struct maple_tree mt;

	(void)state;
	begin(&mt, 0);
	mt_set_allocator(&mt, &scarce);
	allowed = 1000;
	for (unsigned long i = 0; i < 100; i++)
		store(&mt, 10 * i, 10 * i + 5, 'a');
	allowed = 0;
	for (unsigned long i = 0; i < 100; i++)
		store(&mt, 10 * i, 10 * i + 5, 'b');
	assert_int_equal(count('a'), 0);
	assert_int_equal(count('b'), 100);
	mtree_destroy(&mt);
	nothing_is_referred_to();
}

static void a_copy_without_memory_counts_nothing(void **state)
{
	struct maple_tree mt, copy;

	(void)state;
	begin(&mt, 0);
	begin(&copy, 0);
	mt_set_allocator(&copy, &scarce);
	for (unsigned long i = 0; i < 500; i++)
		store(&mt, 2 * i, 2 * i, 'a');
	for (long more = 0;; more += 7) {
		allowed = more;
		if (!mtree_dup(&mt, &copy, GFP_KERNEL))
			break;
		assert_int_equal(count('a'), 500);
	}
	assert_int_equal(count('a'), 1000);
	mtree_destroy(&copy);
	mtree_destroy(&mt);
	nothing_is_referred_to();
}

/* Without memory to defer it, destroying a tree waits for readers itself. */
static void trees_are_destroyed_without_memory(void **state)
{
	(void)state;
	for (unsigned long last = 0; last < 2; last++) {
		struct maple_tree mt;

		begin(&mt, MT_FLAGS_USE_RCU);
		mt_set_allocator(&mt, &scarce);
		allowed = 1000;
		store(&mt, 0, last, 'a');
		assert_int_equal(mt_height(&mt), last);
		allowed = 0;
		mtree_destroy(&mt);
		assert_int_equal(count('a'), 0);
	}
}

/*
 * Beside readers a store has at hand: a copy of the leaf and the batch that the leaf would go to;
 * for each reference that is dropped a place in a batch, which those before may have filled.
 */
static void a_store_takes_no_more_than_it_may_need(void **state)
{
	(void)state;
	for (unsigned int flags = MT_FLAGS_USE_RCU; flags < 4; flags++) {
		struct maple_tree mt;

		begin(&mt, flags);
		mt_set_allocator(&mt, &scarce);
		allowed = 1000;
		store(&mt, 0, 20, 'a');
		store(&mt, 21, 50, 'b');
		asked = 0;
		store(&mt, 51, 60, 'c');
		assert_int_equal(asked, 2);
		store(&mt, 0, 20, 'd');
		assert_int_equal(asked, 2 + 4);
		mtree_destroy(&mt);
		nothing_is_referred_to();
	}
}

static void reserves_cover_the_references(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 4; flags++) {
		struct maple_tree mt;
		MA_STATE(mas, &mt, 0, 0);

		begin(&mt, flags);
		mt_set_allocator(&mt, &scarce);
		allowed = 1000000;
		for (unsigned long i = 0; i < 200; i++)
			store(&mt, i, i, 'a');
		mtree_lock(&mt);
		for (unsigned long i = 0; i < 150; i++) {
			allowed = 1000;
			mas_set_range(&mas, i, i + i % 40);
			assert_int_equal(mas_preallocate(&mas, object('b'), GFP_KERNEL), 0);
			allowed = 0;
			mas_store_prealloc(&mas, object('b'));
		}
		allowed = 1000;
		assert_int_equal(mas_reserve(&mas, 5, 10), 0);
		allowed = 0;
		for (unsigned long i = 0; i < 5; i++) {
			mas_set_range(&mas, 40 * i, 40 * i + 30);
			assert_int_equal(mas_store_gfp(&mas, object('c'), GFP_NOWAIT), 0);
		}
		mas_destroy(&mas);
		mtree_unlock(&mt);
		mtree_destroy(&mt);
		nothing_is_referred_to();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_are_set_while_a_tree_is_empty),
		cmocka_unit_test(trees_that_share_have_the_same_operations),
		cmocka_unit_test(ranges_are_counted),
		cmocka_unit_test(only_what_comes_and_goes_is_counted),
		cmocka_unit_test(a_lone_entry_is_a_reference),
		cmocka_unit_test(zero_entries_are_not_counted),
		cmocka_unit_test(whole_subtrees_are_dropped),
		cmocka_unit_test(readers_keep_what_they_find),
		cmocka_unit_test(readers_beside_writers_find_living_objects),
		cmocka_unit_test(stores_share_grace_periods),
		cmocka_unit_test(stores_of_several_threads_share_grace_periods),
		cmocka_unit_test(regress_a_barrier_waits_for_all_that_is_gathered),
		cmocka_unit_test(a_put_must_not_wait_for_others),
		cmocka_unit_test(stores_without_memory_count_nothing),
		cmocka_unit_test(stores_in_place_need_no_memory),
		cmocka_unit_test(a_copy_without_memory_counts_nothing),
		cmocka_unit_test(trees_are_destroyed_without_memory),
		cmocka_unit_test(a_store_takes_no_more_than_it_may_need),
		cmocka_unit_test(reserves_cover_the_references),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
