/* SPDX-License-Identifier: MIT */
/*
 * test_memory.c - lack of memory: every allocation of every changing call fails in turn; the call
 * fails with -ENOMEM and changes nothing, or succeeds; nothing is leaked.
 */
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <urcu-bp.h>

#include "../sanitizer.h"

/* An allocator that fails from the allocation number @fail_at on, @failures times. */
struct memory {
	long blocks;
	long allocations;
	long fail_at;
	long failures;
};

static struct memory memory;

static void *memory_alloc(void *ctx, size_t size, size_t align)
{
	struct memory *m = ctx;
	long number = m->allocations++;

	if (number >= m->fail_at && number < m->fail_at + m->failures)
		return NULL;
	__atomic_add_fetch(&m->blocks, 1, __ATOMIC_RELAXED);
	return aligned_alloc(align, size);
}

static void memory_free(void *ctx, void *block, size_t size)
{
	struct memory *m = ctx;

	(void)size;
	__atomic_sub_fetch(&m->blocks, 1, __ATOMIC_RELAXED);
	free(block);
}

static const struct mt_allocator allocator = { memory_alloc, memory_free, &memory };

static int set_up(void **state)
{
	(void)state;
	memory = (struct memory){ 0 };
	return 0;
}

static void never_fail(void)
{
	memory.allocations = 0;
	memory.fail_at = 0;
	memory.failures = 0;
}

static void fail_from(long number, long failures)
{
	memory.allocations = 0;
	memory.fail_at = number;
	memory.failures = failures;
}

/* A tree of @count entries of 3, a gap of 1 after each. */
static void build(struct maple_tree *mt, unsigned int flags, unsigned long count)
{
	never_fail();
	mt_init_flags(mt, flags);
	mtree_lock(mt);
	assert_int_equal(mt_set_allocator(mt, &allocator), 0);
	mtree_unlock(mt);
	fill(mt, 4, 3, 4, count);
}

static void expect_untouched(struct maple_tree *mt, unsigned long count)
{
	assert_true(mt_check(mt, NULL));
	for (unsigned long i = 0; i < 4 * count + 12; i++)
		assert_ptr_equal(mtree_load(mt, i), i < 4 || i >= 4 * count + 4 || i % 4 == 3 ?
					 NULL : xa_mk_value(i / 4 - 1));
}

static void expect_no_leak(struct maple_tree *mt)
{
	never_fail();
	mtree_destroy(mt);
	rcu_barrier();
	assert_int_equal(memory.blocks, 0);
}

/* The calls: each returns 0 or -ENOMEM, on a tree of @count entries. */
typedef int (*call)(struct maple_tree *mt, unsigned long count);

static int call_store(struct maple_tree *mt, unsigned long count)
{
	return mtree_store_range(mt, 4 * (count / 2) + 1, 4 * (count / 2) + 1, E('x'), GFP_KERNEL);
}

static int call_overwrite(struct maple_tree *mt, unsigned long count)
{
	return mtree_store_range(mt, count + 1, 3 * count + 1, E('x'), GFP_KERNEL);
}

static int call_append(struct maple_tree *mt, unsigned long count)
{
	return mtree_insert_range(mt, 4 * count + 8, 4 * count + 9, E('x'), GFP_KERNEL);
}

static int call_clear(struct maple_tree *mt, unsigned long count)
{
	return mtree_store_range(mt, 5, 4 * count + 1, NULL, GFP_KERNEL);
}

static int call_alloc(struct maple_tree *mt, unsigned long count)
{
	unsigned long start;

	if (!(mt->ma_flags & MT_FLAGS_ALLOC_RANGE))
		return call_append(mt, count);
	return mtree_alloc_rrange(mt, &start, E('x'), 1, 4, 4 * count + 3, GFP_KERNEL);
}

static int call_store_gfp(struct maple_tree *mt, unsigned long count)
{
	MA_STATE(mas, mt, 2 * count, 2 * count + 7);
	int error;

	mas_lock(&mas);
	error = mas_store_gfp(&mas, E('x'), GFP_KERNEL);
	assert_int_equal(mas_is_err(&mas), error != 0);
	mas_destroy(&mas);
	mas_unlock(&mas);
	return error;
}

static int call_mas_store(struct maple_tree *mt, unsigned long count)
{
	MA_STATE(mas, mt, count, 2 * count);
	int error = 0;

	mas_lock(&mas);
	mas_store(&mas, E('x'));
	if (mas_is_err(&mas)) {
		error = xa_err(mas.node);
		assert_ptr_equal(mas.node, MA_ERROR(-ENOMEM));
	}
	mas_destroy(&mas);
	mas_unlock(&mas);
	return error;
}

static int call_mas_erase(struct maple_tree *mt, unsigned long count)
{
	MA_STATE(mas, mt, 4 * (count / 2) + 4, 4 * (count / 2) + 4);
	int error = 0;
	void *old;

	mas_lock(&mas);
	old = mas_erase(&mas);
	if (mas_is_err(&mas)) {
		error = xa_err(mas.node);
		assert_null(old);
	}
	mas_destroy(&mas);
	mas_unlock(&mas);
	return error;
}

static int call_prealloc(struct maple_tree *mt, unsigned long count)
{
	MA_STATE(mas, mt, 4 * (count / 3) + 5, 4 * (count / 3) + 5);
	int error;

	mas_lock(&mas);
	error = mas_preallocate(&mas, E('x'), GFP_KERNEL);
	if (error == 0) {
		fail_from(0, 1000); /* from here on nothing may be needed */
		mas_store_prealloc(&mas, E('x'));
		assert_false(mas_is_err(&mas));
	}
	mas_unlock(&mas);
	return error;
}

static const call calls[] = { call_store, call_overwrite, call_append, call_clear, call_alloc,
			      call_store_gfp, call_mas_store, call_mas_erase, call_prealloc };

static void fail_in_turn(call change, unsigned int flags, unsigned long count)
{
	struct maple_tree mt;
	long number = 0;
	int error;

	build(&mt, flags, count);
	do {
		assert_true(number < 100);
		fail_from(number++, 1000);
		error = change(&mt, count);
		assert_true(error == 0 || error == -ENOMEM);
		if (error)
			expect_untouched(&mt, count);
	} while (error);
	assert_true(mt_check(&mt, NULL));
	expect_no_leak(&mt);
}

static void every_allocation_fails_in_turn(void **state)
{
	static const unsigned long counts[] = { 3, 7, 8, 20, 100, 1500 };

	(void)state;
	for (size_t i = 0; i < LENGTH(calls); i++) {
		for (unsigned int flags = 0; flags < 4; flags++) {
			for (size_t j = 0; j < LENGTH(counts); j++)
				fail_in_turn(calls[i], flags, counts[j]);
		}
	}
}

static void a_failed_copy_is_left_empty(void **state)
{
	struct maple_tree old, new;
	long number = 0;
	int error;

	(void)state;
	build(&old, MT_FLAGS_ALLOC_RANGE, 300);
	mt_init_flags(&new, MT_FLAGS_ALLOC_RANGE);
	assert_int_equal(mt_set_allocator(&new, &allocator), 0);
	do {
		assert_true(number < 1000);
		fail_from(number++, 1000);
		error = mtree_dup(&old, &new, GFP_KERNEL);
		assert_true(error == 0 || error == -ENOMEM);
		if (error)
			expect_content(&new, "");
	} while (error);
	assert_true(number > 20);
	expect_untouched(&new, 300);
	expect_untouched(&old, 300);
	mtree_destroy(&new);
	expect_no_leak(&old);
}

static void nomem_says_whether_to_repeat(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 9, 150);
	unsigned int rounds = 0;

	(void)state;
	build(&mt, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, 100);
	fail_from(0, 1);
	mas_lock(&mas);
	do {
		rounds++;
		mas_store(&mas, E('x'));
	} while (mas_nomem(&mas, GFP_KERNEL));
	mas_unlock(&mas);
	mas_destroy(&mas);
	assert_int_equal(rounds, 2);
	assert_ptr_equal(mtree_load(&mt, 150), E('x'));
	assert_true(mt_check(&mt, NULL));

	mas_set_range(&mas, 13, 250);
	fail_from(0, 1000);
	mas_lock(&mas);
	mas_store(&mas, E('y'));
	assert_true(mas_is_err(&mas));
	assert_false(mas_nomem(&mas, GFP_KERNEL)); /* still none */
	mas_destroy(&mas);
	mas_unlock(&mas);
	assert_ptr_equal(mtree_load(&mt, 13), E('x'));
	assert_ptr_equal(mtree_load(&mt, 250), xa_mk_value(61));
	expect_no_leak(&mt);
}

/* A preallocation that found no memory is repeated with what it lacked. */
static void nomem_reserves_what_a_preallocation_lacked(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 9, 150);
	unsigned int needed;

	(void)state;
	build(&mt, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, 100);
	mas_lock(&mas);
	assert_int_equal(mas_preallocate(&mas, E('x'), GFP_KERNEL), 0);
	needed = mas.reserve_count;
	assert_true(needed > 0);
	/* There is no error: what is left over goes back. */
	assert_false(mas_nomem(&mas, GFP_KERNEL));
	assert_int_equal(mas.reserve_count, 0);
	assert_int_equal(mas_preallocate(&mas, E('x'), GFP_NOWAIT), -ENOMEM);
	assert_int_equal(mas.reserve_count, 0);
	assert_true(mas_nomem(&mas, GFP_KERNEL));
	assert_int_equal(mas.reserve_count, needed);
	mas_set_range(&mas, 9, 150);
	fail_from(0, 1000);
	mas_store_prealloc(&mas, E('x'));
	mas_destroy(&mas);
	mas_unlock(&mas);
	assert_ptr_equal(mtree_load(&mt, 150), E('x'));
	expect_no_leak(&mt);
}

static void nomem_leaves_an_external_lock_alone(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 9, 150);

	(void)state;
	build(&mt, MT_FLAGS_LOCK_EXTERN, 0);
	fail_from(0, 1);
	mas_store(&mas, E('x'));
	assert_true(mas_is_err(&mas));
	assert_true(mas_nomem(&mas, GFP_KERNEL));
	assert_true(mtree_trylock(&mt)); /* nobody has it */
	mtree_unlock(&mt);
	mas_store(&mas, E('x'));
	assert_false(mas_nomem(&mas, GFP_KERNEL));
	expect_content(&mt, "9-96:x");
	assert_int_equal(memory.blocks, 1);
	expect_no_leak(&mt);
}

static void more_is_expected_than_memory_holds(void **state)
{
	static const unsigned long counts[] = { ULONG_MAX, ULONG_MAX / 4 + 1, ULONG_MAX / 4 };
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);
	size_t i;

	(void)state;
	build(&mt, MT_FLAGS_USE_RCU, 0);
	fail_from(0, LONG_MAX);
	for (i = 0; i < LENGTH(counts); i++) {
		assert_int_equal(mas_expected_entries(&mas, counts[i]), -ENOMEM);
		assert_true(mas_is_err(&mas));
		mas_reset(&mas);
	}
	mas_destroy(&mas);
	expect_no_leak(&mt);
}

/* What was reserved before stays reserved, and is given back in the end. */
static void a_reserve_that_cannot_grow_is_kept(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);
	unsigned int reserved;

	(void)state;
	build(&mt, 0, 3);
	assert_int_equal(mas_expected_entries(&mas, 10), 0);
	reserved = mas.reserve_count;
	assert_true(reserved > 0);
	fail_from(1, 1000);
	assert_int_equal(mas_expected_entries(&mas, 10000), -ENOMEM);
	assert_int_equal(mas.reserve_count, reserved);
	assert_int_equal(mas_reserve(&mas, 100, 100), -ENOMEM);
	assert_int_equal(mas.reserve_count, reserved);
	mas_destroy(&mas);
	expect_untouched(&mt, 3);
	expect_no_leak(&mt);
}

/* Sanitizers, and valgrind, for which SLAB_SANITIZED is defined, do not go on without memory. */
#if !defined(SANITIZED) && !defined(SLAB_SANITIZED)
#define MEMORY_RUNS_OUT
#endif

#ifdef MEMORY_RUNS_OUT
static void the_default_allocator_runs_out(void **state)
{
	struct rlimit limit, none;
	unsigned long i, count = 0, loaded = 0;
	int error;
	DEFINE_MTREE(mt);

	(void)state;
	if (getenv("EMULATED")) /* qemu-user does not keep to limits */
		skip();
	assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	do
		error = mtree_store(&mt, 3 * count, xa_mk_value(count), GFP_KERNEL);
	while (!error && ++count < 10000000);
	for (i = 0; i < 3 * count + 10; i++)
		loaded += mtree_load(&mt, i) ==
			  (i % 3 || i >= 3 * count ? NULL : xa_mk_value(i / 3));
	setrlimit(RLIMIT_AS, &limit); /* now the test may fail */
	assert_int_equal(error, -ENOMEM);
	assert_int_equal(loaded, i);
	assert_true(mt_check(&mt, NULL));
	assert_int_equal(mtree_store(&mt, 3 * count, xa_mk_value(count), GFP_KERNEL), 0);
	end(&mt);
}
#endif

/* In RCU mode, too; and it may go on with another allocator. */
static void an_emptied_tree_keeps_no_memory(void **state)
{
	static const unsigned int modes[] = { 0, MT_FLAGS_USE_RCU, MT_FLAGS_ALLOC_RANGE,
					      MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE };
	static const unsigned long counts[] = { 1, 2, 5, 20, 500 };
	struct maple_tree mt;

	(void)state;
	for (size_t i = 0; i < LENGTH(modes); i++) {
		for (size_t j = 0; j < LENGTH(counts); j++) {
			build(&mt, modes[i], counts[j]);
			for (unsigned long k = 0; k < counts[j]; k++)
				assert_non_null(mtree_erase(&mt, 4 * k + 4));
			assert_true(mtree_empty(&mt));
			rcu_barrier();
			assert_int_equal(memory.blocks, 0);
			build(&mt, modes[i], counts[j]);
			assert_int_equal(mtree_store_range(&mt, 0, ULONG_MAX, NULL, GFP_KERNEL), 0);
			assert_int_equal(mt_set_allocator(&mt, NULL), 0);
			assert_int_equal(mtree_store(&mt, 5, E('a'), GFP_KERNEL), 0);
			assert_int_equal(mt_set_allocator(&mt, &allocator), -EBUSY);
			end(&mt);
			rcu_barrier();
			assert_int_equal(memory.blocks, 0);
		}
	}
}

/* The kinds of write that change a leaf in place: see write_kind.h. */
static void some_writes_take_no_memory(void **state)
{
	static const unsigned int modes[] = { 0, MT_FLAGS_USE_RCU, MT_FLAGS_ALLOC_RANGE,
					      MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE };
	struct maple_tree mt;
	size_t i;

	(void)state;
	for (i = 0; i < LENGTH(modes); i++) {
		build(&mt, modes[i], 0);
		mtree_store_range(&mt, 0x10, 0x1f, E('a'), GFP_KERNEL);
		mtree_store_range(&mt, 0x20, 0x2f, E('b'), GFP_KERNEL);
		fail_from(0, LONG_MAX);
		assert_int_equal(mtree_store_range(&mt, 0x20, 0x2f, E('c'), GFP_KERNEL), 0);
		expect_content(&mt, "10-1f:a 20-2f:c");
		assert_int_equal(mtree_store_range(&mt, 0x10, 0x24, E('a'), GFP_KERNEL), 0);
		expect_content(&mt, "10-24:a 25-2f:c");
		assert_int_equal(mtree_store_range(&mt, 0x1c, 0x2f, E('c'), GFP_KERNEL), 0);
		expect_content(&mt, "10-1b:a 1c-2f:c");
		assert_int_equal(mtree_store_range(&mt, 8, 0x1b, E('a'), GFP_KERNEL), 0);
		expect_content(&mt, "8-1b:a 1c-2f:c");
		assert_int_equal(mtree_store_range(&mt, 0x40, 0x41, E('d'), GFP_KERNEL), 0);
		expect_content(&mt, "8-1b:a 1c-2f:c 40-41:d");
		assert_int_equal(mtree_store_range(&mt, 0x42, ULONG_MAX, E('e'), GFP_KERNEL), 0);
		expect_content(&mt, "8-1b:a 1c-2f:c 40-41:d 42-max:e");
		assert_ptr_equal(mtree_erase(&mt, 0x42), E('e'));
		assert_ptr_equal(mtree_erase(&mt, 0x40), E('d'));
		expect_content(&mt, "8-1b:a 1c-2f:c");
		assert_int_equal(mtree_store_range(&mt, 2, 3, E('g'), GFP_KERNEL), 0);
		assert_int_equal(mtree_store_range(&mt, 0, 0, E('h'), GFP_KERNEL), 0);
		assert_int_equal(mtree_store_range(&mt, 0x18, 0x1b, NULL, GFP_KERNEL), 0);
		assert_int_equal(mtree_store_range(&mt, 8, 0xf, E('i'), GFP_KERNEL), 0);
		expect_content(&mt, "0:h 2-3:g 8-f:i 10-17:a 1c-2f:c");
		assert_int_equal(mtree_store_range(&mt, 0x10, 0x1b, E('a'), GFP_KERNEL), 0);
		assert_int_equal(mtree_store_range(&mt, 8, 0x1b, E('a'), GFP_KERNEL), 0);
		assert_ptr_equal(mtree_erase(&mt, 3), E('g'));
		assert_ptr_equal(mtree_erase(&mt, 0), E('h'));
		expect_content(&mt, "8-1b:a 1c-2f:c");
		assert_int_equal(memory.allocations, 0);
		assert_int_equal(mtree_store(&mt, 0x0a, E('f'), GFP_KERNEL),
				 modes[i] & MT_FLAGS_USE_RCU ? -ENOMEM : 0);
		expect_no_leak(&mt);
	}
}

/* The node that a place split off must not be joined again when the place is given back. */
static void taking_and_giving_back_a_place_settles(void **state)
{
	struct maple_tree mt;
	unsigned long n, i, start;

	(void)state;
	for (n = 4; n < 80; n++) {
		build(&mt, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU, 0);
		for (i = 0; i < n; i++)
			mtree_store_range(&mt, 0x10000 + i * 0x20,
					  0x10000 + i * 0x20 + 0x18 + i % 8, xa_mk_value(i),
					  GFP_KERNEL);
		for (i = 0; i < 20; i++) {
			if (i == 4)
				fail_from(0, LONG_MAX);
			assert_int_equal(mtree_alloc_rrange(&mt, &start, E('a'), 0x100, 0x1000,
							    0xffff, GFP_KERNEL), 0);
			assert_ptr_equal(mtree_erase(&mt, start), E('a'));
		}
		assert_int_equal(memory.allocations, 0);
		expect_no_leak(&mt);
	}
}

static void who_may_not_wait_gets_no_memory(void **state)
{
	static const gfp_t masks[] = { GFP_NOWAIT, GFP_ATOMIC, GFP_KERNEL & GFP_NOWAIT };
	struct maple_tree mt;

	(void)state;
	for (size_t i = 0; i < LENGTH(masks); i++) {
		build(&mt, 0, 0);
		assert_int_equal(mtree_store_range(&mt, 5, 9, E('a'), masks[i]), -ENOMEM);
		assert_int_equal(memory.allocations, 0);
		expect_content(&mt, "");
		assert_int_equal(mtree_store(&mt, 0, E('a'), masks[i]), 0); /* needs no node */
		expect_content(&mt, "0:a");
		expect_no_leak(&mt);
	}
}

static void what_was_reserved_serves_who_may_not_wait(void **state)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 5, 5);

	(void)state;
	build(&mt, MT_FLAGS_ALLOC_RANGE, 8);
	mas_lock(&mas);
	assert_int_equal(mas_preallocate(&mas, E('x'), GFP_KERNEL), 0);
	fail_from(0, 1000);
	assert_int_equal(mas_store_gfp(&mas, E('x'), GFP_NOWAIT), 0);
	mas_destroy(&mas);
	mas_unlock(&mas);
	assert_ptr_equal(mtree_load(&mt, 5), E('x'));
	expect_no_leak(&mt);
}

static void bulk_mode_fails_as_a_whole_or_not_at_all(void **state)
{
	struct maple_tree mt;
	long number = 0;
	int error;

	(void)state;
	build(&mt, 0, 0);
	do {
		MA_STATE(mas, &mt, 0, 0);

		fail_from(number++, 100000);
		mtree_lock(&mt);
		error = mas_expected_entries(&mas, 500);
		assert_true(error == 0 || error == -ENOMEM);
		fail_from(0, 100000);
		for (unsigned long i = 0; error == 0 && i < 500; i++) {
			mas.index = 4 * i + 4;
			mas.last = 4 * i + 6;
			mas_store(&mas, xa_mk_value(i));
			assert_false(mas_is_err(&mas));
		}
		mas_destroy(&mas);
		mtree_unlock(&mt);
	} while (error);
	expect_untouched(&mt, 500);
	expect_no_leak(&mt);
}

/* Stores of all shapes anywhere, after which a tree may be higher: none asks for memory. */
static void what_is_reserved_lasts(unsigned int flags, unsigned long entries, unsigned long stores,
				   uint32_t seed)
{
	struct maple_tree mt;
	MA_STATE(mas, &mt, 0, 0);

	build(&mt, flags, entries);
	mas_lock(&mas);
	assert_int_equal(mas_reserve(&mas, stores, 2 * stores), 0);
	fail_from(0, LONG_MAX);
	/* Enough already, and never so much. */
	assert_int_equal(mas_reserve(&mas, stores, 2 * stores), 0);
	assert_int_equal(mas_reserve(&mas, ULONG_MAX, 2), -ENOMEM);
	assert_int_equal(mas_reserve(&mas, 100 * stores, 2), -ENOMEM);
	for (unsigned long i = 0; i < stores; i++) {
		unsigned long first;

		seed = seed * 1664525 + 1013904223;
		first = (seed >> 8) % (4 * entries + 8);
		mas_set_range(&mas, first, first + (seed >> 4) % (i % 3 ? 2 : 40));
		if (mas_store_gfp(&mas, i % 4 ? xa_mk_value(i) : NULL, GFP_NOWAIT))
			fail_msg("store %lu of %lu into %lu entries, seed %u", i, stores, entries,
				 (unsigned int)seed);
	}
	never_fail();
	mas_destroy(&mas);
	mas_unlock(&mas);
	assert_true(mt_check(&mt, NULL));
	expect_no_leak(&mt);
}

static void reserved_stores_do_not_fail(void **state)
{
	static const unsigned int flags[] = { 0, MT_FLAGS_ALLOC_RANGE, MT_FLAGS_USE_RCU,
					      MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU };
	static const unsigned long entries[] = { 0, 1, 7, 30, 200, 3000 };
	static const unsigned long stores[] = { 1, 2, 8, 60, 700 };

	(void)state;
	for (size_t f = 0; f < LENGTH(flags); f++)
		for (size_t e = 0; e < LENGTH(entries); e++)
			for (size_t s = 0; s < LENGTH(stores); s++)
				for (uint32_t seed = 1; seed < (stores[s] < 60 ? 40u : 4u); seed++)
					what_is_reserved_lasts(flags[f], entries[e], stores[s],
							       seed * 77777);
}

static void the_allocator_is_chosen_while_empty(void **state)
{
	struct maple_tree mt;

	(void)state;
	build(&mt, 0, 3);
	assert_int_equal(mt_set_allocator(&mt, NULL), -EBUSY);
	assert_true(memory.blocks > 0);
	mtree_destroy(&mt);
	rcu_barrier();
	assert_int_equal(memory.blocks, 0);
	assert_int_equal(mt_set_allocator(&mt, NULL), 0);
	fill(&mt, 0, 1, 2, 10);
	assert_int_equal(memory.blocks, 0);
	end(&mt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_allocation_fails_in_turn, set_up),
		cmocka_unit_test_setup(a_failed_copy_is_left_empty, set_up),
		cmocka_unit_test_setup(nomem_says_whether_to_repeat, set_up),
		cmocka_unit_test_setup(nomem_reserves_what_a_preallocation_lacked, set_up),
		cmocka_unit_test_setup(nomem_leaves_an_external_lock_alone, set_up),
		cmocka_unit_test_setup(more_is_expected_than_memory_holds, set_up),
		cmocka_unit_test_setup(a_reserve_that_cannot_grow_is_kept, set_up),
		cmocka_unit_test_setup(an_emptied_tree_keeps_no_memory, set_up),
		cmocka_unit_test_setup(some_writes_take_no_memory, set_up),
		cmocka_unit_test_setup(taking_and_giving_back_a_place_settles, set_up),
#ifdef MEMORY_RUNS_OUT
		cmocka_unit_test(the_default_allocator_runs_out),
#endif
		cmocka_unit_test_setup(who_may_not_wait_gets_no_memory, set_up),
		cmocka_unit_test_setup(what_was_reserved_serves_who_may_not_wait, set_up),
		cmocka_unit_test_setup(bulk_mode_fails_as_a_whole_or_not_at_all, set_up),
		cmocka_unit_test_setup(reserved_stores_do_not_fail, set_up),
		cmocka_unit_test_setup(the_allocator_is_chosen_while_empty, set_up),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
