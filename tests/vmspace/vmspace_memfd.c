/* SPDX-License-Identifier: MIT */
/*
 * vmspace_memfd.c - the memfd backend: frames come full of zeros and go back to the system, files'
 * pages are one for all who map them, windows show what is translated and nothing else.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memfd.h"
#include "window.h"

#define START 0x100000UL
#define PAGES 64
#define ACCESS_RW (VMSPACE_ACCESS_READ | VMSPACE_ACCESS_WRITE)

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static const struct vmspace_memory *memory;
static size_t page;
static int reads, read_error;

static int read_page(void *ctx, const struct vma_backing *file, uint64_t index, void *to)
{
	(void)ctx;
	reads++;
	snprintf(to, page, "%s %u", file->name, (unsigned int)index);
	return index < 100 ? read_error : -ENXIO;
}

static int begin_with(size_t limit)
{
	struct vmspace_memfd_config config = { .limit = limit, .read_page = read_page };

	page = (size_t)sysconf(_SC_PAGESIZE);
	reads = read_error = 0;
	return vmspace_memfd_create(&memfd, &config);
}

static int begin(void **state)
{
	(void)state;
	assert_int_equal(begin_with((size_t)4 << 20), 0);
	assert_int_equal(vmspace_window_create(&window, memfd, START, PAGES * page), 0);
	memory = vmspace_window_memory(window);
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	window = NULL;
	return 0;
}

static uint64_t alloc(void)
{
	return memory->alloc(memory->ctx);
}

/* Can the host read, or write, there? Asked of the kernel, which answers instead of a signal. */
static bool readable(const void *at)
{
	int fds[2];
	bool can;

	assert_int_equal(pipe(fds), 0);
	can = write(fds[1], at, 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return can;
}

static bool writable(void *at)
{
	int fds[2];
	bool can;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "w", 1), 1);
	can = read(fds[0], at, 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return can;
}

static char *host(unsigned long number)
{
	return vmspace_window_host(window, START + number * page);
}

static int map(unsigned long number, uint64_t frame, unsigned int access)
{
	return memory->map(memory->ctx, START + number * page, frame, access);
}

static void unmap(unsigned long first, unsigned long last)
{
	memory->unmap(memory->ctx, START + first * page, START + (last + 1) * page);
}

static void bad_arguments_are_refused(void **state)
{
	struct vmspace_memfd_config config = { .limit = 1 };
	struct vmspace_memfd *none;
	struct vmspace_window *no_window;

	(void)state;
	assert_int_equal(vmspace_memfd_create(&none, &config), -EINVAL);
	assert_null(none);
	assert_int_equal(vmspace_window_create(&no_window, memfd, 1, page), -EINVAL);
	assert_int_equal(vmspace_window_create(&no_window, memfd, START, page + 1), -EINVAL);
	assert_int_equal(vmspace_window_create(&no_window, memfd, START, 0), -EINVAL);
	assert_int_equal(vmspace_window_create(&no_window, memfd, -page, 2 * page), -EINVAL);
	assert_int_equal(vmspace_window_create(&no_window, memfd, 0, -2 * page), -ENOMEM);
	assert_null(no_window);
}

static void frames_come_full_of_zeros(void **state)
{
	uint64_t frames[40], again;

	(void)state;
	for (int i = 0; i < 40; i++) {
		frames[i] = alloc();
		assert_int_not_equal(frames[i], 0);
		memset(vmspace_memfd_frame(memfd, frames[i]), 'x', page);
	}
	assert_int_equal(vmspace_memfd_used(memfd), 40 * page);
	memory->free(memory->ctx, frames[7]);
	memory->free(memory->ctx, frames[30]);
	assert_int_equal(vmspace_memfd_used(memfd), 38 * page);
	for (int i = 0; i < 3; i++) {
		again = alloc();
		for (size_t at = 0; at < page; at++)
			assert_int_equal(((char *)vmspace_memfd_frame(memfd, again))[at], 0);
	}
}

static void freed_memory_goes_to_the_system(void **state)
{
	struct stat before, after;
	uint64_t frames[200];

	(void)state;
	assert_int_equal(fstat(memfd->fd, &before), 0);
	assert_int_equal(before.st_blocks, 0);
	for (int i = 0; i < 200; i++)
		frames[i] = alloc();
	assert_int_equal(fstat(memfd->fd, &before), 0);
	for (int i = 0; i < 200; i++)
		memory->free(memory->ctx, frames[i]);
	assert_int_equal(fstat(memfd->fd, &after), 0);
	assert_true((before.st_blocks - after.st_blocks) * 512 >= (long)(200 * page));
}

static void the_limit_holds(void **state)
{
	unsigned long count = 0;
	uint64_t frame, last = 0;

	(void)state;
	while ((frame = alloc()) != 0) {
		last = frame;
		count++;
	}
	assert_int_equal(count, ((size_t)4 << 20) / page);
	memory->free(memory->ctx, last);
	assert_int_equal(alloc(), last);
	assert_int_equal(alloc(), 0);
}

static void a_window_shows_what_is_translated(void **state)
{
	uint64_t one, two;

	(void)state;
	one = alloc();
	two = alloc();
	assert_false(readable(host(3)));
	assert_int_equal(map(3, one, VMSPACE_ACCESS_READ), 0);
	assert_true(readable(host(3)));
	assert_false(writable(host(3)));
	assert_false(readable(host(2)));
	assert_false(readable(host(4)));
	strcpy(vmspace_memfd_frame(memfd, one), "one");
	assert_string_equal(host(3), "one");
	assert_int_equal(map(3, one, ACCESS_RW), 0);
	strcpy(host(3), "changed");
	assert_string_equal(vmspace_memfd_frame(memfd, one), "changed");
	memory->copy(memory->ctx, two, one);
	assert_int_equal(map(5, two, ACCESS_RW), 0);
	assert_string_equal(host(5), "changed");
	assert_int_equal(map(5, one, ACCESS_RW), 0);
	strcpy(host(3), "both");
	assert_string_equal(host(5), "both");
	unmap(4, 5);
	assert_true(readable(host(3)));
	assert_false(readable(host(5)));
	/* Larger than the window, and outside. */
	memory->unmap(memory->ctx, 0, START + 1000 * page);
	assert_false(readable(host(3)));
	memory->unmap(memory->ctx, 0, START);
	assert_int_equal(memory->map(memory->ctx, START + PAGES * page, one, ACCESS_RW), 0);
}

/* The system is asked for a mapping when it changes, and at no other time. */
static void a_page_that_is_shown_needs_no_system_call(void **state)
{
	uint64_t one, two;

	(void)state;
	one = alloc();
	two = alloc();
	assert_int_equal(map(3, one, VMSPACE_ACCESS_READ), 0);
	/* Behind its back: whether it maps the page again shows. */
	assert_int_equal(mprotect(host(3), page, PROT_NONE), 0);
	assert_int_equal(map(3, one, VMSPACE_ACCESS_READ), 0);
	assert_false(readable(host(3)));
	assert_int_equal(map(3, one, ACCESS_RW), 0);
	assert_true(writable(host(3)));
	assert_int_equal(map(3, two, ACCESS_RW), 0);
	strcpy(host(3), "two");
	assert_string_equal(vmspace_memfd_frame(memfd, two), "two");
	unmap(0, 10);
	assert_false(readable(host(3)));
	assert_int_equal(map(3, two, ACCESS_RW), 0);
	assert_true(readable(host(3)));
	/* Where nothing is shown, nothing is unmapped. */
	unmap(0, PAGES - 1);
	assert_int_equal(mprotect(host(5), page, PROT_READ), 0);
	unmap(0, PAGES - 1);
	assert_true(readable(host(5)));
}

static void writing_alone_can_be_taken_away(void **state)
{
	uint64_t frames[8];

	(void)state;
	for (unsigned long i = 0; i < 8; i++) {
		frames[i] = alloc();
		/* 1, 4 and 7 are not writable; 5 is not there. */
		if (i != 5)
			assert_int_equal(map(i, frames[i], i % 3 == 1 ? VMSPACE_ACCESS_READ
								      : ACCESS_RW), 0);
	}
	assert_true(window_write_protect(memory, START, START + 6 * page));
	for (unsigned long i = 0; i < 8; i++) {
		assert_int_equal(readable(host(i)), i != 5);
		assert_int_equal(writable(host(i)), i == 6);
	}
	assert_int_equal(map(2, frames[2], ACCESS_RW), 0);
	assert_true(writable(host(2)));
	/* Larger than the window, and outside. */
	assert_true(window_write_protect(memory, 0, START + 1000 * page));
	assert_false(writable(host(2)) || writable(host(6)));
	assert_true(window_write_protect(memory, 0, START));
	assert_false(window_write_protect(&(struct vmspace_memory){ .ctx = window }, START,
					  START + page));
}

/* Records of many pages are dropped at once; those beside them stay. */
static void a_large_part_is_unmapped(void **state)
{
	const unsigned long pages = 300000, first = 70001, last = 250000;
	const unsigned long at[] = { first - 1, first, first + 513, 99999, last - 513, last, last + 1 };
	uint64_t frame;

	(void)state;
	vmspace_window_destroy(window);
	assert_int_equal(vmspace_window_create(&window, memfd, START, pages * page), 0);
	memory = vmspace_window_memory(window);
	frame = alloc();
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		assert_int_equal(map(at[i], frame, ACCESS_RW), 0);
	unmap(first, last);
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		bool outside = at[i] < first || at[i] > last;

		assert_int_equal(readable(host(at[i])), outside);
		assert_int_equal(window_shows(memory, START + at[i] * page, frame, ACCESS_RW),
				 outside);
		assert_int_equal(map(at[i], frame, ACCESS_RW), 0);
		assert_true(readable(host(at[i])));
	}
}

static void addresses_go_both_ways(void **state)
{
	unsigned long addr = 0;

	(void)state;
	assert_null(vmspace_window_host(window, START - 1));
	assert_null(vmspace_window_host(window, START + PAGES * page));
	assert_true(vmspace_window_guest(window, host(1) + 5, &addr));
	assert_int_equal(addr, START + page + 5);
	assert_false(vmspace_window_guest(window, host(0) - 1, &addr));
	assert_false(vmspace_window_guest(window, host(0) + PAGES * page, &addr));
	assert_int_equal(addr, START + page + 5);
}

static uint64_t file_page(const struct vma_backing *backing, uint64_t index)
{
	uint64_t frame = 0;

	assert_int_equal(memory->file_page(memory->ctx, backing, index, &frame), 0);
	return frame;
}

static void release(uint64_t frame)
{
	memory->file_release(memory->ctx, frame);
}

static void a_file_is_read_once(void **state)
{
	struct vma_backing file = { .kind = VMA_BACKING_FILE, .inode = 9, .name = "nine" };
	uint64_t frame, other;

	(void)state;
	frame = file_page(&file, 4);
	assert_string_equal(vmspace_memfd_frame(memfd, frame), "nine 4");
	strcpy(vmspace_memfd_frame(memfd, frame), "written");
	file.name = "renamed";
	file.file_id = 77; /* opened again */
	assert_int_equal(file_page(&file, 4), frame);
	assert_int_equal(reads, 1);
	release(frame);
	release(frame);
	assert_int_equal(file_page(&file, 4), frame);
	assert_string_equal(vmspace_memfd_frame(memfd, frame), "written");
	file.inode = 10;
	other = file_page(&file, 4);
	assert_int_not_equal(other, frame);
	assert_string_equal(vmspace_memfd_frame(memfd, other), "renamed 4");
}

static void what_cannot_be_read_leaves_nothing(void **state)
{
	struct vma_backing file = { .kind = VMA_BACKING_FILE, .inode = 9, .name = "nine" };
	uint64_t frame;

	(void)state;
	assert_int_equal(memory->file_page(memory->ctx, &file, 100, &frame), -ENXIO);
	read_error = -ENOMEM;
	assert_int_equal(memory->file_page(memory->ctx, &file, 1, &frame), -ENOMEM);
	assert_int_equal(vmspace_memfd_used(memfd), 0);
	read_error = 0;
	frame = file_page(&file, 1);
	assert_string_equal(vmspace_memfd_frame(memfd, frame), "nine 1");
}

static void forgotten_pages_go_with_their_last_use(void **state)
{
	struct vma_backing shared = { .kind = VMA_BACKING_SHMEM, .file_id = 5 };
	struct vma_backing other = { .kind = VMA_BACKING_SHMEM, .file_id = 6 };
	uint64_t used, unused;

	(void)state;
	used = file_page(&shared, 0);
	unused = file_page(&shared, 1);
	file_page(&other, 0);
	strcpy(vmspace_memfd_frame(memfd, used), "old");
	release(unused);
	assert_int_equal(vmspace_memfd_used(memfd), 3 * page);
	vmspace_memfd_forget(memfd, &shared);
	assert_int_equal(vmspace_memfd_used(memfd), 2 * page);
	/* What is mapped afterwards is another object. */
	assert_string_equal(vmspace_memfd_frame(memfd, file_page(&shared, 0)), "");
	release(used);
	assert_int_equal(vmspace_memfd_used(memfd), 2 * page);
	assert_int_equal(reads, 0);
	vmspace_memfd_forget(memfd, &(struct vma_backing){ .kind = VMA_BACKING_FILE, .inode = 1 });
}

/* The system has a limit of areas; a window that reaches it begins anew. */
static void a_window_survives_the_limit_of_mappings(void **state)
{
	unsigned long limit = 0, pages;
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	uint64_t frames[2];

	(void)state;
	if (!file || fscanf(file, "%lu", &limit) != 1 || limit > 100000)
		limit = 0;
	if (file)
		fclose(file);
	if (!limit) {
		printf("SKIP in part: vm.max_map_count cannot be read or is above 100000\n");
		skip();
	}
	pages = limit + 1000;
	vmspace_window_destroy(window);
	assert_int_equal(vmspace_window_create(&window, memfd, START, pages * page), 0);
	memory = vmspace_window_memory(window);
	frames[0] = alloc();
	alloc();
	frames[1] = alloc(); /* not beside the first: the system could join their mappings */
	for (unsigned long i = 0; i < pages; i++) {
		assert_int_equal(map(i, frames[(i + 1) % 2], ACCESS_RW), 0);
		*(unsigned long *)host(i) = i;
	}
	assert_false(readable(host(0)));
	assert_true(readable(host(pages - 1)));
	/* At the limit, one page in the middle of others can still be taken away. */
	for (unsigned long i = 0; i + 1 < pages; i++)
		assert_int_equal(map(i, frames[i % 2], ACCESS_RW), 0);
	unmap(pages / 2, pages / 2);
	assert_false(readable(host(pages / 2)));
}

/*
 * The same with two threads, each in its half: one ends the other's translations at any moment. What
 * has been mapped can be read, or it can after mapping it again.
 */
struct half {
	unsigned long first, pages;
	const uint64_t *frames;
	bool failed;
};

static void *map_half(void *arg)
{
	struct half *half = arg;

	for (unsigned long i = half->first; !half->failed && i < half->first + half->pages; i++) {
		int tries = 0;

		do
			half->failed = map(i, half->frames[i % 2], ACCESS_RW) || ++tries == 1000;
		while (!half->failed && !readable(host(i)));
	}
	return NULL;
}

static void a_window_that_begins_anew_tells_all_threads(void **state)
{
	unsigned long pages = 70000;
	struct half halves[2];
	pthread_t threads[2];
	uint64_t frames[2];

	(void)state;
	vmspace_window_destroy(window);
	assert_int_equal(vmspace_window_create(&window, memfd, START, pages * page), 0);
	memory = vmspace_window_memory(window);
	frames[0] = alloc();
	alloc();
	frames[1] = alloc();
	for (unsigned long i = 0; i < 2; i++) {
		halves[i] = (struct half){ i * pages / 2, pages / 2, frames, false };
		assert_int_equal(pthread_create(&threads[i], NULL, map_half, &halves[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_false(halves[i].failed);
	}
}

/* A guest whose descriptors are the process's finds the low ones free. */
static void descriptors_of_memory_are_high(void **state)
{
	int low = dup(0);
	pid_t child;
	int status;

	(void)state;
	close(low);
	if (sysconf(_SC_OPEN_MAX) <= MEMFD_LEAST_FD + 2 || low >= MEMFD_LEAST_FD) {
		print_message("# SKIP in part: the limit of descriptors is too low here\n");
		return;
	}
	assert_true(memfd->fd >= MEMFD_LEAST_FD);
	assert_int_equal(vmspace_memfd_before_fork(memfd), 0);
	child = fork();
	if (!child)
		_exit(vmspace_memfd_after_fork_child(memfd) || memfd->fd < MEMFD_LEAST_FD);
	vmspace_memfd_after_fork_parent(memfd);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(descriptors_of_memory_are_high),
		TEST(bad_arguments_are_refused),
		TEST(frames_come_full_of_zeros),
		TEST(freed_memory_goes_to_the_system),
		TEST(the_limit_holds),
		TEST(a_window_shows_what_is_translated),
		TEST(a_page_that_is_shown_needs_no_system_call),
		TEST(writing_alone_can_be_taken_away),
		TEST(a_large_part_is_unmapped),
		TEST(addresses_go_both_ways),
		TEST(a_file_is_read_once),
		TEST(what_cannot_be_read_leaves_nothing),
		TEST(forgotten_pages_go_with_their_last_use),
		TEST(a_window_survives_the_limit_of_mappings),
		TEST(a_window_that_begins_anew_tells_all_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
