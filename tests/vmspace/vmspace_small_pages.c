/* SPDX-License-Identifier: MIT */
/*
 * vmspace_small_pages.c - windows of guests whose pages are smaller than the host's: what the host maps,
 * and what vmspace_access() serves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mapletree/vmspace_rules.h>

#include "memfd.h"
#include "small_guest.h"

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
	check_unit(&parent, 0, READABLE);
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

/* ---- when it is mapped again ---- */

static void advise(unsigned long first, unsigned long pages, int advice)
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE,
				       .madvise = { at(first), pages * page, advice } };

	assert_int_equal(vmspace_call(parent.space, &req), 0);
}

static void clear(unsigned long first, unsigned int marks)
{
	assert_int_equal(vmspace_collect(parent.space, at(first), at(first + 1), marks,
					 VMSPACE_COLLECT_CLEAR, NULL, NULL),
			 1);
}

/* The page that is accessed was never missing: only its neighbour has changed. */
static void the_next_access_opens_what_a_neighbour_has_shut(void **state)
{
	struct vmspace_page found;

	(void)state;
	map_anon(0, n, RW);
	put(&parent, 0, 1);
	clear(1, VMSPACE_MARK_DIRTY);
	check_unit(&parent, 0, READABLE);
	get(&parent, 0);
	check_unit(&parent, 0, READABLE);
	assert_int_equal(touch(&parent, 0, WRITE), VMSPACE_FAULT_OK);
	check_unit(&parent, 0, WRITABLE);
	clear(1, VMSPACE_MARK_ACCESSED);
	check_unit(&parent, 0, NOT);
	assert_int_equal(touch(&parent, 0, READ), VMSPACE_FAULT_OK);
	check_unit(&parent, 0, WRITABLE);
	protect(1, 1, PROT_NONE);
	protect(1, 1, RW);
	check_unit(&parent, 0, NOT);
	get(&parent, 0);
	check_unit(&parent, 0, READABLE);
	put(&parent, 0, 2);
	check_unit(&parent, 0, WRITABLE);
	advise(1, 1, MADV_DONTNEED);
	check_unit(&parent, 0, NOT);
	put(&parent, 0, 3);
	check_unit(&parent, 0, WRITABLE);
	assert_true(vmspace_peek(parent.space, at(1), &found));
	assert_int_equal(found.kind, VMSPACE_PAGE_ANON);
	assert_int_equal(*host(&parent, 1), 0);
}

/* Accesses that could not open it must not be the last word. */
static void what_could_not_be_opened_is_tried_again_after_a_change(void **state)
{
	(void)state;
	map_anon(0, n, RW);
	put(&parent, 0, 1);
	protect(1, 1, PROT_READ);
	for (unsigned int i = 0; i < 4; i++)
		put(&parent, 0, i);
	check_unit(&parent, 0, READABLE);
	protect(1, 1, RW);
	put(&parent, 0, 5);
	check_unit(&parent, 0, WRITABLE);
	/* To be read, the page of zeros is enough for a neighbour; it is not that page's neighbour. */
	advise(1, 1, MADV_DONTNEED);
	for (unsigned int i = 0; i < 4; i++)
		get(&parent, 0);
	check_unit(&parent, 0, NOT);
	put(&parent, 0, 6);
	check_unit(&parent, 0, WRITABLE);
	advise(1, 1, 102); /* MADV_GUARD_INSTALL */
	for (unsigned int i = 0; i < 4; i++)
		put(&parent, 0, i);
	check_unit(&parent, 0, NOT);
	advise(1, 1, 103); /* MADV_GUARD_REMOVE */
	put(&parent, 0, 7);
	check_unit(&parent, 0, WRITABLE);
	unmap(1, 1);
	for (unsigned int i = 0; i < 4; i++)
		put(&parent, 0, i);
	check_unit(&parent, 0, NOT);
	map_anon(1, 1, RW);
	put(&parent, 0, 8);
	check_unit(&parent, 0, WRITABLE);
}

static unsigned long asked;
static bool refused;

/* Page 1 cannot be had at times. */
static int read_page(void *ctx, const struct vma_backing *file, uint64_t index, void *to)
{
	(void)ctx;
	(void)file;
	(void)to;
	asked += index == 1;
	return index == 1 && refused ? -EIO : 0;
}

/* The file's first n pages are mapped, and page 0 is touched for each kind of access, while page 1 fails. */
static void try_without_one(void)
{
	struct vmspace_memfd_config memory = { .limit = 64 * host_page, .read_page = read_page };

	end_guest(&parent);
	vmspace_memfd_destroy(memfd);
	assert_int_equal(vmspace_memfd_create_pages(&memfd, &memory, page, host_page), 0);
	parent = (struct guest){ .window = new_window() };
	begin_space();
	map(0, n, RW, MAP_SHARED);
	advise(2, n - 2, MADV_SEQUENTIAL); /* another area */
	asked = 0;
	refused = true;
	put(&parent, 0, 1);
	put(&parent, 0, 2);
	get(&parent, 0);
	assert_int_equal(asked, 3); /* by the fault, and by each kind of access */
}

static void what_does_not_help_is_not_repeated(void **state)
{
	unsigned long before;

	(void)state;
	try_without_one();
	before = asked;
	for (unsigned int i = 0; i < 100; i++) {
		put(&parent, 0, i);
		assert_int_equal(get(&parent, 0), i);
	}
	assert_int_equal(asked, before);
	map_anon(2 * n, 1, RW);
	for (unsigned int i = 0; i < 100; i++)
		put(&parent, 0, i);
	assert_int_equal(asked, before + 1);
}

static void it_is_tried_again_when_a_page_of_it_changes(void **state)
{
	(void)state;
	try_without_one();
	refused = false;
	put(&parent, 0, 3);
	assert_int_equal(asked, 3);
	put(&parent, 2, 4);
	check_unit(&parent, 0, NOT);
	put(&parent, 0, 5);
	check_unit(&parent, 0, WRITABLE);
	assert_int_equal(asked, 4);
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
	check_unit(&parent, 0, READABLE);
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
	check_unit(&parent, 0, READABLE);
	check_unit(&parent, 1, READABLE);
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

/* ---- code ---- */

static void code_is_executable_where_all_of_it_is(void **state)
{
	(void)state;
	end_guest(&parent);
	vmspace_memfd_destroy(memfd);
	close(pipes[0]);
	close(pipes[1]);
	begin_small(NULL);
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
	/* Back again: it is enough that page 0, which can be executed as before, is. */
	protect(1, 1, PROT_READ | PROT_EXEC);
	assert_int_equal(touch(&parent, 0, VMSPACE_ACCESS_EXEC), VMSPACE_FAULT_OK);
	for (unsigned long i = 0; i < n; i++)
		assert_true(vmspace_window_is_direct(parent.window, at(i), VMSPACE_ACCESS_EXEC));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sizes_that_cannot_be_are_refused),
		TEST(pages_of_the_hosts_size_need_no_other_call),
		BOTH(a_touch_makes_the_hosts_page_direct),
		BOTH(what_was_never_written_is_direct_to_read),
		BOTH(pages_that_differ_are_served_by_access),
		BOTH(a_part_is_unmapped),
		BOTH(many_pages_are_unmapped),
		BOTH(a_discarded_part_is_zeros),
		BOTH(the_next_access_opens_what_a_neighbour_has_shut),
		BOTH(what_could_not_be_opened_is_tried_again_after_a_change),
		BOTH(what_does_not_help_is_not_repeated),
		BOTH(it_is_tried_again_when_a_page_of_it_changes),
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
		TEST(code_is_executable_where_all_of_it_is),
		BOTH(memory_is_given_back),
		BOTH(scattered_pages_stay_direct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
