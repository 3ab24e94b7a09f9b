/* SPDX-License-Identifier: MIT */
/*
 * test_fork.c - threads that write trees of their own while another one forks: nobody locks those.
 */
#include "fixture.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu-bp.h>

#include "../sanitizer.h"

/* A sanitizer's allocator, locked by a thread that a child does not have, stays so there for ever. */
#ifdef SANITIZED
enum { ALLOCATOR_STAYS_LOCKED = 1 };
#else
enum { ALLOCATOR_STAYS_LOCKED = 0 };
#endif

enum { WRITERS = 3, FORKS = 20 };

static struct maple_tree trees[WRITERS];
static bool stop;

/* How many threads are adding to liburcu's queue; the name is found here before liburcu's. */
static int adding;
static unsigned long added;
static bool slowly;

void urcu_bp_call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	void (*real)(struct rcu_head *head, void (*func)(struct rcu_head *head));
	void *address = dlsym(RTLD_NEXT, "urcu_bp_call_rcu");

	memcpy(&real, &address, sizeof(real));
	__atomic_fetch_add(&adding, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&slowly, __ATOMIC_RELAXED))
		usleep(300);
	real(head, func);
	__atomic_fetch_add(&added, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&adding, 1, __ATOMIC_SEQ_CST);
}

/* Where ALLOCATOR_STAYS_LOCKED, a fork waits until no writer is inside a store. */
static pthread_rwlock_t storing = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void *write_without_end(void *tree)
{
	int err = 0;

	mt_before_fork(); /* who has forked once waits for the forks of others like any */
	mt_after_fork_parent();
	for (unsigned long i = 0; !err && !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		if (ALLOCATOR_STAYS_LOCKED)
			pthread_rwlock_rdlock(&storing);
		err = mtree_store_range(tree, i % 64 * 4, i % 64 * 4 + i % 9, xa_mk_value(i), GFP_KERNEL);
		if (ALLOCATOR_STAYS_LOCKED)
			pthread_rwlock_unlock(&storing);
	}
	return err ? tree : NULL;
}

static void begin_writers(pthread_t *threads)
{
	stop = false;
	for (int i = 0; i < WRITERS; i++) {
		mt_init_flags(&trees[i], MT_FLAGS_USE_RCU);
		assert_int_equal(pthread_create(&threads[i], NULL, write_without_end, &trees[i]), 0);
	}
}

static void end_writers(const pthread_t *threads)
{
	void *failed;

	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
		mtree_destroy(&trees[i]);
	}
	assert_int_equal(mt_barrier(), 0);
	assert_int_equal(mt_retired_bytes(), 0);
}

/*
 * liburcu's queue is whole only while nobody adds to it. A child that found it otherwise waited for ever
 * in mt_barrier().
 */
static void regress_nobody_adds_to_the_queue_during_a_fork(void **state)
{
	pthread_t threads[WRITERS];
	unsigned long seen = 0;

	(void)state;
	slowly = true;
	begin_writers(threads);
	for (int i = 0; i < FORKS; i++) {
		usleep(1000);
		seen += (unsigned long)__atomic_load_n(&adding, __ATOMIC_SEQ_CST);
		mt_before_fork();
		for (int look = 0; look < 10; look++) {
			assert_int_equal(__atomic_load_n(&adding, __ATOMIC_SEQ_CST), 0);
			usleep(200);
		}
		mt_after_fork_parent();
	}
	slowly = false;
	end_writers(threads);
	assert_true(seen);
}

static bool started;

static void *start_helper(void *unused)
{
	bool done = !mt_start_helper(0);

	__atomic_store_n(&started, done, __ATOMIC_RELAXED);
	return unused;
}

/* Nor does anybody start it, however many wait to add. */
static void the_helper_is_left_alone_during_a_fork(void **state)
{
	pthread_t threads[WRITERS], starter;

	(void)state;
	begin_writers(threads);
	usleep(1000);
	started = false;
	mt_before_fork();
	assert_int_equal(pthread_create(&starter, NULL, start_helper, NULL), 0);
	usleep(50000);
	assert_false(__atomic_load_n(&started, __ATOMIC_RELAXED));
	mt_after_fork_parent();
	pthread_join(starter, NULL);
	assert_true(started);
	end_writers(threads);
}

static int use_child(void)
{
	DEFINE_MTREE(mt);

	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	for (unsigned long i = 0; i < 300; i++)
		if (mtree_store_range(&mt, i % 64 * 4, i % 64 * 4 + 3, xa_mk_value(i), GFP_KERNEL))
			return 1;
	mtree_destroy(&mt);
	return mt_barrier() ? 2 : 0;
}

static void a_child_frees_beside_writers_that_are_not_there(void **state)
{
	pthread_t threads[WRITERS];
	int status;

	(void)state;
	if (getenv("EMULATED")) { /* qemu-user 7.2 aborts when a forked child starts a thread */
		print_message("# SKIP in part\n");
		return;
	}
	begin_writers(threads);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid;

		usleep(1000);
		if (ALLOCATOR_STAYS_LOCKED)
			pthread_rwlock_wrlock(&storing);
		mt_before_fork();
		pid = fork();
		if (!pid) {
			int wrong;

			mt_after_fork_child();
			alarm(60); /* rather than hang */
			wrong = use_child();
			/* What the writers held is lost here; valgrind looks for that at an exit. */
			if (!wrong)
				execl("/bin/true", "true", (char *)NULL);
			_exit(wrong ? wrong : 3);
		}
		mt_after_fork_parent();
		if (ALLOCATOR_STAYS_LOCKED)
			pthread_rwlock_unlock(&storing);
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	end_writers(threads);
}

/* Who forks may write, too, before and after the fork itself. */
static void the_thread_that_forks_may_write(void **state)
{
	DEFINE_MTREE(mt);

	(void)state;
	mt_init_flags(&mt, MT_FLAGS_USE_RCU);
	mt_before_fork();
	added = 0;
	for (unsigned long i = 0; i < 3000; i++)
		assert_int_equal(mtree_store_range(&mt, i % 64 * 4, i % 64 * 4 + i % 9,
						   xa_mk_value(i), GFP_KERNEL), 0);
	assert_true(added);
	mt_after_fork_parent();
	mtree_destroy(&mt);
	assert_int_equal(mt_barrier(), 0);
	assert_int_equal(mt_retired_bytes(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regress_nobody_adds_to_the_queue_during_a_fork),
		cmocka_unit_test(the_helper_is_left_alone_during_a_fork),
		cmocka_unit_test(a_child_frees_beside_writers_that_are_not_there),
		cmocka_unit_test(the_thread_that_forks_may_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
