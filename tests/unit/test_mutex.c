/* SPDX-License-Identifier: MIT */
/* test_mutex.c - the lock: exclusion, sleeping, nobody waits for ever, a child of fork(). */
#include "fixture.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <mapletree/maple_tree_mutex.h>

enum { THREADS = 4, TURNS = 20000 };

static struct mt_mutex mutex;
static unsigned long counter;
static bool stop;

static void it_is_free_taken_and_free(void **state)
{
	struct mt_mutex own = MT_MUTEX_INIT;

	(void)state;
	assert_true(mt_mutex_trylock(&own));
	assert_false(mt_mutex_trylock(&own));
	mt_mutex_unlock(&own);
	mt_mutex_lock(&own);
	assert_false(mt_mutex_trylock(&own));
	mt_mutex_unlock(&own);
	assert_int_equal(own.word, 0);
}

static void *count_up(void *sometimes)
{
	for (int i = 0; i < TURNS; i++) {
		unsigned long was;

		mt_mutex_lock(&mutex);
		was = *(volatile unsigned long *)&counter;
		if (sometimes && i % 1000 == 0)
			usleep(200); /* long enough for the others to sleep */
		*(volatile unsigned long *)&counter = was + 1;
		mt_mutex_unlock(&mutex);
	}
	return NULL;
}

static void threads_exclude_each_other(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (intptr_t sleeping = 0; sleeping < 2; sleeping++) {
		counter = 0;
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, count_up,
							(void *)sleeping), 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		assert_int_equal(counter, THREADS * TURNS);
		assert_false(mutex.word & (MT_MUTEX_LOCKED | MT_MUTEX_HANDOFF));
		mt_mutex_lock(&mutex);
		mt_mutex_unlock(&mutex);
	}
}

/* Has the lock nearly always. */
static void *hog(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		mt_mutex_lock(&mutex);
		usleep(500);
		__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
		mt_mutex_unlock(&mutex);
	}
	return NULL;
}

/* The hogs hand the lock to each other; without the turn that a waiter is given it would starve. */
static void a_waiter_is_overtaken_a_few_times_only(void **state)
{
	pthread_t hogs[2];

	(void)state;
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	__atomic_store_n(&counter, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&hogs[i], NULL, hog, NULL), 0);
	for (int i = 0; i < 50; i++) {
		unsigned long before = __atomic_load_n(&counter, __ATOMIC_RELAXED);

		mt_mutex_lock(&mutex);
		assert_true(__atomic_load_n(&counter, __ATOMIC_RELAXED) - before < 2000);
		mt_mutex_unlock(&mutex);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(hogs[i], NULL);
}

static void *take_once(void *taken)
{
	mt_mutex_lock(&mutex);
	*(bool *)taken = true;
	mt_mutex_unlock(&mutex);
	return NULL;
}

/* Woken again and again while the lock is not free, it claims the next turn, and takes it. */
static void who_slept_in_vain_is_the_next(void **state)
{
	bool taken = false;
	pthread_t waiter;

	(void)state;
	mt_mutex_lock(&mutex);
	assert_int_equal(pthread_create(&waiter, NULL, take_once, &taken), 0);
	while (!(__atomic_load_n(&mutex.word, __ATOMIC_RELAXED) & MT_MUTEX_HANDOFF)) {
		syscall(SYS_futex, &mutex.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		usleep(1000);
	}
	mt_mutex_unlock(&mutex);
	pthread_join(waiter, NULL);
	assert_true(taken);
	assert_false(mutex.word & (MT_MUTEX_LOCKED | MT_MUTEX_HANDOFF));
}

/* While it is promised to one, another that has slept in vain as often waits for its own turn. */
static void one_at_a_time_is_the_next(void **state)
{
	bool taken = false;
	pthread_t waiter;

	(void)state;
	mt_mutex_lock(&mutex);
	mutex.word |= MT_MUTEX_HANDOFF; /* for somebody who does not come */
	assert_int_equal(pthread_create(&waiter, NULL, take_once, &taken), 0);
	for (int i = 0; i < 50; i++) {
		syscall(SYS_futex, &mutex.word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		usleep(1000);
	}
	assert_false(__atomic_load_n(&taken, __ATOMIC_RELAXED));
	mt_mutex_unlock(&mutex);
	pthread_join(waiter, NULL);
	assert_true(taken);
	assert_false(mutex.word & (MT_MUTEX_LOCKED | MT_MUTEX_HANDOFF));
}

/* Runs @work in a child that is ended after some seconds. Returns its status. */
static int in_child(void (*work)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		alarm(20);
		work();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* The thread that was to get it next, and those that slept, stayed in the parent. */
static void take_what_others_left(void)
{
	struct mt_mutex left = { MT_MUTEX_HANDOFF | MT_MUTEX_WAITERS };
	struct timespec from, to;

	errno = ENOTTY;
	clock_gettime(CLOCK_MONOTONIC, &from);
	mt_mutex_lock(&left);
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (errno != ENOTTY)
		_exit(2);
	/* Who was to get it had its time to come: 20 ms. */
	if ((to.tv_sec - from.tv_sec) * 1000000000L + to.tv_nsec - from.tv_nsec < 20000000L)
		_exit(3);
	mt_mutex_unlock(&left);
	_exit(left.word & (MT_MUTEX_LOCKED | MT_MUTEX_HANDOFF) ? 1 : 0);
}

static void a_child_takes_what_waiters_left_behind(void **state)
{
	(void)state;
	assert_int_equal(in_child(take_what_others_left), 0);
}

static void give_back_what_is_free(void)
{
	struct mt_mutex own = MT_MUTEX_INIT;

	if (!freopen("/dev/null", "w", stderr))
		_exit(2);
	mt_mutex_unlock(&own);
}

static void giving_back_what_nobody_has_ends_the_process(void **state)
{
	int status = in_child(give_back_what_is_free);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_free_taken_and_free),
		cmocka_unit_test(threads_exclude_each_other),
		cmocka_unit_test(a_waiter_is_overtaken_a_few_times_only),
		cmocka_unit_test(who_slept_in_vain_is_the_next),
		cmocka_unit_test(one_at_a_time_is_the_next),
		cmocka_unit_test(a_child_takes_what_waiters_left_behind),
		cmocka_unit_test(giving_back_what_nobody_has_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
