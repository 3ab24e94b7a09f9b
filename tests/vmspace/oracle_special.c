/* SPDX-License-Identifier: MIT */
/*
 * oracle_special.c - areas that are not like others: the kernel's own ([vdso], [vvar]), which
 * cannot be cut, and those of huge pages, which can be cut only between two. Every call on their
 * head, middle, tail and whole, made for real and in libvmspace.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/shm.h>
#include <unistd.h>

#include "cases.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif
#define HUGE (2UL << 20)
#define HUGE_PAGES (HUGE / PAGE)

/* ---- calls on a range ---- */

static void call_unmap(unsigned long addr, unsigned long pages, int arg)
{
	(void)arg;
	unmap(addr, pages);
}

static void call_protect(unsigned long addr, unsigned long pages, int prot)
{
	protect(addr, pages, prot);
}

static void call_map(unsigned long addr, unsigned long pages, int flags)
{
	map(addr, pages, PROT_READ, flags | MAP_FIXED);
}

static void call_attach(unsigned long addr, unsigned long pages, int arg)
{
	(void)arg;
	pair.shm_id = shmget(IPC_PRIVATE, pages * PAGE, 0600);
	new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){
		.addr = addr, .size = pages * PAGE, .flags = SHM_REMAP,
		.backing = { .name = "/SYSV00000000 (deleted)" } };
	both(&pair);
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* To an address where something is in the way. */
static void call_move(unsigned long addr, unsigned long pages, int flags)
{
	map(AT(0), 1100, RW, FIXED);
	remap(addr, pages, pages, flags, AT(10));
}

/* An area is moved over it. */
static void call_move_over(unsigned long addr, unsigned long pages, int flags)
{
	map(AT(0), pages, RW, FIXED);
	remap(AT(0), pages, pages, flags, addr);
}

static void call_shrink(unsigned long addr, unsigned long pages, int flags)
{
	map(AT(0), 1100, RW, FIXED);
	remap(addr, pages, 1, flags, AT(10));
}

static void call_grow(unsigned long addr, unsigned long pages, int flags)
{
	map(AT(0), 1100, RW, FIXED);
	remap(addr, pages, pages + 1, flags, AT(10));
}

static void call_advise(unsigned long addr, unsigned long pages, int advice)
{
	advise(addr, pages, advice);
}

static void call_bind(unsigned long addr, unsigned long pages, int mode)
{
	if (!vmspace_config(pair.space)->memory_nodes)
		return;
	new_req(VMSPACE_MBIND)->mbind = (struct vmspace_mbind){
		.addr = addr, .length = pages * PAGE, .mode = mode, .nodes = mode ? 1 : 0 };
	both(&pair);
}

static void call_seal(unsigned long addr, unsigned long pages, int arg)
{
	(void)arg;
	new_req(VMSPACE_MSEAL)->mseal = (struct vmspace_mseal){ addr, pages * PAGE, 0 };
	both(&pair);
}

static void call_lock(unsigned long addr, unsigned long pages, int flags)
{
	new_req(VMSPACE_MLOCK)->mlock =
		(struct vmspace_mlock){ addr, pages * PAGE, flags, flags != 0 };
	both(&pair);
}

static void call_remap_pages(unsigned long addr, unsigned long pages, int arg)
{
	(void)arg;
	new_req(VMSPACE_REMAP_FILE_PAGES)->remap_file_pages =
		(struct vmspace_remap_file_pages){ .addr = addr, .size = pages * PAGE,
						   .flags = MAP_NONBLOCK };
	both(&pair);
}

static void call_sync(unsigned long addr, unsigned long pages, int flags)
{
	new_req(VMSPACE_MSYNC)->msync = (struct vmspace_msync){ addr, pages * PAGE, flags };
	both(&pair);
}

#define MOVE (MREMAP_MAYMOVE | MREMAP_FIXED)

static const struct call {
	const char *name;
	void (*make)(unsigned long addr, unsigned long pages, int arg);
	int arg;
} calls[] = {
	{ "munmap", call_unmap, 0 },
	{ "mprotect", call_protect, PROT_NONE },
	{ "mprotect for writing", call_protect, RW },
	{ "mprotect for executing", call_protect, PROT_READ | PROT_EXEC },
	{ "mmap over it", call_map, ANON },
	{ "mmap of shared memory over it", call_map, MAP_SHARED | MAP_ANONYMOUS },
	{ "shmat over it", call_attach, 0 },
	{ "mremap", call_move, MREMAP_MAYMOVE },
	{ "mremap to an address", call_move, MOVE },
	{ "mremap that leaves it", call_move, MREMAP_MAYMOVE | MREMAP_STAYS },
	{ "mremap over it", call_move_over, MOVE },
	{ "mremap that shrinks", call_shrink, 0 },
	{ "mremap that shrinks and moves", call_shrink, MOVE },
	{ "mremap that grows", call_grow, MREMAP_MAYMOVE },
	{ "mremap that grows and moves", call_grow, MOVE },
	{ "mbind", call_bind, 2 /* MPOL_BIND */ },
	{ "mbind to the default", call_bind, 0 },
	{ "mseal", call_seal, 0 },
	{ "mlock", call_lock, 0 },
	{ "mlock2", call_lock, MLOCK_ONFAULT },
	{ "remap_file_pages", call_remap_pages, 0 },
	{ "msync", call_sync, MS_SYNC },
	{ "msync, invalidating", call_sync, MS_ASYNC | MS_INVALIDATE },
};

/* Advice that takes memory from the machine, or moves it, is left out. */
static const int advice[] = {
	MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE,
	MADV_REMOVE, MADV_DONTFORK, MADV_DOFORK, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_HUGEPAGE,
	MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP, MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_COLD,
	MADV_PAGEOUT, MADV_DONTNEED_LOCKED, MADV_GUARD_INSTALL, MADV_GUARD_REMOVE,
};

/* ---- the kernel's own areas ---- */

static bool find_area(const char *name, struct vma_info *found)
{
	for (unsigned long at = 0; vmspace_next(pair.space, at, found); at = found->end)
		if (found->backing.name && !strcmp(found->backing.name, name))
			return true;
	return false;
}

enum part { HEAD, MIDDLE, TAIL, WHOLE, PARTS };

/* Which pages of an area of `pages`; false if it has too few. */
static bool part_of(enum part part, unsigned long pages, unsigned long *from, unsigned long *count)
{
	*from = part == HEAD || part == WHOLE ? 0 : part == MIDDLE ? 1 : pages - 1;
	*count = part == WHOLE ? pages : 1;
	return pages > 1 && (part != MIDDLE || pages > 2);
}

/* Makes the call in a process of its own. */
static void on_part(const char *name, enum part part, const struct call *call, bool mirror)
{
	struct vma_info area;
	unsigned long from, count;
	void *state = NULL;

	assert_int_equal(mirror ? case_start_mirror(&state) : case_start(&state), 0);
	if (find_area(name, &area) &&
	    part_of(part, (area.end - area.start) / PAGE, &from, &count))
		call->make(area.start + from * PAGE, count, call->arg);
	case_end(&state);
}

static void on_all_parts(const struct call *call, bool mirror)
{
	for (enum part part = HEAD; part < PARTS; part++) {
		on_part("[vdso]", part, call, mirror);
		on_part("[vvar]", part, call, mirror);
	}
}

static void special_areas(bool mirror)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		on_all_parts(&calls[i], mirror);
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
		const struct call call = { "madvise", call_advise, advice[i] };

		on_all_parts(&call, mirror);
	}
}

static void special_areas_cannot_be_cut(void **state)
{
	(void)state;
	special_areas(false);
}

static void special_areas_cannot_be_cut_in_a_mirror(void **state)
{
	(void)state;
	special_areas(true);
}

/* Ranges that begin or end inside: what lies below has been cut, or changed, already. */
static void ranges_that_reach_into_them(void **state)
{
	bool whole = has_rule("special-whole");
	long refused = whole ? -EINVAL : -ENOMEM; /* or there is a hole */
	unsigned long start;
	struct vma_info area;

	(void)state;
	assert_true(find_area("[vdso]", &area));
	start = area.start - 4 * PAGE;
	/* [vvar] is in the way: as a whole, it can be replaced. */
	map(start, 4, RW, FIXED);
	assert_int_equal(unmap(start + 2 * PAGE, 3), whole ? -EINVAL : 0);
	assert_int_equal(areas_from(&pair, start, area.start), 1 + whole);
	assert_int_equal(protect(start + PAGE, 4, PROT_NONE), refused);
	assert_int_equal(advise(start + 3 * PAGE, 2, MADV_DONTFORK), refused);
	assert_int_equal(advise(start + 3 * PAGE, 2, MADV_KEEPONFORK), whole ? 0 : -ENOMEM);
	assert_int_equal(map(start + PAGE, 4, PROT_READ, FIXED),
			 !whole ? (long)(start + PAGE)
				: has_rule("map-unmap-error") ? -EINVAL : -ENOMEM);
	call_seal(start, 5, 0);
	call_bind(start, 5, 2);
	unmap(area.start, (area.end - area.start) / PAGE);
}

static void special_areas_in_children(void **state)
{
	struct vma_info vdso, vvar;
	struct pair child;

	(void)state;
	assert_true(find_area("[vdso]", &vdso) && find_area("[vvar]", &vvar));
	assert_int_equal(advise(vdso.start, (vdso.end - vdso.start) / PAGE, MADV_WIPEONFORK), 0);
	assert_int_equal(advise(vvar.start, (vvar.end - vvar.start) / PAGE, MADV_WIPEONFORK), 0);
	assert_true(pair_fork(&pair, &child));
	pair_end(&child);
	assert_int_equal(advise(vdso.start, (vdso.end - vdso.start) / PAGE, MADV_DONTFORK), 0);
	assert_int_equal(advise(vvar.start, (vvar.end - vvar.start) / PAGE, MADV_KEEPONFORK), 0);
	assert_true(pair_fork(&pair, &child));
	pair_end(&child);
}

/* ---- huge pages ---- */

static long map_huge(unsigned long addr, unsigned long length, int flags)
{
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = addr, .length = length, .prot = RW,
		.flags = flags | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE };
	return both(&pair);
}

static struct backing_file huge_file;

/* A file ends at 2^63, and a mapping of it begins with a huge page. */
static void huge_files(void **state)
{
	static const uint64_t offsets[] = {
		0, PAGE, HUGE, HUGE + PAGE, ((uint64_t)1 << 63) - HUGE,
		((uint64_t)1 << 63) - 2 * HUGE, (uint64_t)1 << 63, -HUGE,
	};

	(void)state;
	if (!huge_file.backing.file_id)
		case_skip("no memfd of huge pages");
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		for (int kind = MAP_SHARED; kind <= MAP_SHARED_VALIDATE; kind++) {
			map(AT(0), 3 * HUGE_PAGES, RW, FIXED);
			new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
				.addr = AT(HUGE_PAGES), .length = PAGE, .prot = RW,
				.flags = kind | MAP_FIXED | MAP_NORESERVE, .offset = offsets[i],
				.backing = huge_file.backing };
			both(&pair);
		}
}

static void skip_without_huge_pages(void)
{
	void *at = mmap(NULL, HUGE, RW, ANON | MAP_HUGETLB | MAP_NORESERVE, -1, 0);

	if (vmspace_config(pair.space)->pmd_size != HUGE || at == MAP_FAILED)
		case_skip("no huge pages of 2 MiB");
	munmap(at, HUGE);
}

/* As a new mapping, refused when the old one is gone; or before, in the middle of a huge page. */
static void pages_of_huge_pages(void **state)
{
	(void)state;
	skip_without_huge_pages();
	for (unsigned long from = 0; from < 2 * HUGE_PAGES; from += HUGE_PAGES / 2) {
		map_huge(AT(0), 2 * HUGE, MAP_SHARED | MAP_FIXED);
		new_req(VMSPACE_REMAP_FILE_PAGES)->remap_file_pages =
			(struct vmspace_remap_file_pages){ .addr = AT(from), .size = HUGE,
							   .page_offset = 1,
							   .flags = MAP_NONBLOCK };
		both(&pair);
	}
}

static void huge_mappings(void **state)
{
	static const int kinds[] = { MAP_PRIVATE, MAP_SHARED, MAP_SHARED_VALIDATE, 0, 4, DROPPABLE,
				     MAP_PRIVATE | MAP_GROWSDOWN };
	/* More than there are addresses, 47 bits of them or 56. */
	unsigned long all = (vmspace_config(pair.space)->task_size + HUGE - 1) & -HUGE;

	(void)state;
	skip_without_huge_pages();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		map_huge(0, HUGE, kinds[i]);
		map_huge(0, HUGE + 1, kinds[i]);
		map_huge(AT(0), PAGE, kinds[i] | MAP_FIXED);
		map_huge(AT(1), HUGE, kinds[i] | MAP_FIXED);
		map_huge(AT(1), HUGE, kinds[i]);
		map_huge(AT(0), PAGE, kinds[i] | MAP_FIXED_NOREPLACE);
		map_huge(AT(0), 0, kinds[i] | MAP_FIXED);
		map_huge(AT(0), -1UL, kinds[i] | MAP_FIXED);
		map_huge(AT(0), all, kinds[i] | MAP_FIXED);
		map_huge(-PAGE, HUGE, kinds[i] | MAP_FIXED);
		map_huge(-HUGE, HUGE, kinds[i] | MAP_FIXED);
		map_huge(AT(0), HUGE, kinds[i] | MAP_FIXED | (21 << MAP_HUGE_SHIFT));
	}
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.length = PAGE, .prot = PROT_READ, .flags = MAP_PRIVATE | MAP_HUGETLB,
		.backing = *pair_backing(PUPPET_MEMFD) };
	assert_int_equal(both(&pair), -EINVAL);
}

/* Makes the call on a part of two huge pages, in a process of its own. */
static void on_huge_pages(const struct call *call, int kind, unsigned long from, unsigned long to,
			  bool mirror)
{
	const unsigned long at = AT(0x10000);
	void *state = NULL;

	assert_int_equal(mirror ? case_start_mirror(&state) : case_start(&state), 0);
	map_huge(at, 2 * HUGE, MAP_FIXED | kind);
	call->make(at + from * PAGE, to - from, call->arg);
	case_end(&state);
}

static void on_parts_of_huge_pages(const struct call *call, bool mirror)
{
	static const struct { unsigned long from, to; } parts[] = {
		{ 0, 1 }, { 1, 2 }, { 511, 512 }, { 512, 1024 }, { 0, 512 }, { 512, 513 },
		{ 1023, 1024 }, { 0, 1024 }, { 0, 513 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		on_huge_pages(call, MAP_PRIVATE, parts[i].from, parts[i].to, mirror);
		on_huge_pages(call, MAP_SHARED, parts[i].from, parts[i].to, mirror);
	}
}

static void huge_pages_are_cut_between_two(bool mirror)
{
	/* Locking and remap_file_pages take pages, and the machine may have none. */
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].make != call_lock && calls[i].make != call_remap_pages)
			on_parts_of_huge_pages(&calls[i], mirror);
	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
		const struct call call = { "madvise", call_advise, advice[i] };

		on_parts_of_huge_pages(&call, mirror);
	}
}

static void huge_pages_in_calls(void **state)
{
	(void)state;
	skip_without_huge_pages();
	case_end(state);
	huge_pages_are_cut_between_two(false);
	huge_pages_are_cut_between_two(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(special_areas_cannot_be_cut),
		cmocka_unit_test(special_areas_cannot_be_cut_in_a_mirror),
		CASE(ranges_that_reach_into_them), MIRRORED(ranges_that_reach_into_them),
		CASE(special_areas_in_children), MIRRORED(special_areas_in_children),
		CASE(huge_mappings), MIRRORED(huge_mappings), CASE(huge_pages_in_calls),
		CASE(huge_files), MIRRORED(huge_files), CASE(pages_of_huge_pages),
		MIRRORED(pages_of_huge_pages),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	case_add_file(&huge_file, memfd_create("huge", MFD_HUGETLB));
	return case_status(cmocka_run_group_tests(tests, NULL, NULL),
			   sizeof(tests) / sizeof(tests[0]));
}
