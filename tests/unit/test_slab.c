/* SPDX-License-Identifier: MIT */
/*
 * test_slab.c - the default node allocator: blocks are aligned, distinct and reused, whoever frees
 * them; emptied slabs go back.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "slab.h"

#define MANY 60000ul /* 15 MB: slabs of both sizes */

static struct mt_node *block[MANY];

static void take(unsigned long from, unsigned long to)
{
	for (unsigned long i = from; i < to; i++) {
		block[i] = slab_alloc();
		assert_non_null(block[i]);
		assert_int_equal((uintptr_t)block[i] % NODE_BYTES, 0);
		memset(block[i], (int)(i & 0xff), NODE_BYTES);
		memcpy(block[i], &i, sizeof(i));
	}
}

/* Nobody else has written to them. */
static void expect_own(unsigned long from, unsigned long to)
{
	for (unsigned long i = from; i < to; i++) {
		assert_int_equal(*(unsigned long *)block[i], i);
		assert_int_equal(block[i]->bytes[NODE_BYTES - 1], i & 0xff);
	}
}

static void put(unsigned long from, unsigned long to, unsigned long step)
{
	for (unsigned long i = from; i < to; i += step)
		slab_free(block[i]);
}

static void blocks_are_aligned_and_distinct(void **state)
{
	(void)state;
	take(0, MANY);
	expect_own(0, MANY);
	put(0, MANY, 1);
	slab_shrink();
}

static void freed_blocks_are_used_again(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		take(0, MANY);
		put(0, MANY, 2);
		for (unsigned long i = 0; i < MANY; i += 2)
			take(i, i + 1);
		expect_own(0, MANY);
		put(0, MANY, 1);
	}
	slab_shrink();
}

#ifndef SLAB_SANITIZED /* the sanitizer keeps freed blocks apart for a while */

static int by_address(const void *a, const void *b)
{
	uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;

	return left < right ? -1 : left > right;
}

/* Half of the blocks go and come back: nearly all of them are the same ones. */
static void holes_are_filled_before_memory_is_asked_for(void **state)
{
	static uintptr_t before[MANY / 2], after[MANY / 2];
	unsigned long same = 0, i, j;

	(void)state;
	take(0, MANY);
	for (i = 0; i < MANY / 2; i++) {
		before[i] = (uintptr_t)block[2 * i];
		slab_free(block[2 * i]);
	}
	for (i = 0; i < MANY / 2; i++) {
		take(2 * i, 2 * i + 1);
		after[i] = (uintptr_t)block[2 * i];
	}
	qsort(before, MANY / 2, sizeof(before[0]), by_address);
	qsort(after, MANY / 2, sizeof(after[0]), by_address);
	for (i = j = 0; i < MANY / 2 && j < MANY / 2;) {
		same += before[i] == after[j];
		if (before[i] < after[j])
			i++;
		else
			j++;
	}
	assert_true(same > MANY / 2 - 1000);
	expect_own(0, MANY);
	put(0, MANY, 1);
	slab_shrink();
}

#endif

static void many_at_once_are_as_single_ones(void **state)
{
	unsigned long i = 0;

	(void)state;
	take(0, 100); /* fills the magazine, unless nothing is cached at all */
	put(0, 100, 1);
	while (i + 10 <= MANY && slab_alloc_many(&block[i], 10)) {
		for (unsigned long j = i; j < i + 10; j++) {
			assert_int_equal((uintptr_t)block[j] % NODE_BYTES, 0);
			memset(block[j], (int)(j & 0xff), NODE_BYTES);
			memcpy(block[j], &j, sizeof(j));
		}
		i += 10;
	}
#ifdef SLAB_SANITIZED
	assert_int_equal(i, 0);
#else
	assert_true(i >= 50 && i < MANY);
#endif
	take(i, i + 1000);
	expect_own(0, i + 1000);
	put(0, i + 1000, 1);
	slab_shrink();
}

static void *free_all(void *arg)
{
	(void)arg;
	put(0, MANY, 1);
	return NULL;
}

static void *take_all(void *arg)
{
	(void)arg;
	take(0, MANY);
	slab_free(slab_alloc()); /* its magazine is not empty when the thread ends */
	return NULL;
}

static void run(void *(*function)(void *))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, function, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void blocks_go_from_thread_to_thread(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		run(take_all);
		expect_own(0, MANY);
		run(free_all);
		take(0, MANY);
		expect_own(0, MANY);
		run(free_all);
	}
	slab_shrink();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_aligned_and_distinct),
		cmocka_unit_test(freed_blocks_are_used_again),
#ifndef SLAB_SANITIZED
		cmocka_unit_test(holes_are_filled_before_memory_is_asked_for),
#endif
		cmocka_unit_test(many_at_once_are_as_single_ones),
		cmocka_unit_test(blocks_go_from_thread_to_thread),
	};

	return cmocka_run_group_tests_name("slab", tests, NULL, NULL);
}
