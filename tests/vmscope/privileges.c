/* SPDX-License-Identifier: MIT */
/*
 * privileges [drop] - calls whose outcome depends on capabilities, by two threads; with "drop",
 * made before and after one of them has given up all of its own. Prints how many were refused.
 */
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096UL
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define MOVE_ALL 4UL

static int refused;

static void drop(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (syscall(SYS_capset, &header, none) != 0)
		refused = 1000;
}

static void count(int failed)
{
	refused += failed != 0;
}

/* The limit on locked memory is four pages. */
static void make_calls(void)
{
	const int read_write = PROT_READ | PROT_WRITE;
	void *at;

	at = mmap(NULL, 8 * PAGE, read_write, ANON, -1, 0);
	count(syscall(SYS_mbind, at, PAGE, 0, NULL, 0UL, MOVE_ALL) != 0);
	count(mlock(at, 8 * PAGE));
	munlock(at, 8 * PAGE);
	munmap(at, 8 * PAGE);
	at = mmap(NULL, 8 * PAGE, read_write, ANON | MAP_LOCKED, -1, 0);
	count(at == MAP_FAILED);
	if (at != MAP_FAILED)
		munmap(at, 8 * PAGE);
	at = mmap(NULL, 2 * PAGE, read_write, ANON | MAP_LOCKED, -1, 0);
	count(mremap(at, 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	/* Below vm.mmap_min_addr. */
	at = mmap(NULL, PAGE, PROT_READ, ANON | MAP_FIXED, -1, 0);
	count(at == MAP_FAILED);
	if (at != MAP_FAILED)
		munmap(at, PAGE);
	munlockall();
}

static void *in_thread(void *arg)
{
	make_calls();
	if (arg)
		drop();
	make_calls();
	return NULL;
}

int main(int argc, char **argv)
{
	struct rlimit limit = { 4 * PAGE, 4 * PAGE };
	pthread_t thread;

	setrlimit(RLIMIT_MEMLOCK, &limit);
	if (pthread_create(&thread, NULL, in_thread, argc > 1 ? argv[1] : NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	make_calls(); /* this thread has what it had */
	if (argc > 1)
		drop();
	make_calls();
	printf("refused %d\n", refused);
	return 0;
}
