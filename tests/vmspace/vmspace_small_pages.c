/* SPDX-License-Identifier: MIT */
/*
 * vmspace_small_pages.c - windows of guests whose pages are smaller than the host's: what the host maps,
 * and what vmspace_access() serves; forks; and memory, or the host's calls, refused at each place.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_memfd.h>
#include <mapletree/vmspace_rules.h>

#include "memfd.h"
#include "scarce.h"

#define START 0x10000000UL
#define UNITS 64UL
#define RW (PROT_READ | PROT_WRITE)
#define READ VMSPACE_ACCESS_READ
#define WRITE VMSPACE_ACCESS_WRITE

struct guest {
	struct vmspace *space;
	struct vmspace_window *window;
};

static struct vmspace_memfd *memfd;
static struct guest parent, child;
static size_t page, host_page;
static unsigned long n; /* guest pages in one of the host */
static int pipes[2];

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

/* ---- a guest ---- */

static struct vmspace_window *new_window(void)
{
	struct vmspace_window *window;

	assert_int_equal(vmspace_window_create(&window, memfd, START, UNITS * host_page), 0);
	return window;
}

static void begin_space(void)
{
	struct vmspace_config config;

	vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = page;
	config.pmd_size = 0;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = vmspace_window_memory(parent.window);
	assert_null(vmspace_config_check(&config));
	assert_int_equal(vmspace_create(&parent.space, &config), 0);
	assert_int_equal(mt_set_allocator(&parent.space->tree, &scarce_nodes), 0);
}

/* Pages as small as there can be where the host's are really larger; else larger ones are pretended. */
static void begin_pages(size_t guest, size_t host)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)64 << 20 };

	page = guest;
	host_page = host ? host : (size_t)sysconf(_SC_PAGESIZE);
	n = host_page / page;
	assert_int_equal(vmspace_memfd_create_pages(&memfd, &memory, guest, host), 0);
	parent.window = new_window();
	begin_space();
	child = (struct guest){ NULL, NULL };
	assert_int_equal(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
}

static int begin(void **state)
{
	(void)state;
	begin_pages(1024, 0);
	return 0;
}

static int begin_pretended(void **state)
{
	size_t system = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	begin_pages(system, 4 * system);
	return 0;
}

static void end_guest(struct guest *guest)
{
	const char *reason = "";

	if (guest->space && !vmspace_check(guest->space, &reason))
		fail_msg("%s", reason);
	vmspace_destroy(guest->space);
	vmspace_window_destroy(guest->window);
}

static int end(void **state)
{
	(void)state;
	end_guest(&child);
	end_guest(&parent);
	vmspace_memfd_destroy(memfd);
	close(pipes[0]);
	close(pipes[1]);
	return 0;
}

static unsigned long at(unsigned long number)
{
	return START + number * page;
}

static void map(unsigned long first, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = {
		.op = VMSPACE_MMAP,
		.mmap = { .addr = at(first), .length = pages * page, .prot = prot,
			  .flags = flags | MAP_FIXED },
	};

	if (!(flags & MAP_ANONYMOUS))
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .inode = 9 };
	assert_int_equal(vmspace_call(parent.space, &req), at(first));
}

static void map_anon(unsigned long first, unsigned long pages, int prot)
{
	map(first, pages, prot, MAP_PRIVATE | MAP_ANONYMOUS);
}

static void unmap(unsigned long first, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP,
				       .munmap = { at(first), pages * page } };

	assert_int_equal(vmspace_call(parent.space, &req), 0);
}

static void protect(unsigned long first, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT,
				       .mprotect = { at(first), pages * page, prot, -1 } };

	assert_int_equal(vmspace_call(parent.space, &req), 0);
}

static enum vmspace_fault_result touch(struct guest *guest, unsigned long number, unsigned int access)
{
	return vmspace_touch(guest->space, at(number), access, NULL);
}

static void put(struct guest *guest, unsigned long number, unsigned int value)
{
	assert_int_equal(vmspace_copy_to(guest->space, at(number) + 8, &value, sizeof(value)),
			 sizeof(value));
}

static unsigned int get(struct guest *guest, unsigned long number)
{
	unsigned int value = 0;

	assert_int_equal(vmspace_copy_from(guest->space, &value, at(number) + 8, sizeof(value)),
			 sizeof(value));
	return value;
}

static unsigned int *host(struct guest *guest, unsigned long number)
{
	return (unsigned int *)((char *)vmspace_window_host(guest->window, at(number)) + 8);
}

/* Does the host reach the page, whatever the window says of it? */
static bool reaches(struct guest *guest, unsigned long number)
{
	char byte;

	if (write(pipes[1], host(guest, number), 1) != 1) {
		assert_int_equal(errno, EFAULT);
		return false;
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	return true;
}

static bool writes(struct guest *guest, unsigned long number)
{
	unsigned int *to = host(guest, number);
	char byte;

	if (!reaches(guest, number))
		return false;
	byte = *(volatile char *)to;
	assert_int_equal(write(pipes[1], &byte, 1), 1);
	if (read(pipes[0], to, 1) == 1)
		return true;
	assert_int_equal(errno, EFAULT);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	return false;
}

enum direct { NOT, READABLE, WRITABLE };

/* How the host's page `unit` is mapped, and that the window says so. */
static void check_unit(struct guest *guest, unsigned long unit, enum direct direct)
{
	for (unsigned long i = unit * n; i < (unit + 1) * n; i++) {
		assert_int_equal(vmspace_window_is_direct(guest->window, at(i), READ), direct != NOT);
		assert_int_equal(vmspace_window_is_direct(guest->window, at(i), WRITE),
				 direct == WRITABLE);
		assert_int_equal(reaches(guest, i), direct != NOT);
		assert_int_equal(writes(guest, i), direct == WRITABLE);
	}
}

static void fork_guest(void)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	child.window = new_window();
	req.fork.child_memory = vmspace_window_memory(child.window);
	assert_int_equal(vmspace_call(parent.space, &req), 0);
	child.space = req.fork.child;
}

/* ---- which sizes ---- */

static void sizes_that_cannot_be_are_refused(void **state)
{
	struct vmspace_memfd_config memory = { .limit = 1 << 20 };
	size_t system = (size_t)sysconf(_SC_PAGESIZE);
	struct vmspace_memfd *other;
	struct vmspace_window *window;
	struct vmspace_config config;

	(void)state;
	assert_int_equal(vmspace_memfd_create_pages(&other, &memory, 512, 0), -EINVAL);
	assert_int_equal(vmspace_memfd_create_pages(&other, &memory, 3 * 1024, 0), -EINVAL);
	assert_int_equal(vmspace_memfd_create_pages(&other, &memory, 2 * system, 0), -EINVAL);
	assert_int_equal(vmspace_memfd_create_pages(&other, &memory, system, system / 2), -EINVAL);
	assert_int_equal(vmspace_memfd_create_pages(&other, &memory, system, 3 * system), -EINVAL);
	assert_int_equal(vmspace_memfd_create_pages(&other, &memory, system, 128 * system), -EINVAL);
	assert_null(other);
	assert_int_equal(vmspace_window_create(&window, memfd, START + page, host_page), -EINVAL);
	assert_int_equal(vmspace_window_create(&window, memfd, START, host_page + page), -EINVAL);
	config = *vmspace_config(parent.space);
	config.page_size = 2 * page;
	assert_non_null(strstr(vmspace_config_check(&config), "vmspace_memfd_create_pages"));
}

static void pages_of_the_hosts_size_need_no_other_call(void **state)
{
	struct vmspace_memfd_config memory = { .limit = 1 << 20 };
	size_t system = (size_t)sysconf(_SC_PAGESIZE);
	struct vmspace_memfd *other;
	struct vmspace_window *window;

	(void)state;
	assert_int_equal(vmspace_memfd_create_pages(&other, &memory, system, 0), 0);
	assert_int_equal(vmspace_window_create(&window, other, START + system, system), 0);
	assert_false(vmspace_window_is_direct(window, START + system, READ));
	assert_false(vmspace_window_is_direct(window, START, READ));
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(other);
}

/* ---- what is mapped ---- */

static void a_touch_makes_the_hosts_page_direct(void **state)
{
	(void)state;
	map_anon(0, 3 * n, RW);
	put(&parent, n + 1, 7);
	check_unit(&parent, 0, NOT);
	check_unit(&parent, 1, WRITABLE);
	check_unit(&parent, 2, NOT);
	assert_int_equal(*host(&parent, n + 1), 7);
	*host(&parent, n + 2) = 8;
	assert_int_equal(get(&parent, n + 2), 8);
	assert_int_equal(get(&parent, n), 0);
}

static void what_was_never_written_is_direct_to_read(void **state)
{
	(void)state;
	map_anon(0, 2 * n, RW);
	assert_int_equal(get(&parent, 0), 0);
	check_unit(&parent, 0, READABLE);
	assert_int_equal(*host(&parent, n - 1), 0);
	put(&parent, 1, 5);
	check_unit(&parent, 0, WRITABLE);
	assert_int_equal(*host(&parent, 0), 0);
	assert_int_equal(*host(&parent, 1), 5);
}

static void pages_that_differ_are_served_by_access(void **state)
{
	(void)state;
	map_anon(0, n, RW);
	put(&parent, 0, 1);
	protect(1, 1, PROT_READ);
	check_unit(&parent, 0, NOT);
	assert_int_equal(touch(&parent, 1, READ), VMSPACE_FAULT_OK);
	assert_int_equal(touch(&parent, 1, WRITE), VMSPACE_FAULT_ACCERR);
	put(&parent, 0, 2);
	put(&parent, 2, 3);
	protect(2, 1, PROT_NONE);
	assert_int_equal(touch(&parent, 2, READ), VMSPACE_FAULT_ACCERR);
	assert_int_equal(get(&parent, 0), 2);
	check_unit(&parent, 0, NOT);
	protect(0, n, PROT_READ);
	for (unsigned long i = 0; i < n; i++)
		get(&parent, i);
	check_unit(&parent, 0, READABLE);
	assert_int_equal(*host(&parent, 2), 3);
	protect(0, n, RW);
	put(&parent, 0, 4);
	check_unit(&parent, 0, WRITABLE);
}

static void a_part_is_unmapped(void **state)
{
	(void)state;
	map_anon(0, 2 * n, RW);
	put(&parent, 0, 1);
	put(&parent, n, 2);
	unmap(n - 1, 2);
	check_unit(&parent, 0, NOT);
	check_unit(&parent, 1, NOT);
	assert_int_equal(get(&parent, 0), 1);
	assert_int_equal(touch(&parent, n - 1, READ), VMSPACE_FAULT_MAPERR);
	assert_int_equal(touch(&parent, n, READ), VMSPACE_FAULT_MAPERR);
	map_anon(n - 1, 2, RW);
	assert_int_equal(get(&parent, n), 0);
	put(&parent, n - 1, 3);
	put(&parent, n, 4);
	check_unit(&parent, 0, WRITABLE);
	check_unit(&parent, 1, WRITABLE);
	assert_int_equal(*host(&parent, 0), 1);
}

static void many_pages_are_unmapped(void **state)
{
	(void)state;
	map_anon(1, UNITS * n - 2, RW);
	for (unsigned long i = 1; i < UNITS * n - 1; i++)
		put(&parent, i, (unsigned int)i);
	check_unit(&parent, 0, NOT);
	for (unsigned long unit = 1; unit < UNITS - 1; unit++)
		check_unit(&parent, unit, WRITABLE);
	unmap(n + 1, (UNITS - 2) * n - 2);
	for (unsigned long unit = 0; unit < UNITS; unit++)
		check_unit(&parent, unit, NOT);
	assert_int_equal(get(&parent, n), n);
	assert_int_equal(get(&parent, (UNITS - 1) * n - 1), (UNITS - 1) * n - 1);
}

static void a_discarded_part_is_zeros(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE };

	(void)state;
	map_anon(0, n, RW);
	for (unsigned int i = 0; i < n; i++)
		put(&parent, i, i + 1);
	req.madvise.addr = at(1);
	req.madvise.length = page;
	req.madvise.advice = MADV_DONTNEED;
	assert_int_equal(vmspace_call(parent.space, &req), 0);
	check_unit(&parent, 0, NOT);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(get(&parent, i), i == 1 ? 0 : i + 1);
	check_unit(&parent, 0, NOT); /* it shows the page of zeros, which has another place */
	put(&parent, 1, 9);
	check_unit(&parent, 0, WRITABLE);
}

static void guards_keep_the_hosts_page_shut(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE };

	(void)state;
	map_anon(0, n, RW);
	put(&parent, 0, 1);
	req.madvise.addr = at(1);
	req.madvise.length = page;
	req.madvise.advice = 102; /* MADV_GUARD_INSTALL */
	if (vmspace_call(parent.space, &req)) {
		fail_msg("guards are refused");
	}
	put(&parent, 0, 2);
	check_unit(&parent, 0, NOT);
	assert_int_equal(touch(&parent, 1, READ), VMSPACE_FAULT_MAPERR);
}

static void moved_by_a_page_and_back(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MREMAP };

	(void)state;
	map_anon(0, 2 * n, RW);
	for (unsigned int i = 0; i < 2 * n; i++)
		put(&parent, i, i + 1);
	req.mremap.addr = at(0);
	req.mremap.old_length = req.mremap.new_length = 2 * n * page;
	req.mremap.flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	req.mremap.new_addr = at(4 * n + 1);
	assert_int_equal(vmspace_call(parent.space, &req), at(4 * n + 1));
	for (unsigned int i = 0; i < 2 * n; i++)
		assert_int_equal(get(&parent, 4 * n + 1 + i), i + 1);
	for (unsigned long unit = 0; unit < 8; unit++)
		check_unit(&parent, unit, NOT);
	req.mremap.addr = at(4 * n + 1);
	req.mremap.new_addr = at(8 * n);
	assert_int_equal(vmspace_call(parent.space, &req), at(8 * n));
	for (unsigned int i = 0; i < 2 * n; i++)
		put(&parent, 8 * n + i, get(&parent, 8 * n + i) + 1);
	check_unit(&parent, 8, WRITABLE);
	assert_int_equal(*host(&parent, 8 * n), 2);
}

static void neighbouring_areas_that_are_alike_are_mapped(void **state)
{
	(void)state;
	map(0, 1, RW, MAP_PRIVATE | MAP_ANONYMOUS);
	map(1, n - 1, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
	put(&parent, 1, 2);
	check_unit(&parent, 0, NOT); /* the other area was not touched */
	put(&parent, 0, 1);
	check_unit(&parent, 0, WRITABLE);
}

static void only_the_area_touched_is_populated(void **state)
{
	struct vmspace_page found;

	(void)state;
	map_anon(0, n - 1, RW);
	put(&parent, 0, 1);
	check_unit(&parent, 0, NOT);
	assert_int_equal(vmspace_touch(parent.space, at(n - 2), WRITE, &found), VMSPACE_FAULT_OK);
	assert_int_equal(found.source, VMSPACE_PAGE_PRESENT);
	map_anon(n - 1, 1, PROT_READ);
	assert_int_equal(vmspace_touch(parent.space, at(n - 1), READ, &found), VMSPACE_FAULT_OK);
	assert_int_equal(found.source, VMSPACE_PAGE_NEW);
}

static void a_stack_grows_into_a_part(void **state)
{
	(void)state;
	map(4 * n - 1, 1, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN);
	put(&parent, 4 * n - 1, 1);
	check_unit(&parent, 3, NOT);
	put(&parent, 4 * n - 2, 2);
	check_unit(&parent, 3, NOT);
	put(&parent, 3 * n, 3);
	check_unit(&parent, 3, WRITABLE);
	assert_int_equal(*host(&parent, 4 * n - 2), 2);
}

/* ---- shared memory and files ---- */

static int file_fd = -1;

static int descriptor(void *ctx, const struct vma_backing *file)
{
	(void)ctx;
	return file->inode == 9 ? file_fd : -1;
}

static void open_file(size_t size)
{
	file_fd = memfd_create("file", MFD_CLOEXEC);
	assert_true(file_fd >= 0);
	assert_int_equal(ftruncate(file_fd, (off_t)size), 0);
	vmspace_memfd_use_files(memfd, descriptor);
}

static void a_shared_mapping_is_the_file(void **state)
{
	unsigned int value = 0;

	(void)state;
	open_file(2 * host_page);
	map(0, 2 * n, RW, MAP_SHARED);
	put(&parent, 1, 5);
	check_unit(&parent, 0, WRITABLE);
	*host(&parent, 2) = 6;
	assert_int_equal(pread(file_fd, &value, sizeof(value), (off_t)(2 * page + 8)), sizeof(value));
	assert_int_equal(value, 6);
	close(file_fd);
}

static void a_file_that_ends_in_the_hosts_page(void **state)
{
	(void)state;
	open_file(host_page + page + 20);
	map(0, 2 * n, RW, MAP_SHARED);
	put(&parent, 0, 1);
	put(&parent, n + 1, 2);
	check_unit(&parent, 0, WRITABLE);
	check_unit(&parent, 1, NOT);
	assert_int_equal(get(&parent, n + 1), 2);
	assert_int_equal(touch(&parent, n + 2, READ), VMSPACE_FAULT_BUS);
	close(file_fd);
}

static void a_private_mapping_shows_the_file_until_written(void **state)
{
	unsigned int value = 4;

	(void)state;
	open_file(2 * host_page);
	map(0, 2 * n, RW, MAP_PRIVATE);
	assert_int_equal(get(&parent, 0), 0);
	check_unit(&parent, 0, READABLE);
	assert_int_equal(pwrite(file_fd, &value, sizeof(value), (off_t)(page + 8)), sizeof(value));
	assert_int_equal(*host(&parent, 1), 4);
	put(&parent, 0, 3);
	check_unit(&parent, 0, WRITABLE);
	assert_int_equal(*host(&parent, 1), 4);
	assert_int_equal(pread(file_fd, &value, sizeof(value), 8), sizeof(value));
	assert_int_equal(value, 0);
	close(file_fd);
}

/* Of shared memory without a file, the first mapping says which frames fit. */
static void shared_memory_is_direct_wherever_it_begins(void **state)
{
	(void)state;
	map(1, 3 * n, RW, MAP_SHARED | MAP_ANONYMOUS);
	for (unsigned long i = 1; i <= 3 * n; i++)
		put(&parent, i, (unsigned int)i);
	check_unit(&parent, 0, NOT);
	check_unit(&parent, 1, WRITABLE);
	check_unit(&parent, 2, WRITABLE);
	fork_guest();
	put(&child, n, 99);
	assert_int_equal(get(&parent, n), 99);
	check_unit(&child, 1, WRITABLE);
}

/* ---- marks, and code that is watched ---- */

static void a_page_is_watched_alone(void **state)
{
	unsigned long before;

	(void)state;
	map_anon(0, n, RW | PROT_EXEC);
	put(&parent, 0, 1);
	check_unit(&parent, 0, WRITABLE);
	assert_int_equal(vmspace_watch_code(parent.space, at(1), NULL), VMSPACE_FAULT_OK);
	check_unit(&parent, 0, NOT);
	before = vmspace_code_generation(parent.space);
	put(&parent, 0, 2);
	protect(2, 1, PROT_READ);
	protect(2, 1, RW | PROT_EXEC);
	put(&parent, 2, 3); /* which faults, and leaves its neighbour as it is */
	assert_int_equal(vmspace_code_generation(parent.space), before);
	put(&parent, 1, 4);
	assert_int_equal(vmspace_code_generation(parent.space), before + 1);
	check_unit(&parent, 0, WRITABLE);
}

static void no_write_is_lost_where_marks_were_cleared(void **state)
{
	(void)state;
	map_anon(0, 2 * n, RW);
	put(&parent, 0, 1);
	put(&parent, n, 1);
	assert_int_equal(vmspace_collect(parent.space, at(1), at(n + 1), VMSPACE_MARK_DIRTY,
					 VMSPACE_COLLECT_CLEAR, NULL, NULL),
			 n);
	check_unit(&parent, 0, NOT);
	check_unit(&parent, 1, NOT);
	assert_int_equal(vmspace_collect(parent.space, at(1), at(n + 1), VMSPACE_MARK_DIRTY, 0, NULL,
					 NULL),
			 0);
	put(&parent, 1, 2);
	check_unit(&parent, 0, WRITABLE);
	*host(&parent, n - 1) = 3;
	/* Whatever can be written unseen counts as written. */
	assert_int_equal(vmspace_collect(parent.space, at(0), at(n), VMSPACE_MARK_DIRTY, 0, NULL, NULL),
			 n);
}

/* ---- forks ---- */

static void a_fork_shares_until_written(void **state)
{
	(void)state;
	map_anon(0, 3 * n, RW);
	for (unsigned int i = 0; i < 3 * n; i++)
		put(&parent, i, i + 1);
	protect(2 * n + 1, 1, PROT_READ);
	check_unit(&parent, 2, NOT);
	fork_guest();
	check_unit(&parent, 0, READABLE);
	check_unit(&parent, 2, READABLE); /* as none of its pages is writable now */
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

/* ---- code ---- */

static void code_is_executable_where_all_of_it_is(void **state)
{
	(void)state;
	end_guest(&parent);
	vmspace_memfd_destroy(memfd);
	close(pipes[0]);
	close(pipes[1]);
	begin(NULL);
	end_guest(&parent);
	parent = (struct guest){ .window = new_window() };
	if (vmspace_window_create_code(parent.window)) {
		print_message("# SKIP in part: memory may not be executable here\n");
		return;
	}
	begin_space();
	map_anon(0, 2 * n, RW);
	put(&parent, 0, 11);
	protect(0, n, PROT_READ | PROT_EXEC);
	assert_false(vmspace_window_is_direct(parent.window, at(0), VMSPACE_ACCESS_EXEC));
	assert_int_equal(touch(&parent, 0, VMSPACE_ACCESS_EXEC), VMSPACE_FAULT_OK);
	assert_true(vmspace_window_is_direct(parent.window, at(n - 1), VMSPACE_ACCESS_EXEC));
	assert_int_equal(*(unsigned int *)((char *)vmspace_window_code(parent.window, at(0)) + 8), 11);
	protect(1, 1, PROT_READ);
	assert_int_equal(touch(&parent, 0, VMSPACE_ACCESS_EXEC), VMSPACE_FAULT_OK);
	assert_int_equal(touch(&parent, 1, READ), VMSPACE_FAULT_OK);
	assert_false(vmspace_window_is_direct(parent.window, at(0), VMSPACE_ACCESS_EXEC));
	assert_true(vmspace_window_is_direct(parent.window, at(0), READ));
}

/* ---- frames ---- */

/* Of the host's pages of which nothing is used, the memory is given back, though guests' are smaller. */
static void memory_is_given_back(void **state)
{
	struct stat is;
	size_t used;

	(void)state;
	map_anon(0, UNITS * n, RW);
	for (unsigned long i = 0; i < UNITS * n; i++)
		put(&parent, i, 1);
	used = vmspace_memfd_used(memfd);
	assert_int_equal(used, UNITS * host_page);
	/* One by one, and every second first. */
	for (unsigned long i = 0; i < UNITS * n; i += 2)
		unmap(i, 1);
	for (unsigned long i = 1; i < UNITS * n; i += 2)
		assert_int_equal(get(&parent, i), 1);
	for (unsigned long i = 1; i < UNITS * n; i += 2)
		unmap(i, 1);
	assert_int_equal(vmspace_memfd_used(memfd), 0);
	assert_int_equal(fstat(memfd->fd, &is), 0);
	assert_int_equal(is.st_blocks, 0);
	map_anon(0, UNITS * n, RW);
	for (unsigned long i = 0; i < UNITS * n; i++)
		assert_int_equal(get(&parent, i), 0);
}

/* Scattered pages take all chunks; then units are found in those that are in use. */
static void scattered_pages_stay_direct(void **state)
{
	struct vmspace_memfd_config memory = { .limit = 0 };
	unsigned long direct = 0;

	(void)state;
	end_guest(&parent);
	vmspace_memfd_destroy(memfd);
	/* Room for half of the window, in chunks of 64 frames. */
	memory.limit = UNITS / 2 * host_page;
	assert_int_equal(vmspace_memfd_create_pages(&memfd, &memory, page, host_page), 0);
	parent = (struct guest){ .window = new_window() };
	begin_space();
	map_anon(0, UNITS * n, RW);
	for (unsigned long unit = 0; unit < UNITS; unit += 2) {
		put(&parent, unit * n, (unsigned int)unit);
		direct += vmspace_window_is_direct(parent.window, at(unit * n), WRITE);
	}
	assert_int_equal(direct, UNITS / 2);
	assert_int_equal(touch(&parent, n, WRITE), VMSPACE_FAULT_NOMEM);
	for (unsigned long unit = 0; unit < UNITS; unit += 2)
		assert_int_equal(*host(&parent, unit * n), unit);
}

/* ---- memory, and the host's calls, refused ---- */

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
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define BOTH(name) { #name, name, begin, end, NULL }, { #name "_pretended", name, begin_pretended, end, NULL }
	const struct CMUnitTest tests[] = {
		TEST(sizes_that_cannot_be_are_refused),
		TEST(pages_of_the_hosts_size_need_no_other_call),
		BOTH(a_touch_makes_the_hosts_page_direct),
		BOTH(what_was_never_written_is_direct_to_read),
		BOTH(pages_that_differ_are_served_by_access),
		BOTH(a_part_is_unmapped),
		BOTH(many_pages_are_unmapped),
		BOTH(a_discarded_part_is_zeros),
		BOTH(guards_keep_the_hosts_page_shut),
		BOTH(moved_by_a_page_and_back),
		BOTH(neighbouring_areas_that_are_alike_are_mapped),
		BOTH(only_the_area_touched_is_populated),
		BOTH(a_stack_grows_into_a_part),
		BOTH(a_shared_mapping_is_the_file),
		BOTH(a_file_that_ends_in_the_hosts_page),
		BOTH(a_private_mapping_shows_the_file_until_written),
		BOTH(shared_memory_is_direct_wherever_it_begins),
		BOTH(a_page_is_watched_alone),
		BOTH(no_write_is_lost_where_marks_were_cleared),
		BOTH(a_fork_shares_until_written),
		BOTH(threads_share_the_hosts_pages),
		BOTH(a_host_child_has_a_copy),
		TEST(code_is_executable_where_all_of_it_is),
		BOTH(memory_is_given_back),
		BOTH(scattered_pages_stay_direct),
		BOTH(every_allocation_is_refused),
		BOTH(the_host_refuses_once),
		BOTH(the_host_refuses_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
