/* SPDX-License-Identifier: MIT */
/*
 * oracle_limits.c - every limit in every call that it concerns, made for real and in libvmspace:
 * the last request that fits, and the first that does not.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "cases.h"

/* ---- RLIMIT_AS ---- */

static void address_space_limit(void **state)
{
	unsigned long brk;

	(void)state;
	map(AT(0), 10, RW, FIXED);
	set_limit(RLIMIT_AS, now().total_vm + 10);
	assert_int_equal(map(AT(20), 11, RW, FIXED), -ENOMEM);
	assert_int_equal(map(AT(20), 8, RW, FIXED), (long)AT(20));
	assert_int_equal(remap(AT(20), 8, 11, MREMAP_MAYMOVE, 0), -ENOMEM);
	brk = now().brk;
	assert_int_equal(set_brk(brk + 5 * PAGE), (long)brk);
	/* What is mapped over does not count. */
	assert_int_equal(map(AT(0), 12, PROT_READ, FIXED), (long)AT(0));
	assert_int_equal(map(AT(0), 13, PROT_READ, FIXED), -ENOMEM);
	assert_int_equal(areas(), 2);
}

static void address_space_limit_of_a_source_that_stays(void **state)
{
	int flags = MREMAP_MAYMOVE | MREMAP_STAYS;

	(void)state;
	map(AT(0), 10, RW, FIXED);
	set_limit(RLIMIT_AS, now().total_vm + 9);
	assert_int_equal(remap(AT(0), 10, 10, flags, 0), -ENOMEM);
	assert_int_equal(remap(AT(0), 10, 10, MREMAP_MAYMOVE | MREMAP_FIXED, AT(40)), (long)AT(40));
	set_limit(RLIMIT_AS, now().total_vm + 10);
	assert_true(remap(AT(40), 10, 10, flags, 0) > 0);
}

static void address_space_limit_of_stacks_and_forks(void **state)
{
	struct pair child;

	(void)state;
	map(AT(1000), 2, RW, FIXED | MAP_GROWSDOWN);
	set_limit(RLIMIT_AS, now().total_vm + 10);
	assert_int_equal(touch(AT(989)), -EFAULT);
	assert_int_equal(touch(AT(990)), 0);
	/* A child is as large as its parent, whatever the limit. */
	set_limit(RLIMIT_AS, now().total_vm - 5);
	assert_true(pair_fork(&pair, &child));
	pair_end(&child);
}

static void address_space_limit_of_segments(void **state)
{
	(void)state;
	pair.shm_id = shmget(IPC_PRIVATE, 10 * PAGE, 0600);
	assert_true(pair.shm_id >= 0);
	set_limit(RLIMIT_AS, now().total_vm + 9);
	new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){
		.addr = AT(0), .size = 10 * PAGE,
		.backing = { .name = "/SYSV00000000 (deleted)" } };
	assert_int_equal(both(&pair), -ENOMEM);
	set_limit(RLIMIT_AS, now().total_vm + 10);
	new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){
		.addr = AT(0), .size = 10 * PAGE,
		.backing = { .name = "/SYSV00000000 (deleted)" } };
	assert_int_equal(both(&pair), (long)AT(0));
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* ---- RLIMIT_DATA ---- */

static void data_limit(void **state)
{
	(void)state;
	map(AT(0), 10, PROT_READ, FIXED);
	set_limit(RLIMIT_DATA, now().data_vm + 5);
	assert_int_equal(map(AT(20), 6, RW, FIXED), -ENOMEM);
	assert_int_equal(map(AT(20), 6, PROT_READ, FIXED), (long)AT(20));
	assert_int_equal(map(AT(30), 6, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED), (long)AT(30));
	assert_int_equal(protect(AT(0), 6, RW), -ENOMEM);
	assert_int_equal(protect(AT(0), 5, RW), 0);
	assert_int_equal(remap(AT(0), 5, 6, MREMAP_MAYMOVE, 0), -ENOMEM);
	/* What is mapped over makes room, be it data or not. */
	assert_int_equal(map(AT(0), 5, RW, FIXED), (long)AT(0));
	assert_int_equal(map(AT(20), 6, RW, FIXED), (long)AT(20));
	assert_int_equal(map(AT(20), 7, RW, FIXED), -ENOMEM);
}

/* Found by vmscope check: what comes before the area that is too much has changed. */
static void data_limit_within_a_range(void **state)
{
	(void)state;
	map(AT(0), 4, PROT_READ, FIXED);
	map(AT(4), 4, PROT_NONE, FIXED);
	set_limit(RLIMIT_DATA, now().data_vm + 6);
	assert_int_equal(protect(AT(0), 8, RW), -ENOMEM);
	assert_int_equal(areas(), 2);
	assert_int_equal(protect(AT(0), 6, PROT_NONE), 0);
	assert_int_equal(areas(), has_rule("protect-uncharges") ? 1 : 2);
}

static void data_limit_of_the_break(void **state)
{
	unsigned long brk = now().brk;

	(void)state;
	/* The break has a sum of its own: the heap and the program's data. */
	set_limit(RLIMIT_DATA, now().data_vm + 5);
	assert_int_equal(set_brk(brk + 6 * PAGE), (long)brk);
	assert_int_equal(set_brk(brk + 4 * PAGE), (long)(brk + 4 * PAGE));
	set_limits(RLIMIT_DATA, 4 * PAGE, VMSPACE_NO_LIMIT);
	assert_int_equal(set_brk(brk + 5 * PAGE), (long)(brk + 4 * PAGE));
}

/* Old Valgrinds set the soft limit to 0 and rely on the hard one. */
static void data_limit_of_zero_is_the_hard_one(void **state)
{
	unsigned long brk = now().brk, data = now().data_vm;

	(void)state;
	set_limits(RLIMIT_DATA, 0, VMSPACE_NO_LIMIT);
	assert_int_equal(map(AT(0), 10, RW, FIXED), (long)AT(0));
	set_limits(RLIMIT_DATA, 0, (data + 20) * PAGE);
	assert_int_equal(map(AT(20), 11, RW, FIXED), -ENOMEM);
	assert_int_equal(map(AT(20), 10, RW, FIXED), (long)AT(20));
	map(AT(40), 1, PROT_READ, FIXED);
	assert_int_equal(protect(AT(40), 1, RW), -ENOMEM);
	assert_int_equal(set_brk(brk + PAGE), (long)brk);
}

/* ---- RLIMIT_STACK ---- */

static void stack_limit(void **state)
{
	(void)state;
	set_limit(RLIMIT_STACK, 100);
	map(AT(1000), 2, RW, FIXED | MAP_GROWSDOWN);
	assert_int_equal(touch(AT(902)), 0);
	assert_int_equal(touch(AT(901)), -EFAULT);
	/* mmap and mremap make it as large as they like. */
	assert_int_equal(map(AT(2000), 200, RW, FIXED | MAP_GROWSDOWN), (long)AT(2000));
	assert_int_equal(touch(AT(1999)), -EFAULT);
}

/* ---- RLIMIT_MEMLOCK ---- */

static long lock(unsigned long addr, unsigned long pages)
{
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ addr, pages * PAGE, 0, false };
	return both(&pair);
}

static long lock_all(int flags)
{
	new_req(VMSPACE_MLOCKALL)->mlockall.flags = flags;
	return both(&pair);
}

static void lock_limit(void **state)
{
	(void)state;
	drop_privileges();
	set_limit(RLIMIT_MEMLOCK, 10);
	map(AT(0), 20, RW, FIXED);
	assert_int_equal(lock(AT(0), 11), -ENOMEM);
	assert_int_equal(lock(AT(0), 6), 0);
	/* Locked pages are not counted again. */
	assert_int_equal(lock(AT(3), 7), 0);
	assert_int_equal(lock(AT(3), 8), -ENOMEM);
	assert_int_equal(map(AT(40), 1, RW, FIXED | MAP_LOCKED), -EAGAIN);
	assert_int_equal(remap(AT(0), 10, 11, MREMAP_MAYMOVE, 0), -EAGAIN);
	assert_int_equal(remap(AT(4), 6, 7, MREMAP_MAYMOVE, 0), -EAGAIN);
	assert_int_equal(lock_all(MCL_CURRENT), -ENOMEM);
	set_limit(RLIMIT_MEMLOCK, 0);
	assert_int_equal(lock(AT(0), 1), -EPERM);
	assert_int_equal(lock_all(MCL_CURRENT), -EPERM);
	assert_int_equal(map(AT(40), 1, RW, FIXED | MAP_LOCKED), -EPERM);
}

static void lock_limit_of_what_comes(void **state)
{
	unsigned long brk = now().brk;

	(void)state;
	drop_privileges();
	map(AT(1000), 2, RW, FIXED | MAP_GROWSDOWN);
	assert_int_equal(lock(AT(1000), 2), 0);
	set_limit(RLIMIT_MEMLOCK, 10);
	assert_int_equal(touch(AT(991)), -EFAULT);
	assert_int_equal(touch(AT(996)), 0);
	assert_int_equal(lock_all(MCL_FUTURE), 0);
	assert_int_equal(map(AT(0), 5, RW, FIXED), -EAGAIN);
	assert_int_equal(set_brk(brk + 5 * PAGE), (long)brk);
	assert_int_equal(map(AT(0), 4, RW, FIXED), (long)AT(0));
	new_req(VMSPACE_MUNLOCKALL);
	assert_int_equal(both(&pair), 0);
	assert_int_equal(map(AT(20), 5, RW, FIXED), (long)AT(20));
}

/* A child begins with nothing locked. */
static void lock_limit_after_a_fork(void **state)
{
	struct pair child;

	(void)state;
	drop_privileges();
	set_limit(RLIMIT_MEMLOCK, 10);
	map(AT(0), 20, RW, FIXED);
	assert_int_equal(lock(AT(0), 10), 0);
	assert_true(pair_fork(&pair, &child));
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ AT(5), 10 * PAGE, 0, false };
	assert_int_equal(both(&child), 0);
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ AT(0), PAGE, 0, false };
	assert_int_equal(both(&child), -ENOMEM);
	pair_end(&child);
}

/* ---- capabilities ---- */

static long bind(int mode, uint64_t nodes, unsigned int flags)
{
	new_req(VMSPACE_MBIND)->mbind = (struct vmspace_mbind){ AT(0), 2 * PAGE, mode, nodes,
								flags };
	return both(&pair);
}

/* Only an unknown mode or flag is refused before the privilege is missed. */
static void moving_the_pages_of_all_takes_a_privilege(void **state)
{
	const int relative_and_static = 3 << 14;
	const unsigned int move_all = 4, unknown = 8;

	(void)state;
	if (!vmspace_config(pair.space)->memory_nodes)
		case_skip("there are no memory policies here");
	map(AT(0), 4, RW, FIXED);
	drop_privileges();
	assert_int_equal(bind(4, 0, move_all), -EPERM);
	assert_int_equal(bind(5, UINT64_C(1) << 63, move_all),
			 has_rule("preferred-many") ? -EPERM : -EINVAL);
	assert_int_equal(bind(0, 1, move_all), -EPERM);
	assert_int_equal(bind(2 | relative_and_static, 1, move_all), -EINVAL);
	assert_int_equal(bind(77, 1, move_all), -EINVAL);
	assert_int_equal(bind(4, 0, move_all | unknown), -EINVAL);
	assert_int_equal(areas(), 1);
	assert_int_equal(bind(4, 0, 2), 0);
	assert_int_equal(areas(), 2);
}

/* ---- max_map_count ---- */

static void at_most_max_map_count(void **state)
{
	unsigned long limit = vmspace_config(pair.space)->max_map_count, brk = now().brk, mapped;
	struct pair child;

	(void)state;
	if (limit > 100000)
		case_skip("vm.max_map_count is above 100000");
	map(AT(0), 8, RW, FIXED);
	map(AT(300000), 2, RW, FIXED | MAP_GROWSDOWN);
	mapped = now().areas;
	pair.results_only = true;
	for (unsigned long n = 0; mapped + n < limit - 1; n++)
		map(AT(100 + n), 1, n % 2 ? PROT_READ : PROT_NONE, FIXED | MAP_NORESERVE);
	assert_int_equal(protect(AT(0), 2, PROT_READ), 0);
	assert_int_equal(protect(AT(4), 1, PROT_READ), -ENOMEM);
	assert_int_equal(lock(AT(4), 1), -ENOMEM);
	assert_int_equal(unmap(AT(4), 1), -ENOMEM);
	assert_int_equal(advise(AT(4), 1, MADV_DONTFORK),
			 has_rule("advise-count-error") ? -ENOMEM : -EAGAIN);
	assert_int_equal(remap(AT(4), 4, 4, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20)), -ENOMEM);
	assert_int_equal(set_brk(brk + PAGE), (long)(brk + PAGE));
	/* The heap's first page is an area of its own, or else this is one. */
	if (has_rule("brk-grows-bss"))
		map(AT(40), 1, RW, FIXED);
	/* Nothing more, though it would become part of an area that is there. */
	assert_int_equal(map(AT(30), 1, RW, FIXED), -ENOMEM);
	assert_int_equal(map(AT(21), 1, RW, FIXED), -ENOMEM);
	assert_int_equal(set_brk(brk + 2 * PAGE), (long)(brk + PAGE));
	assert_int_equal(touch(AT(299990)), 0);
	assert_true(pair_fork(&pair, &child));
	pair_end(&child);
	pair.results_only = false;
	assert_int_equal(unmap(AT(0), 2), 0);
}

/* ---- committed memory, as vm.overcommit_memory is (0: what is larger than all memory) ---- */

static unsigned long all_memory(void)
{
	const struct vmspace_config *c = vmspace_config(pair.space);

	if (c->overcommit != 0 || !c->ram_pages || c->ram_pages > 1UL << 30)
		case_skip("vm.overcommit_memory is not 0, or the size of memory is not known");
	return c->ram_pages + c->swap_pages;
}

/* That is shared memory, too, which each mapping makes. */
static long map_dev_zero(unsigned long pages)
{
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = AT(0), .length = pages * PAGE, .prot = RW, .flags = MAP_SHARED | MAP_FIXED,
		.backing = { .kind = VMA_BACKING_SHMEM, .name = "/dev/zero (deleted)" } };
	return both(&pair);
}

static void obvious_overcommit_is_refused(void **state)
{
	unsigned long all = all_memory(), brk = now().brk;

	(void)state;
	assert_int_equal(map(AT(0), all + 1, RW, FIXED), -ENOMEM);
	assert_int_equal(map(AT(0), all, RW, FIXED), (long)AT(0));
	unmap(AT(0), all);
	assert_int_equal(map(AT(0), all + 1, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED), -ENOMEM);
	assert_int_equal(map(AT(0), all, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED), (long)AT(0));
	unmap(AT(0), all);
	assert_int_equal(map_dev_zero(all + 1), -ENOMEM);
	assert_int_equal(map_dev_zero(all), (long)AT(0));
	unmap(AT(0), all);
	assert_int_equal(map(AT(0), all + 1, RW, FIXED | MAP_NORESERVE), (long)AT(0));
	assert_int_equal(map(AT(0), all + 1, PROT_READ, FIXED), (long)AT(0));
	assert_int_equal(protect(AT(0), all + 1, RW), -ENOMEM);
	assert_int_equal(protect(AT(0), all, RW), 0);
	assert_int_equal(set_brk(brk + (all + 1) * PAGE), (long)brk);
	assert_int_equal(now().committed_vm % all, now().committed_vm - all);
}

/* The sum may be larger: mode 0 looks at each request alone. */
static void map_more_than_all(unsigned long all)
{
	assert_int_equal(map(AT(0), all * 6 / 10, RW, FIXED), (long)AT(0));
	assert_int_equal(map(AT(all * 6 / 10), all * 6 / 10, RW, FIXED), (long)AT(all * 6 / 10));
	assert_int_equal(areas_from(&pair, AT(0), AT(2 * all)), 1);
}

static void what_is_mapped_over_is_not_charged(void **state)
{
	unsigned long all = all_memory(), more = all * 6 / 10 * 2;

	(void)state;
	map_more_than_all(all);
	if (!has_rule("replaced-not-charged")) {
		assert_int_equal(map(AT(0), more, RW, FIXED), -ENOMEM);
		assert_int_equal(areas_from(&pair, AT(0), AT(2 * all)), 0);
		return;
	}
	assert_int_equal(map(AT(0), more, RW, FIXED), (long)AT(0));
	assert_int_equal(map(AT(0), more + all + 1, RW, FIXED), -ENOMEM);
	/* A refusal takes nothing away. */
	assert_int_equal(areas_from(&pair, AT(0), AT(2 * all)), 1);
	assert_int_equal(map(AT(0), more + all, RW, FIXED), (long)AT(0));
}

static void a_move_is_charged_for_what_grows(void **state)
{
	unsigned long all = all_memory(), more = all * 6 / 10 * 2, far = AT(8 * all);
	int fixed = MREMAP_MAYMOVE | MREMAP_FIXED;

	(void)state;
	map_more_than_all(all);
	assert_int_equal(remap(AT(0), more, more, fixed | MREMAP_STAYS, far),
			 has_rule("dontunmap-unchecked") ? (long)far : -ENOMEM);
	assert_int_equal(remap(AT(0), more, more, fixed, far), (long)far);
	assert_int_equal(remap(far, more, more + all + 1, MREMAP_MAYMOVE, 0), -ENOMEM);
	assert_int_equal(remap(far, more, more + all, MREMAP_MAYMOVE, 0), (long)far);
}

static void a_child_is_charged_area_by_area(void **state)
{
	unsigned long all = all_memory(), more = all * 6 / 10 * 2;
	unsigned long fork_args[6] = { SIGCHLD };
	struct vmspace_request ours = { .op = VMSPACE_FORK };
	struct pair child;

	(void)state;
	map_more_than_all(all);
	assert_int_equal(vmspace_call(pair.space, &ours), -ENOMEM);
	assert_int_equal(puppet_call(&pair.puppet, SYS_clone, fork_args), -ENOMEM);
	/* Two areas, each of which fits; their sum does not. */
	assert_int_equal(protect(AT(more / 2), 1, PROT_NONE), 0);
	assert_true(pair_fork(&pair, &child));
	pair_end(&child);
	assert_int_equal(protect(AT(more / 2), 1, RW), 0);
	/* What is not inherited is not charged. */
	assert_int_equal(advise(AT(0), more, MADV_DONTFORK), 0);
	assert_true(pair_fork(&pair, &child));
	pair_end(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(address_space_limit), CASE(address_space_limit_of_a_source_that_stays),
		CASE(address_space_limit_of_stacks_and_forks),
		CASE(address_space_limit_of_segments),
		CASE(data_limit), CASE(data_limit_within_a_range),
		MIRRORED(data_limit_within_a_range), CASE(data_limit_of_the_break),
		CASE(data_limit_of_zero_is_the_hard_one), CASE(stack_limit),
		CASE(lock_limit), CASE(lock_limit_of_what_comes), CASE(lock_limit_after_a_fork),
		CASE(moving_the_pages_of_all_takes_a_privilege),
		MIRRORED(moving_the_pages_of_all_takes_a_privilege),
		CASE(at_most_max_map_count),
		CASE(obvious_overcommit_is_refused), CASE(what_is_mapped_over_is_not_charged),
		CASE(a_move_is_charged_for_what_grows), CASE(a_child_is_charged_area_by_area),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	return case_status(cmocka_run_group_tests(tests, NULL, NULL),
			   sizeof(tests) / sizeof(tests[0]));
}
