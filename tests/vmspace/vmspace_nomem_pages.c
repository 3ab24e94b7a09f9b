/* SPDX-License-Identifier: MIT */
/*
 * vmspace_nomem_pages.c - fails each allocation in turn, and all from each on, of every call in a
 * space with memory: areas, tree, page tables, frames, translations. The call then succeeds, or
 * the space is what it was, page by page; and in the end nothing is left.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <mapletree/maple_tree.h>

#include <mapletree/vmspace_rules.h>

#include "mman_names.h"
#include "pages.h"
#include "scarce.h"

#define PAGE 4096UL
#define BASE 0x100000000UL
#define PAGES 2048UL /* of two tables of the lowest level, and more */
#define HEAP 1024UL  /* page */
#define SHARED 1200UL
#define STACK 1500UL
#define FRESH 1600UL /* no page table is there */
#define BARE 0x7c0000000000UL /* an area that has none either */

static struct vmspace *space;
static struct vmspace_request req;

/* A space as others see it: the areas' lines, and the page tables. */
struct sight {
	char text[16384];
	struct page {
		enum vmspace_page_kind kind;
		uint64_t frame;
	} page[PAGES];
	unsigned long table_bytes;
	struct vmspace_stats stats;
};
static struct sight before, after;

static unsigned long at(unsigned long page)
{
	return BASE + page * PAGE;
}

static void see(struct sight *sight)
{
	struct pages_count count;

	memset(sight, 0, sizeof(*sight));
	vmspace_show(space, sight->text, sizeof(sight->text));
	for (unsigned long n = 0; n < PAGES; n++) {
		const struct vma *vma = mtree_load(&space->tree, at(n));
		struct vmspace_page page;

		if (!vma)
			continue;
		pages_release(space->pages, pages_lookup(space->pages, vma, at(n), &page));
		sight->page[n].kind = page.kind;
		sight->page[n].frame = page.frame;
	}
	pages_count(space->pages, &count);
	sight->table_bytes = count.table_bytes;
	vmspace_stats(space, &sight->stats);
}

/* Page tables that were made for a page stay if only its translation is refused. */
static void same_sight(const char *what, long n)
{
	if (strcmp(before.text, after.text))
		fail_msg("%s, allocation %ld: the areas were\n%sand are\n%s", what, n, before.text,
			 after.text);
	for (unsigned long i = 0; i < PAGES; i++)
		if (before.page[i].kind != after.page[i].kind ||
		    before.page[i].frame != after.page[i].frame)
			fail_msg("%s, allocation %ld: page %lu is another one", what, n, i);
	if (before.table_bytes != after.table_bytes && !scarce.refused)
		fail_msg("%s, allocation %ld: page tables had %lu bytes, have %lu", what, n,
			 before.table_bytes, after.table_bytes);
	assert_int_equal(before.stats.total_vm, after.stats.total_vm);
	assert_int_equal(before.stats.data_vm, after.stats.data_vm);
	assert_int_equal(before.stats.locked_vm, after.stats.locked_vm);
	assert_int_equal(before.stats.committed_vm, after.stats.committed_vm);
}

static long map_at(unsigned long page, unsigned long count, int prot, int flags)
{
	struct vmspace_request r = { .op = VMSPACE_MMAP };

	r.mmap = (struct vmspace_mmap){ .addr = at(page), .length = count * PAGE, .prot = prot };
	r.mmap.flags = MAP_FIXED | flags;
	if (!(flags & MAP_ANONYMOUS))
		r.mmap.backing = (struct vma_backing){ .kind = VMA_BACKING_FILE, .name = "/file" };
	return vmspace_call(space, &r);
}

static int create(void)
{
	static struct vmspace_config config;
	int err;

	if (!config.page_size)
		vmspace_config_init(&config);
	assert_int_equal(vmspace_config_kernel(&config, "6.18"), 0);
	config.page_size = PAGE;
	config.mmap_base = 0x7f0000000000;
	config.mmap_min_addr = PAGE;
	config.anon_names = true;
	config.overcommit = 1;
	config.stack_guard_gap = 1;
	config.memory = &scarce_memory;
	err = vmspace_create(&space, &config);
	if (!err && mt_set_allocator(&space->tree, &scarce_nodes))
		abort();
	return err;
}

/* Areas of all kinds, with pages in every second place; a heap, shared memory, a stack. */
static void build(void)
{
	struct vmspace_request brk = { .op = VMSPACE_BRK, .brk = { at(HEAP + 2) } };

	assert_int_equal(create(), 0);
	for (unsigned long n = 0; n < 960; n += 24) {
		assert_true(map_at(n, 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS) > 0);
		assert_true(map_at(n + 8, 8, PROT_READ, n % 48 ? MAP_PRIVATE
							       : MAP_PRIVATE | MAP_ANONYMOUS) > 0);
	}
	space->image.start_brk = space->image.brk = at(HEAP);
	assert_int_equal(vmspace_call(space, &brk), at(HEAP + 2));
	assert_true(map_at(SHARED, 16, PROT_READ | PROT_WRITE, MAP_SHARED) > 0);
	assert_true(map_at(FRESH, 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS) > 0);
	assert_true(map_at((BARE - BASE) / PAGE, 8, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS) > 0);
	assert_true(map_at(STACK, 2, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN) > 0);
	for (unsigned long n = 0; n < FRESH; n += 2)
		vmspace_touch(space, at(n), n % 8 || n > 960 ? VMSPACE_ACCESS_READ
							     : VMSPACE_ACCESS_WRITE, NULL);
}

/* Nothing is left of a space, once the callbacks of RCU have run. */
static void destroy(void)
{
	vmspace_exit(space);
	assert_true(vmspace_check(space, NULL));
	vmspace_destroy(space);
	assert_int_equal(scarce.frames, 0);
}

/* The request, allocation n failing (and all behind it); 0: none. Whether it met the failure. */
static bool try_one(const char *what, const struct vmspace_request *wanted, long n)
{
	static long result; /* where none fails */
	const char *reason = "";
	bool met, failed;

	scarce_stock(true);
	build();
	scarce_stock(false);
	see(&before);
	req = *wanted;
	scarce.refused = false;
	scarce.countdown = n;
	vmspace_call(space, &req);
	met = !scarce.countdown || (scarce.for_good && scarce.countdown == 1);
	scarce.countdown = 0;
	if (!vmspace_check(space, &reason))
		fail_msg("%s, allocation %ld: %s", what, n, reason);
	failed = req.out.out_of_memory;
	if (!n)
		result = req.out.result;
	else if (!failed && !scarce.refused && req.out.result != result)
		fail_msg("%s, allocation %ld: %ld, not %ld", what, n, req.out.result, result);
	if (failed) {
		see(&after);
		same_sight(what, n);
		assert_int_equal(req.out.result,
				 req.op == VMSPACE_BRK ? (long)at(HEAP + 2) : -ENOMEM);
	}
	if (req.op == VMSPACE_FORK)
		vmspace_destroy(req.fork.child);
	if (req.op == VMSPACE_FORK && !failed) {
		/* What the child shared is the parent's alone again. */
		for (unsigned long i = 0; i < PAGES; i++)
			vmspace_touch(space, at(i), VMSPACE_ACCESS_WRITE, NULL);
		assert_true(vmspace_check(space, NULL));
	}
	destroy();
	return met;
}

/* The call succeeds or changes nothing, however many allocations fail. */
static void try_all(const char *what, const struct vmspace_request *wanted)
{
	long n;

	scarce.for_good = false;
	try_one(what, wanted, 0);
	for (n = 1; try_one(what, wanted, n); n++)
		;
	scarce.for_good = true;
	for (n = 1; try_one(what, wanted, n) && n < 2000; n++)
		;
	assert_true(n < 2000);
	scarce.for_good = false;
}

#define TRY(op_name, field, ...) \
	do { \
		struct vmspace_request r = { .op = op_name }; \
		r.field = (struct vmspace_##field){ __VA_ARGS__ }; \
		try_all(#op_name " " #__VA_ARGS__, &r); \
	} while (0)

static void mapping(void **state)
{
	int anon = MAP_PRIVATE | MAP_ANONYMOUS;

	(void)state;
	TRY(VMSPACE_MMAP, mmap, .length = 4 * PAGE, .prot = PROT_READ, .flags = anon);
	TRY(VMSPACE_MMAP, mmap, .length = 4 * PAGE, .prot = PROT_READ,
	    .flags = MAP_SHARED | MAP_ANONYMOUS);
	TRY(VMSPACE_MMAP, mmap, .addr = at(2), .length = PAGE, .prot = PROT_READ,
	    .flags = anon | MAP_FIXED);
	TRY(VMSPACE_MMAP, mmap, .addr = at(4), .length = 60 * PAGE, .prot = PROT_READ,
	    .flags = anon | MAP_FIXED);
	TRY(VMSPACE_MMAP, mmap, .addr = at(30), .length = 700 * PAGE, .prot = PROT_EXEC,
	    .flags = anon | MAP_FIXED);
	TRY(VMSPACE_BRK, brk, at(HEAP + 9));
	TRY(VMSPACE_BRK, brk, at(HEAP + 1));
}

/* In an empty space there are no reserves yet; brk answers with the break as it was, as always. */
static void the_first_break(void **state)
{
	(void)state;
	for (long n = 1; n < 4; n++) {
		struct vmspace_request brk = { .op = VMSPACE_BRK, .brk = { at(HEAP + 2) } };

		assert_int_equal(create(), 0);
		space->image.start_brk = space->image.brk = at(HEAP);
		scarce.countdown = n;
		vmspace_call(space, &brk);
		scarce.countdown = 0;
		assert_int_equal(brk.out.result, brk.out.out_of_memory ? at(HEAP) : at(HEAP + 2));
		destroy();
	}
}

static enum vmspace_page_kind kind_of(unsigned long page)
{
	const struct vma *vma = mtree_load(&space->tree, at(page));
	struct vmspace_page found = { 0 };

	if (vma)
		pages_release(space->pages, pages_lookup(space->pages, vma, at(page), &found));
	return found.kind;
}

/* It is populated as a whole, or refused. */
static void a_locked_break(void **state)
{
	long left = 0;

	(void)state;
	for (long n = 1; !left; n++) {
		struct vmspace_request lock = { .op = VMSPACE_MLOCKALL, .mlockall = { MCL_FUTURE } };
		struct vmspace_request brk = { .op = VMSPACE_BRK, .brk = { at(HEAP + 2) } };

		assert_int_equal(create(), 0);
		space->image.start_brk = space->image.brk = at(HEAP);
		assert_int_equal(vmspace_call(space, &lock), 0);
		scarce.countdown = n;
		vmspace_call(space, &brk);
		left = scarce.countdown;
		scarce.countdown = 0;
		if (brk.out.out_of_memory) {
			assert_int_equal(brk.out.result, at(HEAP));
			assert_null(mtree_load(&space->tree, at(HEAP)));
		} else {
			assert_int_equal(brk.out.result, at(HEAP + 2));
			assert_int_equal(kind_of(HEAP), VMSPACE_PAGE_ANON);
			assert_int_equal(kind_of(HEAP + 1), VMSPACE_PAGE_ANON);
		}
		destroy();
	}
}

static void unmapping(void **state)
{
	(void)state;
	TRY(VMSPACE_MUNMAP, munmap, at(2), 2 * PAGE);
	TRY(VMSPACE_MUNMAP, munmap, at(2), 100 * PAGE);
	TRY(VMSPACE_MUNMAP, munmap, at(0), PAGES * PAGE);
}

static void protecting(void **state)
{
	(void)state;
	TRY(VMSPACE_MPROTECT, mprotect, at(2), 2 * PAGE, PROT_READ, -1);
	TRY(VMSPACE_MPROTECT, mprotect, at(0), 8 * PAGE, PROT_READ, -1);
	TRY(VMSPACE_MPROTECT, mprotect, at(4), 8 * PAGE, PROT_READ | PROT_WRITE, -1);
	TRY(VMSPACE_MLOCK, mlock, at(4), 8 * PAGE, MLOCK_ONFAULT, true);
	TRY(VMSPACE_SET_ANON_NAME, set_anon_name, at(2), 3 * PAGE, "name");
	TRY(VMSPACE_MSEAL, mseal, at(2), 3 * PAGE, 0);
}

static void moving(void **state)
{
	int fixed = MREMAP_MAYMOVE | MREMAP_FIXED, keep = fixed | MREMAP_DONTUNMAP;

	(void)state;
	TRY(VMSPACE_MREMAP, mremap, at(0), 8 * PAGE, 8 * PAGE, fixed, at(1700));
	TRY(VMSPACE_MREMAP, mremap, at(2), 4 * PAGE, 4 * PAGE, fixed, at(300));
	TRY(VMSPACE_MREMAP, mremap, at(2), 4 * PAGE, 4 * PAGE, keep, at(300));
	TRY(VMSPACE_MREMAP, mremap, at(0), 8 * PAGE, 8 * PAGE, keep, 0x7e0000000000);
	TRY(VMSPACE_MREMAP, mremap, at(0), 8 * PAGE, 30 * PAGE, MREMAP_MAYMOVE, 0);
	TRY(VMSPACE_MREMAP, mremap, at(0), 8 * PAGE, 2 * PAGE, fixed, at(1700));
	TRY(VMSPACE_MREMAP, mremap, at(32), 8 * PAGE, 12 * PAGE, 0, 0);
	TRY(VMSPACE_MREMAP, mremap, at(0), 200 * PAGE, 200 * PAGE, fixed, 0x7e0000000000);
	/* Page tables that another area would share do not stay either. */
	TRY(VMSPACE_MREMAP, mremap, at(0), 8 * PAGE, 8 * PAGE, fixed, BARE + 16 * PAGE);
	TRY(VMSPACE_MREMAP, mremap, at(0), 200 * PAGE, 200 * PAGE, fixed, BARE + 16 * PAGE);
}

static void advising(void **state)
{
	const struct vmspace_range ranges[] = { { at(0), 8 * PAGE }, { at(FRESH), PAGE },
						{ BARE, 2 * PAGE } };

	(void)state;
	TRY(VMSPACE_MADVISE, madvise, at(2), 4 * PAGE, MADV_DONTFORK);
	TRY(VMSPACE_MADVISE, madvise, at(0), 8 * PAGE, MADV_DONTNEED);
	TRY(VMSPACE_MADVISE, madvise, at(2), 4 * PAGE, MADV_WIPEONFORK);
	TRY(VMSPACE_MADVISE, madvise, at(2), 800 * PAGE, MADV_DONTFORK);
	/* Page tables are missing, of one level and of three, behind areas that have them. */
	TRY(VMSPACE_MADVISE, madvise, at(STACK), 200 * PAGE, MADV_GUARD_INSTALL);
	TRY(VMSPACE_MADVISE, madvise, BARE, 8 * PAGE, MADV_GUARD_INSTALL);
	TRY(VMSPACE_PROCESS_MADVISE, process_madvise, ranges, 3, MADV_GUARD_INSTALL, 0);
	TRY(VMSPACE_MADVISE, madvise, at(FRESH), 8 * PAGE, MADV_POPULATE_WRITE);
	TRY(VMSPACE_MADVISE, madvise, BARE, 8 * PAGE, MADV_POPULATE_READ);
	TRY(VMSPACE_PROCESS_MADVISE, process_madvise, ranges, 2, MADV_POPULATE_WRITE, 0);
	TRY(VMSPACE_MLOCKALL, mlockall, MCL_CURRENT | MCL_ONFAULT);
}

/*
 * Pages of files are reserved range by range, and populated once each. After a page that came
 * twice, a lower one that was reserved later was not found, and allocated anew with the call half
 * done.
 */
static void populating_ranges_that_overlap(void **state)
{
	const struct vmspace_range ranges[] = { { at(SHARED + 5), PAGE }, { at(SHARED + 5), PAGE },
						{ at(SHARED + 1), PAGE } };
	long result, left = 0;

	(void)state;
	for (long n = 1; !left; n++) {
		build();
		req = (struct vmspace_request){ .op = VMSPACE_PROCESS_MADVISE };
		req.process_madvise =
			(struct vmspace_process_madvise){ ranges, 3, MADV_POPULATE_READ, 0 };
		scarce.countdown = n;
		result = vmspace_call(space, &req);
		left = scarce.countdown;
		scarce.countdown = 0;
		destroy();
		if (result != -ENOMEM)
			assert_int_equal(result, 3 * PAGE);
	}
}

static void forking(void **state)
{
	struct vmspace_request fork = { .op = VMSPACE_FORK };

	(void)state;
	fork.fork.child_memory = &scarce_memory;
	try_all("fork", &fork);
}

static void faulting(void **state)
{
	(void)state;
	TRY(VMSPACE_FAULT, fault, at(1), VMSPACE_ACCESS_READ);
	TRY(VMSPACE_FAULT, fault, at(3), VMSPACE_ACCESS_WRITE);
	TRY(VMSPACE_FAULT, fault, at(26), VMSPACE_ACCESS_WRITE); /* of the zero page */
	TRY(VMSPACE_FAULT, fault, at(SHARED + 1), VMSPACE_ACCESS_WRITE);
	TRY(VMSPACE_FAULT, fault, at(STACK - 100), VMSPACE_ACCESS_WRITE); /* it grows */
	TRY(VMSPACE_FAULT, fault, at(HEAP + 1), VMSPACE_ACCESS_WRITE);
	TRY(VMSPACE_FAULT, fault, at(FRESH + 1), VMSPACE_ACCESS_READ);
	TRY(VMSPACE_FAULT, fault, at(FRESH + 1), VMSPACE_ACCESS_WRITE);
}

/* What a space of the many does; every call may fail. */
static void live(unsigned long i)
{
	struct vmspace_request r = { .op = VMSPACE_MPROTECT };

	map_at(0, 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
	map_at(4, 8, PROT_READ, i & 1 ? MAP_PRIVATE : MAP_SHARED);
	for (unsigned long n = 0; n < 12; n++)
		vmspace_touch(space, at(n), VMSPACE_ACCESS_READ + (n & 1), NULL);
	r.mprotect = (struct vmspace_mprotect){ at(2), PAGE, PROT_READ, -1 };
	vmspace_call(space, &r);
	r = (struct vmspace_request){ .op = VMSPACE_MREMAP };
	r.mremap = (struct vmspace_mremap){ at(0), 2 * PAGE, 2 * PAGE,
					    MREMAP_MAYMOVE | MREMAP_FIXED, at(800) };
	vmspace_call(space, &r);
	r = (struct vmspace_request){ .op = VMSPACE_FORK };
	r.fork.child_memory = &scarce_memory;
	if (!vmspace_call(space, &r))
		vmspace_destroy(r.fork.child);
	vmspace_touch(space, at(801), VMSPACE_ACCESS_WRITE, NULL);
}

static void ten_thousand(void **state)
{
	unsigned long created = 0;
	long left = 0;

	(void)state;
	for (unsigned long i = 0; i < 10000; i++) {
		const char *reason = "";

		scarce.one_of = 5 + (unsigned int)(i % 60);
		if (!create()) {
			created++;
			live(i);
			scarce.one_of = 0;
			if (!vmspace_check(space, &reason))
				fail_msg("space %lu: %s", i, reason);
			destroy();
		}
		scarce.one_of = 0;
		/* By then threads and caches have what they keep. */
		if (i == 1000 || i == 9999) {
			mt_barrier();
			mt_cache_shrink();
			if (i == 1000)
				left = __atomic_load_n(&scarce.blocks, __ATOMIC_RELAXED);
		}
	}
	assert_true(created > 5000);
	assert_int_equal(scarce.frames, 0);
	/*
	 * The children's nodes come from slabs, of which each thread may keep some for its
	 * magazine.
	 */
	left -= __atomic_load_n(&scarce.blocks, __ATOMIC_RELAXED);
	assert_in_range(left < 0 ? -left : left, 0, 4);
}

/*
 * What each call reserves beforehand, so that it cannot run out of memory half-way, stays from one to
 * the next: it is not allocated and freed by each.
 */
static void regress_calls_allocate_only_what_they_use(void **state)
{
	(void)state;
	scarce.countdown = 0;
	assert_int_equal(create(), 0);
	for (unsigned int i = 0; i < 40; i++) {
		if (i == 20) {
			scarce.asked = 0;
			scarce.counting = true;
		}
		req = (struct vmspace_request){ .op = VMSPACE_MMAP };
		req.mmap = (struct vmspace_mmap){ .addr = at(700), .length = 2 * PAGE,
						  .prot = PROT_READ,
						  .flags = MAP_PRIVATE | MAP_ANONYMOUS |
							   MAP_FIXED };
		assert_int_equal(vmspace_call(space, &req), (long)at(700));
		req = (struct vmspace_request){ .op = VMSPACE_MUNMAP };
		req.munmap = (struct vmspace_munmap){ at(700), 2 * PAGE };
		assert_int_equal(vmspace_call(space, &req), 0);
	}
	scarce.counting = false;
	/* An area each time, and nodes now and then. */
	assert_in_range(scarce.asked, 20, 4 * 20);
	destroy();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapping), cmocka_unit_test(the_first_break),
		cmocka_unit_test(a_locked_break), cmocka_unit_test(unmapping),
		cmocka_unit_test(protecting), cmocka_unit_test(moving), cmocka_unit_test(advising),
		cmocka_unit_test(populating_ranges_that_overlap),
		cmocka_unit_test(forking), cmocka_unit_test(faulting),
		cmocka_unit_test(ten_thousand),
		cmocka_unit_test(regress_calls_allocate_only_what_they_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
