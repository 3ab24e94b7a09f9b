/* SPDX-License-Identifier: MIT */
/*
 * vmspace_pages_threads.c - several threads that fault in one page table, and in those of
 * relatives.
 */
#include <pthread.h>
#include <stdlib.h>

#include "pages_world.h"

static struct guest guest, child;

static int begin(void **state)
{
	(void)state;
	world_begin();
	guest_begin(&guest);
	return 0;
}

static int end(void **state)
{
	(void)state;
	guest_end(&guest);
	world_end();
	return 0;
}

static struct pages_count count(const struct guest *of)
{
	struct pages_count now;

	pages_count(of->pages, &now);
	return now;
}

#define THREADS 4
#define ROUNDS 40

static pthread_barrier_t barrier;
static struct vma shared_area;

/* A user whose translations are nobody's: faults alone. */
static void *fault_all(void *arg)
{
	struct guest *of = arg;
	unsigned int seed = (unsigned int)(uintptr_t)&seed;
	unsigned long pages = (shared_area.end - shared_area.start) / PAGE;
	struct vmspace_page page;

	pthread_barrier_wait(&barrier);
	for (unsigned long i = 0; i < pages; i++) {
		/* Nearly in step, so that threads meet in one page and in tables not there yet. */
		unsigned long at = (i + rand_r(&seed) % 3) % pages;
		unsigned int access = rand_r(&seed) % 2 ? VMSPACE_ACCESS_WRITE
							: VMSPACE_ACCESS_READ;
		enum vmspace_fault_result result =
			pages_fault(of->pages, &shared_area, shared_area.start + at * PAGE, access,
				    &page);

		if (result || !(page.access & access))
			return of;
	}
	return NULL;
}

static void run_threads(struct guest *const of[THREADS])
{
	pthread_t thread[THREADS];
	void *result;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, fault_all, of[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], &result), 0);
		assert_null(result);
	}
}

static void touch_the_rest(struct guest *of)
{
	for (unsigned long addr = shared_area.start; addr < shared_area.end; addr += PAGE)
		assert_int_equal(guest_write(of, &shared_area, addr, addr), VMSPACE_FAULT_OK);
}

static void threads_end_with_one_frame_per_page(void **state)
{
	struct guest *const all[THREADS] = { &guest, &guest, &guest, &guest };
	unsigned long pages = 600;
	struct pages_count now;

	(void)state;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int round = 0; round < ROUNDS; round++) {
		shared_area = world_anon(guest_window(3), pages);
		run_threads(all);
		touch_the_rest(&guest);
		guest_check(&guest, &shared_area, 1);
		now = count(&guest);
		assert_int_equal(now.anon, pages);
		assert_int_equal(now.zero, 0);
		assert_in_range(world_frames(), pages, pages + 1);
		if (sizeof(long) == 8)
			assert_int_equal(now.all_table_bytes, 7 * PAGE - 2 * PAGE);
		pages_unmap(guest.pages, shared_area.start, shared_area.end, 0, 0);
		assert_int_equal(count(&guest).all_table_bytes, 0);
	}
	pthread_barrier_destroy(&barrier);
}

static void threads_of_relatives_copy_beside_each_other(void **state)
{
	struct guest *const both[THREADS] = { &guest, &child, &guest, &child };
	unsigned long pages = 300;

	(void)state;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int round = 0; round < ROUNDS; round++) {
		shared_area = round % 2 ? world_file(guest_window(1), pages, 5, false)
					: world_anon(guest_window(1), pages);
		touch_the_rest(&guest);
		guest_begin(&child);
		assert_int_equal(pages_copy(child.pages, guest.pages, &shared_area), 0);
		run_threads(both);
		touch_the_rest(&guest);
		touch_the_rest(&child);
		guest_check(&guest, &shared_area, 1);
		guest_check(&child, &shared_area, 1);
		assert_int_equal(world_frames(), 2 * pages);
		guest_end(&child);
		assert_int_equal(world_frames(), pages);
		pages_unmap(guest.pages, shared_area.start, shared_area.end, 0, 0);
	}
	pthread_barrier_destroy(&barrier);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(threads_end_with_one_frame_per_page),
		TEST(threads_of_relatives_copy_beside_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
