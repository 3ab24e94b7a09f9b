/* SPDX-License-Identifier: MIT */
/*
 * test_shrink.c - mt_cache_shrink() takes what all threads have cached: idle ones, ones at work,
 * and ones that a fork has left behind.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu-bp.h>

#include "slab.h"

static bool stop;

/* ---- at work ----------------------------------------------------------------------------- */

#define WORKERS 3
#define HELD	300

/* Where every block comes from the C library there are no caches, but memcheck, which is slow. */
#ifdef SLAB_SANITIZED
#define SHRINKS 200
#define ROUNDS	20
#else
#define SHRINKS 20000
#define ROUNDS	1000
#endif

struct worker {
	pthread_t thread;
	unsigned long rounds;
	unsigned long wrong;
	uint32_t seed;
	unsigned int held;
	struct mt_node *block[HELD];
	unsigned long stamp[HELD];
};

static unsigned int draw(struct worker *w, unsigned int below)
{
	w->seed = w->seed * 1664525 + 1013904223;
	return (w->seed >> 8) % below;
}

/* A block that two hold at once gets two stamps (and ThreadSanitizer sees both). */
static void stamp(struct worker *w, unsigned int i)
{
	w->stamp[i] = (uintptr_t)w + w->rounds;
	memcpy(w->block[i], &w->stamp[i], sizeof(w->stamp[i]));
	memcpy(&w->block[i]->bytes[NODE_BYTES - sizeof(long)], &w->stamp[i], sizeof(long));
}

static void release(struct worker *w)
{
	struct mt_node *block = w->block[--w->held];

	w->wrong += memcmp(block, &w->stamp[w->held], sizeof(long)) != 0;
	w->wrong += memcmp(&block->bytes[NODE_BYTES - sizeof(long)], &w->stamp[w->held],
			   sizeof(long)) != 0;
	slab_free(block);
}

static void take(struct worker *w)
{
	unsigned int i = w->held;

	if (i + 10 <= HELD && draw(w, 4) == 0 && slab_alloc_many(&w->block[i], 10)) {
		w->held += 10;
	} else {
		w->block[i] = slab_alloc();
		if (!w->block[i]) {
			w->wrong++;
			return;
		}
		w->held++;
	}
	for (; i < w->held; i++)
		stamp(w, i);
}

/* Near an empty magazine, and over the end of a full one. */
static void *work(void *arg)
{
	struct worker *w = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned int wanted = draw(w, draw(w, 2) ? 4 : HELD);

		while (w->held < wanted)
			take(w);
		while (w->held > wanted)
			release(w);
		__atomic_store_n(&w->rounds, w->rounds + 1, __ATOMIC_RELAXED);
	}
	while (w->held)
		release(w);
	return NULL;
}

static void shrinking_takes_no_block_that_is_in_use(void **state)
{
	static struct worker workers[WORKERS];

	(void)state;
	stop = false;
	for (uint32_t i = 0; i < WORKERS; i++) {
		workers[i].seed = i;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (int i = 0; i < SHRINKS; i++) {
		mt_cache_shrink();
		if (i % 16 == 0)
			usleep(10);
	}
	for (int i = 0; i < WORKERS; i++) {
		while (__atomic_load_n(&workers[i].rounds, __ATOMIC_RELAXED) < ROUNDS)
			mt_cache_shrink();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_int_equal(workers[i].wrong, 0);
	}
}

/* ThreadSanitizer's malloc() keeps memory as ASan's does. */
#if !defined(SLAB_SANITIZED) && !defined(SLAB_ORDERED)
#define MEMORY_COMES_BACK
#endif

#ifdef MEMORY_COMES_BACK

/* ---- idle -------------------------------------------------------------------------------- */

#define IDLE  8
#define MANY  80000ul
#define LEFT  2000ul /* the C library may keep some of the slabs that came from it */

static struct mt_node *block[MANY];
static pthread_barrier_t barrier;

/* Frees every eighth block, so that each region has blocks in the magazine of each thread. */
static void *free_and_idle(void *arg)
{
	for (unsigned long i = (uintptr_t)arg; i < MANY; i += IDLE)
		slab_free(block[i]);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static unsigned long still_mapped(void)
{
	unsigned long page = (unsigned long)sysconf(_SC_PAGESIZE);
	unsigned long i, count = 0;
	unsigned char there;

	for (i = 0; i < MANY; i++)
		count += !mincore((void *)((uintptr_t)block[i] & ~(page - 1)), 1, &there);
	return count;
}

static void fill_magazines_of(pthread_t threads[IDLE])
{
	assert_int_equal(pthread_barrier_init(&barrier, NULL, IDLE + 1), 0);
	for (unsigned long i = 0; i < MANY; i++) {
		block[i] = slab_alloc();
		assert_non_null(block[i]);
	}
	for (uintptr_t i = 0; i < IDLE; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, free_and_idle, (void *)i), 0);
	pthread_barrier_wait(&barrier);
}

static void end_idle(pthread_t threads[IDLE])
{
	pthread_barrier_wait(&barrier);
	for (unsigned int i = 0; i < IDLE; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	mt_cache_shrink();
}

static void idle_threads_keep_no_memory(void **state)
{
	pthread_t threads[IDLE];
	unsigned long mapped;

	(void)state;
	if (getenv("EMULATED")) /* qemu-user may have no membarrier() */
		skip();
	fill_magazines_of(threads);
	mt_cache_shrink();
	mapped = still_mapped();
	end_idle(threads);
	assert_true(mapped < LEFT);
}

static void threads_that_a_fork_left_behind_keep_no_memory(void **state)
{
	pthread_t threads[IDLE];
	int status;
	pid_t pid;

	(void)state;
	fill_magazines_of(threads);
	pid = fork();
	if (!pid) {
		mt_cache_shrink();
		_exit(still_mapped() >= LEFT);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	end_idle(threads);
	assert_int_equal(status, 0);
}

/* The thread that runs RCU callbacks is an idle one like others, when they have run. */
static void a_destroyed_tree_leaves_nothing_mapped(void **state)
{
	struct maple_tree mt;
	unsigned long mapped, i, used = 0;
	MA_STATE(mas, &mt, 0, 0);
	const struct maple_enode *leaf = NULL;
	void *entry;

	(void)state;
	if (getenv("EMULATED"))
		skip();
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	fill(&mt, 4, 3, 4, 8 * 70000);
	for (i = 0; i < 100000; i++)
		assert_int_equal(mtree_store(&mt, i * 40503 % 2000000, E('x'), GFP_KERNEL), 0);
	mas_lock(&mas);
	mas_for_each(&mas, entry, ULONG_MAX) {
		if (mas.node != leaf && used < MANY)
			block[used++] = enode_node((leaf = mas.node));
	}
	mas_unlock(&mas);
	mtree_destroy(&mt);
	urcu_bp_barrier();
	while (used < MANY)
		block[used++] = NULL;
	mt_cache_shrink();
	mapped = still_mapped();
	assert_true(mapped < LEFT);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef MEMORY_COMES_BACK
		cmocka_unit_test(idle_threads_keep_no_memory),
		cmocka_unit_test(threads_that_a_fork_left_behind_keep_no_memory),
		cmocka_unit_test(a_destroyed_tree_leaves_nothing_mapped),
#endif
		cmocka_unit_test(shrinking_takes_no_block_that_is_in_use),
	};

	return cmocka_run_group_tests_name("shrink", tests, NULL, NULL);
}
