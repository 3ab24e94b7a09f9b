/* SPDX-License-Identifier: MIT */
/* oracle_remap.c - each rule of mremap once, as oracle_cases.c has those of the other calls. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/shm.h>

#include "cases.h"

static void remap_grows_and_shrinks(void **state)
{
	(void)state;
	map(AT(0), 4, RW, FIXED);
	assert_int_equal(remap(AT(0), 4, 8, 0, 0), (long)AT(0));
	assert_int_equal(remap(AT(0), 8, 2, 0, 0), (long)AT(0));
	map(AT(4), 2, RW, FIXED);
	/* Growing up to a neighbour joins it, on kernels since 6.0. */
	assert_int_equal(remap(AT(0), 2, 4, 0, 0), (long)AT(0));
	assert_int_equal(areas(), has_rule("remap-grow-merges") ? 1 : 2);
	assert_int_equal(remap(AT(0), 3, 5, 0, 0), -ENOMEM);
	assert_true(remap(AT(0), 3, 5, MREMAP_MAYMOVE, 0) > 0);
}

static void moved_pages_keep_their_offset(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(10), 2, RW, FIXED);
	touch(AT(0));
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(12));
	assert_int_equal(count_verdict(VMA_DIFFERENT_OFFSET), 1);
	assert_int_equal(areas(), 2);
	/* Without pages the offset is that of the new place. */
	map(AT(0), 2, RW, FIXED);
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(8));
	assert_int_equal(areas(), 2);
}

static void remap_leaves_the_source(void **state)
{
	(void)state;
	map(AT(0), 4, RW, FIXED);
	touch(AT(0));
	assert_int_equal(remap(AT(0), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, AT(20)),
			 (long)AT(20));
	assert_int_equal(areas(), 2);
	map(AT(4), 1, RW, FIXED);
	assert_int_equal(areas(), has_rule("dontunmap-uncharges") ? 3 : 2);
	assert_int_equal(remap(AT(0), 4, 5, MREMAP_MAYMOVE | MREMAP_STAYS, AT(20)), -EINVAL);
}

static void remap_moves_many(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(2), 2, PROT_READ, FIXED);
	map(AT(6), 2, RW, FIXED);
	if (!has_rule("remap-many")) {
		assert_int_equal(remap(AT(0), 8, 8, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20)),
				 -EFAULT);
		return;
	}
	assert_int_equal(remap(AT(0), 8, 8, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20)), (long)AT(20));
	assert_int_equal(remap(AT(20), 8, 9, MREMAP_MAYMOVE | MREMAP_FIXED, AT(40)), -EFAULT);
	assert_int_equal(remap(AT(20), 8, 8, MREMAP_MAYMOVE | MREMAP_FIXED, AT(24)), -EINVAL);
}

static void remap_duplicates_shared(void **state)
{
	(void)state;
	map(AT(0), 4, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED);
	assert_int_equal(remap(AT(0), 0, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20)), (long)AT(20));
	map(AT(30), 4, RW, FIXED);
	assert_int_equal(remap(AT(30), 0, 2, MREMAP_MAYMOVE, 0), -EINVAL);
}

/* Found by the random test: Linux goes on counting the source as locked. */
static void left_source_counts_as_locked(void **state)
{
	(void)state;
	map(AT(0), 4, RW, FIXED | MAP_LOCKED);
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, AT(20));
	unmap(AT(0), 4);
	unmap(AT(20), 2);
}

/* Without pages, what stays of memory that was moved before has new page offsets, or the old. */
static void what_stays_of_moved_memory(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	touch(AT(0));
	remap(AT(0), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, AT(10));
	remap(AT(10), 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, AT(20));
	map(AT(12), 2, RW, FIXED);
	assert_int_equal(areas_from(&pair, AT(10), AT(14)), has_rule("dontunmap-part") ? 1 : 2);
	map(AT(22), 2, RW, FIXED);
	assert_int_equal(areas_from(&pair, AT(20), AT(24)), 2);
}

/* What is moved beside what stays is not always one with it; with what else is there, it is. */
static void moved_beside_what_stays(void **state)
{
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS;
	unsigned long apart = has_rule("dontunmap-part"), alone = has_rule("dontunmap-alone");

	(void)state;
	map(AT(10), 10, RW, FIXED);
	remap(AT(16), 4, 4, flags, AT(6));
	assert_int_equal(areas(), 1 + apart);
	unmap(AT(0), 30);
	map(AT(0), 6, RW, FIXED);
	map(AT(10), 4, RW, FIXED);
	remap(AT(0), 4, 4, flags, AT(6));
	assert_int_equal(areas(), 1 + apart + alone);
	unmap(AT(0), 30);
	/* A piece of it over its middle. */
	map(AT(0), 30, RW, FIXED);
	remap(AT(22), 4, 4, flags, AT(6));
	assert_int_equal(areas(), 1 + apart + alone);
}

/*
 * Some versions mark the area behind the source as charged if the part that is moved lies inside;
 * but not where the copy and the source are one.
 */
static void charge_of_the_next_area(void **state)
{
	const struct {
		unsigned long from, to, touched, other, others;
		bool charges;
	} cases[] = {
		{ 14, 70, 0, 0, 0, true }, { 14, 30, 0, 0, 0, false }, { 14, 6, 0, 0, 0, false },
		{ 22, 14, 0, 0, 0, false }, { 12, 22, 0, 0, 0, false },
		/* Apart, because of the numbers of their pages. */
		{ 14, 6, 14, 0, 0, true }, { 22, 14, 22, 0, 0, true }, { 14, 30, 14, 0, 0, false },
		/* One with another area, which may be below or above; or with both. */
		{ 14, 70, 0, 74, 4, true }, { 14, 70, 0, 66, 4, true }, { 14, 4, 0, 8, 1, true },
		{ 14, 4, 0, 8, 2, false }, { 14, 30, 0, 34, 2, false },
	};
	const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vma_info next;

		map(AT(10), 20, RW, FIXED);
		map(AT(50), 2, PROT_READ, FIXED);
		if (cases[i].others)
			map(AT(cases[i].other), cases[i].others, RW, FIXED);
		if (cases[i].touched)
			touch(AT(cases[i].touched));
		remap(AT(cases[i].from), 4, 4, flags, AT(cases[i].to));
		assert_true(vmspace_lookup(pair.space, AT(50), &next));
		assert_int_equal(!!(next.flags & VMA_ACCOUNT),
				 cases[i].charges && has_rule("dontunmap-charges-next"));
		unmap(AT(0), 100);
	}
}

/* What stays unlocked as a part is an area of its own, whatever is beside it. */
static void locked_parts_stay_alone(void **state)
{
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS;
	bool parts = has_rule("dontunmap-part");

	(void)state;
	map(AT(0), 6, RW, FIXED);
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ AT(2), 2 * PAGE, 1, true };
	both(&pair);
	remap(AT(2), 2, 2, flags, AT(20));
	assert_int_equal(areas_from(&pair, AT(0), AT(6)), 3);
	unmap(AT(0), 30);
	map_file(PUPPET_MEMFD, AT(0), 6, RW, MAP_PRIVATE | MAP_FIXED, 0);
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ AT(0), 6 * PAGE, 1, true };
	both(&pair);
	remap(AT(0), 2, 2, flags, AT(20));
	remap(AT(2), 2, 2, flags, AT(24));
	assert_int_equal(areas_from(&pair, AT(0), AT(6)), parts ? 3 : 1);
}

#define MOVE (MREMAP_MAYMOVE | MREMAP_FIXED)

static void map_part(unsigned long addr, unsigned long pages, unsigned long page, int prot)
{
	map_file(PUPPET_MEMFD, addr, pages, prot, MAP_PRIVATE | MAP_FIXED, page);
}

/* Anonymous pages of a file's mapping have numbers of their own, at least since 7.3. */
static void moved_pages_of_a_file(void **state)
{
	unsigned long apart = has_rule("file-anon-offset");

	(void)state;
	map_part(AT(0), 4, 0, RW);
	touch(AT(0));
	/* Away from its area and back: all as before. */
	remap(AT(1), 1, 1, MOVE, AT(10));
	remap(AT(10), 1, 1, MOVE, AT(1));
	assert_int_equal(areas(), 1);
	/* Both parts as far away: one again. What is mapped beside them is not. */
	remap(AT(0), 2, 2, MOVE, AT(20));
	remap(AT(2), 2, 2, MOVE, AT(22));
	assert_int_equal(areas(), 1);
	map_part(AT(24), 2, 4, RW);
	assert_int_equal(areas(), 1 + apart);
	/* A hole filled again; the anon_vma of what is on one side is not given to the other. */
	unmap(AT(21), 2);
	map_part(AT(21), 2, 1, RW);
	touch(AT(21));
	assert_int_equal(areas(), apart ? 4 : 1);
	unmap(AT(0), 30);
	/* Without pages the numbers are those of the new place. */
	map_part(AT(0), 2, 0, RW);
	remap(AT(0), 2, 2, MOVE, AT(10));
	map_part(AT(12), 2, 2, RW);
	assert_int_equal(areas(), 1);
}

/* ... which a child's have, too, and what MREMAP_DONTUNMAP leaves does not. */
static void moved_pages_of_a_file_are_left(void **state)
{
	unsigned long apart = has_rule("file-anon-offset");
	struct pair child;

	(void)state;
	map_part(AT(0), 2, 0, RW);
	touch(AT(0));
	remap(AT(0), 2, 2, MOVE, AT(20));
	assert_true(pair_fork(&pair, &child));
	new_req(VMSPACE_MREMAP)->mremap =
		(struct vmspace_mremap){ AT(20), 2 * PAGE, 4 * PAGE, 0, 0 };
	assert_int_equal(both(&child), (long)AT(20));
	new_req(VMSPACE_MREMAP)->mremap =
		(struct vmspace_mremap){ AT(20), PAGE, PAGE, MOVE, AT(0) };
	assert_int_equal(both(&child), (long)AT(0));
	pair_end(&child);
	remap(AT(20), 2, 2, MOVE | MREMAP_STAYS, AT(30));
	map_part(AT(22), 2, 2, RW);
	assert_int_equal(areas_from(&pair, AT(20), AT(24)),
			 has_rule("dontunmap-uncharges") ? 2 : 1);
	map_part(AT(32), 2, 2, PROT_READ);
	protect(AT(32), 2, RW);
	assert_int_equal(areas_from(&pair, AT(30), AT(34)), 1 + apart);
}

/*
 * Found by vmscope check: a file is copied over the place that it is copied from, which goes first.
 */
static void copy_over_its_source(void **state)
{
	(void)state;
	map_file(PUPPET_FILE_RW, AT(0), 8, RW, MAP_SHARED | MAP_FIXED, 0);
	assert_int_equal(remap(AT(2), 0, 3, MREMAP_MAYMOVE | MREMAP_FIXED, AT(2)), -EFAULT);
	assert_int_equal(areas(), 2);
}

/* Private memory of /dev/zero is only moved alone. */
static void zero_device_moves_alone(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map_file(PUPPET_ZERO, AT(2), 2, RW, MAP_PRIVATE | MAP_FIXED, 0);
	assert_int_equal(remap(AT(0), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20)), -EFAULT);
	assert_int_equal(areas(), 2);
}

/* Found by the random test: the target of a move of many is only unmapped where something lands. */
static void many_land_piece_by_piece(void **state)
{
	(void)state;
	map(AT(0), 2, RW, FIXED);
	map(AT(6), 2, PROT_READ, FIXED);
	map(AT(20), 10, PROT_NONE, FIXED);
	remap(AT(0), 8, 8, MREMAP_MAYMOVE | MREMAP_FIXED, AT(21));
	/* Moved one by one if at all, else the whole target is gone. */
	assert_int_equal(areas(), has_rule("remap-many") ? 5 : 4);
}

enum kind { PRIVATE, FILE_BACKED, SEGMENT, KINDS };

static void map_two_pages(enum kind kind, unsigned long at, bool sealed)
{
	if (kind == PRIVATE) {
		map(at, 2, RW, FIXED);
	} else if (kind == FILE_BACKED) {
		map_file(PUPPET_MEMFD, at, 2, RW, MAP_PRIVATE | MAP_FIXED, 0);
	} else {
		new_req(VMSPACE_SHMAT)->shmat =
			(struct vmspace_shmat){ .addr = at, .size = 2 * PAGE };
		assert_int_equal(both(&pair), at);
	}
	if (sealed) {
		new_req(VMSPACE_MSEAL)->mseal = (struct vmspace_mseal){ at, 2 * PAGE, 0 };
		assert_int_equal(both(&pair), 0);
	}
}

/*
 * Found by the random test: a segment cannot be one of many, sealed or not. One of many is refused
 * for its kind (EFAULT), then for its seal, then for a seal in its way (both EPERM); those before
 * it have been moved.
 */
static void order_of_refusals_moving_many(void **state)
{
	unsigned long at = AT(0);

	(void)state;
	new_req(VMSPACE_MSEAL)->mseal = (struct vmspace_mseal){ at, 0, 0 };
	if (both(&pair) == -ENOSYS)
		case_skip("the kernel has no mseal(2)");
	pair.shm_id = shmget(IPC_PRIVATE, 2 * PAGE, 0700);
	assert_true(pair.shm_id >= 0);
	for (int i = 0; i < KINDS * KINDS * 2 * 2 * 3; i++, at += 32 * PAGE) {
		enum kind first = i % KINDS, second = i / KINDS % KINDS;
		bool first_sealed = i / (KINDS * KINDS) % 2;
		bool second_sealed = i / (KINDS * KINDS * 2) % 2;
		int in_the_way = i / (KINDS * KINDS * 4); /* of none, of the first, of the second */
		long expected = (long)(at + 16 * PAGE), result;

		map_two_pages(first, at, first_sealed);
		map_two_pages(second, at + 3 * PAGE, second_sealed);
		if (in_the_way)
			map_two_pages(PRIVATE, at + (in_the_way == 1 ? 16 : 19) * PAGE, true);
		if (first == SEGMENT)
			expected = -EFAULT;
		else if (first_sealed || in_the_way == 1)
			expected = -EPERM;
		else if (second == SEGMENT)
			expected = -EFAULT;
		else if (second_sealed || in_the_way == 2)
			expected = -EPERM;
		result = remap(at, 6, 6, MREMAP_MAYMOVE | MREMAP_FIXED, at + 16 * PAGE);
		if (has_rule("remap-many"))
			assert_int_equal(result, expected);
	}
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* What is in the way is unmapped first, also if the lengths are those of parts of pages. */
static void the_limit_refuses_a_copy(void **state)
{
	(void)state;
	if (!has_rule("dontunmap-rounds"))
		case_skip("lengths must be equal");
	map(AT(0), 9, RW, FIXED);
	map(AT(16), 3, PROT_READ, FIXED);
	set_limits(RLIMIT_AS, PAGE, VMSPACE_NO_LIMIT);
	new_req(VMSPACE_MREMAP)->mremap = (struct vmspace_mremap){
		AT(5), PAGE, PAGE - 500, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, AT(16) };
	assert_int_equal(both(&pair), -ENOMEM);
	assert_int_equal(areas_from(&pair, AT(16), AT(17)), 0);
	assert_int_equal(areas_from(&pair, AT(17), AT(19)), 1);
}

/* Several areas, to a place below vm.mmap_min_addr: what is in the first one's way is unmapped. */
static void many_move_too_low(void **state)
{
	(void)state;
	if (map(8 * PAGE, 4, RW, FIXED) < 0)
		case_skip("nothing may be mapped so low");
	map(AT(2), 11, PROT_READ, FIXED);
	map(AT(15), 4, RW, FIXED);
	drop_privileges();
	remap(AT(2), 17, 17, MREMAP_MAYMOVE | MREMAP_FIXED, 0);
	if (has_rule("remap-many"))
		assert_int_equal(areas_from(&pair, 8 * PAGE, 11 * PAGE), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(remap_grows_and_shrinks), CASE(moved_pages_keep_their_offset),
		CASE(remap_leaves_the_source), CASE(remap_moves_many),
		CASE(remap_duplicates_shared), CASE(left_source_counts_as_locked),
		CASE(what_stays_of_moved_memory), MIRRORED(what_stays_of_moved_memory),
		CASE(charge_of_the_next_area), MIRRORED(charge_of_the_next_area),
		CASE(moved_beside_what_stays), MIRRORED(moved_beside_what_stays),
		CASE(locked_parts_stay_alone), MIRRORED(locked_parts_stay_alone),
		CASE(moved_pages_of_a_file), MIRRORED(moved_pages_of_a_file),
		CASE(moved_pages_of_a_file_are_left), MIRRORED(moved_pages_of_a_file_are_left),
		CASE(copy_over_its_source), MIRRORED(copy_over_its_source),
		CASE(the_limit_refuses_a_copy), MIRRORED(the_limit_refuses_a_copy),
		CASE(many_move_too_low), MIRRORED(many_move_too_low),
		CASE(zero_device_moves_alone),
		CASE(many_land_piece_by_piece), CASE(order_of_refusals_moving_many),
		MIRRORED(moved_pages_keep_their_offset), MIRRORED(remap_leaves_the_source),
		MIRRORED(many_land_piece_by_piece), MIRRORED(order_of_refusals_moving_many),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	return case_status(cmocka_run_group_tests(tests, NULL, NULL),
			   sizeof(tests) / sizeof(tests[0]));
}
