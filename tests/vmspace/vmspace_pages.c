/* SPDX-License-Identifier: MIT */
/*
 * vmspace_pages.c - the page table, function by function: faults of each kind, copy-on-write,
 * guards, moves, tables freed level by level, every allocation failed in turn.
 */
#include <errno.h>
#include <limits.h>
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

#define expect_count(of, member, value) assert_int_equal(count(of).member, value)

static uint64_t load(struct guest *of, const struct vma *vma, unsigned long addr)
{
	uint64_t value = 0;

	assert_int_equal(guest_read(of, vma, addr, &value), VMSPACE_FAULT_OK);
	return value;
}

static void store(struct guest *of, const struct vma *vma, unsigned long addr, uint64_t value)
{
	assert_int_equal(guest_write(of, vma, addr, value), VMSPACE_FAULT_OK);
}

static enum vmspace_fault_result touch(const struct vma *vma, unsigned long addr,
				       unsigned int access, struct vmspace_page *page)
{
	return pages_fault(guest.pages, vma, addr, access, page);
}

static void unmap_area(struct guest *of, const struct vma *vma)
{
	pages_unmap(of->pages, vma->start, vma->end, 0, 0);
}

/* ---- faults ---- */

static void a_read_of_anonymous_memory_takes_no_frame(void **state)
{
	struct vma vma = world_anon(guest_window(0), 8);
	struct vmspace_page page;

	(void)state;
	for (int i = 0; i < 8; i++)
		assert_int_equal(load(&guest, &vma, vma.start + (unsigned long)i * PAGE), 0);
	expect_count(&guest, zero, 8);
	expect_count(&guest, anon, 0);
	assert_int_equal(world_frames(), 1);
	assert_int_equal(touch(&vma, vma.start + 77, VMSPACE_ACCESS_READ, &page), 0);
	assert_int_equal(page.kind, VMSPACE_PAGE_ZERO);
	assert_int_equal(page.source, VMSPACE_PAGE_PRESENT);
	assert_int_equal(page.access, VMSPACE_ACCESS_READ);
	assert_int_equal(page.addr, vma.start);
}

static void a_write_takes_the_zero_pages_place(void **state)
{
	struct vma vma = world_anon(guest_window(0), 2);
	struct vmspace_page page;

	(void)state;
	load(&guest, &vma, vma.start);
	assert_int_equal(touch(&vma, vma.start, VMSPACE_ACCESS_WRITE, &page), 0);
	assert_int_equal(page.kind, VMSPACE_PAGE_ANON);
	assert_int_equal(page.source, VMSPACE_PAGE_COPIED);
	assert_int_equal(page.access, VMSPACE_ACCESS_READ | VMSPACE_ACCESS_WRITE);
	expect_count(&guest, zero, 0);
	expect_count(&guest, anon, 1);
	assert_int_equal(touch(&vma, vma.start + PAGE, VMSPACE_ACCESS_WRITE, &page), 0);
	assert_int_equal(page.source, VMSPACE_PAGE_NEW);
	assert_int_equal(world_value(page.frame), 0);
}

static void access_is_what_the_area_allows(void **state)
{
	static const struct {
		vma_flags_t flags;
		unsigned int access;
		enum vmspace_fault_result result;
	} cases[] = {
		{ 0, VMSPACE_ACCESS_READ, VMSPACE_FAULT_ACCERR },
		{ 0, VMSPACE_ACCESS_WRITE, VMSPACE_FAULT_ACCERR },
		{ 0, VMSPACE_ACCESS_EXEC, VMSPACE_FAULT_ACCERR },
		{ VMA_READ, VMSPACE_ACCESS_READ, VMSPACE_FAULT_OK },
		{ VMA_READ, VMSPACE_ACCESS_WRITE, VMSPACE_FAULT_ACCERR },
		{ VMA_READ, VMSPACE_ACCESS_EXEC, VMSPACE_FAULT_ACCERR },
		{ VMA_WRITE, VMSPACE_ACCESS_READ, VMSPACE_FAULT_OK },
		{ VMA_EXEC, VMSPACE_ACCESS_READ, VMSPACE_FAULT_OK },
		{ VMA_EXEC, VMSPACE_ACCESS_EXEC, VMSPACE_FAULT_OK },
		{ VMA_READ | VMA_EXEC, VMSPACE_ACCESS_EXEC | VMSPACE_ACCESS_WRITE,
		  VMSPACE_FAULT_ACCERR },
	};
	struct vma vma = world_anon(guest_window(0), 1);
	struct vmspace_page page;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		vma.flags = cases[i].flags;
		assert_int_equal(touch(&vma, vma.start, cases[i].access, &page), cases[i].result);
		if (!cases[i].result)
			assert_true(page.access & cases[i].access);
		unmap_area(&guest, &vma);
	}
}

static void a_file_ends_with_SIGBUS(void **state)
{
	struct vma vma = world_file(guest_window(0), 4, FILE_PAGES - 2, true);
	uint64_t value;

	(void)state;
	assert_int_equal(load(&guest, &vma, vma.start + PAGE), world_file_value(FILE_PAGES - 1));
	assert_int_equal(guest_read(&guest, &vma, vma.start + 2 * PAGE, &value),
			 VMSPACE_FAULT_BUS);
	assert_int_equal(guest_write(&guest, &vma, vma.start + 3 * PAGE, 1), VMSPACE_FAULT_BUS);
	expect_count(&guest, file, 1);
	guest.memory.file_page = NULL;
	assert_int_equal(guest_read(&guest, &vma, vma.start, &value), VMSPACE_FAULT_BUS);
}

static void a_private_page_of_a_file_is_copied_when_written(void **state)
{
	struct vma vma = world_file(guest_window(0), 3, 10, false);
	struct vma shared = world_file(guest_window(1), 3, 10, true);

	(void)state;
	assert_int_equal(load(&guest, &vma, vma.start), world_file_value(10));
	expect_count(&guest, file, 1);
	store(&guest, &shared, shared.start, 5); /* seen, as the page is still the file's */
	assert_int_equal(load(&guest, &vma, vma.start), 5);
	store(&guest, &vma, vma.start, 6);
	store(&guest, &vma, vma.start + PAGE, 7); /* never read before */
	assert_int_equal(load(&guest, &shared, shared.start), 5);
	assert_int_equal(load(&guest, &shared, shared.start + PAGE), world_file_value(11));
	expect_count(&guest, file, 2);
	expect_count(&guest, anon, 2);
	assert_int_equal(world_file_uses(), 2);
	pages_zap(guest.pages, vma.start, vma.end);
	assert_int_equal(load(&guest, &vma, vma.start), 5);
}

static void shared_memory_is_counted_apart(void **state)
{
	struct vma vma = world_shmem(guest_window(0), 2);
	struct vmspace_page page;

	(void)state;
	assert_int_equal(touch(&vma, vma.start, VMSPACE_ACCESS_READ, &page), 0);
	assert_int_equal(page.kind, VMSPACE_PAGE_SHMEM);
	assert_int_equal(page.access, VMSPACE_ACCESS_READ);
	assert_int_equal(touch(&vma, vma.start, VMSPACE_ACCESS_WRITE, &page), 0);
	assert_int_equal(page.source, VMSPACE_PAGE_REUSED);
	expect_count(&guest, shmem, 1);
	expect_count(&guest, file, 0);
}

static void a_page_that_is_not_translated_does_not_come(void **state)
{
	struct vma vma = world_anon(guest_window(0), 2);

	(void)state;
	guest.map_fails = true;
	assert_int_equal(guest_write(&guest, &vma, vma.start, 1), VMSPACE_FAULT_NOMEM);
	expect_count(&guest, anon, 0);
	guest.map_fails = false;
	store(&guest, &vma, vma.start, 2);
	assert_int_equal(load(&guest, &vma, vma.start + PAGE), 0);
	expect_count(&guest, zero, 1);
	guest.map_fails = true;
	assert_int_equal(guest_write(&guest, &vma, vma.start + PAGE, 3), VMSPACE_FAULT_NOMEM);
	expect_count(&guest, zero, 1);
	expect_count(&guest, anon, 1);
	guest.map_fails = false;
	assert_int_equal(load(&guest, &vma, vma.start), 2);
	assert_int_equal(load(&guest, &vma, vma.start + PAGE), 0);
}

/* ---- what calls do ---- */

static void lost_access_ends_translations(void **state)
{
	struct vma vma = world_anon(guest_window(0), 4);
	uint64_t value;

	(void)state;
	store(&guest, &vma, vma.start, 3);
	pages_protect(guest.pages, vma.start, vma.end, vma.flags, VMA_READ);
	vma.flags = VMA_READ;
	assert_int_equal(guest_write(&guest, &vma, vma.start, 4), VMSPACE_FAULT_ACCERR);
	assert_int_equal(load(&guest, &vma, vma.start), 3);
	assert_int_equal(guest.unmaps, 1);
	/* What only can be read loses nothing by losing what it has not. */
	pages_protect(guest.pages, vma.start, vma.end, VMA_READ | VMA_WRITE, VMA_READ);
	assert_int_equal(guest.unmaps, 1);
	pages_protect(guest.pages, vma.start, vma.end, VMA_READ, 0);
	vma.flags = 0;
	assert_int_equal(guest_read(&guest, &vma, vma.start, &value), VMSPACE_FAULT_ACCERR);
	assert_int_equal(guest.unmaps, 2);
	expect_count(&guest, anon, 1);
	pages_protect(guest.pages, vma.start, vma.end, 0, VMA_READ | VMA_WRITE);
	vma.flags = VMA_READ | VMA_WRITE;
	store(&guest, &vma, vma.start, 5);
	assert_int_equal(guest.unmaps, 2);
	expect_count(&guest, anon, 1);
}

static void guards_refuse_until_removed(void **state)
{
	struct vma vma = world_anon(guest_window(0), 8);
	struct vmspace_page page;
	uint64_t value;

	(void)state;
	store(&guest, &vma, vma.start + PAGE, 1);
	assert_int_equal(pages_guard(guest.pages, vma.start, vma.start + 3 * PAGE), 0);
	expect_count(&guest, guards, 3);
	expect_count(&guest, anon, 0);
	assert_int_equal(guest_read(&guest, &vma, vma.start + PAGE, &value),
			 VMSPACE_FAULT_MAPERR);
	assert_int_equal(guest_write(&guest, &vma, vma.start, 1), VMSPACE_FAULT_MAPERR);
	assert_null(pages_lookup(guest.pages, &vma, vma.start, &page));
	assert_int_equal(page.kind, VMSPACE_PAGE_GUARD);
	store(&guest, &vma, vma.start + 3 * PAGE, 2);
	pages_zap(guest.pages, vma.start, vma.end); /* MADV_DONTNEED leaves guards */
	expect_count(&guest, guards, 3);
	store(&guest, &vma, vma.start + 3 * PAGE, 2);
	pages_unguard(guest.pages, vma.start + PAGE, vma.end);
	expect_count(&guest, guards, 1);
	assert_int_equal(load(&guest, &vma, vma.start + PAGE), 0);
	assert_int_equal(load(&guest, &vma, vma.start + 3 * PAGE), 2);
}

static void tables_go_level_by_level(void **state)
{
	unsigned long border = guest_window(3) + WINDOW_PAGES / 2 * PAGE;
	struct vma low = world_anon(border - 4 * PAGE, 2), high = world_anon(border + 2 * PAGE, 2);
	struct vma lowest = world_anon(guest_window(0), 1);

	(void)state;
	store(&guest, &low, low.start, 1);
	store(&guest, &high, high.start, 1);
	store(&guest, &lowest, lowest.start, 1);
	if (sizeof(long) == 8)
		/* Below the root: for lowest 3, for low and high each 3 of their own. */
		expect_count(&guest, table_bytes, 9 * PAGE);
	/* An area beside keeps its own tables, and none of those that only the gone one had. */
	pages_unmap(guest.pages, high.start, high.end, low.end, 0);
	guest_check(&guest, (struct vma[]){ low, lowest }, 2);
	if (sizeof(long) == 8)
		expect_count(&guest, table_bytes, 6 * PAGE);
	/* An area that touches what a table covers keeps it. */
	store(&guest, &high, high.start, 1);
	pages_unmap(guest.pages, high.start, high.end, border, high.end + PAGE);
	if (sizeof(long) == 8)
		expect_count(&guest, table_bytes, 9 * PAGE);
	pages_unmap(guest.pages, high.start, high.end, low.end, 0);
	pages_unmap(guest.pages, low.start, low.end, lowest.end, 0);
	if (sizeof(long) == 8)
		expect_count(&guest, table_bytes, 3 * PAGE);
	pages_unmap(guest.pages, lowest.start, lowest.end, 0, 0);
	expect_count(&guest, all_table_bytes, 0);
}

/*
 * MADV_DONTNEED of Linux 6.14 and later: of the lowest tables those go that lie wholly in the range
 * and are empty; a part of what a table covers, another area's page or a guard keeps it.
 */
static void reclaim_takes_empty_tables_in_the_range(void **state)
{
	unsigned long covers = PAGE * (PAGE / 8),
		      border = guest_window(1) + WINDOW_PAGES / 2 * PAGE;
	struct vma vma = world_anon(border - covers, 2 * covers / PAGE + 64); /* two, and a part */
	unsigned long first = vma.start, all;
	struct vmspace_page page;

	(void)state;
	for (unsigned long i = 0; i < 3; i++)
		store(&guest, &vma, first + i * covers + 7 * PAGE, 1);
	all = count(&guest).all_table_bytes;
	pages_reclaim(guest.pages, first, vma.end);
	expect_count(&guest, all_table_bytes, all); /* pages are there */
	pages_zap(guest.pages, first, vma.end);
	pages_reclaim(guest.pages, first + PAGE, first + 2 * covers - PAGE);
	expect_count(&guest, all_table_bytes, all); /* none lies wholly in that */
	assert_int_equal(pages_guard(guest.pages, first + PAGE, first + 2 * PAGE), 0);
	pages_reclaim(guest.pages, first, vma.end);
	expect_count(&guest, all_table_bytes, all - PAGE); /* the second */
	guest_check(&guest, &vma, 1);
	assert_int_equal(touch(&vma, first + PAGE, VMSPACE_ACCESS_READ, &page),
			 VMSPACE_FAULT_MAPERR);
	store(&guest, &vma, first + covers, 2); /* it is made again */
	expect_count(&guest, all_table_bytes, all);
	pages_unguard(guest.pages, first, vma.end);
	pages_zap(guest.pages, first, vma.end);
	pages_reclaim(guest.pages, first, vma.end);
	expect_count(&guest, all_table_bytes, all - 2 * PAGE); /* higher ones stay */
	guest_check(&guest, &vma, 1);
	unmap_area(&guest, &vma);
	expect_count(&guest, all_table_bytes, 0);
}

static void five_levels_for_57_bits(void **state)
{
#if ULONG_MAX > 0xffffffff
	struct pages *pages;
	struct vma vma = world_anon((1UL << 56) - 2 * PAGE, 1);
	struct vmspace_page page;
	struct pages_count now;

	(void)state;
	assert_int_equal(pages_create(&pages, &guest.memory, PAGE, (1UL << 56) - PAGE), 0);
	assert_int_equal(pages_fault(pages, &vma, vma.start, VMSPACE_ACCESS_WRITE, &page), 0);
	pages_count(pages, &now);
	assert_int_equal(now.all_table_bytes, 5 * PAGE);
	assert_int_equal(now.table_bytes, 3 * PAGE);
	vma.start -= 1UL << 55;
	vma.end -= 1UL << 55;
	assert_int_equal(pages_fault(pages, &vma, vma.start, VMSPACE_ACCESS_READ, &page), 0);
	assert_int_equal(page.kind, VMSPACE_PAGE_ZERO);
	assert_true(pages_check(pages, NULL));
	pages_destroy(pages);
#else
	(void)state;
	skip();
#endif
}

/* ---- moves ---- */

static void a_move_takes_pages_along(void **state)
{
	struct vma from = world_anon(guest_window(1), 700), to;

	(void)state;
	for (unsigned long i = 0; i < 700; i += 7)
		store(&guest, &from, from.start + i * PAGE, i + 1);
	assert_int_equal(pages_guard(guest.pages, from.start + PAGE, from.start + 3 * PAGE), 0);
	to = world_anon(guest_window(2) + 33 * PAGE, 700);
	assert_int_equal(pages_reserve_move(guest.pages, from.start, to.start, 700 * PAGE), 0);
	pages_move(guest.pages, from.start, to.start, 700 * PAGE);
	pages_end_reserve(guest.pages);
	pages_unmap(guest.pages, from.start, from.end, 0, to.start);
	guest_check(&guest, &to, 1);
	expect_count(&guest, anon, 100);
	expect_count(&guest, guards, 2);
	for (unsigned long i = 0; i < 700; i++)
		if (i != 1 && i != 2)
			assert_int_equal(load(&guest, &to, to.start + i * PAGE),
					 i % 7 ? 0 : i + 1);
}

/* Whole tables go as they are: nothing is allocated for them, nothing freed. */
static void a_move_takes_whole_tables_along(void **state)
{
	unsigned long size = 512 * PAGE, border = guest_window(1) + WINDOW_PAGES / 2 * PAGE;
	struct vma from = world_anon(border - size, 1024), to = from;
	struct pages_count before;

	(void)state;
	store(&guest, &from, from.start + 3 * PAGE, 3);
	store(&guest, &from, border + 4 * PAGE, 4);
	before = count(&guest);
	to.start += 8 * size;
	to.end += 8 * size;
	assert_int_equal(pages_reserve_move(guest.pages, from.start, to.start, 2 * size), 0);
	world_countdown = 1;
	pages_move(guest.pages, from.start, to.start, 2 * size);
	pages_end_reserve(guest.pages);
	assert_int_equal(world_countdown, 1);
	world_countdown = 0;
	pages_unmap(guest.pages, from.start, from.end, 0, to.start);
	assert_int_equal(count(&guest).anon, before.anon);
	/* The border is one of two levels; now both tables lie on one side of it. */
	if (sizeof(long) == 8)
		assert_int_equal(count(&guest).table_bytes, before.table_bytes - PAGE);
	assert_true(pages_check(guest.pages, NULL));
	unmap_area(&guest, &to);
	expect_count(&guest, all_table_bytes, 0);
}

/* Where the target has a table that is empty, pages go there one by one. */
static void a_move_finds_an_empty_table(void **state)
{
	unsigned long size = 512 * PAGE, border = guest_window(1) + WINDOW_PAGES / 2 * PAGE;
	struct vma from = world_anon(border, 512), to = world_anon(border + 4 * size, 512);

	(void)state;
	store(&guest, &from, from.start + PAGE, 1);
	assert_int_equal(pages_guard(guest.pages, to.start, to.start + PAGE), 0);
	pages_unguard(guest.pages, to.start, to.end);
	assert_int_equal(pages_reserve_move(guest.pages, from.start, to.start, size), 0);
	pages_move(guest.pages, from.start, to.start, size);
	pages_end_reserve(guest.pages);
	pages_unmap(guest.pages, from.start, from.end, 0, to.start);
	assert_true(pages_check(guest.pages, NULL));
	expect_count(&guest, anon, 1);
	unmap_area(&guest, &to);
}

/* ---- fork ---- */

static void fork_guest(const struct vma *vma)
{
	guest_begin(&child);
	assert_int_equal(pages_copy(child.pages, guest.pages, vma), 0);
}

static void pages_are_shared_until_written(void **state)
{
	struct vma vma = world_anon(guest_window(0), 4);
	struct vmspace_page page;

	(void)state;
	store(&guest, &vma, vma.start, 1);
	load(&guest, &vma, vma.start + PAGE);
	fork_guest(&vma);
	assert_int_equal(world_frames(), 2); /* the page, and zeros */
	expect_count(&child, anon, 1);
	expect_count(&child, zero, 1);
	assert_int_equal(load(&child, &vma, vma.start), 1);
	store(&guest, &vma, vma.start, 2);
	assert_int_equal(load(&child, &vma, vma.start), 1);
	/* Nobody else has it any more: no copy. */
	assert_int_equal(pages_fault(child.pages, &vma, vma.start, VMSPACE_ACCESS_WRITE, &page), 0);
	assert_int_equal(page.source, VMSPACE_PAGE_REUSED);
	store(&child, &vma, vma.start, 3);
	assert_int_equal(load(&guest, &vma, vma.start), 2);
	guest_check(&guest, &vma, 1);
	guest_check(&child, &vma, 1);
	assert_int_equal(load(&child, &vma, vma.start + PAGE), 0);
	guest_end(&child);
}

static void a_child_may_outlive_its_parent(void **state)
{
	struct vma vma = world_anon(guest_window(0), 4);

	(void)state;
	store(&guest, &vma, vma.start, 1);
	load(&guest, &vma, vma.start + PAGE);
	fork_guest(&vma);
	pages_clear(guest.pages);
	assert_int_equal(load(&child, &vma, vma.start), 1);
	store(&child, &vma, vma.start + PAGE, 1);
	assert_int_equal(load(&child, &vma, vma.start + 2 * PAGE), 0);
	guest_end(&child);
}

static void shared_areas_are_not_copied(void **state)
{
	struct vma vma = world_shmem(guest_window(0), 4), file;

	(void)state;
	store(&guest, &vma, vma.start, 9);
	file = world_file(guest_window(1), 4, 0, false);
	file.anon_id = 0; /* only read so far */
	load(&guest, &file, file.start);
	fork_guest(&vma);
	assert_int_equal(pages_copy(child.pages, guest.pages, &file), 0);
	expect_count(&child, shmem, 0);
	expect_count(&child, file, 0);
	expect_count(&child, all_table_bytes, 0);
	store(&child, &vma, vma.start, 10);
	assert_int_equal(load(&guest, &vma, vma.start), 10);
	guest_end(&child);
}

static void guards_are_inherited(void **state)
{
	struct vma vma = world_anon(guest_window(0), 4);
	uint64_t value;

	(void)state;
	vma.anon_id = 0;
	vma.flags |= VMA_MAYBE_GUARD;
	assert_int_equal(pages_guard(guest.pages, vma.start, vma.start + PAGE), 0);
	fork_guest(&vma);
	assert_int_equal(guest_read(&child, &vma, vma.start, &value), VMSPACE_FAULT_MAPERR);
	guest_end(&child);
}

/* ---- failures ---- */

/*
 * Fails the n-th allocation of `what`, for every n, until it succeeds; each time the page table is
 * sound, and what was there is there. `undo` gives back what a failure may leave.
 */
static void fail_each(int (*what)(void), void (*undo)(void), const struct vma *vmas, size_t areas,
		      long least)
{
	long n = 0;
	int err;

	do {
		struct pages_count before = count(&guest), after;
		unsigned long frames = world_frames(), uses = world_file_uses();

		world_countdown = ++n;
		err = what();
		if (err) {
			undo();
			after = count(&guest);
			assert_int_equal(after.anon, before.anon);
			assert_int_equal(after.file, before.file);
			assert_int_equal(after.guards, before.guards);
			assert_int_equal(world_frames(), frames);
			assert_int_equal(world_file_uses(), uses);
		}
		guest_check(&guest, vmas, areas);
	} while (err);
	assert_true(world_countdown > 0);
	assert_true(n > least);
	world_countdown = 0;
}

static struct vma area, target;
static unsigned int access_wanted;

static int do_fault(void)
{
	struct vmspace_page page;

	return pages_fault(guest.pages, &area, area.start, access_wanted, &page) ? -ENOMEM : 0;
}

static void undo_fault(void)
{
	/* What a fault leaves when only its translation failed: its page, and zeros. */
	world_countdown = 0;
	pages_clear(guest.pages);
}

static void every_allocation_of_a_fault_fails(void **state)
{
	(void)state;
	area = world_anon(guest_window(3), 1);
	access_wanted = VMSPACE_ACCESS_READ;
	fail_each(do_fault, undo_fault, &area, 1, 5);
	pages_clear(guest.pages);
	access_wanted = VMSPACE_ACCESS_WRITE;
	fail_each(do_fault, undo_fault, &area, 1, 5);
	pages_clear(guest.pages);
	area = world_file(guest_window(3), 1, 3, false);
	fail_each(do_fault, undo_fault, &area, 1, 7);
	pages_clear(guest.pages);
	access_wanted = VMSPACE_ACCESS_READ;
	fail_each(do_fault, undo_fault, &area, 1, 5);
}

static void undo_copy(void)
{
}

static void every_allocation_of_a_copy_on_write_fails(void **state)
{
	long n = 0;

	(void)state;
	area = world_anon(guest_window(0), 1);
	store(&guest, &area, area.start, 5);
	fork_guest(&area);
	do {
		world_countdown = ++n;
		if (!guest_write(&guest, &area, area.start, 6))
			break;
		assert_int_equal(load(&child, &area, area.start), 5);
		guest_check(&guest, &area, 1);
		expect_count(&guest, anon, 1);
		/* The page is the guest's own as soon as only its translation is missing. */
		assert_in_range(world_frames(), 1, n == 3 ? 2 : 1);
	} while (n < 9);
	world_countdown = 0;
	assert_int_equal(n, 4);
	guest_end(&child);
}

static int do_guard(void)
{
	return pages_guard(guest.pages, area.start, area.end);
}

static void undo_guard(void)
{
	world_countdown = 0;
	unmap_area(&guest, &area);
}

static void every_allocation_of_guards_fails(void **state)
{
	(void)state;
	area = world_anon(guest_window(3), WINDOW_PAGES);
	fail_each(do_guard, undo_guard, &area, 1, 5);
	expect_count(&guest, guards, WINDOW_PAGES);
}

static int do_reserve_move(void)
{
	return pages_reserve_move(guest.pages, area.start, target.start, area.end - area.start);
}

static void undo_reserve_move(void)
{
	world_countdown = 0;
	pages_end_reserve(guest.pages);
}

static void every_allocation_of_a_move_fails(void **state)
{
	unsigned long tables;

	(void)state;
	area = world_anon(guest_window(0), 1000);
	target = world_anon(guest_window(2) + PAGE, 1000);
	for (unsigned long i = 0; i < 1000; i += 100)
		store(&guest, &area, area.start + i * PAGE, i);
	tables = count(&guest).all_table_bytes;
	fail_each(do_reserve_move, undo_reserve_move, (struct vma[]){ area, target }, 2,
		  sizeof(long) == 8 ? 4 : 2);
	undo_reserve_move();
	expect_count(&guest, all_table_bytes, tables);
	assert_int_equal(do_reserve_move(), 0);
	world_countdown = 1;
	pages_move(guest.pages, area.start, target.start, area.end - area.start);
	assert_int_equal(world_countdown, 1);
	undo_reserve_move();
	pages_unmap(guest.pages, area.start, area.end, 0, target.start);
	guest_check(&guest, &target, 1);
	expect_count(&guest, anon, 10);
}

static int do_fork(void)
{
	int err = pages_create(&child.pages, &child.memory, PAGE, TASK_SIZE);

	if (err)
		return err;
	err = pages_copy(child.pages, guest.pages, &area);
	if (!err)
		err = pages_copy(child.pages, guest.pages, &target);
	if (err)
		pages_destroy(child.pages);
	return err;
}

static void every_allocation_of_a_fork_fails(void **state)
{
	(void)state;
	guest_begin(&child);
	pages_destroy(child.pages);
	area = world_anon(guest_window(0), 1000);
	target = world_file(guest_window(3), 10, 0, false);
	for (unsigned long i = 0; i < 1000; i += 100)
		store(&guest, &area, area.start + i * PAGE, i + 1);
	load(&guest, &area, area.start + PAGE);
	load(&guest, &target, target.start);
	store(&guest, &target, target.start + PAGE, 1);
	fail_each(do_fork, undo_copy, (struct vma[]){ area, target }, 2, 5);
	for (unsigned long i = 0; i < 1000; i += 100)
		assert_int_equal(load(&child, &area, area.start + i * PAGE), i + 1);
	store(&guest, &area, area.start, 77);
	assert_int_equal(load(&child, &area, area.start), 1);
	guest_end(&child);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_read_of_anonymous_memory_takes_no_frame),
		TEST(a_write_takes_the_zero_pages_place),
		TEST(access_is_what_the_area_allows),
		TEST(a_file_ends_with_SIGBUS),
		TEST(a_private_page_of_a_file_is_copied_when_written),
		TEST(shared_memory_is_counted_apart),
		TEST(a_page_that_is_not_translated_does_not_come),
		TEST(lost_access_ends_translations),
		TEST(guards_refuse_until_removed),
		TEST(tables_go_level_by_level),
		TEST(reclaim_takes_empty_tables_in_the_range),
		TEST(five_levels_for_57_bits),
		TEST(a_move_takes_pages_along),
		TEST(a_move_takes_whole_tables_along),
		TEST(a_move_finds_an_empty_table),
		TEST(pages_are_shared_until_written),
		TEST(a_child_may_outlive_its_parent),
		TEST(shared_areas_are_not_copied),
		TEST(guards_are_inherited),
		TEST(every_allocation_of_a_fault_fails),
		TEST(every_allocation_of_a_copy_on_write_fails),
		TEST(every_allocation_of_guards_fails),
		TEST(every_allocation_of_a_move_fails),
		TEST(every_allocation_of_a_fork_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
