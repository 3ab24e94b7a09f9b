/* SPDX-License-Identifier: MIT */
/*
 * test_async.c - forks of a process whose threads read and write, and lookups in signal handlers
 * that interrupt a writer.
 */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu-bp.h>

#include "../sanitizer.h"

/* At every STEP-th index below LIMIT is an entry that is never removed; writers work in between. */
#define STEP  16
#define LIMIT 8000
#define FORKS 12

/*
 * A second writer works on a tree whose lock the fork does not hold, so it may be in the allocator
 * then. That of a sanitizer stays locked in the child for ever; and to memcheck (SLAB_SANITIZED)
 * the nodes in the hands of a thread that the child does not have are lost.
 */
#if defined(SANITIZED) || defined(SLAB_SANITIZED)
#define THREADS 2
#else
#define THREADS 3
#endif

static struct maple_tree shared = MTREE_INIT(shared, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);
static struct maple_tree other = MTREE_INIT(other, MT_FLAGS_USE_RCU);
static bool stop;
static unsigned long wrong, rounds;

/* Whether what never changes is found; @entry, found at @index, is one that is stored there. */
static bool expected(unsigned long index, const void *entry)
{
	if (index % STEP == 0)
		return entry == xa_mk_value(index);
	return !entry || entry == E('x');
}

/* One change between two entries that stay: ranges come, move, grow and go. */
static int write_between(struct maple_tree *mt, unsigned long i)
{
	unsigned long base = i * 7919 % (LIMIT / STEP) * STEP;
	unsigned long first = base + 1 + i % 5;

	if (i % 3 == 2)
		return mtree_store_range(mt, base + 1, base + STEP - 1, NULL, GFP_KERNEL);
	return mtree_store_range(mt, first, first + i % 9, E('x'), GFP_KERNEL);
}

static void build(struct maple_tree *mt)
{
	for (unsigned long i = 0; i < LIMIT; i += STEP)
		assert_int_equal(mtree_store(mt, i, xa_mk_value(i), GFP_KERNEL), 0);
}

static void *read_shared(void *unused)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (unsigned long i = 0; i < LIMIT; i += 7) {
			if (!expected(i, mtree_load(&shared, i)))
				__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
		}
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	return unused;
}

static void *write_tree(void *tree)
{
	for (unsigned long i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		if (write_between(tree, i))
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* In the child: the tree is whole, can be read, changed and taken down, and its nodes are freed. */
static int use_copy(void)
{
	bool sound;

	for (unsigned long i = 0; i < LIMIT; i++) {
		if (!expected(i, mtree_load(&shared, i)))
			return 1;
	}
	for (unsigned long i = 0; i < 2000; i++) {
		if (write_between(&shared, i))
			return 2;
	}
	mtree_lock(&shared);
	sound = mt_check(&shared, NULL);
	mtree_unlock(&shared);
	mtree_destroy(&shared);
	urcu_bp_barrier();
	return sound && mtree_empty(&shared) ? 0 : 3;
}

static void a_process_forks_while_threads_read_and_write(void **state)
{
	static void *(*const job[])(void *) = { read_shared, write_tree, write_tree };
	struct maple_tree *const tree[] = { &shared, &shared, &other };
	pthread_t threads[THREADS];
	int status;

	(void)state;
	if (getenv("EMULATED")) /* qemu-user 7.2 aborts when a forked child starts a thread */
		skip();
	build(&shared);
	build(&other);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, job[i], tree[i]), 0);
	while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) < 3)
		usleep(1000);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid;

		mtree_lock(&shared);
		mt_before_fork();
		pid = fork();
		if (pid == 0) {
			mt_after_fork_child();
			mtree_unlock(&shared);
			alarm(60); /* rather than hang */
			_exit(use_copy());
		}
		mt_after_fork_parent();
		mtree_unlock(&shared);
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	end(&shared);
	end(&other);
	urcu_bp_barrier();
}

static volatile unsigned long samples, interrupted, bad_samples;
static volatile bool writing;

/* Each kind of lookup that a handler may make, in the middle of whatever the writer was doing. */
static void sample(int signal)
{
	unsigned long at = samples * 2654435761u % LIMIT;
	unsigned long index = at - at % STEP;
	unsigned long found = index;
	void *entry;
	MA_STATE(mas, &shared, index, index);

	(void)signal;
	bad_samples += !expected(at, mtree_load(&shared, at));
	bad_samples += mt_find(&shared, &found, ULONG_MAX) != xa_mk_value(index) ||
		       found != index + 1;
	urcu_bp_read_lock();
	bad_samples += mas_walk(&mas) != xa_mk_value(index) || mas.last != index;
	do
		entry = mas_next(&mas, ULONG_MAX);
	while (entry == E('x'));
	bad_samples += index + STEP < LIMIT && entry != xa_mk_value(index + STEP);
	urcu_bp_read_unlock();
	interrupted += writing;
	samples++;
}

static void lookups_in_a_handler_interrupt_a_writer(void **state)
{
	const struct itimerval every = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = sample, .sa_flags = SA_RESTART };

	(void)state;
	build(&shared); /* and this thread has read before */
	assert_ptr_equal(mtree_load(&shared, 0), xa_mk_value(0));
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned long i = 0; samples < 1000; i++) {
		writing = true;
		assert_int_equal(write_between(&shared, i), 0);
		writing = false;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(bad_samples, 0);
	assert_true(interrupted > samples / 2);
	end(&shared);
	urcu_bp_barrier();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_forks_while_threads_read_and_write),
		cmocka_unit_test(lookups_in_a_handler_interrupt_a_writer),
	};

	return cmocka_run_group_tests_name("async", tests, NULL, NULL);
}
