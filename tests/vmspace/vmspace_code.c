/* SPDX-License-Identifier: MIT */
/*
 * vmspace_code.c - guest code that is executed in a window's view for that: functions that return a
 * number, written through the window. Where the processor is neither x86-64 nor aarch64 only the
 * mappings are looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_memfd.h>

#define START 0x10000000UL
#define PAGES 100UL
#define RW (PROT_READ | PROT_WRITE)
#define RWX (RW | PROT_EXEC)
#define RX (PROT_READ | PROT_EXEC)

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;

static int begin(void **state)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)16 << 20 };
	struct vmspace_config config;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	assert_int_equal(vmspace_window_create(&window, memfd, START, PAGES * page), 0);
	assert_null(vmspace_window_code(window, START));
	assert_int_equal(vmspace_window_create_code(window), 0);
	vmspace_config_init(&config);
	config.memory = vmspace_window_memory(window);
	return vmspace_create(&space, &config);
}

static int end(void **state)
{
	(void)state;
	vmspace_destroy(space);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	return 0;
}

static void map(int prot)
{
	struct vmspace_request req = {
		.op = VMSPACE_MMAP,
		.mmap = { .addr = START, .length = PAGES * page, .prot = prot,
			  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED },
	};

	assert_int_equal(vmspace_call(space, &req), START);
}

static void protect(unsigned long first, unsigned long pages, int prot)
{
	struct vmspace_request req = {
		.op = VMSPACE_MPROTECT,
		.mprotect = { START + first * page, pages * page, prot, -1 },
	};

	assert_int_equal(vmspace_call(space, &req), 0);
}

static enum vmspace_fault_result touch(unsigned long number, unsigned int access)
{
	return vmspace_touch(space, START + number * page, access, NULL);
}

static char *code(unsigned long number)
{
	return vmspace_window_code(window, START + number * page);
}

static bool reaches(char *at, bool to_write)
{
	int fds[2];
	bool can;

	assert_int_equal(pipe(fds), 0);
	can = write(fds[1], to_write ? "w" : at, 1) == 1 && (!to_write || read(fds[0], at, 1) == 1);
	close(fds[0]);
	close(fds[1]);
	return can;
}

/* Write a function that returns the number, in the area at page `number`. */
static void write_function(unsigned long number, unsigned int value)
{
	char *to = vmspace_window_host(window, START + number * page);

	assert_int_equal(touch(number, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_OK);
#ifdef __x86_64__
	memcpy(to, "\xb8....\xc3", 6); /* mov eax, ....; ret */
	memcpy(to + 1, &value, sizeof(value));
#elif defined(__aarch64__)
	const uint32_t words[] = { 0x52800000 | value << 5, 0xd65f03c0 }; /* mov w0, #value; ret */

	memcpy(to, words, sizeof(words));
#else
	memcpy(to, &value, sizeof(value));
#endif
}

/* What the function at page `number` returns. */
static unsigned int run(unsigned long number)
{
	unsigned int value;

	assert_int_equal(touch(number, VMSPACE_ACCESS_EXEC), VMSPACE_FAULT_OK);
#if defined(__x86_64__) || defined(__aarch64__)
	unsigned int (*function)(void);
	char *at = code(number);

	__builtin___clear_cache(at, at + 8);
	memcpy(&function, &at, sizeof(at));
	value = function();
#else
	memcpy(&value, code(number), sizeof(value));
#endif
	return value;
}

static void what_is_written_in_the_window_runs_in_the_view(void **state)
{
	(void)state;
	map(RWX);
	for (unsigned long i = 0; i < PAGES; i++)
		write_function(i, (unsigned int)i + 7);
	for (unsigned long i = 0; i < PAGES; i++) {
		assert_int_equal(run(i), i + 7);
		assert_false(reaches(code(i), true));
	}
	/* Changed in place: nothing has to be mapped again. */
	write_function(5, 1000);
	assert_int_equal(run(5), 1000);
}

static void what_may_not_be_executed_is_not_in_the_view(void **state)
{
	(void)state;
	map(RW);
	write_function(3, 3);
	assert_false(reaches(code(3), false));
	assert_int_equal(touch(3, VMSPACE_ACCESS_EXEC), VMSPACE_FAULT_ACCERR);
	protect(0, PAGES, RX);
	assert_int_equal(run(3), 3);
	assert_int_equal(touch(3, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_ACCERR);
	protect(0, PAGES, PROT_READ);
	assert_false(reaches(code(3), false));
	protect(0, PAGES, RWX);
	assert_int_equal(run(3), 3);
	/* Both rights at once. */
	protect(2, 2, PROT_READ);
	assert_false(reaches(code(3), false));
	assert_int_equal(touch(3, VMSPACE_ACCESS_READ), VMSPACE_FAULT_OK);
	assert_false(reaches(code(3), false));
	protect(2, 2, RWX);
	/* Losing the right to write alone, code stays. */
	assert_int_equal(run(3), 3);
	protect(0, PAGES, RX);
	assert_true(reaches(code(3), false));
}

static void what_is_unmapped_is_gone(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP, .munmap = { START, 2 * page } };

	(void)state;
	map(RWX);
	write_function(0, 1);
	write_function(2, 2);
	assert_int_equal(run(0), 1);
	assert_int_equal(run(2), 2);
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_false(reaches(code(0), false));
	assert_true(reaches(code(2), false));
	map(RWX);
	assert_false(reaches(code(2), false));
}

/* A page that is copied before it is written is another one in the view, too. */
static void a_copy_is_in_the_view(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace_window *other;

	(void)state;
	map(RWX);
	write_function(4, 1);
	assert_int_equal(run(4), 1);
	assert_int_equal(vmspace_window_create(&other, memfd, START, PAGES * page), 0);
	req.fork.child_memory = vmspace_window_memory(other);
	assert_int_equal(vmspace_call(space, &req), 0);
	write_function(4, 2);
	assert_int_equal(run(4), 2);
	vmspace_destroy(req.fork.child);
	vmspace_window_destroy(other);
}

static void a_child_of_the_host_reaches_no_code(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	map(RWX);
	write_function(0, 1);
	assert_int_equal(run(0), 1);
	mt_before_fork();
	pid = fork();
	if (pid == 0) {
		mt_after_fork_child();
		_exit(reaches(code(0), false));
	}
	mt_after_fork_parent();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(run(0), 1);
}

static void addresses_go_both_ways(void **state)
{
	unsigned long addr = 0;

	(void)state;
	assert_null(vmspace_window_code(window, START - 1));
	assert_null(vmspace_window_code(window, START + PAGES * page));
	assert_true(vmspace_window_code_guest(window, code(3) + 5, &addr));
	assert_int_equal(addr, START + 3 * page + 5);
	assert_false(vmspace_window_code_guest(window, vmspace_window_host(window, START), &addr));
	assert_false(vmspace_window_guest(window, code(3), &addr));
	assert_int_equal(vmspace_window_create_code(window), -EINVAL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_in_the_window_runs_in_the_view),
		TEST(what_may_not_be_executed_is_not_in_the_view),
		TEST(what_is_unmapped_is_gone),
		TEST(a_copy_is_in_the_view),
		TEST(a_child_of_the_host_reaches_no_code),
		TEST(addresses_go_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
