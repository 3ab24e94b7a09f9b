/* SPDX-License-Identifier: MIT */
/*
 * vmspace_files.c - files whose bytes the program provides: what guests write reaches the file once, and
 * what is written to the file reaches the guests, whoever does it when.
 *
 *	vmspace_files [--seed N]
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mapletree/vmspace_files.h>
#include <mapletree/vmspace_pins.h>

#include "options.h"

#define START 0x10000000UL
#define PAGES 32UL
#define ALL_PAGES (8 * PAGES)
#define RW    (PROT_READ | PROT_WRITE)
#define MAX_PAGE 65536

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;
static unsigned long long seed;

/* The file; its lock is that of vmspace_files.h. */
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *file;
static size_t file_pages;
static int write_error;
static int slow_reads;           /* so many wait for a write in the midst */
static pthread_barrier_t reading;
static char written[PAGES + 1]; /* which pages were written back */
static const struct vma_backing backing = { .kind = VMA_BACKING_FILE, .name = "/file" };

static int read_page(void *ctx, const struct vma_backing *is, uint64_t index, void *to)
{
	int err = 0;

	(void)ctx;
	assert_string_equal(is->name, "/file");
	pthread_mutex_lock(&file_lock);
	if (index < file_pages)
		memcpy(to, file + index * page, page);
	else
		err = -ENXIO;
	pthread_mutex_unlock(&file_lock);
	if (slow_reads) {
		slow_reads--;
		pthread_barrier_wait(&reading);
		pthread_barrier_wait(&reading);
	}
	return err;
}

static int write_page(void *ctx, const struct vma_backing *is, uint64_t index, const void *from)
{
	uint64_t *to = (uint64_t *)(void *)(file + index * page);
	const uint64_t *words = from;

	(void)ctx;
	assert_string_equal(is->name, "/file");
	if (write_error)
		return write_error;
	pthread_mutex_lock(&file_lock);
	for (size_t i = 0; i < page / sizeof(*to); i++)
		to[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
	written[index] = 'w';
	pthread_mutex_unlock(&file_lock);
	return 0;
}

static int begin(void **state)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)16 << 20, .read_page = read_page };
	struct vmspace_config config;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_true(page <= MAX_PAGE);
	file = calloc(PAGES, page);
	file_pages = PAGES;
	write_error = 0;
	for (size_t i = 0; i < PAGES; i++)
		memset(file + i * page, 'A' + (int)i, page);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	assert_int_equal(vmspace_window_create(&window, memfd, START, ALL_PAGES * page), 0);
	vmspace_config_init(&config);
	config.overcommit = 1;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = vmspace_window_memory(window);
	return vmspace_create(&space, &config);
}

static int end(void **state)
{
	(void)state;
	assert_true(vmspace_check(space, NULL));
	vmspace_destroy(space);
	vmspace_memfd_forget(memfd, &backing);
	assert_int_equal(vmspace_memfd_used(memfd), 0);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	free(file);
	return 0;
}

static unsigned long at(unsigned long n)
{
	return START + n * page;
}

static void map(unsigned long first, unsigned long pages, unsigned long index, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = at(first), .length = pages * page, .prot = RW,
					  .flags = flags | MAP_FIXED, .offset = index * page };
	if (!(flags & MAP_ANONYMOUS))
		req.mmap.backing = backing;
	assert_int_equal(vmspace_call(space, &req), at(first));
}

static void unmap(unsigned long first, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP };

	req.munmap = (struct vmspace_munmap){ .addr = at(first), .length = pages * page };
	assert_int_equal(vmspace_call(space, &req), 0);
}

static void put(unsigned long n, char value)
{
	assert_int_equal(vmspace_copy_to(space, at(n), &value, 1), 1);
}

static char get(unsigned long n)
{
	char value;

	assert_int_equal(vmspace_copy_from(space, &value, at(n), 1), 1);
	return value;
}

/* Which of the file's first pages are written back, by both calls. */
static const char *sync_all(unsigned long pages)
{
	memset(written, '.', PAGES);
	assert_int_equal(vmspace_write_back(space, START, at(ALL_PAGES), write_page, NULL), 0);
	assert_int_equal(vmspace_memfd_write_back(memfd, &backing, 0, UINT64_MAX, write_page, NULL), 0);
	written[pages] = '\0';
	return written;
}

/* ---- written back ---- */

static void msync_writes_what_was_written_since(void **state)
{
	(void)state;
	map(0, 8, 2, MAP_SHARED);
	put(1, 'x');
	assert_int_equal(get(2), 'E');
	put(4, 'y');
	assert_int_equal(file[3 * page], 'D');
	assert_string_equal(sync_all(12), "...w..w.....");
	assert_int_equal(file[3 * page], 'x');
	assert_int_equal(file[3 * page + 1], 'D');
	assert_string_equal(sync_all(12), "............");
	put(1, 'z');
	assert_string_equal(sync_all(12), "...w........");
	/* A part. */
	put(1, '1');
	put(5, '2');
	memset(written, '.', PAGES);
	assert_int_equal(vmspace_write_back(space, at(5), at(6), write_page, NULL), 0);
	written[12] = '\0';
	assert_string_equal(written, ".......w....");
	assert_int_equal(vmspace_write_back(space, at(5) + 1, at(6), write_page, NULL), -EINVAL);
}

static void what_private_mappings_write_is_no_files(void **state)
{
	(void)state;
	map(0, 4, 0, MAP_PRIVATE);
	put(1, 'x');
	unmap(1, 1);
	put(2, 'y');
	assert_string_equal(sync_all(4), "....");
}

static void what_was_written_is_known_when_it_is_unmapped(void **state)
{
	struct vmspace_request move = { .op = VMSPACE_MREMAP };

	(void)state;
	map(0, 8, 0, MAP_SHARED);
	for (unsigned long n = 0; n < 8; n++)
		put(n, 'a');
	sync_all(8);
	put(0, 'b');
	unmap(0, 1);
	put(1, 'b');
	map(1, 1, 0, MAP_PRIVATE | MAP_ANONYMOUS);
	put(2, 'b');
	move.mremap = (struct vmspace_mremap){ .addr = at(2), .old_length = page, .new_length = page,
					       .new_addr = at(40), .flags = MREMAP_MAYMOVE | MREMAP_FIXED };
	assert_int_equal(vmspace_call(space, &move), at(40));
	put(3, 'b');
	/* Collectors of marks do not take it away from the file. */
	assert_int_equal(vmspace_collect(space, at(3), at(4), VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR,
					 NULL, NULL), 1);
	assert_string_equal(sync_all(8), "wwww....");
	put(5, 'c');
	vmspace_exit(space);
	assert_string_equal(sync_all(8), ".....w..");
	assert_int_equal(file[5 * page], 'c');
}

static void relatives_write_the_same_file(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace_window *other;
	struct vmspace *parent = space;

	(void)state;
	map(0, 4, 0, MAP_SHARED);
	put(0, 'a');
	assert_int_equal(vmspace_window_create(&other, memfd, START, PAGES * page), 0);
	req.fork.child_memory = vmspace_window_memory(other);
	assert_int_equal(vmspace_call(space, &req), 0);
	space = req.fork.child;
	put(1, 'b');
	assert_int_equal(get(0), 'a');
	vmspace_destroy(space);
	vmspace_window_destroy(other);
	space = parent;
	assert_int_equal(get(1), 'b');
	assert_string_equal(sync_all(4), "ww..");
}

/* Which of the file's first pages are written back by the call of [first, end) of the space. */
static const char *sync_range(unsigned long first, unsigned long end, unsigned long pages)
{
	memset(written, '.', PAGES);
	assert_int_equal(vmspace_write_back(space, at(first), at(end), write_page, NULL), 0);
	written[pages] = '\0';
	return written;
}

static void put_in(struct vmspace *other, unsigned long n, char value)
{
	assert_int_equal(vmspace_copy_to(other, at(n), &value, 1), 1);
}

static void msync_writes_what_was_written_through_other_mappings(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace *parent = space, *child;
	struct vmspace_window *other;

	(void)state;
	map(0, 4, 0, MAP_SHARED);
	map(8, 4, 0, MAP_SHARED);
	/* Not even present there. */
	put(8, 'a');
	assert_int_equal(get(1), 'B');
	put(8 + 1, 'b');
	assert_string_equal(sync_range(0, 4, 4), "ww..");
	assert_int_equal(file[0], 'a');
	assert_int_equal(file[page], 'b');
	/* As long as that mapping may write unseen. */
	put(8 + 1, 'c');
	assert_string_equal(sync_range(1, 4, 4), ".w..");
	assert_int_equal(file[page], 'c');
	sync_all(4);
	assert_string_equal(sync_range(0, 4, 4), "....");
	/* Another space; both ways. */
	assert_int_equal(vmspace_window_create(&other, memfd, START, PAGES * page), 0);
	req.fork.child_memory = vmspace_window_memory(other);
	assert_int_equal(vmspace_call(space, &req), 0);
	child = req.fork.child;
	put_in(child, 2, 'd');
	assert_string_equal(sync_range(0, 4, 4), "..w.");
	assert_int_equal(file[2 * page], 'd');
	put(3, 'e');
	space = child;
	assert_string_equal(sync_range(0, 4, 4), "..ww");
	assert_int_equal(file[3 * page], 'e');
	/* What the child had written, and the parent never saw, is in the file when the child is gone. */
	put(1, 'f');
	vmspace_destroy(child);
	vmspace_window_destroy(other);
	space = parent;
	assert_string_equal(sync_range(0, 2, 4), ".w..");
	assert_int_equal(file[page], 'f');
	sync_all(4);
	assert_string_equal(sync_all(4), "....");
}

static void the_file_is_written_while_its_pages_are_mapped(void **state)
{
	(void)state;
	map(0, 4, 0, MAP_SHARED);
	put(1, 'a');
	memset(written, '.', PAGES);
	assert_int_equal(vmspace_memfd_write_back(memfd, &backing, 0, 4, write_page, NULL), 0);
	assert_int_equal(file[page], 'a');
	/* There is no fault for this one. */
	put(1, 'b');
	memset(written, '.', PAGES);
	assert_int_equal(vmspace_memfd_write_back(memfd, &backing, 0, 4, write_page, NULL), 0);
	written[4] = '\0';
	assert_string_equal(written, ".w..");
	assert_int_equal(file[page], 'b');
	sync_all(4);
	assert_string_equal(sync_all(4), "....");
}

static void a_page_that_cannot_be_written_stays_dirty(void **state)
{
	(void)state;
	map(0, 4, 0, MAP_SHARED);
	put(0, 'a');
	put(2, 'b');
	write_error = -ENOSPC;
	assert_int_equal(vmspace_write_back(space, at(0), at(4), write_page, NULL), -ENOSPC);
	write_error = 0;
	assert_string_equal(sync_all(4), "w.w.");
}

static void what_a_pin_writes_is_written_back(void **state)
{
	struct vmspace_pinned *pinned;
	struct iovec part;

	(void)state;
	map(0, 4, 0, MAP_SHARED);
	assert_int_equal(vmspace_pin_pages(space, at(1), 1, VMSPACE_ACCESS_WRITE, &part, 1, &pinned), 1);
	assert_string_equal(sync_all(4), ".w..");
	unmap(1, 1);
	sync_all(4);
	*(char *)part.iov_base = 'p';
	vmspace_unpin_pages(pinned);
	assert_string_equal(sync_all(4), ".w..");
	assert_int_equal(file[page], 'p');
}

/* ---- written by others ---- */

static void write_file(size_t offset, const void *bytes, size_t size)
{
	pthread_mutex_lock(&file_lock);
	memcpy(file + offset, bytes, size);
	vmspace_memfd_written(memfd, &backing, offset, bytes, size);
	pthread_mutex_unlock(&file_lock);
}

static void what_is_written_shows_in_all_mappings(void **state)
{
	char bytes[2 * MAX_PAGE];

	(void)state;
	memset(bytes, 'n', sizeof(bytes));
	map(0, 4, 0, MAP_SHARED);
	map(4, 4, 0, MAP_PRIVATE);
	assert_int_equal(get(1), 'B');
	assert_int_equal(get(4 + 1), 'B');
	put(4 + 2, 'p');
	put(2, 'x');
	assert_int_equal(vmspace_copy_to(space, at(2) + page - 1, "y", 1), 1);
	write_file(page - 1, bytes, page + 2); /* the end of page 0 to the first byte of page 2 */
	assert_int_equal(get(0), 'A');
	assert_int_equal(get(1), 'n');
	assert_int_equal(get(4 + 1), 'n');
	assert_int_equal(get(4 + 2), 'p');
	assert_int_equal(get(2), 'n');
	assert_string_equal(sync_all(4), "..w.");
	assert_int_equal(file[2 * page], 'n');
	assert_int_equal(file[3 * page - 1], 'y');
	assert_int_equal(file[page], 'n');
}

static void files_that_others_change_are_read_again(void **state)
{
	struct vmspace_request forget = { .op = VMSPACE_MADVISE };
	char value;

	(void)state;
	map(0, 8, 0, MAP_SHARED);
	for (unsigned long n = 0; n < 8; n++)
		assert_int_equal(get(n), 'A' + (char)n);
	put(1, 'x');
	sync_all(4);
	put(2, 'y');
	assert_int_equal(vmspace_collect(space, at(2), at(3), VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR,
					 NULL, NULL), 1);
	memset(file, 'o', 4 * page);
	file_pages = 6;
	assert_int_equal(get(0), 'A');
	assert_int_equal(vmspace_memfd_invalidate(memfd, &backing, 0, UINT64_MAX), 0);
	assert_int_equal(get(0), 'o');
	assert_int_equal(get(1), 'o');
	assert_int_equal(get(2), 'y'); /* not written back in time */
	assert_int_equal(get(4), 'E');
	assert_int_equal(get(7), 'H'); /* cut off, and mapped still */
	put(7, 'z');
	forget.madvise = (struct vmspace_madvise){ .addr = at(0), .length = 8 * page,
						   .advice = MADV_DONTNEED };
	assert_int_equal(vmspace_call(space, &forget), 0);
	assert_int_equal(vmspace_copy_from(space, &value, at(7), 1), 0);
	assert_int_equal(vmspace_touch(space, at(7), VMSPACE_ACCESS_READ, NULL), VMSPACE_FAULT_BUS);
	assert_string_equal(sync_all(8), "..w.....");
	file_pages = 8;
	assert_int_equal(get(7), 'H');
}

static void invalidate_all(char others)
{
	memset(file, others, PAGES * page);
	assert_int_equal(vmspace_memfd_invalidate(memfd, &backing, 0, UINT64_MAX), 0);
}

static void what_guests_wrote_is_not_read_over(void **state)
{
	(void)state;
	map(0, 4, 0, MAP_SHARED);
	put(1, 'x');
	assert_int_equal(get(2), 'C');
	invalidate_all('o');
	assert_int_equal(get(1), 'x');
	assert_int_equal(get(2), 'o');
	assert_int_equal(get(0), 'o');
	/* It has been written, and is mapped so that it can be written unseen. */
	assert_int_equal(vmspace_memfd_write_back(memfd, &backing, 0, 4, write_page, NULL), 0);
	put(1, 'y');
	invalidate_all('p');
	assert_int_equal(get(1), 'y');
	unmap(1, 1);
	invalidate_all('q');
	assert_string_equal(sync_all(4), ".w..");
	assert_int_equal(file[page], 'y');
	invalidate_all('r');
	map(1, 1, 1, MAP_SHARED);
	assert_int_equal(get(1), 'r');
	assert_string_equal(sync_all(4), "....");
}

static void what_a_pin_of_an_unmapped_page_writes_is_the_files(void **state)
{
	struct vmspace_pinned *pinned;
	struct iovec part;

	(void)state;
	map(0, 4, 0, MAP_SHARED);
	map(8, 4, 0, MAP_SHARED);
	assert_int_equal(vmspace_pin_pages(space, at(1), 1, VMSPACE_ACCESS_WRITE, &part, 1, &pinned), 1);
	unmap(1, 1);
	sync_all(4);
	*(char *)part.iov_base = 'p';
	assert_int_equal(get(8 + 1), 'p');
	assert_string_equal(sync_range(8, 12, 4), ".w..");
	assert_int_equal(file[page], 'p');
	*(char *)part.iov_base = 'q';
	assert_int_equal(vmspace_memfd_write_back(memfd, &backing, 0, 4, write_page, NULL), 0);
	assert_int_equal(file[page], 'q');
	*(char *)part.iov_base = 'r';
	invalidate_all('o');
	assert_int_equal(get(8 + 1), 'r');
	vmspace_unpin_pages(pinned);
	invalidate_all('o');
	assert_int_equal(get(8 + 1), 'r');
	assert_string_equal(sync_all(4), ".w..");
	assert_int_equal(file[page], 'r');
	assert_string_equal(sync_all(4), "....");
}

static void *write_in_the_midst(void *arg)
{
	pthread_barrier_wait(&reading);
	write_file(2 * page, arg, 1);
	pthread_barrier_wait(&reading);
	return NULL;
}

/* Who writes does not find the page, or what was read is older than what it writes there. */
static void what_is_written_while_a_page_is_read_shows(void **state)
{
	static char values[] = "123";
	pthread_t thread;

	(void)state;
	pthread_barrier_init(&reading, NULL, 2);
	map(0, 4, 0, MAP_SHARED);
	slow_reads = 1;
	assert_int_equal(pthread_create(&thread, NULL, write_in_the_midst, &values[0]), 0);
	assert_int_equal(get(2), '1');
	assert_int_equal(pthread_join(thread, NULL), 0);
	slow_reads = 1;
	assert_int_equal(pthread_create(&thread, NULL, write_in_the_midst, &values[1]), 0);
	assert_int_equal(vmspace_memfd_invalidate(memfd, &backing, 2, 1), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(get(2), '2');
	pthread_barrier_destroy(&reading);
}

/* ---- threads ---- */

/*
 * Guests write words of shared mappings, others write words of the file, each its own, while the
 * mappings come and go, are written back and read again. In the end the file has what each wrote last.
 */
#define WRITERS 3
#define ROUNDS	3000

struct word {
	unsigned long slot;
	uint64_t value;
};

static void store(void *ctx, const struct vmspace_page *now)
{
	const struct word *word = ctx;

	__atomic_store_n((uint64_t *)vmspace_memfd_frame(memfd, now->frame) + word->slot, word->value,
			 __ATOMIC_RELAXED);
}

static bool stop;
static uint64_t last[WRITERS][PAGES];

static void *guest(void *arg)
{
	unsigned long slot = (unsigned long)(uintptr_t)arg;
	unsigned int random = (unsigned int)(seed + slot);

	for (uint64_t i = 1; i < ROUNDS; i++) {
		unsigned long n = (unsigned long)rand_r(&random) % PAGES;
		enum vmspace_fault_result result =
			vmspace_access(space, at(n), VMSPACE_ACCESS_WRITE, store,
				       &(struct word){ slot, i });

		if (result == VMSPACE_FAULT_OK)
			last[slot][n] = i;
		else if (result != VMSPACE_FAULT_MAPERR)
			return arg;
	}
	return NULL;
}

/* The page of it may be in nobody's mapping, be read just now, or be dirty. */
static void *file_writer(void *arg)
{
	unsigned long slot = (unsigned long)(uintptr_t)arg;
	unsigned int random = (unsigned int)(seed + slot);

	for (uint64_t i = 1; i < ROUNDS; i++) {
		unsigned long n = (unsigned long)rand_r(&random) % PAGES;
		struct word word = { slot, i };

		write_file(n * page + word.slot * sizeof(i), &word.value, sizeof(i));
		last[slot][n] = i;
	}
	return NULL;
}

static void *meddler(void *arg)
{
	unsigned int random = (unsigned int)seed;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned long n = (unsigned long)rand_r(&random) % PAGES;

		switch (rand_r(&random) % 5) {
		case 0:
			map(n, 1, n, MAP_SHARED);
			break;
		case 1:
			unmap(n, 1);
			map(n, 1, n, MAP_SHARED);
			break;
		case 2:
			if (vmspace_write_back(space, at(0), at(PAGES), write_page, NULL))
				return arg;
			break;
		case 3:
			/* The file's bytes are those of the pages that are not to be written back. */
			if (vmspace_memfd_invalidate(memfd, &backing, n, PAGES - n))
				return arg;
			break;
		default:
			if (vmspace_memfd_write_back(memfd, &backing, 0, PAGES, write_page, NULL))
				return arg;
		}
	}
	return NULL;
}

static void all_that_was_written_is_in_the_file(void **state)
{
	pthread_t thread[WRITERS + 1];
	void *result;

	(void)state;
	printf("# vmspace_files --seed %llu\n", seed);
	stop = false;
	memset(last, 0, sizeof(last));
	memset(file, 0, PAGES * page);
	map(0, PAGES, 0, MAP_SHARED);
	for (uintptr_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, i ? guest : file_writer, (void *)i), 0);
	assert_int_equal(pthread_create(&thread[WRITERS], NULL, meddler, &stop), 0);
	for (int i = 0; i <= WRITERS; i++) {
		if (i == WRITERS)
			__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		assert_int_equal(pthread_join(thread[i], &result), 0);
		assert_null(result);
	}
	sync_all(PAGES);
	for (unsigned long n = 0; n < PAGES; n++) {
		const uint64_t *words = (const uint64_t *)(const void *)(file + n * page);
		uint64_t seen[WRITERS];

		for (unsigned long slot = 0; slot < WRITERS; slot++)
			assert_int_equal(words[slot], last[slot][n]);
		assert_int_equal(vmspace_copy_from(space, seen, at(n), sizeof(seen)), sizeof(seen));
		assert_memory_equal(seen, words, sizeof(seen));
	}
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(msync_writes_what_was_written_since),
		TEST(what_private_mappings_write_is_no_files),
		TEST(what_was_written_is_known_when_it_is_unmapped),
		TEST(relatives_write_the_same_file),
		TEST(msync_writes_what_was_written_through_other_mappings),
		TEST(the_file_is_written_while_its_pages_are_mapped),
		TEST(a_page_that_cannot_be_written_stays_dirty),
		TEST(what_a_pin_writes_is_written_back),
		TEST(what_is_written_shows_in_all_mappings),
		TEST(files_that_others_change_are_read_again),
		TEST(what_guests_wrote_is_not_read_over),
		TEST(what_a_pin_of_an_unmapped_page_writes_is_the_files),
		TEST(what_is_written_while_a_page_is_read_shows),
		TEST(all_that_was_written_is_in_the_file),
	};

	if (!take_options(argc, argv, &seed, NULL))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
