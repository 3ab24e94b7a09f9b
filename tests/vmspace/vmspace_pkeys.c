/* SPDX-License-Identifier: MIT */
/*
 * vmspace_pkeys.c - memory protection keys and execute-only areas.
 *
 * What is expected was observed on Linux 6.1, 6.12 and 7.3, on a processor that has such keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "machine.h"

#define PAGE 4096UL
#define AT(page) (0x10000000000UL + (page) * PAGE)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static struct vmspace *space;
static struct vmspace_request req;

static long call(enum vmspace_op op, struct vmspace_request args)
{
	req = args;
	req.op = op;
	return vmspace_call(space, &req);
}

#define CALL(op, member, ...) call(op, (struct vmspace_request){ .member = { __VA_ARGS__ } })

static int set_up(void **state)
{
	struct vmspace_config config = machine("6.12");

	(void)state;
	return vmspace_create(&space, &config);
}

static int tear_down(void **state)
{
	const char *reason = "";

	(void)state;
	assert_true(vmspace_check(space, &reason));
	vmspace_destroy(space);
	return 0;
}

static void map(unsigned long page, unsigned long pages, int prot)
{
	assert_int_equal(CALL(VMSPACE_MMAP, mmap, .addr = AT(page), .length = pages * PAGE,
			      .prot = prot, .flags = ANON | MAP_FIXED), AT(page));
}

static void map_shared(unsigned long page, unsigned long pages, int prot)
{
	assert_int_equal(CALL(VMSPACE_MMAP, mmap, .addr = AT(page), .length = pages * PAGE,
			      .prot = prot, .flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED),
			 AT(page));
}

static long protect(unsigned long page, unsigned long pages, int prot)
{
	return CALL(VMSPACE_MPROTECT, mprotect, AT(page), pages * PAGE, prot, -1);
}

static long protect_with(unsigned long page, unsigned long pages, int prot, int pkey)
{
	return CALL(VMSPACE_MPROTECT, mprotect, AT(page), pages * PAGE, prot, pkey);
}

static long new_key(void)
{
	return CALL(VMSPACE_PKEY_ALLOC, pkey_alloc, 0, 0);
}

static long free_key(int pkey)
{
	return CALL(VMSPACE_PKEY_FREE, pkey_free, pkey);
}

static long touch(unsigned long page, unsigned int access)
{
	return CALL(VMSPACE_FAULT, fault, AT(page), access);
}

static unsigned int key_of(unsigned long page)
{
	struct vma_info info;

	assert_true(vmspace_lookup(space, AT(page), &info));
	return info.pkey;
}

static void expect_keys(const char *keys)
{
	for (unsigned long page = 0; keys[page]; page++)
		if (key_of(page) != (unsigned int)(keys[page] - '0'))
			fail_msg("page %lu has key %u, not %c", page, key_of(page), keys[page]);
}

static void areas_without_read_get_a_key_that_denies_it(void **state)
{
	(void)state;
	map(0, 4, PROT_EXEC);
	expect_keys("1111");
	assert_int_equal(touch(0, VMSPACE_ACCESS_EXEC), 0);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), -EACCES);
	assert_int_equal(touch(0, VMSPACE_ACCESS_WRITE), -EACCES);
	assert_int_equal(CALL(VMSPACE_MLOCK, mlock, AT(0), PAGE, 0, false), -ENOMEM);
	assert_int_equal(CALL(VMSPACE_MLOCK, mlock, AT(0), PAGE, MLOCK_ONFAULT, true), 0);
	assert_int_equal(new_key(), 2);
}

static void mprotect_gives_the_key_and_takes_it(void **state)
{
	(void)state;
	map(0, 4, RW);
	assert_int_equal(protect(0, 4, PROT_EXEC), 0);
	assert_int_equal(protect(1, 1, PROT_READ), 0);
	assert_int_equal(protect(2, 1, PROT_NONE), 0);
	expect_keys("1001");
	assert_int_equal(touch(1, VMSPACE_ACCESS_READ), 0);
	/* PROT_SEM: not execute-only in the kernel's eyes. */
	assert_int_equal(protect(0, 1, PROT_EXEC | 8), 0);
	expect_keys("0001");
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), 0);
	assert_int_equal(protect(0, 4, PROT_EXEC), 0);
	expect_keys("1111");
	assert_int_equal(protect_with(2, 1, PROT_EXEC, 0), 0);
	expect_keys("1101");
	assert_int_equal(protect_with(3, 1, PROT_READ, 1), -EINVAL);
	assert_int_equal(free_key(1), -EINVAL);
}

static void a_key_of_the_programs_own_stays(void **state)
{
	(void)state;
	assert_int_equal(new_key(), 1);
	map(0, 4, RW);
	assert_int_equal(protect_with(0, 4, RW, 1), 0);
	assert_int_equal(protect(0, 1, PROT_READ), 0);
	expect_keys("1111");
	assert_int_equal(protect(1, 1, PROT_EXEC), 0);
	expect_keys("1211");
	assert_int_equal(protect(1, 1, RW), 0);
	expect_keys("1011");
	assert_int_equal(protect_with(2, 1, PROT_EXEC, 1), 0);
	assert_int_equal(protect(2, 1, PROT_READ), 0);
	expect_keys("1011");
}

static void without_a_free_key_execute_only_areas_are_readable(void **state)
{
	(void)state;
	for (int key = 1; key < 16; key++)
		assert_int_equal(new_key(), key);
	assert_int_equal(new_key(), -ENOSPC);
	map(0, 2, PROT_EXEC);
	expect_keys("00");
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), 0);
	map(2, 1, RW);
	assert_int_equal(protect_with(2, 1, RW, 3), 0);
	assert_int_equal(protect(2, 1, PROT_EXEC), 0);
	expect_keys("003");
	assert_int_equal(free_key(5), 0);
	assert_int_equal(protect(1, 1, PROT_EXEC), 0);
	expect_keys("053");
	assert_int_equal(free_key(5), -EINVAL);
	assert_int_equal(new_key(), -ENOSPC);
}

/* Areas that kept a freed key are denied reading when it becomes the execute-only one. */
static void a_freed_key_may_become_the_execute_only_one(void **state)
{
	(void)state;
	assert_int_equal(new_key(), 1);
	map(0, 4, RW);
	assert_int_equal(protect_with(0, 4, RW, 1), 0);
	assert_int_equal(free_key(1), 0);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), 0);
	map(8, 1, PROT_EXEC);
	assert_int_equal(key_of(8), 1);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), -EACCES);
	assert_int_equal(CALL(VMSPACE_MLOCK, mlock, AT(0), PAGE, 0, false), -ENOMEM);
	assert_int_equal(protect(0, 1, PROT_READ), 0);
	assert_int_equal(protect(1, 1, PROT_NONE), 0);
	assert_int_equal(protect(3, 1, PROT_EXEC), 0);
	assert_int_equal(protect(0, 4, RW), 0);
	expect_keys("1110");
}

static void what_is_no_key_is_refused(void **state)
{
	(void)state;
	map(0, 1, RW);
	assert_int_equal(protect_with(0, 1, RW, 9), -EINVAL);
	assert_int_equal(protect_with(0, 1, RW, 16), -EINVAL);
	assert_int_equal(protect_with(0, 1, RW, -2), -EINVAL);
	assert_int_equal(protect_with(0, 0, RW, 9), 0);
	assert_int_equal(protect_with(100, 1, RW, 9), -EINVAL);
	assert_int_equal(free_key(16), -EINVAL);
	assert_int_equal(free_key(-1), -EINVAL);
	assert_int_equal(free_key(9), -EINVAL);
	assert_int_equal(CALL(VMSPACE_PKEY_ALLOC, pkey_alloc, 1, 0), -EINVAL);
	assert_int_equal(CALL(VMSPACE_PKEY_ALLOC, pkey_alloc, 0, 4), -EINVAL);
	assert_int_equal(CALL(VMSPACE_PKEY_ALLOC, pkey_alloc, 0, 3), 1);
	/* Even key 0 can be freed, and no area gets it any more by its number. */
	assert_int_equal(free_key(0), 0);
	assert_int_equal(protect_with(0, 1, RW, 0), -EINVAL);
	assert_int_equal(new_key(), 0);
}

/* A refused call has allocated the key if it came to the point where it is needed. */
static void refused_calls_that_take_the_key(void **state)
{
	(void)state;
	assert_int_equal(protect(0, 1, PROT_EXEC), -ENOMEM);
	assert_int_equal(new_key(), 1);
	assert_int_equal(free_key(1), 0);
	map(0, 1, PROT_READ);
	assert_int_equal(protect(0, 2, PROT_EXEC), -ENOMEM);
	expect_keys("1");
	assert_int_equal(new_key(), 2);
}

static void children_inherit_keys_and_programs_do_not(void **state)
{
	const struct vmspace_image image = { 0 };
	struct vmspace *parent = space;

	(void)state;
	map(0, 4, PROT_EXEC);
	assert_int_equal(CALL(VMSPACE_FORK, fork, .child = NULL), 0);
	space = req.fork.child;
	expect_keys("1111");
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), -EACCES);
	assert_int_equal(new_key(), 2);
	assert_int_equal(vmspace_exec(space, NULL, 0, &image), 0);
	assert_int_equal(new_key(), 1);
	vmspace_destroy(space);
	space = parent;
	assert_int_equal(new_key(), 2);
}

static void remap_file_pages_chooses_the_key_anew(void **state)
{
	(void)state;
	assert_int_equal(new_key(), 1);
	map_shared(0, 4, RW);
	assert_int_equal(protect_with(0, 4, RW, 1), 0);
	assert_int_equal(CALL(VMSPACE_REMAP_FILE_PAGES, remap_file_pages, AT(0), PAGE, 0, 1, 0, 0),
			 0);
	expect_keys("0111");
	assert_int_equal(protect_with(0, 4, PROT_EXEC, 1), 0);
	assert_int_equal(CALL(VMSPACE_REMAP_FILE_PAGES, remap_file_pages, AT(0), PAGE, 0, 2, 0, 0),
			 0);
	expect_keys("2111");
}

/* It takes several areas for one only if nothing but their pages' numbers differ. */
static void remap_file_pages_does_not_cross_keys(void **state)
{
	(void)state;
	assert_int_equal(new_key(), 1);
	map_shared(0, 4, RW);
	assert_int_equal(protect_with(2, 2, RW, 1), 0);
	assert_int_equal(CALL(VMSPACE_REMAP_FILE_PAGES, remap_file_pages, AT(0), 4 * PAGE, 0, 1, 0,
			      0), -EINVAL);
	expect_keys("0011");
	assert_int_equal(protect_with(2, 2, RW, 0), 0);
	assert_int_equal(CALL(VMSPACE_REMAP_FILE_PAGES, remap_file_pages, AT(0), 4 * PAGE, 0, 1, 0,
			      0), 0);
}

/* A process that was attached to: areas tell some keys, the host's results the others. */
static void keys_are_learned_from_areas_and_the_host(void **state)
{
	const struct vmspace_area areas[] = {
		{ .start = AT(0), .end = AT(1), .flags = VMA_EXEC | VMA_MAYEXEC, .pkey = 3 },
		{ .start = AT(1), .end = AT(2), .flags = VMA_READ | VMA_MAYREAD, .pkey = 2 },
	};
	const struct vmspace_image image = { .pkeys_unknown = true };

	(void)state;
	assert_int_equal(vmspace_exec(space, areas, 2, &image), 0);
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), -EACCES);
	assert_int_equal(free_key(3), -EINVAL);
	/* 1, 2 and 3 are used; the host says that 4 is, too. */
	req = (struct vmspace_request){ .op = VMSPACE_PKEY_ALLOC,
					.host = { .valid = true, .result = 5 } };
	assert_int_equal(vmspace_call(space, &req), 5);
	assert_false(req.out.differs);
	assert_int_equal(new_key(), 6);
	req = (struct vmspace_request){ .op = VMSPACE_MPROTECT,
					.mprotect = { AT(1), PAGE, PROT_READ, 9 },
					.host = { .valid = true } };
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_false(req.out.differs);
	assert_int_equal(key_of(1), 9);
}

/* Of a program known from its start on everything is known. */
static void a_host_that_contradicts_is_a_difference(void **state)
{
	(void)state;
	req = (struct vmspace_request){ .op = VMSPACE_PKEY_ALLOC,
					.host = { .valid = true, .result = 5 } };
	assert_int_equal(vmspace_call(space, &req), 1);
	assert_true(req.out.differs);
}

static void processors_without_keys(void **state)
{
	struct vmspace_config config = *vmspace_config(space);

	(void)state;
	config.pkeys = false;
	assert_int_equal(vmspace_configure(space, &config), 0);
	map(0, 1, PROT_EXEC);
	expect_keys("0");
	assert_int_equal(touch(0, VMSPACE_ACCESS_READ), 0);
	assert_int_equal(new_key(), -ENOSPC);
	assert_int_equal(free_key(0), -EINVAL);
	assert_int_equal(protect_with(0, 1, RW, 0), -EINVAL);
	assert_int_equal(protect(0, 1, RW), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(areas_without_read_get_a_key_that_denies_it),
		TEST(mprotect_gives_the_key_and_takes_it),
		TEST(a_key_of_the_programs_own_stays),
		TEST(without_a_free_key_execute_only_areas_are_readable),
		TEST(a_freed_key_may_become_the_execute_only_one),
		TEST(what_is_no_key_is_refused),
		TEST(refused_calls_that_take_the_key),
		TEST(children_inherit_keys_and_programs_do_not),
		TEST(remap_file_pages_chooses_the_key_anew),
		TEST(remap_file_pages_does_not_cross_keys),
		TEST(keys_are_learned_from_areas_and_the_host),
		TEST(a_host_that_contradicts_is_a_difference),
		TEST(processors_without_keys),
	};

	return cmocka_run_group_tests_name("pkeys", tests, NULL, NULL);
}
