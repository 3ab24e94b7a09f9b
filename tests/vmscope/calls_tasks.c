/* SPDX-License-Identifier: MIT */
/* Threads, processes, stacks and signals: sharing, copying, replacing and ending address spaces. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

enum { THREADS = 16, ROUNDS = 60 };

static __attribute__((noinline)) unsigned int recurse(unsigned int depth)
{
	volatile char frame[1500];

	frame[0] = (char)depth;
	frame[sizeof(frame) - 1] = 1;
	return depth ? recurse(depth - 1) + (unsigned char)frame[0] : 0;
}

void test_recursion(void)
{
	/* The stack grows between the calls, and by more than its guard at once. */
	for (unsigned int depth = 100; depth <= 3000; depth += 500) {
		recurse(depth);
		free(malloc(1 << 20));
	}
	MUST(mprotect(island(1, RW), PAGE, PROT_READ) == 0);
}

/* Maps, splits, merges and unmaps, each thread with a different pattern. */
static void *churn(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg * 2654435761u + 1;
	char *areas[8] = { NULL };

	for (int i = 0; i < ROUNDS; i++) {
		unsigned int slot, pages;

		seed = seed * 1103515245u + 12345u;
		slot = seed >> 16 & 7;
		pages = 1 + (seed >> 20 & 15);
		if (!areas[slot]) {
			areas[slot] = mmap(NULL, 16 * PAGE, RW, ANON, -1, 0);
			MUST(areas[slot] != MAP_FAILED);
			if (seed & 1 << 24)
				touch(areas[slot], pages * PAGE);
		} else if (seed & 1 << 25) {
			MUST(mprotect(areas[slot], pages * PAGE, PROT_READ) == 0);
			MUST(mprotect(areas[slot], pages * PAGE, RW) == 0);
		} else {
			MUST(munmap(areas[slot], 16 * PAGE) == 0);
			areas[slot] = NULL;
		}
		if (i % 16 == 0)
			free(malloc(200000));
	}
	for (int i = 0; i < 8; i++)
		if (areas[i])
			munmap(areas[i], 16 * PAGE);
	return NULL;
}

static void run_threads(int count, void *(*body)(void *), void *arg)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < count; i++)
		MUST(pthread_create(&threads[i], NULL, body, arg ? arg : (void *)(size_t)i) == 0);
	for (int i = 0; i < count; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
}

void test_threads(void)
{
	run_threads(THREADS, churn, NULL);
}

static void *recurse_in_thread(void *arg)
{
	(void)arg;
	recurse(4000);
	return NULL;
}

void test_thread_recursion(void)
{
	run_threads(4, recurse_in_thread, NULL);
}

static int wait_status(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		MUST(errno == EINTR);
	return status;
}

/* Forks with memory that is untouched, touched, not inherited or wiped, and changes both sides. */
void test_fork(void)
{
	char *a = island(24, RW);
	pid_t pid;

	touch(a, 12 * PAGE);
	MUST(madvise(a + 2 * PAGE, PAGE, MADV_DONTFORK) == 0);
	MUST(madvise(a + 4 * PAGE, PAGE, MADV_WIPEONFORK) == 0);
	MUST(mlock(a + 6 * PAGE, PAGE) == 0);
	for (int i = 0; i < 3; i++) {
		pid = fork();
		MUST(pid >= 0);
		if (pid == 0) {
			MUST(munmap(a + 8 * PAGE, PAGE) == 0);
			MUST(mprotect(a + 13 * PAGE, PAGE, PROT_READ) == 0);
			MUST(mprotect(a + 13 * PAGE, PAGE, RW) == 0);
			MUST(mmap(a + 2 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0) != MAP_FAILED);
			touch(a + 10 * PAGE, 14 * PAGE);
			MUST(mprotect(a + 11 * PAGE, 2 * PAGE, PROT_READ) == 0);
			MUST(mprotect(a + 11 * PAGE, 2 * PAGE, RW) == 0);
			MUST(mmap(a + 24 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0) != MAP_FAILED);
			if (i == 2 && fork() == 0)
				_exit(0); /* a grandchild, left behind */
			recurse(500);
			_exit(3);
		}
		MUST(mprotect(a + 15 * PAGE, PAGE, PROT_READ) == 0);
		MUST(mprotect(a + 15 * PAGE, PAGE, RW) == 0);
		MUST(mmap(a + 24 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0) != MAP_FAILED);
		MUST(wait_status(pid) == 3 << 8);
		MUST(munmap(a + 24 * PAGE, PAGE) == 0);
	}
}

static void *fork_once(void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		MUST(munmap(island(3, RW), PAGE) == 0);
		_exit(5);
	}
	MUST(wait_status(pid) == 5 << 8);
	return churn(arg);
}

void test_fork_in_threads(void)
{
	run_threads(8, fork_once, NULL);
}

void test_vfork(void)
{
	char *volatile a = NULL;
	pid_t pid = vfork();

	if (pid == 0) {
		/* In the parent's address space: the parent sees this mapping. */
		a = mmap(NULL, 3 * PAGE, RW, ANON, -1, 0);
		_exit(a == MAP_FAILED);
	}
	MUST(wait_status(pid) == 0);
	touch(a, 3 * PAGE);
	MUST(munmap(a, 3 * PAGE) == 0);
	pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	MUST(wait_status(pid) == 0);
}

void test_exec(const char *self)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/nonexistent", "x", (char *)NULL); /* fails: the address space stays */
		free(malloc(300000));
		execl(self, self, "--exit", "42", (char *)NULL);
		_exit(1);
	}
	MUST(wait_status(pid) == 42 << 8);
}

struct exec_plan {
	const char *self;
	atomic_int others;
};

static void *exec_from_thread(void *arg)
{
	struct exec_plan *plan = arg;

	while (atomic_load(&plan->others) < 3)
		sched_yield();
	execl(plan->self, plan->self, "--exit", "43", (char *)NULL);
	_exit(1);
}

static void *map_for_ever(void *arg)
{
	struct exec_plan *plan = arg;

	atomic_fetch_add(&plan->others, 1);
	for (;;)
		munmap(mmap(NULL, PAGE, RW, ANON, -1, 0), PAGE);
	return NULL;
}

void test_exec_in_thread(const char *self)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct exec_plan plan = { .self = self };
		pthread_t thread;

		for (int i = 0; i < 3; i++)
			MUST(pthread_create(&thread, NULL, map_for_ever, &plan) == 0);
		MUST(pthread_create(&thread, NULL, exec_from_thread, &plan) == 0);
		for (;;)
			munmap(mmap(NULL, 2 * PAGE, RW, ANON, -1, 0), 2 * PAGE);
	}
	MUST(wait_status(pid) == 43 << 8);
}

static int run_beside(void *arg)
{
	char *a = mmap(NULL, 5 * PAGE, RW, ANON, -1, 0);

	*(char **)arg = a;
	return a == MAP_FAILED ? 1 : 7;
}

void test_clone_vm(void)
{
	char *stack = mmap(NULL, 16 * PAGE, RW, ANON | MAP_STACK, -1, 0);
	char *a = NULL;
	int pid = clone(run_beside, stack + 16 * PAGE, CLONE_VM | SIGCHLD, &a);

	MUST(pid > 0);
	MUST(munmap(mmap(NULL, PAGE, RW, ANON, -1, 0), PAGE) == 0);
	MUST(wait_status(pid) == 7 << 8);
	MUST(munmap(a, 5 * PAGE) == 0);
	MUST(munmap(stack, 16 * PAGE) == 0);
}

static atomic_int caught;

static void handler(int signal)
{
	(void)signal;
	munmap(mmap(NULL, PAGE, RW, ANON, -1, 0), PAGE);
	atomic_fetch_add(&caught, 1);
}

void test_signals(void)
{
	struct sigaction action = { .sa_handler = handler };
	pid_t parent = getpid(), pid;
	int status;

	atomic_store(&caught, 0);
	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 50; i++) {
			kill(parent, SIGUSR1);
			usleep(200);
		}
		_exit(0);
	}
	for (int i = 0; i < 200; i++)
		munmap(mmap(NULL, 4 * PAGE, RW, ANON | MAP_POPULATE, -1, 0), 4 * PAGE);
	status = wait_status(pid);
	MUST(status == 0 && atomic_load(&caught) > 0);
	/* A child killed by a signal: its parent must see that. */
	pid = fork();
	if (pid == 0) {
		raise(SIGKILL);
		_exit(0);
	}
	status = wait_status(pid);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)NULL = 1;
	}
	status = wait_status(pid);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* A child that is stopped and continued: its parent must see both. */
void test_stop(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		for (;;) {
			munmap(mmap(NULL, PAGE, RW, ANON, -1, 0), PAGE);
			usleep(1000);
		}
	}
	/* A process group of its own that is not orphaned: otherwise SIGTSTP would not stop it. */
	MUST(setpgid(pid, pid) == 0);
	for (int i = 0; i < 3; i++) {
		MUST(kill(pid, i == 1 ? SIGTSTP : SIGSTOP) == 0);
		MUST(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
		MUST(WSTOPSIG(status) == (i == 1 ? SIGTSTP : SIGSTOP));
		/* It stays stopped. */
		usleep(5000);
		MUST(waitpid(pid, &status, WUNTRACED | WCONTINUED | WNOHANG) == 0);
		MUST(kill(pid, SIGCONT) == 0);
		MUST(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
	}
	MUST(kill(pid, SIGTERM) == 0);
	status = wait_status(pid);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* Threads are killed inside their calls, by exit and by a signal. */
void test_kill_in_call(void)
{
	for (int round = 0; round < 4; round++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			struct exec_plan plan = { .self = NULL };
			pthread_t thread;

			for (int i = 0; i < 3; i++)
				MUST(pthread_create(&thread, NULL, map_for_ever, &plan) == 0);
			while (atomic_load(&plan.others) < 3)
				sched_yield();
			usleep(2000);
			if (round % 2)
				_exit(9);
			kill(getpid(), SIGKILL);
		}
		status = wait_status(pid);
		MUST(round % 2 ? status == 9 << 8 : WIFSIGNALED(status));
	}
}
