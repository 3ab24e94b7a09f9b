/* SPDX-License-Identifier: MIT */
/*
 * oracle_found.c - differences from the kernel that "vmscope check" found: each as a few calls,
 * made for real and in libvmspace, and compared after every call.
 */
#include <errno.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "cases.h"

/*
 * Found by vmscope check: what an area grows up to, or lands beside, is to be asked about as well.
 */
static void grown_area_meets_a_touched_one(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	touch(AT(0));
	map(AT(6), 2, RW, FIXED);
	touch(AT(6));
	remap(AT(0), 2, 6, 0, 0);
	assert_int_equal(areas(), 2);
	map(AT(20), 1, RW, FIXED);
	map(AT(21), 1, PROT_NONE, FIXED);
	touch(map(0, 2, RW, ANON));
	remap(AT(20), 1, 2, MREMAP_MAYMOVE, 0);
}

/*
 * Found by vmscope check: the parts of an area that a segment replaces keep its anon_vma, page or
 * not.
 */
static void segment_cuts_a_touched_area(void **state)
{
	(void)state;
	pair.shm_id = shmget(IPC_PRIVATE, 2 * PAGE, 0700);
	assert_true(pair.shm_id >= 0);
	map(AT(0), 12, PROT_WRITE, FIXED);
	touch(AT(9));
	new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){
		.addr = AT(4), .flags = SHM_REMAP, .size = 2 * PAGE };
	req.shmat.backing.name = "/SYSV00000000 (deleted)";
	both(&pair);
	protect(AT(0), 2, PROT_READ);
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/*
 * Found by vmscope check: a guard in a file is no anonymous page, though it looks like a swapped
 * one.
 */
static void guard_in_a_file_is_no_page(void **state)
{
	(void)state;
	if (!has_rule("guards-in-files"))
		case_skip("the kernel has no guards in files");
	map_file(PUPPET_FILE_RW, AT(0), 8, RW, MAP_PRIVATE | MAP_FIXED, 0);
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ AT(1), 7 * PAGE, 0, false };
	both(&pair);
	advise(AT(0), 1, 102);
	new_req(VMSPACE_MUNLOCKALL);
	both(&pair);
	assert_int_equal(areas(), has_rule("guard-flag") ? 1 : 2);
}

static long lock(unsigned long addr, unsigned long pages)
{
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ addr, pages * PAGE, 0, false };
	return both(&pair);
}

/* [AT(12), AT(16)) is touched, so it has an anon_vma of its own, and goes away. */
static void take_touched_pages_away(void)
{
	map_file(PUPPET_FILE_RW, AT(12), 4, RW, MAP_PRIVATE | MAP_FIXED, 24);
	touch(AT(12));
	remap(AT(12), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, AT(40));
}

/* It comes back, to what now is in [AT(8), AT(12)). */
static void bring_touched_pages(void)
{
	remap(AT(40), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, AT(12));
}

static void skip_without_guards(void)
{
	if (!has_rule("guards"))
		case_skip("the kernel has no guards");
}

/* mlock() stops at a guard: the area behind it is not touched, and joins one with an anon_vma. */
static void lock_stops_at_a_guard(void **state)
{
	(void)state;
	skip_without_guards();
	take_touched_pages_away();
	map(AT(0), 8, RW, FIXED);
	map_file(PUPPET_FILE_RW, AT(8), 4, RW, MAP_PRIVATE | MAP_FIXED, 20);
	advise(AT(4), 1, 102);
	assert_int_equal(lock(AT(0), 12), -ENOMEM);
	new_req(VMSPACE_MUNLOCKALL);
	both(&pair);
	bring_touched_pages();
	assert_int_equal(areas(), 2);
}

/* The same for MADV_POPULATE_WRITE. */
static void populating_stops_at_a_guard(void **state)
{
	(void)state;
	skip_without_guards();
	take_touched_pages_away();
	map(AT(0), 8, RW, FIXED);
	map_file(PUPPET_FILE_RW, AT(8), 4, RW, MAP_PRIVATE | MAP_FIXED, 20);
	advise(AT(4), 1, 102);
	assert_int_equal(advise(AT(0), 12, MADV_POPULATE_WRITE), -EFAULT);
	bring_touched_pages();
	assert_int_equal(areas(), 2);
}

/* The last page but one of a file, and its size. */
static unsigned long first, size;

static void find_the_end(void)
{
	struct stat st;

	pair_backing(PUPPET_FILE_OTHER);
	assert_int_equal(fstat(puppet_fd(PUPPET_FILE_OTHER), &st), 0);
	size = (unsigned long)st.st_size;
	first = size / PAGE - 2;
}

/* [AT(0), AT(4)): its last two pages, and two beyond its end, which is told. */
static void map_beyond_the_end(int prot)
{
	find_the_end();
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = AT(0), .length = 4 * PAGE, .prot = prot,
		.flags = MAP_PRIVATE | MAP_FIXED, .offset = first * PAGE,
		.backing = *pair_backing(PUPPET_FILE_OTHER) };
	req.mmap.backing.size = size;
	assert_int_equal(both(&pair), (long)AT(0));
}

/* mlock() and MADV_POPULATE_WRITE stop there: what comes behind is not touched. */
static void populating_stops_at_the_end_of_a_file(void **state)
{
	(void)state;
	for (int way = 0; way < (has_rule("populate") ? 2 : 1); way++) {
		take_touched_pages_away();
		map_beyond_the_end(RW);
		map(AT(4), 4, RW, FIXED);
		map_file(PUPPET_FILE_RW, AT(8), 4, RW, MAP_PRIVATE | MAP_FIXED, 20);
		if (way)
			assert_int_equal(advise(AT(0), 12, MADV_POPULATE_WRITE), -EFAULT);
		else
			assert_int_equal(lock(AT(0), 12), -ENOMEM);
		new_req(VMSPACE_MUNLOCKALL);
		both(&pair);
		bring_touched_pages();
		assert_int_equal(areas(), has_rule("anon-vma-taken") ? 3 : 4);
		unmap(AT(0), 16);
	}
}

/* A write there leaves an anon_vma, but no page: the area stays apart from another with pages. */
static void a_write_beyond_the_end_of_a_file_leaves_an_anon_vma(void **state)
{
	(void)state;
	for (int touched = 0; touched < 2; touched++) {
		const unsigned long before = AT(0) - 2 * PAGE;

		/* What comes before it in the file: with an anon_vma of its own, and away. */
		find_the_end();
		map_file(PUPPET_FILE_OTHER, before, 2, RW, MAP_PRIVATE | MAP_FIXED, first - 2);
		touch(before);
		remap(before, 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(40));
		map_beyond_the_end(RW);
		if (touched)
			touch(AT(3));
		remap(AT(40), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, before);
		assert_int_equal(areas_from(&pair, before, AT(4)),
				 touched || !has_rule("anon-vma-taken") ? 2 : 1);
		unmap(AT(0) - 2 * PAGE, 6);
	}
}

/* Found by vmscope check: some Linux charges what is cut off by a move to a given place. */
static void move_is_charged_for_what_it_cuts_off(void **state)
{
	const struct vmspace_config *config = vmspace_config(pair.space);
	unsigned long more = config->ram_pages + config->swap_pages + 1;
	const unsigned long far = AT(1UL << 32);
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;

	(void)state;
	if (config->overcommit != 0)
		case_skip("vm.overcommit_memory is not 0");
	map(AT(0), 3, RW, FIXED);
	if (!has_rule("remap-cut-free")) {
		assert_int_equal(remap(AT(0), 2 + more, 2, flags, far), -ENOMEM);
		assert_int_equal(areas(), 1);
	}
	map(AT(0), 3, PROT_READ, FIXED);
	assert_int_equal(remap(AT(0), 2 + more, 2, flags, far), (long)far);
}

/* Found by vmscope check: the target may hold a source whose length wraps around. */
static void move_clears_its_own_source(void **state)
{
	(void)state;
	map(AT(0), 2, PROT_NONE, FIXED);
	assert_int_equal(remap(AT(0), 3 - AT(0) / PAGE, 1, MREMAP_MAYMOVE | MREMAP_FIXED,
			       AT(0)), has_rule("remap-lost-source") ? -EFAULT : -EINVAL);
	assert_int_equal(areas(), 1);
}

static void remap_in(struct pair *p, unsigned long from, unsigned long pages,
		     unsigned long new_pages, int flags, unsigned long to)
{
	new_req(VMSPACE_MREMAP)->mremap = (struct vmspace_mremap){
		from, pages * PAGE, new_pages * PAGE, flags, to };
	assert_true(both(p) > 0);
}

/*
 * Found by vmscope check: an area that grows in place takes in an untouched one, even if its own
 * anon_vma was inherited; not one that has inherited its anon_vma, if it has none itself.
 */
static void inherited_one_grows_to_another(void **state)
{
	struct pair child;

	(void)state;
	map(AT(0), 8, RW, FIXED);
	map(AT(11), 4, RW, FIXED);
	touch(AT(1));
	map(AT(20), 8, RW, FIXED);
	map(AT(31), 4, RW, FIXED);
	touch(AT(31));
	assert_true(pair_fork(&pair, &child));
	remap_in(&child, AT(3), 5, 8, 0, 0);
	remap_in(&child, AT(20), 8, 11, 0, 0);
	assert_int_equal(areas_from(&child, AT(0), AT(20)), has_rule("anon-vma-taken") ? 1 : 2);
	assert_int_equal(areas_from(&child, AT(20), AT(40)), 2);
	pair_end(&child);
}

/* Found by vmscope check: a part of a segment grows up to another part, and does not take it in. */
static void segment_grows_to_its_rest(void **state)
{
	(void)state;
	pair.shm_id = shmget(IPC_PRIVATE, 5 * PAGE, 0700);
	new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){ .addr = AT(0), .size = 5 * PAGE };
	req.shmat.backing.name = "/SYSV00000000 (deleted)";
	both(&pair);
	unmap(AT(1), 2);
	assert_true(remap(AT(0), 1, 3, 0, 0) > 0);
	assert_int_equal(areas(), 2);
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* One that is moved does not. */
static void inherited_one_moves_to_another(void **state)
{
	unsigned long joined = has_rule("move-joins-inherited") ? 1 : 2;
	struct pair child;

	(void)state;
	map_file(PUPPET_FILE_RW, AT(0), 4, RW, MAP_PRIVATE | MAP_FIXED, 20);
	touch(AT(1));
	map_file(PUPPET_FILE_RW, AT(14), 4, RW, MAP_PRIVATE | MAP_FIXED, 24);
	map_file(PUPPET_FILE_RW, AT(26), 4, RW, MAP_PRIVATE | MAP_FIXED, 16);
	assert_true(pair_fork(&pair, &child));
	remap_in(&child, AT(0), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, AT(10));
	assert_int_equal(areas_from(&child, AT(0), AT(20)), joined);
	remap_in(&child, AT(10), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, AT(30));
	assert_int_equal(areas_from(&child, AT(20), AT(40)), joined);
	pair_end(&child);
}

/*
 * Found by vmscope check: a hole may be made in what could be made writable, whether it is or not.
 */
static void holes_in_what_may_be_written(void **state)
{
	(void)state;
	map_file(PUPPET_FILE_RW, AT(0), 4, RW, MAP_SHARED | MAP_FIXED, 20);
	assert_int_equal(advise(AT(0), 1, MADV_REMOVE), 0);
	protect(AT(0), 2, PROT_NONE);
	assert_int_equal(advise(AT(0), 4, MADV_REMOVE), 0);
	assert_int_equal(advise(AT(0), 5, MADV_REMOVE), -ENOMEM);
	map_file(PUPPET_FILE_RDONLY, AT(4), 1, PROT_READ, MAP_SHARED | MAP_FIXED, 20);
	assert_int_equal(advise(AT(0), 5, MADV_REMOVE), -EACCES);
	map_file(PUPPET_FILE_RW, AT(4), 1, RW, MAP_PRIVATE | MAP_FIXED, 20);
	assert_int_equal(advise(AT(0), 5, MADV_REMOVE), -EACCES);
	map(AT(4), 1, RW, FIXED);
	assert_int_equal(advise(AT(0), 5, MADV_REMOVE), -EINVAL);
}

/*
 * The huge zero page, a first read's, comes with an anon_vma, also where nothing was ever writable.
 */
static void huge_zero_page_has_an_anon_vma(void **state)
{
	(void)state;
	map(AT(0), 1024, PROT_READ, FIXED);
	advise(AT(0), 1024, MADV_HUGEPAGE);
	new_req(VMSPACE_FAULT)->fault = (struct vmspace_fault){ AT(3), VMSPACE_ACCESS_READ };
	both(&pair);
	/* So it keeps its offset when it moves, and does not join its new neighbour. */
	map(AT(4096), 512, PROT_READ, FIXED);
	advise(AT(4096), 512, MADV_HUGEPAGE);
	remap(AT(0), 1024, 1024, MREMAP_MAYMOVE | MREMAP_FIXED, AT(4608));
	assert_int_equal(areas_from(&pair, AT(4096), AT(6000)), 2);
}

/* Found by vmscope check: it may span mappings of one file that were made one by one. */
static void pages_of_two_mappings(void **state)
{
	(void)state;
	map_file(PUPPET_FILE_RW, AT(0), 4, RW, MAP_SHARED | MAP_FIXED, 10);
	map_file(PUPPET_FILE_RW, AT(4), 4, RW, MAP_SHARED | MAP_FIXED, 40);
	new_req(VMSPACE_REMAP_FILE_PAGES)->remap_file_pages =
		(struct vmspace_remap_file_pages){ AT(2), 4 * PAGE, 0, 20, MAP_NONBLOCK, 0 };
	assert_int_equal(both(&pair), 0);
	assert_int_equal(areas(), 3);
	map_file(PUPPET_FILE_RW_AGAIN, AT(8), 4, RW, MAP_SHARED | MAP_FIXED, 44);
	new_req(VMSPACE_REMAP_FILE_PAGES)->remap_file_pages =
		(struct vmspace_remap_file_pages){ AT(6), 4 * PAGE, 0, 20, MAP_NONBLOCK, 0 };
	assert_int_equal(both(&pair), -EINVAL);
}

/* Found by vmscope check: what cannot be locked is made present all the same, ONFAULT or not. */
static void droppable_is_made_present(void **state)
{
	(void)state;
	if (!has_rule("droppable"))
		case_skip("the kernel has no MAP_DROPPABLE");
	map(AT(0), 2, RW, DROPPABLE | MAP_ANONYMOUS | MAP_FIXED);
	new_req(VMSPACE_MLOCK)->mlock =
		(struct vmspace_mlock){ AT(0), 2 * PAGE, MLOCK_ONFAULT, true };
	assert_int_equal(both(&pair), 0);
	protect(AT(0), 2, PROT_NONE);
	new_req(VMSPACE_MLOCK)->mlock =
		(struct vmspace_mlock){ AT(0), 2 * PAGE, MLOCK_ONFAULT, true };
	assert_int_equal(both(&pair), -ENOMEM);
	map(AT(8), 2, RW, DROPPABLE | MAP_ANONYMOUS | MAP_FIXED);
	new_req(VMSPACE_MLOCKALL)->mlockall.flags = MCL_CURRENT | MCL_ONFAULT;
	assert_int_equal(both(&pair), 0);
	/* It has pages, and so an offset that stays when it moves: no neighbour of a new one. */
	remap(AT(8), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20));
	map(AT(22), 2, RW, DROPPABLE | MAP_ANONYMOUS | MAP_FIXED);
	assert_int_equal(areas_from(&pair, AT(20), AT(24)), 2);
	new_req(VMSPACE_MLOCKALL)->mlockall.flags = MCL_FUTURE;
	assert_int_equal(both(&pair), 0);
	map(AT(30), 8, RW, DROPPABLE | MAP_ANONYMOUS | MAP_FIXED);
	remap(AT(36), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(32));
	assert_int_equal(areas_from(&pair, AT(30), AT(36)), 3);
}

/*
 * Found by vmscope check: a hint within the first page is none, so what is as large as a huge page
 * is aligned to it; others may keep it from that, followed or not.
 */
static void hint_within_the_first_page_is_none(void **state)
{
	static const unsigned long hints[] = { 0, 1, 0xfb5, PAGE - 1, PAGE, PAGE + 1, 0x10000 };
	const unsigned long huge = 512;

	(void)state;
	map(0, 1, PROT_READ, ANON);
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		map(hints[i], huge, RW, ANON);
		map(hints[i], huge, RW, ANON | MAP_STACK);
		map(hints[i], huge + 1, PROT_READ, ANON);
		map(hints[i], 1, RW, ANON);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(move_is_charged_for_what_it_cuts_off), CASE(move_clears_its_own_source),
		MIRRORED(move_is_charged_for_what_it_cuts_off),
		CASE(hint_within_the_first_page_is_none), CASE(droppable_is_made_present),
		MIRRORED(guard_in_a_file_is_no_page),
		MIRRORED(segment_cuts_a_touched_area), MIRRORED(grown_area_meets_a_touched_one),
		CASE(pages_of_two_mappings), CASE(holes_in_what_may_be_written),
		CASE(inherited_one_grows_to_another), MIRRORED(inherited_one_grows_to_another),
		CASE(inherited_one_moves_to_another), CASE(segment_grows_to_its_rest),
		MIRRORED(lock_stops_at_a_guard), MIRRORED(populating_stops_at_a_guard),
		CASE(populating_stops_at_the_end_of_a_file),
		CASE(a_write_beyond_the_end_of_a_file_leaves_an_anon_vma),
		CASE(huge_zero_page_has_an_anon_vma), MIRRORED(huge_zero_page_has_an_anon_vma),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	return case_status(cmocka_run_group_tests(tests, NULL, NULL),
			   sizeof(tests) / sizeof(tests[0]));
}
