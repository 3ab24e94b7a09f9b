/* SPDX-License-Identifier: MIT */
/*
 * vmspace_window.c - a space whose memory is a window: what threads reach by loads and stores after
 * faults, forks and changes of protection.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mapletree/vmspace_memfd.h>

#define START 0x10000000UL
#define PAGES 600 /* more than one table of the page table */
#define RW (PROT_READ | PROT_WRITE)
#define ACCESS_READ VMSPACE_ACCESS_READ
#define ACCESS_WRITE VMSPACE_ACCESS_WRITE

struct guest {
	struct vmspace *space;
	struct vmspace_window *window;
};

static struct vmspace_memfd *memfd;
static struct guest parent, child;
static size_t page;

static struct vmspace_window *new_window(void)
{
	struct vmspace_window *window;

	assert_int_equal(vmspace_window_create(&window, memfd, START, 4 * PAGES * page), 0);
	return window;
}

static int begin(void **state)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)64 << 20 };
	struct vmspace_config config;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	parent.window = new_window();
	vmspace_config_init(&config);
	config.memory = vmspace_window_memory(parent.window);
	assert_int_equal(vmspace_create(&parent.space, &config), 0);
	child = (struct guest){ NULL, NULL };
	return 0;
}

static void end_guest(struct guest *guest)
{
	vmspace_destroy(guest->space);
	vmspace_window_destroy(guest->window);
}

static int end(void **state)
{
	(void)state;
	end_guest(&child);
	end_guest(&parent);
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

	assert_int_equal(vmspace_call(parent.space, &req), START);
}

static void protect(unsigned long first, unsigned long pages, int prot)
{
	struct vmspace_request req = {
		.op = VMSPACE_MPROTECT,
		.mprotect = { START + first * page, pages * page, prot, -1 },
	};

	assert_int_equal(vmspace_call(parent.space, &req), 0);
}

static void fork_parent(void)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	child.window = new_window();
	req.fork.child_memory = vmspace_window_memory(child.window);
	assert_int_equal(vmspace_call(parent.space, &req), 0);
	child.space = req.fork.child;
}

static char *host(const struct guest *guest, unsigned long number)
{
	return vmspace_window_host(guest->window, START + number * page);
}

static enum vmspace_page_source touch(const struct guest *guest, unsigned long number,
				      unsigned int access)
{
	struct vmspace_page got;

	assert_int_equal(vmspace_touch(guest->space, START + number * page, access, &got),
			 VMSPACE_FAULT_OK);
	return got.source;
}

/* Can the host read, or write, there? Asked of the kernel, which answers instead of a signal. */
static bool reaches(const struct guest *guest, unsigned long number, bool to_write)
{
	char *at = host(guest, number);
	int fds[2];
	bool can;

	assert_int_equal(pipe(fds), 0);
	can = write(fds[1], to_write ? "w" : at, 1) == 1 && (!to_write || read(fds[0], at, 1) == 1);
	close(fds[0]);
	close(fds[1]);
	return can;
}

static void write_all(void)
{
	for (unsigned long i = 0; i < PAGES; i++) {
		touch(&parent, i, ACCESS_WRITE);
		memcpy(host(&parent, i), &i, sizeof(i));
	}
}

static unsigned long number_at(const struct guest *guest, unsigned long number)
{
	unsigned long value;

	memcpy(&value, host(guest, number), sizeof(value));
	return value;
}

static void a_parent_reads_on_after_a_fork(void **state)
{
	(void)state;
	map(RW);
	write_all();
	fork_parent();
	for (unsigned long i = 0; i < PAGES; i++) {
		assert_true(reaches(&parent, i, false));
		assert_false(reaches(&parent, i, true));
		assert_int_equal(number_at(&parent, i), i);
		assert_false(reaches(&child, i, false));
	}
	for (unsigned long i = 0; i < PAGES; i += 7) {
		assert_int_equal(touch(&parent, i, ACCESS_WRITE), VMSPACE_PAGE_COPIED);
		memset(host(&parent, i), 'p', page);
	}
	for (unsigned long i = 0; i < PAGES; i++) {
		assert_int_equal(touch(&child, i, ACCESS_READ), VMSPACE_PAGE_PRESENT);
		assert_int_equal(number_at(&child, i), i);
	}
	/* Where the parent has gone away the page is the child's alone. */
	assert_int_equal(touch(&child, 7, ACCESS_WRITE), VMSPACE_PAGE_REUSED);
	assert_int_equal(touch(&child, 8, ACCESS_WRITE), VMSPACE_PAGE_COPIED);
	memset(host(&child, 8), 'c', page);
	assert_int_equal(number_at(&parent, 8), 8);
}

static void a_present_page_stays_as_it_is(void **state)
{
	struct vmspace_page got;

	(void)state;
	map(RW);
	touch(&parent, 3, ACCESS_WRITE);
	*host(&parent, 3) = 'x';
	for (int i = 0; i < 3; i++) {
		assert_int_equal(vmspace_touch(parent.space, START + 3 * page + 5, ACCESS_READ, &got),
				 VMSPACE_FAULT_OK);
		assert_int_equal(got.source, VMSPACE_PAGE_PRESENT);
		assert_int_equal(got.addr, START + 3 * page);
		assert_int_equal(*(char *)vmspace_memfd_frame(memfd, got.frame), 'x');
	}
	/* Read first, it shows zeros, and is replaced when it is written. */
	assert_int_equal(touch(&parent, 4, ACCESS_READ), VMSPACE_PAGE_NEW);
	assert_int_equal(touch(&parent, 4, ACCESS_READ), VMSPACE_PAGE_PRESENT);
	assert_false(reaches(&parent, 4, true));
	assert_int_equal(touch(&parent, 4, ACCESS_WRITE), VMSPACE_PAGE_COPIED);
	assert_int_equal(touch(&parent, 4, ACCESS_WRITE), VMSPACE_PAGE_PRESENT);
	assert_true(reaches(&parent, 4, true));
}

static void what_loses_writing_can_be_read(void **state)
{
	(void)state;
	map(RW);
	write_all();
	protect(0, PAGES / 2, PROT_READ);
	for (unsigned long i = 0; i < PAGES; i++) {
		assert_int_equal(number_at(&parent, i), i);
		assert_int_equal(reaches(&parent, i, true), i >= PAGES / 2);
		if (i >= PAGES / 2)
			memcpy(host(&parent, i), &i, sizeof(i));
	}
	protect(0, PAGES, PROT_NONE);
	for (unsigned long i = 0; i < PAGES; i++)
		assert_false(reaches(&parent, i, false));
	protect(0, PAGES, RW);
	touch(&parent, 5, ACCESS_READ);
	assert_int_equal(number_at(&parent, 5), 5);
}

/*
 * Found by reading: an area that may only be written shows its pages for reading, too; these were
 * left readable when the right to write, all that it had, was taken away.
 */
static void regress_what_loses_all_cannot_be_read(void **state)
{
	(void)state;
	map(PROT_WRITE);
	touch(&parent, 0, ACCESS_WRITE);
	protect(0, PAGES, PROT_NONE);
	assert_false(reaches(&parent, 0, false));
	protect(0, PAGES, PROT_WRITE);
	assert_int_equal(vmspace_touch(parent.space, START + page, ACCESS_READ, NULL),
			 VMSPACE_FAULT_OK);
	assert_true(reaches(&parent, 1, false));
	protect(0, PAGES, PROT_NONE);
	assert_false(reaches(&parent, 1, false));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_parent_reads_on_after_a_fork),
		TEST(a_present_page_stays_as_it_is),
		TEST(what_loses_writing_can_be_read),
		TEST(regress_what_loses_all_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
