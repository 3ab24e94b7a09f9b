/* SPDX-License-Identifier: MIT */
/*
 * vmspace_small_pages_forks.c - guests whose pages are smaller than the host's, with children, of the guest
 * and of the host's process, and with threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/maple_tree.h>

#include "small_guest.h"

/* ---- forks ---- */

static void a_fork_shares_until_written(void **state)
{
	(void)state;
	map_anon(0, 3 * n, RW);
	for (unsigned int i = 0; i < 3 * n; i++)
		put(&parent, i, i + 1);
	protect(2 * n + 1, 1, PROT_READ);
	check_unit(&parent, 2, READABLE);
	fork_guest();
	check_unit(&parent, 0, READABLE);
	check_unit(&parent, 2, READABLE);
	assert_int_equal(get(&child, 0), 1);
	check_unit(&child, 0, READABLE);
	put(&child, 1, 50);
	check_unit(&child, 0, WRITABLE);
	assert_int_equal(*host(&parent, 1), 2);
	put(&parent, 0, 60);
	check_unit(&parent, 0, WRITABLE);
	*host(&parent, 2) = 70;
	assert_int_equal(get(&child, 0), 1);
	assert_int_equal(get(&child, 1), 50);
	assert_int_equal(get(&child, 2), 3);
	put(&parent, 2 * n, 80);
	check_unit(&parent, 2, NOT);
	assert_int_equal(get(&child, 2 * n), 2 * n + 1);
	assert_int_equal(get(&child, 2 * n + 1), 2 * n + 2);
}

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS  2000

static void count_up(void *ctx, const struct vmspace_page *found)
{
	unsigned int *counter = vmspace_memfd_frame(memfd, found->frame);

	(void)ctx;
	++*counter;
}

/* Its own pages, of units that it shares with the other threads. */
static void *count_in_own_pages(void *ctx)
{
	unsigned long own = *(unsigned long *)ctx, wrong = 0;

	for (unsigned long i = 0; i < ROUNDS; i++) {
		unsigned long number = i % 8 * n + own;

		wrong += vmspace_access(parent.space, at(number), WRITE, count_up, NULL) != 0;
		(void)vmspace_window_is_direct(parent.window, at(number), WRITE);
	}
	return wrong ? ctx : NULL;
}

static void threads_share_the_hosts_pages(void **state)
{
	unsigned long own[THREADS];
	pthread_t threads[THREADS];
	void *wrong;

	(void)state;
	map_anon(0, 8 * n, RW);
	for (unsigned long i = 0; i < THREADS; i++) {
		own[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, count_in_own_pages, &own[i]), 0);
	}
	for (unsigned long i = 0; i < 30; i++) {
		fork_guest();
		get(&child, i % (8 * n));
		put(&child, i % n, 1);
		end_guest(&child);
		child = (struct guest){ NULL, NULL };
		map_anon(8 * n, 3 * n, RW);
		put(&parent, 8 * n, 1);
		unmap(8 * n + 1, 2 * n);
	}
	for (unsigned long i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	for (unsigned long i = 0; i < 8 * n; i++) {
		unsigned int value = 0;

		vmspace_copy_from(parent.space, &value, at(i), sizeof(value));
		assert_int_equal(value, i % n < THREADS ? ROUNDS / 8 : 0);
	}
}

/* What a child of fork() finds wrong first: its exit status. */
#define CHECK(condition) do { if (!(condition)) _exit(__LINE__ % 250 + 1); } while (0)

static void a_host_child_has_a_copy(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	map_anon(0, 2 * n, RW);
	for (unsigned int i = 0; i < 2 * n; i++)
		put(&parent, i, i + 1);
	mt_before_fork();
	assert_int_equal(vmspace_memfd_before_fork(memfd), 0);
	pid = fork();
	if (pid == 0) {
		mt_after_fork_child();
		CHECK(vmspace_memfd_after_fork_child(memfd) == 0);
		CHECK(!vmspace_window_is_direct(parent.window, at(0), READ));
		CHECK(!reaches(&parent, 0));
		CHECK(get(&parent, 1) == 2);
		put(&parent, 1, 9);
		CHECK(vmspace_window_is_direct(parent.window, at(1), WRITE));
		CHECK(*host(&parent, 1) == 9 && *host(&parent, 0) == 1);
		_exit(0);
	}
	vmspace_memfd_after_fork_parent(memfd);
	mt_after_fork_parent();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(*host(&parent, 1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(a_fork_shares_until_written),
		BOTH(threads_share_the_hosts_pages),
		BOTH(a_host_child_has_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
