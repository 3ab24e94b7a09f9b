/* SPDX-License-Identifier: MIT */
/*
 * vmspace_blocks.c - pages of a window that are mapped in blocks, where the system has guards, and
 * one by one: in both ways the host reaches the pages that were touched, and no other; and their
 * mappings are few.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mapletree/vmspace_memfd.h>

#include "window.h"

#define START 0x10005000UL /* in the middle of a block */
#define PAGES 1024UL
#define RW (PROT_READ | PROT_WRITE)
#define WRITE VMSPACE_ACCESS_WRITE

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;
static unsigned int expected[PAGES]; /* what the page begins with; 0: it is not there */

static void begin_space(bool guards)
{
	struct vmspace_config config;

	memset(expected, 0, sizeof(expected));
	assert_int_equal(vmspace_window_create(&window, memfd, START, PAGES * page), 0);
	if (!window_set_guards(vmspace_window_memory(window), guards))
		printf("SKIP in part: this system has no guards in shared memory\n");
	vmspace_config_init(&config);
	config.memory = vmspace_window_memory(window);
	assert_int_equal(vmspace_create(&space, &config), 0);
}

static int begin_with(bool guards)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)64 << 20 };

	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	begin_space(guards);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with(true);
}

static int begin_without(void **state)
{
	(void)state;
	return begin_with(false);
}

static int end(void **state)
{
	(void)state;
	vmspace_destroy(space);
	assert_int_equal(vmspace_memfd_used(memfd), 0);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	return 0;
}

static char *host(unsigned long number)
{
	return vmspace_window_host(window, START + number * page);
}

static void call(struct vmspace_request req, long expected_result)
{
	assert_int_equal(vmspace_call(space, &req), expected_result);
}

static void map(unsigned long first, unsigned long pages)
{
	call((struct vmspace_request){
		.op = VMSPACE_MMAP,
		.mmap = { .addr = START + first * page, .length = pages * page, .prot = RW,
			  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED } },
	     (long)(START + first * page));
	memset(expected + first, 0, pages * sizeof(expected[0]));
}

static void discard(unsigned long first, unsigned long pages)
{
	call((struct vmspace_request){
		.op = VMSPACE_MADVISE,
		.madvise = { START + first * page, pages * page, MADV_DONTNEED } }, 0);
	memset(expected + first, 0, pages * sizeof(expected[0]));
}

static void protect(unsigned long first, unsigned long pages, int prot)
{
	call((struct vmspace_request){
		.op = VMSPACE_MPROTECT,
		.mprotect = { START + first * page, pages * page, prot, -1 } }, 0);
}

static void put(unsigned long number, unsigned int value)
{
	assert_int_equal(vmspace_touch(space, START + number * page, WRITE, NULL),
			 VMSPACE_FAULT_OK);
	memcpy(host(number), &value, sizeof(value));
	expected[number] = value;
}

/* Asked of the kernel, which answers instead of a signal. */
static bool reaches(unsigned long number)
{
	int fds[2];
	bool can;

	assert_int_equal(pipe(fds), 0);
	can = write(fds[1], host(number), 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return can;
}

/* What is there can be read after a touch; nothing else can be. */
static void check(unsigned long number)
{
	unsigned int value;

	if (!expected[number]) {
		assert_false(reaches(number));
		return;
	}
	assert_int_equal(vmspace_touch(space, START + number * page, VMSPACE_ACCESS_READ, NULL),
			 VMSPACE_FAULT_OK);
	assert_true(reaches(number));
	memcpy(&value, host(number), sizeof(value));
	assert_int_equal(value, expected[number]);
}

static void check_all(void)
{
	const char *reason;

	assert_true(vmspace_check(space, &reason));
	for (unsigned long i = 0; i < PAGES; i++)
		check(i);
}

/* Mappings of the process that overlap the window. */
static unsigned int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, stop, from = (unsigned long)host(0), to = from + PAGES * page;
	unsigned int count = 0;
	char line[4096];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &stop) == 2 && start < to && stop > from)
			count++;
	fclose(maps);
	return count;
}

static void only_what_was_touched_can_be_reached(void **state)
{
	(void)state;
	map(0, PAGES);
	for (unsigned long i = 100; i < 140; i++) {
		put(i, (unsigned int)i);
		if (i > 102)
			for (unsigned long j = 90; j < 150; j++)
				assert_int_equal(reaches(j), j >= 100 && j <= i);
	}
	assert_int_equal(vmspace_memfd_used(memfd), 40 * page);
	check_all();
}

static void ascending_touches_make_one_mapping(void **state)
{
	(void)state;
	map(0, PAGES);
	for (unsigned long i = 0; i < PAGES; i++)
		put(i, (unsigned int)i + 1);
	assert_true(mappings() <= 3);
	check_all();
	map(64, 64);
	assert_true(mappings() <= 5);
	check_all();
}

/* Without guards each page that is missing between others divides a mapping. */
static void scattered_touches_make_few_mappings(void **state)
{
	const unsigned long step = 389; /* prime */
	unsigned int most = 0, now;

	(void)state;
	if (!window_set_guards(vmspace_window_memory(window), true))
		return;
	map(0, PAGES);
	for (unsigned long i = 0; i < PAGES; i++) {
		put(i * step % PAGES, (unsigned int)i + 1);
		now = mappings();
		most = now > most ? now : most;
	}
	/* At most one page that is mapped alone in each block of 64, and what is between. */
	assert_true(most <= 2 * PAGES / 64 + 2);
	check_all();
}

/* A guard stays when the frame behind it is freed, and its memory given back, or used elsewhere. */
static void guards_outlive_the_memory_behind_them(void **state)
{
	(void)state;
	map(0, PAGES);
	for (unsigned long i = 0; i < 640; i += 2)
		put(i, (unsigned int)i + 1);
	discard(0, 320);
	check_all();
	for (unsigned long i = 700; i < PAGES; i++)
		put(i, (unsigned int)i + 1);
	check_all();
	discard(320, PAGES - 320);
	assert_int_equal(vmspace_memfd_used(memfd), 0);
	check_all();
}

/* A block ends where the area does. */
static void a_block_is_of_one_area(void **state)
{
	(void)state;
	map(0, PAGES);
	protect(32, 8, PROT_READ);
	put(20, 1);
	put(21, 2);
	put(45, 3);
	put(46, 4);
	protect(0, 32, PROT_NONE);
	assert_false(reaches(20) || reaches(22));
	protect(0, 32, RW);
	check_all();
	protect(32, 8, RW);
	for (unsigned long i = 0; i < 64; i++)
		put(i, (unsigned int)i + 1);
	check_all();
}

static void pages_that_cannot_be_written_have_guards_too(void **state)
{
	(void)state;
	map(0, PAGES);
	for (unsigned long i = 0; i < 40; i += 2)
		put(i, (unsigned int)i + 1);
	protect(0, PAGES, PROT_READ);
	check_all();
	protect(0, PAGES, RW);
	for (unsigned long i = 1; i < 40; i += 2)
		put(i, (unsigned int)i + 1);
	check_all();
}

/* Room is kept beside scattered pages only as long as there is other room. */
static void scattered_pages_can_use_all_frames(void **state)
{
	const unsigned long limit = 200; /* not whole chunks */
	struct vmspace_memfd_config memory = { .limit = limit * page };
	unsigned long touched = 0;

	end(state);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	begin_space(true);
	map(0, PAGES);
	for (unsigned long i = 0; i < PAGES; i++)
		touched += vmspace_touch(space, START + i * 389 % PAGES * page, WRITE, NULL) ==
			   VMSPACE_FAULT_OK;
	assert_int_equal(touched, limit);
	assert_int_equal(vmspace_memfd_used(memfd), limit * page);
	discard(0, PAGES);
	assert_int_equal(vmspace_memfd_used(memfd), 0);
	for (unsigned long i = 0; i < limit; i++)
		put(i, 1);
	check_all();
}

static void a_step(void)
{
	unsigned long first = (unsigned long)(rand() % (int)PAGES);
	unsigned long most = PAGES - first < 100 ? PAGES - first : 100;
	unsigned long pages = (unsigned long)rand() % most + 1;

	switch (rand() % 16) {
	case 0:
		map(first, pages);
		break;
	case 1:
		discard(first, pages);
		break;
	case 2:
		protect(first, pages, PROT_READ);
		protect(first, pages, RW);
		break;
	case 3:
		protect(first, pages, PROT_NONE);
		assert_false(reaches(first));
		protect(first, pages, RW);
		break;
	case 4: case 5: case 6: case 7:
		for (unsigned long i = first; i < first + pages; i++)
			put(i, (unsigned int)rand() | 1);
		break;
	default:
		put(first, (unsigned int)rand() | 1);
	}
}

static void random_calls_show_what_they_should(void **state)
{
	const char *given = getenv("SEED");
	unsigned int seed = given ? (unsigned int)strtoul(given, NULL, 0) : (unsigned int)time(NULL);

	(void)state;
	printf("SEED=%u\n", seed);
	srand(seed);
	map(0, PAGES);
	for (int i = 0; i < 3000; i++) {
		a_step();
		for (int j = 0; j < 8; j++)
			check((unsigned long)rand() % PAGES);
		if (i % 100 == 0)
			check_all();
	}
}

/* Threads that touch an area at once, in all of its blocks; the area beside it comes and goes. */
#define THREADS 4

static void *touch_each_fourth(void *arg)
{
	unsigned long number = (unsigned long)arg;

	for (unsigned long i = 0; i < PAGES / 2; i++) {
		unsigned long at = i * 389 % (PAGES / 2);

		if (at % THREADS == number)
			put(at, (unsigned int)at + 1);
	}
	return NULL;
}

static void threads_touch_one_area(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int round = 0; round < 10; round++) {
		map(0, PAGES);
		for (unsigned long i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, touch_each_fourth,
							(void *)i), 0);
		for (unsigned long i = PAGES / 2; i < PAGES; i += 40) {
			put(i, 1);
			put(i + 3, 1);
			discard(PAGES / 2, PAGES / 2);
			protect(PAGES / 2, 100, PROT_READ);
			protect(PAGES / 2, 100, RW);
		}
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		check_all();
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define WITHOUT(name) { #name "_without_guards", name, begin_without, end, NULL }
	const struct CMUnitTest tests[] = {
		TEST(only_what_was_touched_can_be_reached),
		WITHOUT(only_what_was_touched_can_be_reached),
		TEST(ascending_touches_make_one_mapping),
		WITHOUT(ascending_touches_make_one_mapping),
		TEST(scattered_touches_make_few_mappings),
		TEST(guards_outlive_the_memory_behind_them),
		WITHOUT(guards_outlive_the_memory_behind_them),
		TEST(a_block_is_of_one_area),
		TEST(pages_that_cannot_be_written_have_guards_too),
		TEST(scattered_pages_can_use_all_frames),
		TEST(threads_touch_one_area),
		WITHOUT(threads_touch_one_area),
		TEST(random_calls_show_what_they_should),
		WITHOUT(random_calls_show_what_they_should),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
