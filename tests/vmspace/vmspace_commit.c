/* SPDX-License-Identifier: MIT */
/*
 * vmspace_commit.c - committed memory in all three modes, pools that spaces share, pinned pages.
 * What the kernel does in mode 0 is compared in oracle_limits.c; mode 2 would concern the machine.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include <mapletree/vmspace.h>

#define PAGE 4096UL
#define BASE 0x10000000000UL
#define RW (PROT_READ | PROT_WRITE)

static struct vmspace_config config;
static struct vmspace *space;
static struct vmspace_request req;
static unsigned long pool;

/* 1000 pages of memory and 100 of swap, of which in mode 2 may be committed 600. */
static int start(void **state)
{
	(void)state;
	pool = 0;
	vmspace_config_init(&config);
	config.page_size = PAGE;
	config.mmap_base = 0x7f0000000000;
	config.overcommit = 2;
	config.ram_pages = 1000;
	config.swap_pages = 100;
	config.huge_pages = 0;
	config.overcommit_ratio = 50;
	config.overcommit_kbytes = 0;
	config.admin_reserve_kbytes = config.user_reserve_kbytes = 0;
	config.admin = false;
	config.committed_elsewhere = 0;
	config.lock_privileged = false;
	config.rlimit_as = config.rlimit_data = config.rlimit_data_max = VMSPACE_NO_LIMIT;
	config.rlimit_stack = config.rlimit_memlock = VMSPACE_NO_LIMIT;
	return vmspace_create(&space, &config);
}

static int end(void **state)
{
	(void)state;
	vmspace_destroy(space);
	return 0;
}

static void apply(void)
{
	assert_int_equal(vmspace_configure(space, &config), 0);
}

static struct vmspace_stats stats(const struct vmspace *of)
{
	struct vmspace_stats now;
	const char *why = "";

	if (!vmspace_check(of, &why))
		fail_msg("%s", why);
	vmspace_stats(of, &now);
	return now;
}

static long call(struct vmspace *in, enum vmspace_op op)
{
	req.op = op;
	return vmspace_call(in, &req);
}

static long map(struct vmspace *in, unsigned long at, unsigned long pages, int prot, int flags)
{
	memset(&req, 0, sizeof(req));
	req.mmap = (struct vmspace_mmap){ .addr = BASE + at * PAGE, .length = pages * PAGE,
					  .prot = prot,
					  .flags = MAP_ANONYMOUS | MAP_FIXED | flags };
	return call(in, VMSPACE_MMAP);
}

static long unmap(struct vmspace *in, unsigned long at, unsigned long pages)
{
	memset(&req, 0, sizeof(req));
	req.munmap = (struct vmspace_munmap){ BASE + at * PAGE, pages * PAGE };
	return call(in, VMSPACE_MUNMAP);
}

static void assert_fits(unsigned long pages)
{
	assert_int_equal(map(space, 0, pages + 1, RW, MAP_PRIVATE), -ENOMEM);
	assert_int_equal(map(space, 0, pages, RW, MAP_PRIVATE), BASE);
	assert_int_equal(stats(space).committed_vm, pages);
	assert_int_equal(unmap(space, 0, pages), 0);
	assert_int_equal(stats(space).committed_vm, 0);
}

/* The sum must stay below the limit. */
static void never_overcommit_keeps_below_the_limit(void **state)
{
	(void)state;
	assert_int_equal(stats(space).commit_limit, 600);
	assert_fits(599);
	config.huge_pages = 200;
	apply();
	assert_fits(499);
	config.overcommit_kbytes = 300 * PAGE / 1024;
	apply();
	assert_fits(399);
	config.committed_elsewhere = 100;
	apply();
	assert_fits(299);
}

static void reserves_are_kept(void **state)
{
	(void)state;
	config.admin_reserve_kbytes = 50 * PAGE / 1024;
	apply();
	assert_fits(549);
	config.admin = true;
	apply();
	assert_fits(599);
	/* A thirty-second of the process, at most the reserve. */
	config.user_reserve_kbytes = 10 * PAGE / 1024;
	apply();
	assert_int_equal(map(space, 10000, 160, PROT_READ, MAP_PRIVATE), BASE + 10000 * PAGE);
	assert_fits(594);
	assert_int_equal(map(space, 10000, 3200, PROT_READ, MAP_PRIVATE), BASE + 10000 * PAGE);
	assert_fits(589);
}

static void never_overcommit_knows_no_noreserve(void **state)
{
	(void)state;
	assert_int_equal(map(space, 0, 600, RW, MAP_PRIVATE | MAP_NORESERVE), -ENOMEM);
	config.overcommit = 1;
	apply();
	assert_int_equal(map(space, 0, 600, RW, MAP_PRIVATE | MAP_NORESERVE), BASE);
	assert_int_equal(stats(space).committed_vm, 0);
}

static void always_overcommit_counts_and_refuses_nothing(void **state)
{
	(void)state;
	config.overcommit = 1;
	apply();
	assert_int_equal(map(space, 0, 5000, RW, MAP_PRIVATE), BASE);
	assert_int_equal(stats(space).committed_vm, 5000);
}

static void unknown_memory_refuses_nothing(void **state)
{
	(void)state;
	config.ram_pages = 0;
	apply();
	assert_int_equal(map(space, 0, 5000, RW, MAP_PRIVATE), BASE);
	config.overcommit = 0;
	apply();
	assert_int_equal(map(space, 0, 5000, RW, MAP_PRIVATE), BASE);
}

static void every_call_is_charged(void **state)
{
	struct vmspace_image image = { .start_brk = BASE + 100000 * PAGE };
	unsigned long brk = image.start_brk;

	(void)state;
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	assert_int_equal(map(space, 0, 500, RW, MAP_PRIVATE), BASE);
	memset(&req, 0, sizeof(req));
	req.brk.brk = brk + 100 * PAGE;
	assert_int_equal(call(space, VMSPACE_BRK), brk);
	req.brk.brk = brk + 50 * PAGE;
	assert_int_equal(call(space, VMSPACE_BRK), brk + 50 * PAGE);
	memset(&req, 0, sizeof(req));
	req.mremap = (struct vmspace_mremap){ BASE, 500 * PAGE, 550 * PAGE, MREMAP_MAYMOVE, 0 };
	assert_int_equal(call(space, VMSPACE_MREMAP), -ENOMEM);
	req.mremap.new_length = 540 * PAGE;
	assert_int_equal(call(space, VMSPACE_MREMAP), BASE);
	assert_int_equal(map(space, 1000, 10, PROT_READ, MAP_PRIVATE), BASE + 1000 * PAGE);
	memset(&req, 0, sizeof(req));
	req.mprotect = (struct vmspace_mprotect){ BASE + 1000 * PAGE, 10 * PAGE, RW, -1 };
	assert_int_equal(call(space, VMSPACE_MPROTECT), -ENOMEM);
	req.mprotect.length = 9 * PAGE;
	assert_int_equal(call(space, VMSPACE_MPROTECT), 0);
	assert_int_equal(stats(space).committed_vm, 599);
	assert_int_equal(map(space, 2000, 1, RW, MAP_SHARED), -ENOMEM);
}

static void a_stack_grows_no_further_than_the_limit(void **state)
{
	(void)state;
	assert_int_equal(map(space, 1000, 2, RW, MAP_PRIVATE | MAP_GROWSDOWN), BASE + 1000 * PAGE);
	memset(&req, 0, sizeof(req));
	req.fault = (struct vmspace_fault){ BASE + 402 * PAGE, VMSPACE_ACCESS_WRITE };
	assert_int_equal(call(space, VMSPACE_FAULT), -EFAULT);
	req.fault.addr = BASE + 403 * PAGE;
	assert_int_equal(call(space, VMSPACE_FAULT), 0);
	assert_int_equal(stats(space).committed_vm, 599);
}

static void spaces_share_a_pool(void **state)
{
	struct vmspace *other, *child, *trial;

	(void)state;
	pool = 100;
	config.commit_pool = &pool;
	apply();
	assert_int_equal(vmspace_create(&other, &config), 0);
	assert_int_equal(map(space, 0, 200, RW, MAP_PRIVATE), BASE);
	assert_int_equal(map(other, 0, 300, RW, MAP_PRIVATE), -ENOMEM);
	assert_int_equal(map(other, 0, 50, RW, MAP_PRIVATE), BASE);
	assert_int_equal(pool, 350);
	assert_int_equal(vmspace_clone(&trial, space), 0);
	assert_int_equal(pool, 350);
	assert_int_equal(stats(trial).commit_total, 350);
	vmspace_destroy(trial);
	memset(&req, 0, sizeof(req));
	assert_int_equal(call(space, VMSPACE_FORK), 0);
	child = req.fork.child;
	assert_int_equal(pool, 550);
	memset(&req, 0, sizeof(req));
	assert_int_equal(call(other, VMSPACE_FORK), -ENOMEM);
	assert_null(req.fork.child);
	assert_int_equal(stats(child).commit_total, 550);
	vmspace_destroy(child);
	vmspace_exit(other);
	assert_int_equal(pool, 300);
	vmspace_destroy(other);
	/* Leaving the pool takes along what was charged there. */
	config.commit_pool = NULL;
	apply();
	assert_int_equal(pool, 100);
	assert_int_equal(stats(space).commit_total, 200);
}

static void exec_moves_the_charge(void **state)
{
	struct vmspace_area area = {
		.start = BASE, .end = BASE + 30 * PAGE,
		.flags = VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE | VMA_ACCOUNT,
	};
	struct vmspace_image image = { 0 };

	(void)state;
	config.commit_pool = &pool;
	apply();
	assert_int_equal(map(space, 0, 200, RW, MAP_PRIVATE), BASE);
	assert_int_equal(vmspace_exec(space, &area, 1, &image), 0);
	assert_int_equal(pool, 30);
	assert_int_equal(stats(space).committed_vm, 30);
	area.end = area.start;
	assert_int_equal(vmspace_exec(space, &area, 1, &image), -EINVAL);
	assert_int_equal(pool, 30);
	vmspace_exit(space);
	assert_int_equal(pool, 0);
}

static void pinned_pages_have_a_limit_of_their_own(void **state)
{
	struct vmspace *child;

	(void)state;
	config.rlimit_memlock = 10 * PAGE;
	apply();
	assert_int_equal(vmspace_pin(space, 11), -ENOMEM);
	assert_int_equal(vmspace_pin(space, 8), 0);
	assert_int_equal(vmspace_pin(space, 3), -ENOMEM);
	assert_int_equal(vmspace_pin(space, ~0UL), -ENOMEM);
	assert_int_equal(stats(space).pinned_vm, 8);
	assert_int_equal(stats(space).locked_vm, 0);
	config.lock_privileged = true;
	apply();
	assert_int_equal(vmspace_pin(space, 3), 0);
	memset(&req, 0, sizeof(req));
	assert_int_equal(call(space, VMSPACE_FORK), 0);
	child = req.fork.child;
	assert_int_equal(stats(child).pinned_vm, 0);
	vmspace_destroy(child);
	assert_int_equal(vmspace_unpin(space, 12), -EINVAL);
	assert_int_equal(vmspace_unpin(space, 11), 0);
	assert_int_equal(stats(space).pinned_vm, 0);
}

/* mprotect of several areas stops at the one that is too large, also if the host has said so. */
static void mprotect_stops_at_an_area_too_large(void **state)
{
	(void)state;
	config.overcommit = 0;
	apply();
	for (int told = 0; told < 2; told++) {
		assert_int_equal(map(space, 0, 2, PROT_READ, MAP_PRIVATE), BASE);
		assert_int_equal(map(space, 2, 1101, PROT_NONE, MAP_PRIVATE), BASE + 2 * PAGE);
		memset(&req, 0, sizeof(req));
		req.mprotect = (struct vmspace_mprotect){ BASE, 1103 * PAGE, PROT_WRITE, -1 };
		req.host.valid = told;
		req.host.result = -ENOMEM;
		assert_int_equal(call(space, VMSPACE_MPROTECT), -ENOMEM);
		assert_false(req.out.differs);
		assert_int_equal(stats(space).committed_vm, 2);
		assert_int_equal(unmap(space, 0, 1103), 0);
	}
}

/* Mode 0 looks at each area by itself: two that may be mapped can be one that may not be copied. */
static void a_fork_is_refused_for_one_area_too_large(void **state)
{
	(void)state;
	config.overcommit = 0;
	apply();
	assert_int_equal(map(space, 0, 600, RW, MAP_PRIVATE), BASE);
	assert_int_equal(map(space, 5000, 600, RW, MAP_PRIVATE), BASE + 5000 * PAGE);
	memset(&req, 0, sizeof(req));
	assert_int_equal(call(space, VMSPACE_FORK), 0);
	vmspace_destroy(req.fork.child);
	assert_int_equal(map(space, 600, 600, RW, MAP_PRIVATE), BASE + 600 * PAGE);
	assert_int_equal(stats(space).areas, 2);
	memset(&req, 0, sizeof(req));
	assert_int_equal(call(space, VMSPACE_FORK), -ENOMEM);
	assert_null(req.fork.child);
	memset(&req, 0, sizeof(req));
	req.munmap = (struct vmspace_munmap){ BASE + 1000 * PAGE, 200 * PAGE };
	assert_int_equal(call(space, VMSPACE_MUNMAP), 0);
	memset(&req, 0, sizeof(req));
	assert_int_equal(call(space, VMSPACE_FORK), 0);
	vmspace_destroy(req.fork.child);
}

#define RULE(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(never_overcommit_keeps_below_the_limit), RULE(reserves_are_kept),
		RULE(never_overcommit_knows_no_noreserve),
		RULE(always_overcommit_counts_and_refuses_nothing),
		RULE(unknown_memory_refuses_nothing), RULE(every_call_is_charged),
		RULE(a_stack_grows_no_further_than_the_limit), RULE(spaces_share_a_pool),
		RULE(exec_moves_the_charge), RULE(pinned_pages_have_a_limit_of_their_own),
		RULE(mprotect_stops_at_an_area_too_large),
		RULE(a_fork_is_refused_for_one_area_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
