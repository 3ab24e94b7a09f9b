/* SPDX-License-Identifier: MIT */
/*
 * vmspace_small_pages_refused.c - guests whose pages are smaller than the host's, while memory, or the host's
 * calls, are refused at each place.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "scarce.h"
#include "small_guest.h"

/* ---- the host's calls, refused at times ---- */

static long countdown; /* calls until they fail; 0: they do not */
static bool for_good;

static bool refuse(void)
{
	if (!countdown || --countdown)
		return false;
	countdown = for_good ? 1 : 0;
	errno = ENOMEM;
	return true;
}

/* Only what has to be in place of something: the rest is memory for tables. */
#define WRAP_MMAP(name)                                                                        \
	void *__real_##name(void *, size_t, int, int, int, off_t);                             \
	void *__wrap_##name(void *, size_t, int, int, int, off_t);                             \
	void *__wrap_##name(void *at, size_t size, int prot, int flags, int fd, off_t offset)  \
	{                                                                                      \
		return refuse() ? MAP_FAILED : __real_##name(at, size, prot, flags, fd, offset); \
	}

WRAP_MMAP(mmap)
WRAP_MMAP(mmap64)

int __real_mprotect(void *at, size_t size, int prot);
int __wrap_mprotect(void *at, size_t size, int prot);
int __wrap_mprotect(void *at, size_t size, int prot)
{
	/* The last way of all has to succeed; it does where the host has no room for anything. */
	return prot != PROT_NONE && refuse() ? -1 : __real_mprotect(at, size, prot);
}

#define WRAP_FALLOCATE(name)                                             \
	int __real_##name(int, int, off_t, off_t);                       \
	int __wrap_##name(int, int, off_t, off_t);                       \
	int __wrap_##name(int fd, int mode, off_t from, off_t size)      \
	{                                                                \
		return refuse() ? -1 : __real_##name(fd, mode, from, size); \
	}

WRAP_FALLOCATE(fallocate)
WRAP_FALLOCATE(fallocate64)

/* ---- the steps, refused ---- */

/* Everything that changes what is mapped; what succeeds is right, in the end all of it. */
static bool all_steps(void)
{
	struct vmspace_request fork = { .op = VMSPACE_FORK };
	struct vmspace_request cut = { .op = VMSPACE_MUNMAP, .munmap = { at(n + 1), page } };
	struct vmspace_request protect_one = { .op = VMSPACE_MPROTECT,
					       .mprotect = { at(2), page, PROT_READ, -1 } };
	struct vmspace_request map_all = {
		.op = VMSPACE_MMAP,
		.mmap = { .addr = at(0), .length = 3 * n * page, .prot = RW,
			  .flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS },
	};
	unsigned int value = 1, read_back = 0;
	struct vmspace_window *window = NULL;
	struct vmspace *other = NULL;
	bool all = false;

	if (vmspace_call(parent.space, &map_all) != (long)at(0))
		return false;
	for (unsigned long i = 0; i < 3 * n; i++, value++)
		if (vmspace_copy_to(parent.space, at(i) + 8, &value, sizeof(value)) != sizeof(value))
			return false;
	if (vmspace_window_create(&window, memfd, START, UNITS * host_page))
		return false;
	fork.fork.child_memory = vmspace_window_memory(window);
	if (vmspace_call(parent.space, &fork))
		goto out;
	other = fork.fork.child;
	value = 77;
	if (vmspace_copy_to(parent.space, at(1) + 8, &value, sizeof(value)) != sizeof(value) ||
	    vmspace_copy_from(other, &read_back, at(1) + 8, sizeof(value)) != sizeof(value))
		goto out;
	assert_int_equal(read_back, 2);
	all = !vmspace_call(parent.space, &protect_one) && !vmspace_call(parent.space, &cut);
out:
	vmspace_destroy(other);
	vmspace_window_destroy(window);
	return all;
}

/* After steps of which some were refused: the host reaches what the guest does, no more. */
static void check_steps(void)
{
	for (unsigned long i = 0; i < 3 * n; i++) {
		bool reads = touch(&parent, i, READ) == VMSPACE_FAULT_OK;
		unsigned int value = 0;

		assert_int_equal(vmspace_copy_from(parent.space, &value, at(i) + 8, sizeof(value)),
				 reads ? sizeof(value) : 0);
		assert_int_equal(reaches(&parent, i),
				 vmspace_window_is_direct(parent.window, at(i), READ));
		if (!reaches(&parent, i))
			continue;
		assert_true(reads);
		assert_int_equal(*host(&parent, i), value);
		if (writes(&parent, i))
			assert_int_equal(touch(&parent, i, WRITE), VMSPACE_FAULT_OK);
	}
}

static void every_allocation_is_refused(void **state)
{
	const char *reason = "";
	long tried = 0;
	bool all;

	(void)state;
	do {
		struct vmspace_request none = { .op = VMSPACE_MUNMAP,
						.munmap = { at(0), 3 * n * page } };

		scarce.countdown = ++tried;
		all = all_steps();
		all = all && scarce.countdown;
		scarce.countdown = 0;
		assert_true(vmspace_check(parent.space, &reason));
		check_steps();
		assert_int_equal(vmspace_call(parent.space, &none), 0);
	} while (!all);
	assert_true(tried > 20);
	print_message("# %ld allocations\n", tried - 1);
}

static void every_call_of_the_host_is_refused(bool also_all_behind)
{
	long tried = 0;
	bool left;

	do {
		countdown = ++tried;
		for_good = also_all_behind;
		all_steps();
		left = countdown && !(for_good && countdown == 1);
		countdown = 0;
		check_steps();
		assert_true(all_steps());
		check_steps();
	} while (!left);
	assert_true(tried > 20);
	print_message("# %ld calls\n", tried - 1);
}

static void the_host_refuses_once(void **state)
{
	(void)state;
	every_call_of_the_host_is_refused(false);
}

static void the_host_refuses_all(void **state)
{
	(void)state;
	every_call_of_the_host_is_refused(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(every_allocation_is_refused),
		BOTH(the_host_refuses_once),
		BOTH(the_host_refuses_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
