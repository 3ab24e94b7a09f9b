/* SPDX-License-Identifier: MIT */
/*
 * vmspace_touch.c - page faults of a space with memory: results, which of them take the space's
 * lock, what ends and begins a space anew, and faults beside calls that give page tables back.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <urcu/urcu-bp.h>

#include <mapletree/vmspace_rules.h>

#include "numbered_frames.h"
#include "space.h"
#include "sync.h"

#define PAGE 4096UL
#define AT 0x100000000UL

/* A file of two pages. */
static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index, uint64_t *frame)
{
	(void)ctx;
	(void)backing;
	*frame = 1000000 + index;
	return index < 2 ? 0 : -EFAULT;
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
	config.mmap_base = 0x7f0000000000;
	config.overcommit = 1;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = &memory;
	return vmspace_create(&space, &config);
}

static int tear_down(void **state)
{
	(void)state;
	vmspace_destroy(space);
	assert_int_equal(frames, 0);
	return 0;
}

static long map(unsigned long page, unsigned long pages, int prot, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){ .addr = AT + page * PAGE, .length = pages * PAGE,
					  .prot = prot, .flags = flags | MAP_FIXED };
	if (!(flags & MAP_ANONYMOUS))
		req.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .name = "/f" };
	return vmspace_call(space, &req);
}

static enum vmspace_fault_result touch(unsigned long page, unsigned int access)
{
	return vmspace_touch(space, AT + page * PAGE + 5, access, NULL);
}

/* Faults that took the space's lock since the last call. */
static unsigned long locked(void)
{
	static unsigned long before;
	static const struct vmspace *of;
	struct vmspace_stats stats;
	unsigned long since;

	vmspace_stats(space, &stats);
	since = stats.faults_locked - (of == space ? before : 0);
	before = stats.faults_locked;
	of = space;
	return since;
}

static void results(void **state)
{
	struct vmspace_page page;

	(void)state;
	map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	map(8, 4, PROT_READ, MAP_PRIVATE);
	assert_int_equal(touch(4, VMSPACE_ACCESS_READ), VMSPACE_FAULT_MAPERR);
	assert_int_equal(touch(8, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_ACCERR);
	assert_int_equal(touch(9, VMSPACE_ACCESS_READ), VMSPACE_FAULT_OK);
	assert_int_equal(touch(10, VMSPACE_ACCESS_READ), VMSPACE_FAULT_BUS);
	assert_int_equal(vmspace_touch(space, AT + 7, VMSPACE_ACCESS_WRITE, &page),
			 VMSPACE_FAULT_OK);
	assert_int_equal(page.addr, AT);
	assert_int_equal(page.kind, VMSPACE_PAGE_ANON);
	assert_true(page.frame && page.access & VMSPACE_ACCESS_WRITE);
}

/* Linux gives an area its anon_vma before it finds that there is no page to copy. */
static void a_write_beyond_the_end_gives_an_anon_vma(void **state)
{
	struct vma_info info;

	(void)state;
	map(8, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	assert_int_equal(touch(10, VMSPACE_ACCESS_READ), VMSPACE_FAULT_BUS);
	assert_true(vmspace_lookup(space, AT + 8 * PAGE, &info) && !info.anon_id);
	assert_int_equal(touch(10, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_BUS);
	assert_true(vmspace_lookup(space, AT + 8 * PAGE, &info) && info.anon_id);
}

/* The same through requests. */
static void requests(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_FAULT };
	struct vmspace_stats stats;

	(void)state;
	map(0, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	map(8, 4, PROT_READ, MAP_PRIVATE);
	req.fault = (struct vmspace_fault){ AT, VMSPACE_ACCESS_WRITE };
	assert_int_equal(vmspace_call(space, &req), 0);
	req.fault.addr = AT + PAGE;
	assert_int_equal(vmspace_call(space, &req), -EFAULT);
	req.fault.addr = AT + 8 * PAGE;
	assert_int_equal(vmspace_call(space, &req), -EACCES);
	req.fault = (struct vmspace_fault){ AT + 11 * PAGE, VMSPACE_ACCESS_READ };
	assert_int_equal(vmspace_call(space, &req), -ENXIO);
	assert_non_null(req.out.why);
	vmspace_stats(space, &stats);
	assert_int_equal(stats.faults, 4);
	assert_int_equal(stats.requests[VMSPACE_FAULT], 4);
}

/* The space's lock is taken for the first anonymous page, and where nothing is; not otherwise. */
static void who_locks(void **state)
{
	(void)state;
	map(0, 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_int_equal(locked(), 0);
	touch(0, VMSPACE_ACCESS_READ);
	assert_int_equal(locked(), 0);
	touch(0, VMSPACE_ACCESS_WRITE);
	assert_int_equal(locked(), 1);
	for (unsigned long page = 0; page < 16; page++)
		assert_int_equal(touch(page, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_OK);
	assert_int_equal(locked(), 0);
	touch(16, VMSPACE_ACCESS_READ);
	assert_int_equal(locked(), 1);
}

/* While an area is write-locked nobody gets in; the end of the turn lets all in. */
static void area_locks(void **state)
{
	struct vma *vma;

	(void)state;
	map(0, 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	vma = mtree_load(&space->tree, AT);
	assert_true(sync_read_lock(space, vma));
	assert_true(sync_read_lock(space, vma));
	sync_read_unlock(space, vma);
	sync_read_unlock(space, vma);
	sync_enter(space);
	sync_write_lock(space, vma);
	sync_write_lock(space, vma);
	assert_true(sync_write_locked(space, vma));
	assert_false(sync_read_lock(space, vma));
	sync_leave(space);
	assert_false(sync_write_locked(space, vma));
	assert_true(sync_read_lock(space, vma));
	sync_read_unlock(space, vma);
	for (unsigned long i = 0; i < SYNC_READERS; i++)
		assert_true(sync_read_lock(space, vma));
	assert_false(sync_read_lock(space, vma));
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), VMSPACE_FAULT_OK); /* by the space's lock */
	for (unsigned long i = 0; i < SYNC_READERS; i++)
		sync_read_unlock(space, vma);
}

/* When turns begin anew, an area locked long ago does not look locked once its turn comes again. */
static void sequence_wraps_around(void **state)
{
	struct sync *sync = space->sync;
	unsigned long turn;
	struct vma *vma;

	(void)state;
	map(0, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
	vma = mtree_load(&space->tree, AT);
	turn = vma->lock >> SYNC_SEQ_SHIFT;
	assert_int_not_equal(turn, 0);
	sync->seq = SYNC_SEQ_MASK;
	for (unsigned long i = 0; i <= turn + 1; i++) {
		assert_false(sync_write_locked(space, vma));
		assert_true(sync_read_lock(space, vma));
		sync_read_unlock(space, vma);
		map(8 + i, 1, PROT_READ, MAP_SHARED);
	}
	assert_true(sync->seq > turn && sync->seq < SYNC_SEQ_MASK);
}

/* An area that is gone is locked by nobody, also when its memory is used for another. */
static void gone_areas(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP, .munmap = { AT, PAGE } };
	struct vma *vma;

	(void)state;
	map(0, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
	urcu_bp_read_lock();
	vma = mtree_load(&space->tree, AT);
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_false(sync_read_lock(space, vma));
	map(8, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
	if (sync_read_lock(space, vma)) {
		assert_int_equal(vma->start, AT + 8 * PAGE);
		sync_read_unlock(space, vma);
	}
	urcu_bp_read_unlock();
}

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	assert_non_null(tasks);
	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count;
}

/* What the tree retires is freed by the calls, also in children, of which none is left. */
static void no_call_starts_threads(void **state)
{
	struct vmspace_request fork = { .op = VMSPACE_FORK, .fork.child_memory = &memory };
	struct vmspace_request unmap = { .op = VMSPACE_MUNMAP, .munmap = { AT, 600 * PAGE } };
	unsigned long most = 0, before = mt_retired_bytes();
	int threads = count_threads();

	(void)state;
	for (unsigned long round = 0; round < 50; round++) {
		for (unsigned long i = 0; i < 300; i++) {
			map(2 * i, 1, PROT_READ, MAP_SHARED | MAP_ANONYMOUS);
			most = mt_retired_bytes() > most ? mt_retired_bytes() : most;
		}
		assert_int_equal(vmspace_call(space, &fork), 0);
		vmspace_destroy(fork.fork.child);
		assert_int_equal(vmspace_call(space, &unmap), 0);
	}
	assert_true(most < before + (2 << 20));
	assert_int_equal(count_threads(), threads);
	vmspace_exit(space);
	mt_barrier();
	assert_int_equal(mt_retired_bytes(), 0);
	assert_int_equal(count_threads(), threads);
}

static void count_use(void *ctx, const struct vmspace_page *page)
{
	assert_true(page->frame);
	++*(int *)ctx;
}

static void used_once(void **state)
{
	int uses = 0;

	(void)state;
	map(0, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_int_equal(vmspace_access(space, AT, VMSPACE_ACCESS_READ, count_use, &uses),
			 VMSPACE_FAULT_OK);
	assert_int_equal(uses, 1);
	assert_int_equal(vmspace_access(space, AT, VMSPACE_ACCESS_WRITE, count_use, &uses),
			 VMSPACE_FAULT_ACCERR);
	assert_int_equal(uses, 1);
}

/* exec and exit drop all pages; then it goes on. A copy has areas, and no pages. */
static void anew(void **state)
{
	struct vmspace_area area = { .start = AT, .end = AT + 4 * PAGE,
				     .flags = VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE };
	const struct vmspace_image image = { 0 };
	struct vma_info info;
	struct vmspace *copy;
	const char *why = "";

	(void)state;
	map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	touch(1, VMSPACE_ACCESS_WRITE);
	assert_int_equal(vmspace_clone(&copy, space), 0);
	assert_true(vmspace_lookup(copy, AT, &info));
	vmspace_destroy(copy);
	assert_int_equal(vmspace_exec(space, &area, 1, &image), 0);
	assert_int_equal(frames, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(touch(1, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_OK);
	assert_true(vmspace_check(space, &why));
	locked();
	touch(1, VMSPACE_ACCESS_WRITE);
	assert_int_equal(locked(), 0);
	vmspace_exit(space);
	assert_int_equal(frames, 0);
	assert_int_equal(touch(1, VMSPACE_ACCESS_READ), VMSPACE_FAULT_MAPERR);
	map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_int_equal(touch(1, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_OK);
}

/* ---- faults beside calls that give page tables back ---- */

#define TABLE (512 * PAGE)
#define TABLES 6

static bool finished;

/* Random pages of all areas; returns those that could not be touched. */
static void *touch_random(void *arg)
{
	uint64_t draw = (uintptr_t)arg;
	uintptr_t failed = 0;

	while (!__atomic_load_n(&finished, __ATOMIC_RELAXED)) {
		draw = draw * 6364136223846793005ULL + 1442695040888963407ULL;
		failed += touch((unsigned long)(draw >> 33) % (TABLES * 512),
				draw >> 20 & 1 ? VMSPACE_ACCESS_WRITE : VMSPACE_ACCESS_READ) !=
			  VMSPACE_FAULT_OK;
	}
	return (void *)failed;
}

/* Tables go while faults are under way in the same area and in one that has a part of a table. */
static void tables_go_beside_faults(void **state)
{
	enum { THREADS = 2, CALLS = 3000 };
	struct vmspace_request req = { .op = VMSPACE_MADVISE };
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_stats before, after;
	unsigned long gone = 0;
	pthread_t thread[THREADS];
	void *failed;

	(void)state;
	config.pt_reclaim = true;
	assert_int_equal(vmspace_configure(space, &config), 0);
	map(0, 5 * 256, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	map(5 * 256, 7 * 256, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
	__atomic_store_n(&finished, false, __ATOMIC_RELAXED);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, touch_random, (void *)(i + 1)),
				 0);
	for (unsigned long i = 0; i < CALLS || (!gone && i < 100UL * CALLS); i++) {
		req.madvise = (struct vmspace_madvise){ AT + i % TABLES * TABLE, TABLE,
							MADV_DONTNEED };
		vmspace_stats(space, &before);
		assert_int_equal(vmspace_call(space, &req), 0);
		vmspace_stats(space, &after);
		gone += after.table_bytes < before.table_bytes;
	}
	__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
	assert_true(gone > 0);
	assert_true(vmspace_check(space, NULL));
}

/* In a space without memory vmspace_touch() is a request. */
static void without_memory(void **state)
{
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_request req = { .op = VMSPACE_MMAP };
	struct vmspace_page page;
	struct vmspace *plain;

	(void)state;
	config.memory = NULL;
	assert_int_equal(vmspace_create(&plain, &config), 0);
	req.mmap = (struct vmspace_mmap){ .addr = AT, .length = PAGE, .prot = PROT_READ,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
	vmspace_call(plain, &req);
	assert_int_equal(vmspace_touch(plain, AT, VMSPACE_ACCESS_READ, &page), VMSPACE_FAULT_OK);
	assert_int_equal(page.kind, VMSPACE_PAGE_NONE);
	assert_int_equal(vmspace_touch(plain, AT, VMSPACE_ACCESS_WRITE, NULL),
			 VMSPACE_FAULT_ACCERR);
	assert_int_equal(vmspace_touch(plain, AT + PAGE, VMSPACE_ACCESS_READ, NULL),
			 VMSPACE_FAULT_MAPERR);
	vmspace_destroy(plain);
}

#define WRITE_AND_EXEC (VMSPACE_ACCESS_WRITE | VMSPACE_ACCESS_EXEC)

/*
 * An access that asks for several rights needs all of them: to write was once enough, where a space
 * without memory was asked.
 */
static void write_and_exec_need_both_rights(void **state)
{
	struct vmspace_config config = *vmspace_config(space);
	const struct vmspace_mmap area = {.addr = AT,
					  .length = PAGE,
					  .prot = PROT_READ | PROT_WRITE,
					  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED};
	struct vmspace_request req = { .op = VMSPACE_MMAP, .mmap = area };
	struct vmspace *plain;

	(void)state;
	config.memory = NULL;
	assert_int_equal(vmspace_create(&plain, &config), 0);
	vmspace_call(plain, &req);
	assert_int_equal(vmspace_touch(plain, AT, WRITE_AND_EXEC, NULL), VMSPACE_FAULT_ACCERR);
	req = (struct vmspace_request){ .op = VMSPACE_FAULT, .fault = { AT, WRITE_AND_EXEC } };
	assert_int_equal(vmspace_call(plain, &req), -EACCES);
	req = (struct vmspace_request){ .op = VMSPACE_MMAP, .mmap = area };
	req.mmap.prot |= PROT_EXEC;
	vmspace_call(plain, &req);
	assert_int_equal(vmspace_touch(plain, AT, WRITE_AND_EXEC, NULL), VMSPACE_FAULT_OK);
	vmspace_destroy(plain);

	map(0, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_int_equal(touch(0, WRITE_AND_EXEC), VMSPACE_FAULT_ACCERR);
}

/* As in Linux a stack grows to where it is touched, whether or not the access is allowed then. */
static void a_stack_grows_for_a_forbidden_access(void **state)
{
	struct vma_info info;

	(void)state;
	map(8, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN);
	assert_int_equal(touch(7, VMSPACE_ACCESS_EXEC), VMSPACE_FAULT_ACCERR);
	assert_true(vmspace_lookup(space, AT + 8 * PAGE, &info));
	assert_int_equal(info.start, AT + 7 * PAGE);
	assert_int_equal(touch(6, WRITE_AND_EXEC), VMSPACE_FAULT_ACCERR);
	assert_true(vmspace_lookup(space, AT + 8 * PAGE, &info));
	assert_int_equal(info.start, AT + 6 * PAGE);
}

/* A length that wraps around hides that the destination, which is unmapped, holds the source. */
static void a_move_unmaps_its_own_pages(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MREMAP };
	struct vmspace_config config = *vmspace_config(space);
	const char *reason = "";

	(void)state;
	/* Older kernels miss the source later. */
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	assert_int_equal(vmspace_configure(space, &config), 0);
	map(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_int_equal(touch(1, VMSPACE_ACCESS_WRITE), VMSPACE_FAULT_OK);
	req.mremap = (struct vmspace_mremap){ AT + PAGE, -AT, 2 * PAGE,
					      MREMAP_MAYMOVE | MREMAP_FIXED, AT };
	assert_int_equal(vmspace_call(space, &req), -EFAULT);
	assert_int_equal(touch(1, VMSPACE_ACCESS_READ), VMSPACE_FAULT_MAPERR);
	assert_int_equal(touch(2, VMSPACE_ACCESS_READ), VMSPACE_FAULT_OK);
	assert_true(vmspace_check(space, &reason));
}

/* The user has pages for the whole of what is mapped later. */
static void shared_memory_keeps_its_end(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MREMAP };

	(void)state;
	map(0, 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
	req.mremap = (struct vmspace_mremap){ AT, PAGE, 2 * PAGE, 0, 0 };
	assert_int_equal(vmspace_call(space, &req), AT);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), VMSPACE_FAULT_OK);
	assert_int_equal(touch(1, VMSPACE_ACCESS_READ), VMSPACE_FAULT_BUS);
	map(4, 2, PROT_READ, MAP_PRIVATE);
	assert_int_equal(touch(5, VMSPACE_ACCESS_READ), VMSPACE_FAULT_OK);
}

static unsigned long translated; /* pages: bit n, from AT on */

static int translate(void *ctx, unsigned long addr, uint64_t frame, unsigned int access)
{
	(void)ctx;
	(void)frame;
	(void)access;
	translated |= 1UL << (addr - AT) / PAGE;
	return 0;
}

static void translate_no_more(void *ctx, unsigned long start, unsigned long end)
{
	(void)ctx;
	for (unsigned int i = 0; i < 64; i++) /* of all of user space, when the space ends */
		if (start <= AT + i * PAGE && AT + i * PAGE < end)
			translated &= ~(1UL << i);
}

/* The rights are the same, but the key denies more. */
static void a_new_key_ends_translations(void **state)
{
	struct vmspace_memory mapping = memory;
	struct vmspace_request req = { .op = VMSPACE_MPROTECT };
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	vmspace_destroy(space);
	mapping.map = translate;
	mapping.unmap = translate_no_more;
	config.memory = &mapping;
	config.pkeys = true;
	assert_int_equal(vmspace_create(&space, &config), 0);
	map(0, 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS);
	req.mprotect = (struct vmspace_mprotect){ AT, 2 * PAGE, PROT_EXEC, 0 };
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), VMSPACE_FAULT_OK);
	assert_int_equal(translated, 1);
	req.mprotect.pkey = -1;
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_int_equal(translated, 0);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), VMSPACE_FAULT_ACCERR);
	vmspace_destroy(space);
	space = NULL;
}

/* An execute-only area is not made readable by a page that was executed. */
static void executed_pages_are_not_readable(void **state)
{
	struct vmspace_config config = *vmspace_config(space);
	struct vmspace_page page;

	(void)state;
	config.pkeys = true;
	assert_int_equal(vmspace_configure(space, &config), 0);
	map(0, 4, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), VMSPACE_FAULT_ACCERR);
	assert_int_equal(vmspace_touch(space, AT, VMSPACE_ACCESS_EXEC, &page), VMSPACE_FAULT_OK);
	assert_int_equal(page.access, VMSPACE_ACCESS_EXEC);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), VMSPACE_FAULT_ACCERR);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(results), TEST(a_write_beyond_the_end_gives_an_anon_vma),
		TEST(requests), TEST(who_locks), TEST(area_locks),
		TEST(sequence_wraps_around), TEST(gone_areas), TEST(no_call_starts_threads),
		TEST(used_once), TEST(anew),
		TEST(tables_go_beside_faults), TEST(without_memory),
		TEST(write_and_exec_need_both_rights), TEST(a_stack_grows_for_a_forbidden_access),
		TEST(a_move_unmaps_its_own_pages), TEST(executed_pages_are_not_readable),
		TEST(shared_memory_keeps_its_end), TEST(a_new_key_ends_translations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
