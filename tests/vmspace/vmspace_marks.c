/* SPDX-License-Identifier: MIT */
/*
 * vmspace_marks.c - which pages are present, accessed, written: found and cleared while guests reach
 * them through a window or by calls, and mincore()'s vector beside that of the running kernel.
 *
 *	vmspace_marks [--seed N] [--ops N]
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
#include <sys/syscall.h>
#include <unistd.h>

#include <mapletree/vmspace_memfd.h>

#include "../../src/vmspace/mman_names.h"
#include "options.h"

#define START 0x10000000UL
#define PAGES 64UL
#define RW    (PROT_READ | PROT_WRITE)
#define ALL   (VMSPACE_MARK_PRESENT | VMSPACE_MARK_ACCESSED | VMSPACE_MARK_DIRTY)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;
static unsigned long long seed;
static unsigned long operations = 2000;

static int read_page(void *ctx, const struct vma_backing *file, uint64_t index, void *to)
{
	(void)ctx;
	(void)file;
	memset(to, (int)index, page);
	return 0;
}

static int begin(void **state)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)8 << 20, .read_page = read_page };
	struct vmspace_config config;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	assert_int_equal(vmspace_window_create(&window, memfd, START, PAGES * page), 0);
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
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	return 0;
}

static unsigned long at(unsigned long n)
{
	return START + n * page;
}

static void map(unsigned long first, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = at(first), .length = pages * page, .prot = prot,
					  .flags = flags | MAP_FIXED };
	if (!(flags & MAP_ANONYMOUS))
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .name = "/f" };
	assert_int_equal(vmspace_call(space, &req), at(first));
}

static void advise(unsigned long first, unsigned long pages, int advice)
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE };

	req.madvise = (struct vmspace_madvise){ .addr = at(first), .length = pages * page,
						.advice = advice };
	assert_int_equal(vmspace_call(space, &req), 0);
}

static void write_at(unsigned long n)
{
	assert_int_equal(vmspace_copy_to(space, at(n) + 8, "x", 1), 1);
}

static void read_at(unsigned long n)
{
	char got;

	assert_int_equal(vmspace_copy_from(space, &got, at(n) + 8, 1), 1);
}

/* What is found, a letter per page: of the window's first pages. */
static char text[PAGES + 1];

static void note(void *ctx, unsigned long start, unsigned long stop, unsigned int marks)
{
	static const char letter[] = { '!', 'p', '!', 'a', '!', 'd', '!', 'b' };

	(void)ctx;
	for (unsigned long addr = start; addr < stop; addr += page)
		text[(addr - START) / page] = letter[marks & 7];
}

static const char *collect(unsigned long pages, unsigned int which, unsigned int flags)
{
	long found = 0, got;

	memset(text, '.', pages);
	text[pages] = '\0';
	got = vmspace_collect(space, START, at(pages), which, flags, note, NULL);
	for (unsigned long i = 0; i < pages; i++)
		found += text[i] != '.';
	assert_int_equal(got, found);
	return text;
}

/* ---- marks ---- */

static void accesses_set_marks_until_they_are_cleared(void **state)
{
	(void)state;
	map(0, 8, RW, PRIVATE);
	map(8, 4, RW, MAP_SHARED);
	read_at(1);
	write_at(3);
	read_at(8);
	write_at(9);
	assert_string_equal(collect(12, ALL, 0), ".a.b....ab..");
	assert_string_equal(collect(12, VMSPACE_MARK_DIRTY, 0), "...b.....b..");
	assert_string_equal(collect(12, VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR), "...b.....b..");
	assert_string_equal(collect(12, ALL, 0), ".a.a....aa..");
	assert_string_equal(collect(12, VMSPACE_MARK_ACCESSED, VMSPACE_COLLECT_CLEAR),
			    ".a.a....aa..");
	assert_string_equal(collect(12, ALL, 0), ".p.p....pp..");
	write_at(1);
	read_at(3);
	write_at(9);
	assert_string_equal(collect(12, ALL, 0), ".b.a....pb..");
	/* Of one mark alone: the page stays dirty. */
	collect(12, VMSPACE_MARK_ACCESSED, VMSPACE_COLLECT_CLEAR);
	assert_string_equal(collect(12, ALL, 0), ".d.p....pd..");
}

/* Does the window show the page? The system says EFAULT where a guest would get a signal. */
static bool reachable(unsigned long n, bool write_it)
{
	void *host = vmspace_window_host(window, at(n));
	ssize_t done;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	if (write_it) {
		assert_int_equal(write(fds[1], "y", 1), 1);
		done = read(fds[0], host, 1);
	} else {
		done = write(fds[1], host, 1);
	}
	assert_true(done == 1 || errno == EFAULT);
	close(fds[0]);
	close(fds[1]);
	return done == 1;
}

static void touch(unsigned long n, unsigned int access, enum vmspace_page_source source)
{
	struct vmspace_page now;

	assert_int_equal(vmspace_touch(space, at(n), access, &now), VMSPACE_FAULT_OK);
	assert_int_equal(now.source, source);
}

static void what_is_cleared_faults_again(void **state)
{
	(void)state;
	map(0, 4, RW, PRIVATE);
	touch(1, VMSPACE_ACCESS_WRITE, VMSPACE_PAGE_NEW);
	assert_true(reachable(1, false) && reachable(1, true));
	collect(4, VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR);
	assert_true(reachable(1, false) && !reachable(1, true));
	touch(1, VMSPACE_ACCESS_READ, VMSPACE_PAGE_PRESENT);
	assert_string_equal(collect(4, ALL, 0), ".a..");
	touch(1, VMSPACE_ACCESS_WRITE, VMSPACE_PAGE_REUSED);
	assert_true(reachable(1, true));
	assert_string_equal(collect(4, ALL, 0), ".b..");
	collect(4, VMSPACE_MARK_ACCESSED, VMSPACE_COLLECT_CLEAR);
	assert_false(reachable(1, false));
	assert_string_equal(collect(4, ALL, 0), ".d..");
	touch(1, VMSPACE_ACCESS_READ, VMSPACE_PAGE_PRESENT);
	assert_true(reachable(1, true));
	assert_string_equal(collect(4, ALL, 0), ".b..");
}

/* It was said to have been present. */
static void the_first_page_of_a_table_is_new_when_read(void **state)
{
	(void)state;
	map(0, 4, RW, PRIVATE);
	touch(1, VMSPACE_ACCESS_READ, VMSPACE_PAGE_NEW);
	touch(2, VMSPACE_ACCESS_READ, VMSPACE_PAGE_NEW);
}

static void marks_go_with_pages(void **state)
{
	struct vmspace_request move = { .op = VMSPACE_MREMAP };
	struct vmspace_request protect = { .op = VMSPACE_MPROTECT };

	(void)state;
	map(0, 4, RW, PRIVATE);
	write_at(0);
	read_at(1);
	write_at(2);
	move.mremap = (struct vmspace_mremap){ .addr = at(0), .old_length = 3 * page,
					       .new_length = 3 * page, .new_addr = at(8),
					       .flags = MREMAP_MAYMOVE | MREMAP_FIXED };
	assert_int_equal(vmspace_call(space, &move), at(8));
	assert_string_equal(collect(12, ALL, 0), "........bab.");
	/* Protection takes the right to write, and leaves the mark. */
	protect.mprotect = (struct vmspace_mprotect){ .addr = at(8), .length = page,
						      .prot = PROT_READ, .pkey = -1 };
	assert_int_equal(vmspace_call(space, &protect), 0);
	assert_string_equal(collect(12, ALL, 0), "........bab.");
	advise(10, 1, MADV_DONTNEED);
	assert_string_equal(collect(12, ALL, 0), "........ba..");
}

static void a_child_begins_with_its_parents_marks(void **state)
{
	struct vmspace_window *other;
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace *child, *parent = space;

	(void)state;
	map(0, 4, RW, PRIVATE);
	write_at(0);
	write_at(1);
	collect(1, VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR);
	assert_int_equal(vmspace_window_create(&other, memfd, START, PAGES * page), 0);
	req.fork.child_memory = vmspace_window_memory(other);
	assert_int_equal(vmspace_call(space, &req), 0);
	child = req.fork.child;
	assert_string_equal(collect(4, ALL, 0), "ab..");
	space = child;
	assert_string_equal(collect(4, ALL, 0), "ab..");
	write_at(0);
	assert_string_equal(collect(4, ALL, 0), "bb..");
	space = parent;
	assert_string_equal(collect(4, ALL, 0), "ab..");
	vmspace_destroy(child);
	vmspace_window_destroy(other);
}

static void what_makes_no_sense_is_refused(void **state)
{
	const struct vmspace *view;

	(void)state;
	map(0, 1, RW, PRIVATE);
	write_at(0);
	assert_int_equal(vmspace_collect(space, START, at(1), 0, 0, NULL, NULL), -EINVAL);
	assert_int_equal(vmspace_collect(space, START, at(1), 8, 0, NULL, NULL), -EINVAL);
	assert_int_equal(vmspace_collect(space, START, at(1), ALL, 2, NULL, NULL), -EINVAL);
	assert_int_equal(vmspace_collect(space, START + 1, at(1), ALL, 0, NULL, NULL), -EINVAL);
	assert_int_equal(vmspace_collect(space, START, at(1) - 1, ALL, 0, NULL, NULL), -EINVAL);
	assert_int_equal(vmspace_collect(space, at(1), START, ALL, 0, NULL, NULL), -EINVAL);
	assert_int_equal(vmspace_collect(space, START, START, ALL, 0, NULL, NULL), 0);
	assert_int_equal(vmspace_collect(space, START, at(1), ALL, 0, NULL, NULL), 1);
	assert_int_equal(vmspace_snapshot(&view, space), 0);
	assert_int_equal(vmspace_collect((struct vmspace *)(uintptr_t)view, START, at(1), ALL,
					 VMSPACE_COLLECT_CLEAR, NULL, NULL), -EROFS);
	vmspace_snapshot_close(view);
}

/* ---- memory without translations ---- */

static uint64_t take_number(void *ctx)
{
	return ++*(uint64_t *)ctx;
}

static void give_number(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
}

static void copy_number(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	assert_int_not_equal(to, from);
}

static void marks_need_no_translations(void **state)
{
	uint64_t last = 0;
	const struct vmspace_memory numbers = { .ctx = &last, .alloc = take_number,
						.free = give_number, .copy = copy_number };
	struct vmspace_config config;
	struct vmspace *windows = space;

	(void)state;
	vmspace_config_init(&config);
	config.memory = &numbers;
	assert_int_equal(vmspace_create(&space, &config), 0);
	map(0, 4, RW, PRIVATE);
	touch(0, VMSPACE_ACCESS_READ, VMSPACE_PAGE_NEW);
	touch(1, VMSPACE_ACCESS_WRITE, VMSPACE_PAGE_NEW);
	assert_string_equal(collect(4, ALL, VMSPACE_COLLECT_CLEAR), "ab..");
	assert_string_equal(collect(4, ALL, 0), "pp..");
	touch(0, VMSPACE_ACCESS_READ, VMSPACE_PAGE_PRESENT);
	touch(1, VMSPACE_ACCESS_READ, VMSPACE_PAGE_PRESENT);
	assert_string_equal(collect(4, ALL, 0), "aa..");
	touch(1, VMSPACE_ACCESS_WRITE, VMSPACE_PAGE_REUSED);
	collect(4, VMSPACE_MARK_ACCESSED, VMSPACE_COLLECT_CLEAR);
	touch(1, VMSPACE_ACCESS_WRITE, VMSPACE_PAGE_PRESENT);
	assert_string_equal(collect(4, ALL, 0), "pb..");
	vmspace_destroy(space);
	space = windows;
}

/* ---- questions ---- */

static void a_look_tells_and_changes_nothing(void **state)
{
	struct vmspace_page now;

	(void)state;
	map(0, 2, RW, PRIVATE);
	map(4, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	assert_false(vmspace_peek(space, at(9), &now));
	assert_false(vmspace_peek(space, at(0), &now));
	assert_int_equal(now.kind, VMSPACE_PAGE_NONE);
	write_at(0);
	read_at(1);
	collect(8, VMSPACE_MARK_ACCESSED | VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR);
	assert_true(vmspace_peek(space, at(0) + 7, &now));
	assert_int_equal(now.addr, at(0));
	assert_int_equal(now.kind, VMSPACE_PAGE_ANON);
	/* The next write faults. */
	assert_int_equal(now.access, VMSPACE_ACCESS_READ);
	assert_true(vmspace_peek(space, at(1), &now) && now.kind == VMSPACE_PAGE_ZERO);
	assert_true(vmspace_peek(space, at(1), NULL));
	assert_false(vmspace_peek(space, at(4), &now));
	read_at(4);
	assert_true(vmspace_peek(space, at(4), &now));
	assert_int_equal(now.access, VMSPACE_ACCESS_READ | VMSPACE_ACCESS_EXEC);
	assert_string_equal(collect(5, ALL, 0), "pp..a");
	advise(0, 1, MADV_GUARD_INSTALL);
	assert_false(vmspace_peek(space, at(0), &now));
	assert_int_equal(now.kind, VMSPACE_PAGE_GUARD);
}

static unsigned long long draws;

static unsigned long below(unsigned long n)
{
	draws = draws * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned long)(draws >> 33) % n;
}

/* The same calls as in the space. */
static void native(char *memory, int call, unsigned long first, unsigned long pages)
{
	char *from = memory + first * page;
	volatile char *byte = from;

	if (call == 0)
		assert_ptr_equal(mmap(from, pages * page, RW, PRIVATE | MAP_FIXED, -1, 0), from);
	else if (call == 1)
		assert_int_equal(munmap(from, pages * page), 0);
	else if (call == 2)
		*byte = 1;
	else if (call == 3)
		(void)*byte;
	else
		assert_int_equal(madvise(from, pages * page, MADV_DONTNEED), 0);
}

static void in_space(int call, unsigned long first, unsigned long pages)
{
	struct vmspace_request unmap = { .op = VMSPACE_MUNMAP };

	unmap.munmap = (struct vmspace_munmap){ .addr = at(first), .length = pages * page };
	if (call == 0)
		map(first, pages, RW, PRIVATE);
	else if (call == 1)
		assert_int_equal(vmspace_call(space, &unmap), 0);
	else if (call == 2)
		write_at(first);
	else if (call == 3)
		read_at(first);
	else
		advise(first, pages, MADV_DONTNEED);
}

static void compare_vectors(char *memory)
{
	unsigned long first = below(PAGES), pages = 1 + below(PAGES - first);
	unsigned char vec[PAGES], kernels[PAGES];
	struct vmspace_request req = { .op = VMSPACE_MINCORE };
	long result = mincore(memory + first * page, pages * page - below(page), kernels);

	memset(vec, 0xee, sizeof(vec));
	req.mincore = (struct vmspace_mincore){ .addr = at(first), .length = pages * page,
						.vec = vec };
	assert_int_equal(vmspace_call(space, &req), result ? -errno : 0);
	for (unsigned long i = 0; !result && i < pages; i++)
		assert_int_equal(vec[i], kernels[i] & 1);
}

/* Of private anonymous memory, which is resident where it is present. */
static void mincore_tells_what_the_kernel_does(void **state)
{
	/* Far from where the system maps what it may place itself. */
	char *memory = mmap((void *)(sizeof(long) == 8 ? 1UL << 20 << 20 : 0x30000000UL), PAGES * page,
			    PROT_NONE, PRIVATE, -1, 0);
	bool mapped[PAGES] = { false };

	(void)state;
	assert_true(memory != MAP_FAILED);
	assert_int_equal(madvise(memory, PAGES * page, MADV_NOHUGEPAGE), 0);
	assert_int_equal(munmap(memory, PAGES * page), 0);
	printf("# vmspace_marks --seed %llu --ops %lu\n", seed, operations);
	draws = seed;
	for (unsigned long i = 0; i < operations; i++) {
		int call = below(3) ? 2 + (int)below(2) : (int)below(5);
		unsigned long first = below(PAGES), pages = 1 + below(PAGES - first);
		bool all = true;

		if (call == 2 || call == 3)
			pages = 1;
		for (unsigned long n = first; n < first + pages; n++) {
			all &= mapped[n];
			if (call <= 1)
				mapped[n] = !call;
		}
		if (call > 1 && !all)
			continue;
		native(memory, call, first, pages);
		in_space(call, first, pages);
		compare_vectors(memory);
	}
	munmap(memory, PAGES * page);
}

/* ---- threads ---- */

/*
 * A migration: one thread copies what is dirty, while others write. When they have stopped and it has
 * collected once more, the copy is the memory.
 */
#define WRITERS 3
#define WORDS_PER_PAGE 4

static uint64_t copy[PAGES][WORDS_PER_PAGE];
static bool stop;

struct store {
	unsigned long word;
	uint64_t value;
};

static void put(void *ctx, const struct vmspace_page *now)
{
	const struct store *store = ctx;
	uint64_t *to = vmspace_memfd_frame(memfd, now->frame);

	__atomic_store_n(&to[store->word], store->value, __ATOMIC_RELAXED);
}

static void *write_pages(void *arg)
{
	unsigned int random = (unsigned int)(uintptr_t)arg + (unsigned int)seed;
	struct store store = { .word = (uintptr_t)arg };

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned long n = (unsigned long)rand_r(&random) % PAGES;

		store.value++;
		if (vmspace_access(space, at(n), VMSPACE_ACCESS_WRITE, put, &store))
			return space;
	}
	return NULL;
}

static void get(void *ctx, const struct vmspace_page *now)
{
	uint64_t *to = ctx, *from = vmspace_memfd_frame(memfd, now->frame);

	for (int i = 0; i < WORDS_PER_PAGE; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

static void copy_dirty(void)
{
	collect(PAGES, VMSPACE_MARK_DIRTY, VMSPACE_COLLECT_CLEAR);
	for (unsigned long n = 0; n < PAGES; n++)
		if (text[n] != '.')
			assert_int_equal(vmspace_access(space, at(n), VMSPACE_ACCESS_READ, get,
							copy[n]),
					 VMSPACE_FAULT_OK);
}

static pthread_barrier_t in_use;

/* Who uses a page takes its time. */
static void put_late(void *ctx, const struct vmspace_page *now)
{
	pthread_barrier_wait(&in_use);
	usleep(50000);
	put(ctx, now);
}

static void *write_late(void *arg)
{
	return vmspace_access(space, START, VMSPACE_ACCESS_WRITE, put_late, arg) ? space : NULL;
}

static void a_collector_waits_for_who_uses_a_page(void **state)
{
	struct store store = { .word = 1, .value = 5 };
	pthread_t thread;
	void *result;

	(void)state;
	memset(copy, 0, sizeof(copy));
	map(0, PAGES, RW, PRIVATE);
	write_at(0);
	pthread_barrier_init(&in_use, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, write_late, &store), 0);
	pthread_barrier_wait(&in_use);
	copy_dirty();
	assert_int_equal(copy[0][1], 5);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	pthread_barrier_destroy(&in_use);
}

/* A guest that stores through the window, as far as that lets it. */
static void *write_window(void *arg)
{
	unsigned int random = (unsigned int)seed + 77;
	int fds[2];

	if (pipe(fds))
		return space;
	for (uint64_t value = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); value++) {
		unsigned long n = (unsigned long)rand_r(&random) % PAGES;
		uint64_t *to = (uint64_t *)vmspace_window_host(window, at(n)) + (uintptr_t)arg;

		if (write(fds[1], &value, sizeof(value)) != sizeof(value))
			return space;
		/*
		 * EFAULT: the guest would get SIGSEGV. Not by read(), which ThreadSanitizer would take
		 * for a write of the program's.
		 */
		while (syscall(SYS_read, fds[0], to, sizeof(*to)) != sizeof(*to))
			if (vmspace_touch(space, at(n), VMSPACE_ACCESS_WRITE, NULL))
				return space;
	}
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

static void no_write_is_lost_to_a_collector(void **state)
{
	pthread_t thread[WRITERS + 1];
	void *result;

	(void)state;
	stop = false;
	memset(copy, 0, sizeof(copy));
	map(0, PAGES / 2, RW, PRIVATE);
	map(PAGES / 2, PAGES / 2, RW, MAP_SHARED | MAP_ANONYMOUS);
	for (uintptr_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, write_pages, (void *)i), 0);
	assert_int_equal(pthread_create(&thread[WRITERS], NULL, write_window,
					(void *)(uintptr_t)WRITERS), 0);
	for (int i = 0; i < 300; i++) {
		copy_dirty();
		if (i % 16 == 0)
			collect(PAGES, VMSPACE_MARK_ACCESSED, VMSPACE_COLLECT_CLEAR);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i <= WRITERS; i++) {
		assert_int_equal(pthread_join(thread[i], &result), 0);
		assert_null(result);
	}
	copy_dirty();
	for (unsigned long n = 0; n < PAGES; n++) {
		uint64_t now[WORDS_PER_PAGE];

		assert_int_equal(vmspace_copy_from(space, now, at(n), sizeof(now)), sizeof(now));
		assert_memory_equal(now, copy[n], sizeof(now));
	}
	collect(PAGES, VMSPACE_MARK_DIRTY, 0);
	assert_null(strpbrk(text, "bd"));
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(accesses_set_marks_until_they_are_cleared),
		TEST(what_is_cleared_faults_again),
		TEST(the_first_page_of_a_table_is_new_when_read),
		TEST(marks_go_with_pages),
		TEST(a_child_begins_with_its_parents_marks),
		TEST(what_makes_no_sense_is_refused),
		TEST(a_look_tells_and_changes_nothing),
		TEST(mincore_tells_what_the_kernel_does),
		TEST(marks_need_no_translations),
		TEST(a_collector_waits_for_who_uses_a_page),
		TEST(no_write_is_lost_to_a_collector),
	};

	if (!take_options(argc, argv, &seed, &operations))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
