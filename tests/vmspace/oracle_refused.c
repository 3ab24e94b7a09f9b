/* SPDX-License-Identifier: MIT */
/*
 * oracle_refused.c - calls that Linux refuses when it has done a part of its work: what was in the
 * way of a mapping has been cut, or is gone. Each made for real and in libvmspace.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/shm.h>

#include "cases.h"

#define TIB (1UL << 40)

static long seal(unsigned long addr, unsigned long pages)
{
	new_req(VMSPACE_MSEAL)->mseal = (struct vmspace_mseal){ addr, pages * PAGE, 0 };
	return both(&pair);
}

static void skip_without_seals(void)
{
	if (!has_rule("mseal"))
		case_skip("the kernel has no mseal(2)");
}

static long map_bytes(unsigned long addr, unsigned long length, int prot, int flags)
{
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = addr, .length = length, .prot = prot, .flags = flags };
	return both(&pair);
}

/* ---- a limit refuses a mapping: what is in its way has been cut ---- */

/* So many pages of address space, or of data, are left. */
static void leave(int which, unsigned long pages)
{
	set_limit(which, pages + (which == RLIMIT_AS ? now().total_vm : now().data_vm));
}

/* How many areas are left of `uncut`, if a limit is met when they have been cut or before. */
static unsigned int left(unsigned int uncut, unsigned int ends)
{
	return has_rule("map-cuts-first") ? uncut + ends : uncut;
}

static void limit_cuts(int which)
{
	map(AT(0), 10, RW, FIXED);
	map(AT(20), 10, PROT_READ, FIXED);
	leave(which, 2);
	assert_int_equal(map(AT(4), 20, RW, FIXED), -ENOMEM);
	assert_int_equal(areas(), left(2, 2));
	/* In the middle of one area, and where it is as large as the old ones. */
	assert_int_equal(map(AT(1), 2, PROT_READ, FIXED), (long)AT(1));
	assert_int_equal(map(AT(25), 100, RW, FIXED), -ENOMEM);
	assert_int_equal(areas(), left(4, 3));
	/* Nothing is in the way of this one. */
	assert_int_equal(map(AT(200), 20, RW, FIXED), -ENOMEM);
	assert_int_equal(map(0, 20, RW, ANON), -ENOMEM);
	assert_int_equal(areas(), left(4, 3));
}

static void address_space_limit_cuts(void **state)
{
	(void)state;
	limit_cuts(RLIMIT_AS);
}

static void data_limit_cuts(void **state)
{
	(void)state;
	limit_cuts(RLIMIT_DATA);
}

static void overcommit_cuts(void **state)
{
	(void)state;
	map(AT(0), 10, PROT_READ, FIXED);
	assert_int_equal(map_bytes(AT(4), 64 * TIB, RW, FIXED), -ENOMEM);
	assert_int_equal(areas(), left(1, 1));
	/* Shared memory is made last. */
	assert_int_equal(map_bytes(AT(6), 64 * TIB, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED),
			 -ENOMEM);
	assert_int_equal(areas(), left(1, 1));
	assert_int_equal(areas_from(&pair, AT(6), AT(10)), 0);
}

/* What cannot be unmapped is found before a limit is, and only the cut below it stays. */
static void seal_is_met_before_the_limit(void **state)
{
	(void)state;
	skip_without_seals();
	map(AT(0), 10, PROT_READ, FIXED);
	map(AT(20), 10, PROT_READ, FIXED);
	assert_int_equal(seal(AT(20), 10), 0);
	leave(RLIMIT_DATA, 2);
	assert_int_equal(map(AT(4), 20, RW, FIXED), -EPERM);
	assert_int_equal(areas(), 3);
}

static void segment_cuts(void **state)
{
	const struct vmspace_shmat over = {
		.addr = AT(4), .size = 20 * PAGE, .flags = SHM_REMAP,
		.backing = { .name = "/SYSV00000000 (deleted)" } };

	(void)state;
	pair.shm_id = shmget(IPC_PRIVATE, over.size, 0600);
	assert_true(pair.shm_id >= 0);
	map(AT(0), 10, RW, FIXED);
	leave(RLIMIT_AS, 2);
	new_req(VMSPACE_SHMAT)->shmat = over;
	assert_int_equal(both(&pair), -ENOMEM);
	assert_int_equal(areas(), left(1, 1));
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* ---- the file refuses: what was in its way is gone ---- */

/* In which of these ways a file is mapped decides who refuses, and when. */
static void file_refuses_when_all_is_unmapped(void **state)
{
	static const int kinds[] = { MAP_PRIVATE, MAP_SHARED, MAP_SHARED_VALIDATE };

	(void)state;
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		map(AT(0), 10, RW, FIXED);
		map_file(PUPPET_FILE_RW, AT(4), 2, RW, kinds[i] | MAP_FIXED | MAP_SYNC, 0);
		map_file(PUPPET_FILE_RW, AT(8), 4, PROT_READ, kinds[i] | MAP_FIXED | MAP_SYNC, 0);
		map_file(PUPPET_FILE_RW, 0, 4, PROT_READ, kinds[i] | MAP_SYNC, 0);
		map_file(PUPPET_MEMFD, AT(2), 1, RW, kinds[i] | MAP_FIXED | MAP_SYNC, 0);
		unmap(AT(0), 20);
	}
	/* A device that knows nothing of MAP_SYNC. */
	map_file(PUPPET_ZERO, AT(0), 1, RW, MAP_PRIVATE | MAP_FIXED | MAP_SYNC, 0);
}

/* Limits come before the file. */
static void limit_refuses_before_the_file(void **state)
{
	(void)state;
	map(AT(0), 10, PROT_READ, FIXED);
	leave(RLIMIT_DATA, 2);
	assert_int_equal(map_file(PUPPET_FILE_RW, AT(4), 30, RW,
				  MAP_PRIVATE | MAP_FIXED | MAP_SYNC, 0), -ENOMEM);
	assert_int_equal(areas(), left(1, 1));
}

/* ---- mremap ---- */

static void move_is_refused_for_memory(void **state)
{
	const struct vmspace_mremap huge = { AT(0), 10 * PAGE, 64 * TIB,
					     MREMAP_MAYMOVE | MREMAP_FIXED, AT(105) };

	(void)state;
	map(AT(0), 10, RW, FIXED);
	map(AT(100), 30, PROT_READ, FIXED);
	new_req(VMSPACE_MREMAP)->mremap = huge;
	assert_int_equal(both(&pair), -ENOMEM);
	assert_int_equal(areas(), 2);
	assert_int_equal(areas_from(&pair, AT(105), AT(130)), 0);
}

static void move_is_refused_by_a_limit(void **state)
{
	bool first = has_rule("remap-checks-first");

	(void)state;
	map(AT(0), 10, RW, FIXED);
	map(AT(100), 30, PROT_READ, FIXED);
	/* Growth is checked first of all; or when the target has been unmapped, too. */
	leave(RLIMIT_DATA, 2);
	assert_int_equal(remap(AT(0), 10, 20, MREMAP_MAYMOVE | MREMAP_FIXED, AT(105)), -ENOMEM);
	assert_int_equal(areas(), first ? 2 : 3);
	/* What stays behind counts, when the target has been unmapped. */
	assert_int_equal(remap(AT(2), 3, 3, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, AT(105)),
			 -ENOMEM);
	assert_int_equal(areas(), 3);
	set_limit(RLIMIT_DATA, VMSPACE_NO_LIMIT / PAGE);
	leave(RLIMIT_AS, 2 - 12);
	assert_int_equal(remap(AT(2), 3, 3, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, AT(110)),
			 -ENOMEM);
	assert_int_equal(areas(), first ? 4 : 3);
}

static void move_over_a_seal_leaves_a_cut(void **state)
{
	(void)state;
	skip_without_seals();
	map(AT(0), 10, RW, FIXED);
	map(AT(100), 10, PROT_READ, FIXED);
	map(AT(110), 10, RW, FIXED);
	assert_int_equal(seal(AT(110), 10), 0);
	assert_int_equal(remap(AT(0), 10, 10, MREMAP_MAYMOVE | MREMAP_FIXED, AT(105)), -EPERM);
	assert_int_equal(areas(), 4);
	/* The tail of the source. */
	map(AT(10), 10, PROT_READ, FIXED);
	assert_int_equal(seal(AT(10), 10), 0);
	assert_int_equal(remap(AT(0), 15, 5, MREMAP_MAYMOVE | MREMAP_FIXED, AT(200)), -EPERM);
	assert_int_equal(remap(AT(0), 15, 7, MREMAP_MAYMOVE, 0), -EPERM);
}

/* ---- the break ---- */

static void break_meets_a_seal(void **state)
{
	unsigned long brk;

	(void)state;
	skip_without_seals();
	brk = now().brk;
	assert_int_equal(set_brk(brk + 10 * PAGE), (long)(brk + 10 * PAGE));
	brk = (brk + PAGE - 1) & ~(PAGE - 1);
	assert_int_equal(seal(brk + 6 * PAGE, 1), 0);
	assert_int_not_equal(set_brk(brk + 3 * PAGE), (long)(brk + 3 * PAGE));
	assert_int_equal(areas_from(&pair, brk, brk + 6 * PAGE), 2);
	assert_int_not_equal(set_brk(brk + PAGE), (long)(brk + PAGE));
	assert_int_equal(areas_from(&pair, brk, brk + 6 * PAGE), 3);
	/* Above it the break moves. */
	assert_int_equal(set_brk(brk + 8 * PAGE), (long)(brk + 8 * PAGE));
}

#define BOTH_WAYS(name) CASE(name), MIRRORED(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH_WAYS(address_space_limit_cuts), BOTH_WAYS(data_limit_cuts),
		BOTH_WAYS(overcommit_cuts), BOTH_WAYS(seal_is_met_before_the_limit),
		BOTH_WAYS(segment_cuts), BOTH_WAYS(file_refuses_when_all_is_unmapped),
		BOTH_WAYS(limit_refuses_before_the_file), BOTH_WAYS(move_is_refused_for_memory),
		BOTH_WAYS(move_is_refused_by_a_limit), BOTH_WAYS(move_over_a_seal_leaves_a_cut),
		BOTH_WAYS(break_meets_a_seal),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	return case_status(cmocka_run_group_tests(tests, NULL, NULL),
			   sizeof(tests) / sizeof(tests[0]));
}
