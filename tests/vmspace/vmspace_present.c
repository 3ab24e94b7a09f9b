/* SPDX-License-Identifier: MIT */
/*
 * vmspace_present.c - faults of pages that are present: they write nothing that other threads read,
 * and calls wait for them all the same.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#include "numbered_frames.h"
#include "space.h"
#include "sync.h"
#include "table.h"

#define PAGE 4096UL
#define AT 0x100000000UL

static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index, uint64_t *frame)
{
	(void)ctx;
	(void)backing;
	*frame = 1000000 + index;
	return 0;
}

static const struct vmspace_memory memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy, .file_page = file_page,
};

static struct vmspace *space;

static int set_up(void **state)
{
	struct vmspace_config config;

	(void)state;
	vmspace_config_init(&config);
	config.page_size = PAGE;
	config.overcommit = 1;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = &memory;
	return vmspace_create(&space, &config);
}

static int tear_down(void **state)
{
	(void)state;
	vmspace_destroy(space);
	return 0;
}

static void map(unsigned long page, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = AT + page * PAGE, .length = pages * PAGE,
					  .prot = prot, .flags = flags | MAP_FIXED };
	if (!(flags & MAP_ANONYMOUS))
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .name = "/f" };
	assert_int_equal(vmspace_call(space, &req), AT + page * PAGE);
}

static enum vmspace_fault_result touch(unsigned long page, unsigned int access)
{
	return vmspace_touch(space, AT + page * PAGE + 5, access, NULL);
}

/* ---- what is written ---- */

#define TABLE_BYTES (sizeof(struct table) + 512 * sizeof(uintptr_t))

/* All that a fault at an address reads, but for the slots of threads and the tree's nodes. */
struct snapshot {
	struct vmspace space;
	struct vma vma;
	struct pages pages;
	struct frame frame;
	unsigned char sync[offsetof(struct sync, slots)];
	unsigned char table[TABLE_LEVELS][TABLE_BYTES];
};

static struct snapshot *take(unsigned long addr)
{
	struct snapshot *shot = calloc(1, sizeof(*shot));
	const struct vma *vma = mtree_load(&space->tree, addr);
	const struct pages *pages = space->pages;
	struct table *leaf = table_find(pages, addr, 0);
	const struct frame *frame = entry_frame(*table_entry(pages, leaf, addr, 0));

	assert_true(shot && vma && pages->levels <= TABLE_LEVELS);
	memcpy(&shot->space, space, sizeof(shot->space));
	memcpy(&shot->vma, vma, sizeof(shot->vma));
	memcpy(&shot->pages, pages, sizeof(shot->pages));
	if (frame)
		memcpy(&shot->frame, frame, sizeof(shot->frame));
	memcpy(shot->sync, space->sync, sizeof(shot->sync));
	for (unsigned int level = 0; level < pages->levels; level++)
		memcpy(shot->table[level], table_find(pages, addr, level), TABLE_BYTES);
	return shot;
}

static void use_it(void *ctx, const struct vmspace_page *page)
{
	assert_true(page->frame);
	++*(int *)ctx;
}

/* Fault at a present page, and see that all is as it was. */
static void touch_and_compare(unsigned long page, unsigned int access, bool by_use)
{
	unsigned long addr = AT + page * PAGE;
	struct snapshot *before, *after;
	struct vmspace_page is;
	int uses = 0;

	assert_int_equal(touch(page, access), VMSPACE_FAULT_OK);
	before = take(addr);
	if (by_use)
		assert_int_equal(vmspace_access(space, addr, access, use_it, &uses),
				 VMSPACE_FAULT_OK);
	assert_int_equal(vmspace_touch(space, addr + 7, access, &is), VMSPACE_FAULT_OK);
	after = take(addr);
	assert_memory_equal(before, after, sizeof(*before));
	assert_int_equal(uses, by_use);
	assert_int_equal(is.addr, addr);
	assert_int_equal(is.source, VMSPACE_PAGE_PRESENT);
	assert_true(is.frame && is.access & access);
	free(before);
	free(after);
}

static void a_present_page_is_found_without_a_write(void **state)
{
	struct vmspace_request fork = { .op = VMSPACE_FORK };

	(void)state;
	map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	map(8, 4, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	touch_and_compare(0, VMSPACE_ACCESS_READ, true);  /* the page of zeros */
	touch_and_compare(1, VMSPACE_ACCESS_WRITE, true); /* a page of its own */
	touch_and_compare(1, VMSPACE_ACCESS_READ, true);
	touch_and_compare(8, VMSPACE_ACCESS_READ, false); /* a page that may be replaced */
	touch_and_compare(9, VMSPACE_ACCESS_EXEC, false);
	fork.fork.child_memory = &memory;
	assert_int_equal(vmspace_call(space, &fork), 0);
	touch_and_compare(1, VMSPACE_ACCESS_READ, false); /* shared until written */
	vmspace_destroy(fork.fork.child);
	touch_and_compare(1, VMSPACE_ACCESS_WRITE, true);
}

/* ---- who has which slot ---- */

static void who_finds_its_slot_in_use_is_counted(void **state)
{
	struct slot *first, *second;
	struct vma *vma;

	(void)state;
	map(0, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
	vma = mtree_load(&space->tree, AT);
	assert_true(sync_share(space, vma, &first));
	assert_non_null(first);
	assert_int_equal(vma->lock & SYNC_READERS, 0);
	assert_true(sync_shared(space, vma));
	assert_true(sync_share(space, vma, &second));
	assert_null(second);
	assert_int_equal(vma->lock & SYNC_READERS, 1);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), VMSPACE_FAULT_OK);
	sync_unshare(space, vma, second);
	sync_unshare(space, vma, first);
	assert_int_equal(vma->lock & SYNC_READERS, 0);
	assert_false(sync_shared(space, vma));
	sync_enter(space);
	sync_write_lock(space, vma);
	assert_false(sync_share(space, vma, &first));
	assert_false(sync_shared(space, vma));
	sync_leave(space);
}

#define FAULTS 1000

static void *fault_often(void *arg)
{
	(void)arg;
	for (unsigned long i = 0; i < FAULTS; i++)
		if (touch(i % 16, i & 1 ? VMSPACE_ACCESS_READ : VMSPACE_ACCESS_WRITE))
			return &space;
	return touch(16, VMSPACE_ACCESS_READ) == VMSPACE_FAULT_MAPERR ? NULL : &space;
}

/* More threads than there are slots, one after the other and at once: none is lost. */
static void faults_of_all_threads_are_counted(void **state)
{
	enum { THREADS = 2 * SLOTS_COUNT + 3, AT_ONCE = 4 };
	struct vmspace_stats stats;
	pthread_t thread[THREADS];
	void *failed;

	(void)state;
	map(0, 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	touch(0, VMSPACE_ACCESS_WRITE);
	for (int i = 0; i < THREADS + AT_ONCE; i++) {
		if (i >= AT_ONCE) {
			assert_int_equal(pthread_join(thread[i - AT_ONCE], &failed), 0);
			assert_null(failed);
		}
		if (i < THREADS)
			assert_int_equal(pthread_create(&thread[i], NULL, fault_often, NULL), 0);
	}
	vmspace_stats(space, &stats);
	assert_int_equal(stats.faults, 1 + THREADS * (FAULTS + 1));
	assert_int_equal(stats.faults_locked, 1 + THREADS);
}

/* ---- calls wait ---- */

static bool unmapped; /* atomic */

static void *unmap(void *arg)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP, .munmap = { AT, 4 * PAGE } };
	long result = vmspace_call(space, &req);

	(void)arg;
	__atomic_store_n(&unmapped, true, __ATOMIC_RELEASE);
	return (void *)result;
}

/* Long enough for the call to have gone to sleep. */
static void use_for_long(void *ctx, const struct vmspace_page *page)
{
	assert_int_equal(pthread_create(ctx, NULL, unmap, NULL), 0);
	usleep(30000);
	assert_true(page->frame);
	assert_false(__atomic_load_n(&unmapped, __ATOMIC_ACQUIRE));
}

static void a_call_waits_for_a_fault_in_its_area(void **state)
{
	static const unsigned int accesses[] = { VMSPACE_ACCESS_READ, VMSPACE_ACCESS_WRITE };
	pthread_t thread;
	void *result;

	(void)state;
	for (int i = 0; i < 4; i++) {
		__atomic_store_n(&unmapped, false, __ATOMIC_RELAXED);
		map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
		touch(i / 2, VMSPACE_ACCESS_WRITE);
		assert_int_equal(vmspace_access(space, AT, accesses[i % 2], use_for_long, &thread),
				 VMSPACE_FAULT_OK);
		assert_int_equal(pthread_join(thread, &result), 0);
		assert_null(result);
		assert_true(unmapped);
		assert_int_equal(touch(0, VMSPACE_ACCESS_READ), VMSPACE_FAULT_MAPERR);
	}
}

/* ---- a page is replaced while others look at it ---- */

#define ROUNDS 300
#define PAGES 16

static bool finished; /* atomic */

/* A present page has a frame, whoever replaces it. */
static void *look(void *arg)
{
	struct vmspace_page page;
	uintptr_t failed = 0;

	(void)arg;
	for (unsigned long i = 0; !__atomic_load_n(&finished, __ATOMIC_RELAXED); i++)
		if (vmspace_touch(space, AT + i % PAGES * PAGE, VMSPACE_ACCESS_READ, &page) ||
		    !page.frame || page.kind == VMSPACE_PAGE_NONE)
			failed++;
	return (void *)failed;
}

/* Pages of the parent are copied when it writes, and what they were is freed with the child. */
static void pages_are_replaced_beside_looks(void **state)
{
	struct vmspace_request fork = { .op = VMSPACE_FORK };
	pthread_t thread;
	void *failed;

	(void)state;
	map(0, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	__atomic_store_n(&finished, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned long i = 0; i < PAGES; i++)
			assert_int_equal(touch(i, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_OK);
		fork.fork.child_memory = &memory;
		assert_int_equal(vmspace_call(space, &fork), 0);
		/* Of every second page the child drops its reference first. */
		for (unsigned long i = 0; i < PAGES; i++)
			vmspace_touch(fork.fork.child, AT + i * PAGE,
				      i & 1 ? VMSPACE_ACCESS_WRITE : VMSPACE_ACCESS_READ, NULL);
		for (unsigned long i = 0; i < PAGES / 2; i++)
			assert_int_equal(touch(i, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_OK);
		vmspace_destroy(fork.fork.child);
	}
	__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_true(vmspace_check(space, NULL));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_present_page_is_found_without_a_write),
		TEST(who_finds_its_slot_in_use_is_counted),
		TEST(faults_of_all_threads_are_counted),
		TEST(a_call_waits_for_a_fault_in_its_area),
		TEST(pages_are_replaced_beside_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
