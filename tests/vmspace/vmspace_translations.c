/* SPDX-License-Identifier: MIT */
/*
 * vmspace_translations.c - watched pages of code: who translates a guest's code is told before it
 * changes, once, whatever changes it, and by whichever thread.
 *
 *	vmspace_translations [--seed N]
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
#define PAGES 32UL
#define RWX   (PROT_READ | PROT_WRITE | PROT_EXEC)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;
static unsigned long long seed;

static unsigned long at(unsigned long n)
{
	return START + n * page;
}

/* What was told, a letter per page: '.' nothing, else how often. */
static char told[PAGES + 1];

static void note(void *ctx, unsigned long start, unsigned long end)
{
	(void)ctx;
	for (unsigned long addr = start; addr < end; addr += page) {
		char *letter = &told[(addr - START) / page];

		*letter = *letter == '.' ? '1' : (char)(*letter + 1);
	}
}

static const char *told_of(unsigned long pages)
{
	static char text[PAGES + 1];

	memcpy(text, told, pages);
	text[pages] = '\0';
	memset(told, '.', PAGES);
	return text;
}

static int begin(void **state)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)8 << 20 };
	struct vmspace_config config;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	assert_int_equal(vmspace_window_create(&window, memfd, START, PAGES * page), 0);
	vmspace_config_init(&config);
	config.overcommit = 1;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = vmspace_window_memory(window);
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(vmspace_set_code_hook(space, note, NULL), 0);
	told_of(0);
	return 0;
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

static long map(unsigned long first, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = at(first), .length = pages * page, .prot = prot,
					  .flags = flags | MAP_FIXED };
	return vmspace_call(space, &req);
}

static long unmap(unsigned long first, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP };

	req.munmap = (struct vmspace_munmap){ .addr = at(first), .length = pages * page };
	return vmspace_call(space, &req);
}

static long protect(unsigned long first, unsigned long pages, int prot)
{
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };

	req.mprotect = (struct vmspace_mprotect){ .addr = at(first), .length = pages * page,
						  .prot = prot, .pkey = -1 };
	return vmspace_call(space, &req);
}

static long advise(unsigned long first, unsigned long pages, int advice)
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE };

	req.madvise = (struct vmspace_madvise){ .addr = at(first), .length = pages * page,
						.advice = advice };
	return vmspace_call(space, &req);
}

static void write_at(unsigned long n)
{
	assert_int_equal(vmspace_copy_to(space, at(n) + 8, "x", 1), 1);
}

static void watch(unsigned long first, unsigned long pages)
{
	for (unsigned long n = first; n < first + pages; n++)
		assert_int_equal(vmspace_watch_code(space, at(n), NULL), VMSPACE_FAULT_OK);
}

/* ---- each change by itself ---- */

static void a_write_is_told_of_once(void **state)
{
	unsigned long generation;
	struct vmspace_page now;

	(void)state;
	map(0, 4, RWX, PRIVATE);
	write_at(0);
	generation = vmspace_code_generation(space);
	assert_int_equal(vmspace_watch_code(space, at(0) + 5, &now), VMSPACE_FAULT_OK);
	assert_int_equal(now.addr, at(0));
	assert_int_equal(now.access, VMSPACE_ACCESS_READ | VMSPACE_ACCESS_EXEC);
	watch(1, 2); /* of which nothing was written yet */
	watch(0, 1);
	assert_int_equal(vmspace_touch(space, at(0), VMSPACE_ACCESS_READ, NULL), VMSPACE_FAULT_OK);
	assert_int_equal(vmspace_code_generation(space), generation);
	assert_string_equal(told_of(4), "....");
	write_at(0);
	write_at(1);
	assert_string_equal(told_of(4), "11..");
	assert_int_equal(vmspace_code_generation(space), generation + 2);
	write_at(0);
	assert_string_equal(told_of(4), "....");
	watch(0, 1);
	write_at(0);
	assert_string_equal(told_of(4), "1...");
	unmap(0, 4);
	assert_string_equal(told_of(4), "..1.");
}

/* EFAULT is a guest's SIGSEGV. */
static bool window_takes(unsigned long n)
{
	int fds[2];
	bool taken;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "z", 1), 1);
	taken = read(fds[0], vmspace_window_host(window, at(n)), 1) == 1;
	assert_true(taken || errno == EFAULT);
	close(fds[0]);
	close(fds[1]);
	return taken;
}

static void a_window_lets_nobody_write_what_is_watched(void **state)
{
	(void)state;
	map(0, 2, RWX, MAP_SHARED | MAP_ANONYMOUS);
	write_at(0);
	write_at(1);
	assert_true(window_takes(0));
	watch(0, 1);
	assert_false(window_takes(0));
	assert_true(window_takes(1));
	assert_string_equal(told_of(2), "..");
	assert_int_equal(vmspace_touch(space, at(0), VMSPACE_ACCESS_WRITE, NULL), VMSPACE_FAULT_OK);
	assert_string_equal(told_of(2), "1.");
	assert_true(window_takes(0));
}

static void calls_that_take_code_away_are_told_of(void **state)
{
	struct vmspace_request move = { .op = VMSPACE_MREMAP };

	(void)state;
	map(0, 8, RWX, PRIVATE);
	for (unsigned long n = 0; n < 8; n++)
		write_at(n);
	watch(0, 8);
	protect(0, 1, PROT_READ | PROT_WRITE);
	assert_string_equal(told_of(8), "1.......");
	protect(1, 1, PROT_READ | PROT_EXEC); /* it can still be executed */
	protect(1, 1, RWX);
	assert_string_equal(told_of(8), "........");
	advise(1, 1, MADV_DONTNEED);
	unmap(2, 1);
	assert_string_equal(told_of(8), ".11.....");
	map(3, 1, RWX, PRIVATE);
	assert_string_equal(told_of(8), "...1....");
	move.mremap = (struct vmspace_mremap){ .addr = at(4), .old_length = 2 * page,
					       .new_length = 2 * page, .new_addr = at(16),
					       .flags = MREMAP_MAYMOVE | MREMAP_FIXED };
	assert_int_equal(vmspace_call(space, &move), at(16));
	assert_string_equal(told_of(20), "....11..............");
	write_at(16);
	assert_string_equal(told_of(20), "....................");
	advise(6, 1, MADV_GUARD_INSTALL);
	assert_string_equal(told_of(8), "......1.");
	vmspace_exit(space);
	assert_string_equal(told_of(8), ".......1");
}

static void a_fork_changes_nothing_and_the_child_watches_nothing(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace_window *other;
	struct vmspace *parent = space;

	(void)state;
	map(0, 2, RWX, PRIVATE);
	write_at(0);
	watch(0, 2);
	assert_int_equal(vmspace_window_create(&other, memfd, START, PAGES * page), 0);
	req.fork.child_memory = vmspace_window_memory(other);
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_string_equal(told_of(2), "..");
	space = req.fork.child;
	assert_int_equal(vmspace_set_code_hook(space, note, NULL), 0);
	write_at(0);
	write_at(1);
	assert_string_equal(told_of(2), "..");
	vmspace_destroy(space);
	vmspace_window_destroy(other);
	space = parent;
	write_at(0);
	assert_string_equal(told_of(2), "1.");
}

static void what_cannot_be_watched_is_refused(void **state)
{
	const struct vmspace *view;
	struct vmspace *bare, *still;
	struct vmspace_config config;

	(void)state;
	map(0, 1, PROT_READ | PROT_WRITE, PRIVATE);
	assert_int_equal(vmspace_watch_code(space, at(0), NULL), VMSPACE_FAULT_ACCERR);
	assert_int_equal(vmspace_watch_code(space, at(5), NULL), VMSPACE_FAULT_MAPERR);
	vmspace_config_init(&config);
	assert_int_equal(vmspace_create(&bare, &config), 0);
	assert_int_equal(vmspace_set_code_hook(bare, note, NULL), -EINVAL);
	assert_int_equal(vmspace_watch_code(bare, at(0), NULL), VMSPACE_FAULT_BUS);
	assert_int_equal(vmspace_code_generation(bare), 0);
	vmspace_destroy(bare);
	assert_int_equal(vmspace_snapshot(&view, space), 0);
	still = (struct vmspace *)(uintptr_t)view;
	assert_int_equal(vmspace_set_code_hook(still, note, NULL), -EROFS);
	assert_int_equal(vmspace_watch_code(still, at(0), NULL), VMSPACE_FAULT_BUS);
	vmspace_snapshot_close(view);
}

/* ---- threads ---- */

/*
 * Translators read code and keep it; others write it, through calls and through the window, unmap it
 * and map it anew. When all have stopped, what is kept is what the guest has.
 */
#define TRANSLATORS 2
#define WRITERS	    2

struct translation {
	pthread_mutex_t lock;
	unsigned long changes;       /* that the hook has told of */
	bool kept;
	uint64_t code;
};

static struct translation cache[PAGES];
static unsigned long kept, dropped; /* under locks of several; atomic */
static bool stop;

static void drop(void *ctx, unsigned long start, unsigned long end)
{
	(void)ctx;
	for (unsigned long addr = start; addr < end; addr += page) {
		struct translation *t = &cache[(addr - START) / page];

		pthread_mutex_lock(&t->lock);
		t->changes++;
		if (t->kept)
			__atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
		t->kept = false;
		pthread_mutex_unlock(&t->lock);
	}
}

/* A guest's threads do not wait for each other either, when they read and write their memory. */
struct word {
	uint64_t value;
	bool write;
};

static void use_word(void *ctx, const struct vmspace_page *now)
{
	uint64_t *guest = vmspace_memfd_frame(memfd, now->frame);
	struct word *word = ctx;

	if (word->write)
		__atomic_store_n(guest, word->value, __ATOMIC_RELAXED);
	else
		word->value = __atomic_load_n(guest, __ATOMIC_RELAXED);
}

static bool access_word(unsigned long n, struct word *word)
{
	return !vmspace_access(space, at(n), word->write ? VMSPACE_ACCESS_WRITE : VMSPACE_ACCESS_READ,
			       use_word, word);
}

/* No lock of ours is held in a call. */
static void translate(unsigned long n)
{
	struct translation *t = &cache[n];
	struct word code = { 0 };
	unsigned long before;

	pthread_mutex_lock(&t->lock);
	before = t->changes;
	pthread_mutex_unlock(&t->lock);
	if (vmspace_watch_code(space, at(n), NULL) || !access_word(n, &code))
		return;
	pthread_mutex_lock(&t->lock);
	if (t->changes == before) {
		t->kept = true;
		t->code = code.value;
		__atomic_fetch_add(&kept, 1, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&t->lock);
}

static void *translator(void *arg)
{
	unsigned int random = (unsigned int)(uintptr_t)arg + (unsigned int)seed;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		translate((unsigned long)rand_r(&random) % PAGES);
	return NULL;
}

static void *writer(void *arg)
{
	unsigned int random = (unsigned int)(uintptr_t)arg + (unsigned int)seed;
	bool ok = true;

	for (uint64_t i = 0; ok && i < 3000; i++) {
		unsigned long n = (unsigned long)rand_r(&random) % PAGES;
		unsigned int how = (unsigned int)rand_r(&random) % 32;

		if (how == 0)
			ok = advise(n, 1, MADV_DONTNEED) == 0;
		else if (how == 1)
			ok = map(n, 1, RWX, PRIVATE) == (long)at(n);
		else if (how == 2)
			ok = protect(n, 1, PROT_READ | PROT_WRITE) == 0 && protect(n, 1, RWX) == 0;
		else
			ok = access_word(n, &(struct word){ i, true });
	}
	return ok ? NULL : arg;
}

static void *window_writer(void *arg)
{
	unsigned int random = (unsigned int)seed + 99;
	int fds[2];

	if (pipe(fds))
		return arg;
	for (uint64_t i = 0; i < 3000; i++) {
		unsigned long n = (unsigned long)rand_r(&random) % PAGES;

		if (write(fds[1], &i, sizeof(i)) != sizeof(i))
			return arg;
		/* Not by read(): ThreadSanitizer would take it for a write of the program's. */
		while (syscall(SYS_read, fds[0], vmspace_window_host(window, at(n)), sizeof(i)) !=
		       sizeof(i)) {
			enum vmspace_fault_result result =
				vmspace_touch(space, at(n), VMSPACE_ACCESS_WRITE, NULL);

			if (result != VMSPACE_FAULT_OK && result != VMSPACE_FAULT_MAPERR)
				return arg;
		}
	}
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

static void what_is_kept_is_what_the_guest_has(void **state)
{
	pthread_t thread[TRANSLATORS + WRITERS + 1];
	unsigned int n = 0, writers;
	void *result;

	(void)state;
	printf("# vmspace_translations --seed %llu\n", seed);
	assert_int_equal(vmspace_set_code_hook(space, drop, NULL), 0);
	stop = false;
	for (unsigned long i = 0; i < PAGES; i++)
		pthread_mutex_init(&cache[i].lock, NULL);
	assert_int_equal(map(0, PAGES / 2, RWX, PRIVATE), at(0));
	assert_int_equal(map(PAGES / 2, PAGES / 2, RWX, MAP_SHARED | MAP_ANONYMOUS), at(PAGES / 2));
	for (; n < TRANSLATORS; n++)
		assert_int_equal(pthread_create(&thread[n], NULL, translator,
						(void *)(uintptr_t)(n + 1)), 0);
	for (; n < TRANSLATORS + WRITERS; n++)
		assert_int_equal(pthread_create(&thread[n], NULL, writer,
						(void *)(uintptr_t)(n + 1)), 0);
	assert_int_equal(pthread_create(&thread[n], NULL, window_writer, &stop), 0);
	for (writers = TRANSLATORS; writers <= n; writers++) {
		assert_int_equal(pthread_join(thread[writers], &result), 0);
		assert_null(result);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < TRANSLATORS; i++)
		assert_int_equal(pthread_join(thread[i], &result), 0);
	for (unsigned long i = 0; i < PAGES; i++) {
		uint64_t now = 0;

		if (!cache[i].kept)
			continue;
		assert_int_equal(vmspace_copy_from(space, &now, at(i), sizeof(now)), sizeof(now));
		assert_int_equal(cache[i].code, now);
	}
	assert_true(kept && dropped);
	assert_int_equal(vmspace_set_code_hook(space, NULL, NULL), 0);
	for (unsigned long i = 0; i < PAGES; i++)
		pthread_mutex_destroy(&cache[i].lock);
}

static pthread_barrier_t in_use;

static void put_late(void *ctx, const struct vmspace_page *now)
{
	char *to = vmspace_memfd_frame(memfd, now->frame);

	pthread_barrier_wait(&in_use);
	usleep(50000);
	*to = *(char *)ctx;
}

static void *write_late(void *arg)
{
	return vmspace_access(space, START, VMSPACE_ACCESS_WRITE, put_late, arg) ? arg : NULL;
}

static void a_translator_waits_for_who_is_writing(void **state)
{
	char value = 'q', got = 0;
	pthread_t thread;
	void *result;

	(void)state;
	map(0, 1, RWX, PRIVATE);
	write_at(0);
	pthread_barrier_init(&in_use, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, write_late, &value), 0);
	pthread_barrier_wait(&in_use);
	watch(0, 1);
	assert_int_equal(vmspace_copy_from(space, &got, START, 1), 1);
	assert_true(got == 'q' || told[0] == '1');
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	pthread_barrier_destroy(&in_use);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_write_is_told_of_once),
		TEST(a_window_lets_nobody_write_what_is_watched),
		TEST(calls_that_take_code_away_are_told_of),
		TEST(a_fork_changes_nothing_and_the_child_watches_nothing),
		TEST(what_cannot_be_watched_is_refused),
		TEST(a_translator_waits_for_who_is_writing),
		TEST(what_is_kept_is_what_the_guest_has),
	};

	if (!take_options(argc, argv, &seed, NULL))
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
