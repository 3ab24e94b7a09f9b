/* SPDX-License-Identifier: MIT */
/* oracle_lock.c - what calls on locked memory make present: each rule once, for real and here. */
#include <errno.h>

#include <sys/resource.h>

#include "cases.h"

#define MREMAP_TO (MREMAP_MAYMOVE | MREMAP_FIXED)

static void lock(unsigned long addr, unsigned long pages)
{
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ .addr = addr,
								.length = pages * PAGE };
	assert_int_equal(both(&pair), 0);
}

/* What comes before the hole that ends mprotect() is filled: it has an anon_vma of its own. */
static void protect_fills_up_to_a_hole(void **state)
{
	(void)state;
	map(AT(0), 1, PROT_READ, FIXED);
	map(AT(1), 1, PROT_READ | PROT_EXEC, FIXED);
	map(AT(2), 2, RW, FIXED);
	lock(AT(0), 4);
	assert_int_equal(protect(AT(0), 6, RW), -ENOMEM);
	assert_int_equal(areas(), 2);
	assert_int_equal(areas_from(&pair, AT(0), AT(2)), 1);
}

/*
 * The range goes to the end of a page: what begins there is a neighbour, about which a mirror asks.
 */
static void unlock_ends_within_a_page(void **state)
{
	struct vmspace_request *r;

	(void)state;
	map(AT(0), 9, RW, FIXED);
	lock(AT(2), 4);
	touch(AT(6));
	r = new_req(VMSPACE_MUNLOCK);
	r->mlock.addr = AT(4) + 0xe19;
	r->mlock.length = PAGE;
	assert_int_equal(both(&pair), 0);
	assert_int_equal(areas_from(&pair, AT(0), AT(9)), 4);
}

/* A range that ends where addresses end, and wraps around, counts as a whole against the limit. */
static void a_range_that_wraps_around_is_over_the_limit(void **state)
{
	(void)state;
	map(AT(5), 10, PROT_READ, FIXED);
	lock(AT(8), 3);
	set_limit(RLIMIT_MEMLOCK, 19);
	drop_privileges();
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ .addr = AT(0),
								.length = -AT(0) };
	assert_int_equal(both(&pair), -ENOMEM);
}

/* Where mremap has taken it. The comparison excuses the fault there as at any other guard. */
static void a_guard_at_address_0(void **state)
{
	(void)state;
	if (!has_rule("guards"))
		case_skip("no guards");
	map(AT(0), 2, RW, FIXED);
	if (advise(AT(0), 1, MADV_GUARD_INSTALL) || remap(AT(0), 1, 1, MREMAP_TO, 0))
		case_skip("nothing may be mapped at address 0");
	touch(0);
}

/* process_madvise() populates as madvise() does, and stops at a guard as well. */
static void process_madvise_meets_a_guard(void **state)
{
	const struct vmspace_range ranges[] = { { AT(0), 2 * PAGE }, { AT(4), 4 * PAGE } };

	(void)state;
	if (!has_rule("guards-in-files") || !has_rule("advise-self"))
		case_skip("no guards in shared memory, or no such advice");
	map(AT(0), 8, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED);
	assert_int_equal(advise(AT(6), 1, MADV_GUARD_INSTALL), 0);
	new_req(VMSPACE_PROCESS_MADVISE)->process_madvise = (struct vmspace_process_madvise){
		ranges + 1, 1, MADV_POPULATE_WRITE, 0 };
	both(&pair);
	/* The first of two was populated: its bytes are the answer. */
	req.process_madvise.ranges = ranges;
	req.process_madvise.count = 2;
	both(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(protect_fills_up_to_a_hole), MIRRORED(protect_fills_up_to_a_hole),
		CASE(unlock_ends_within_a_page), MIRRORED(unlock_ends_within_a_page),
		CASE(a_range_that_wraps_around_is_over_the_limit),
		MIRRORED(a_range_that_wraps_around_is_over_the_limit),
		CASE(a_guard_at_address_0), MIRRORED(a_guard_at_address_0),
		CASE(process_madvise_meets_a_guard),
		MIRRORED(process_madvise_meets_a_guard),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
