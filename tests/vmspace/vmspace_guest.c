/* SPDX-License-Identifier: MIT */
/*
 * vmspace_guest.c - the calls of an emulator are functions, each the request of its name: two spaces, one
 * of which gets the functions and the other the requests, answer the same and have the same areas.
 */
#include <mapletree/vmspace_guest.h> /* by itself */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <mapletree/vmspace_words.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "machine.h"

#define PAGE 4096UL
#define AT(page) (0x10000000000UL + (page) * PAGE)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static struct vmspace *space, *other;

static const struct vma_backing file = {
	.kind = VMA_BACKING_FILE, .name = "/lib/libc.so", .dev_major = 8, .inode = 4711, .file_id = 3,
};
static const struct vma_backing segment = {
	.kind = VMA_BACKING_SYSV, .name = "/SYSV00000001 (deleted)", .inode = 5,
};

static int set_up(void **state)
{
	const struct vmspace_image image = { .start_brk = 0x600000, .brk = 0x600000 };
	struct vmspace_config config = machine("7.3");

	(void)state;
	config.anon_names = true;
	config.ram_pages = 1 << 20;
	return vmspace_create(&space, &config) || vmspace_create(&other, &config) ||
	       vmspace_exec(space, NULL, 0, &image) || vmspace_exec(other, NULL, 0, &image);
}

static int tear_down(void **state)
{
	struct vmspace_stats ours, theirs;
	const char *reason = "";

	(void)state;
	vmspace_stats(space, &ours);
	vmspace_stats(other, &theirs);
	assert_memory_equal(ours.requests, theirs.requests, sizeof(ours.requests));
	assert_true(vmspace_check(space, &reason));
	vmspace_destroy(space);
	vmspace_destroy(other);
	return 0;
}

/* What the function answered is what the request does, and what it did. */
static void same(long result, enum vmspace_op op, struct vmspace_request req)
{
	char ours[8192], theirs[8192];

	req.op = op;
	assert_int_equal(result, vmspace_call(other, &req));
	assert_true(vmspace_show(space, ours, sizeof(ours)) < sizeof(ours));
	vmspace_show(other, theirs, sizeof(theirs));
	assert_string_equal(ours, theirs);
}

#define SAME(result, op, member, ...) \
	same(result, op, (struct vmspace_request){ .member = { __VA_ARGS__ } })

static void map(unsigned long page, unsigned long pages, int prot)
{
	long at = vmspace_mmap(space, AT(page), pages * PAGE, prot, ANON | MAP_FIXED, NULL, 0);

	assert_int_equal(at, AT(page));
	SAME(at, VMSPACE_MMAP, mmap, .addr = AT(page), .length = pages * PAGE, .prot = prot,
	     .flags = ANON | MAP_FIXED);
}

static void the_names_are_those_of_requests(void **state)
{
	const struct vmspace_config *config = vmspace_config(space);

	(void)state;
	assert_int_equal(config->page_size, PAGE);
	map(0, 8, RW);
	SAME(vmspace_munmap(space, AT(2), PAGE), VMSPACE_MUNMAP, munmap, AT(2), PAGE);
	SAME(vmspace_munmap(space, AT(2) + 1, PAGE), VMSPACE_MUNMAP, munmap, AT(2) + 1, PAGE);
	SAME(vmspace_mprotect(space, AT(0), PAGE, PROT_READ),
	     VMSPACE_MPROTECT, mprotect, AT(0), PAGE, PROT_READ, -1);
	SAME(vmspace_mremap(space, AT(4), PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20)),
	     VMSPACE_MREMAP, mremap, AT(4), PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, AT(20));
	SAME(vmspace_brk(space, 0x604000), VMSPACE_BRK, brk, 0x604000);
	assert_int_equal(vmspace_brk(space, 0), 0x604000);
	SAME(0x604000, VMSPACE_BRK, brk, 0);
	SAME(vmspace_madvise(space, AT(0), PAGE, MADV_DONTFORK),
	     VMSPACE_MADVISE, madvise, AT(0), PAGE, MADV_DONTFORK);
	SAME(vmspace_madvise(space, AT(0), PAGE, 12345), VMSPACE_MADVISE, madvise, AT(0), PAGE, 12345);
	SAME(vmspace_mseal(space, AT(3), PAGE, 0), VMSPACE_MSEAL, mseal, AT(3), PAGE, 0);
	SAME(vmspace_munmap(space, AT(3), PAGE), VMSPACE_MUNMAP, munmap, AT(3), PAGE);
	SAME(vmspace_set_anon_name(space, AT(20), PAGE, "arena"),
	     VMSPACE_SET_ANON_NAME, set_anon_name, AT(20), PAGE, "arena");
	SAME(vmspace_set_anon_name(space, AT(20), PAGE, NULL),
	     VMSPACE_SET_ANON_NAME, set_anon_name, AT(20), PAGE, NULL);
}

static void a_file_is_mapped_as_it_is_described(void **state)
{
	const struct vmspace_mmap args = { .length = 3 * PAGE, .prot = PROT_READ, .flags = MAP_SHARED,
					   .offset = PAGE, .backing = file };
	struct vma_info info;
	long at = vmspace_mmap(space, 0, 3 * PAGE, PROT_READ, MAP_SHARED, &file, PAGE);

	(void)state;
	same(at, VMSPACE_MMAP, (struct vmspace_request){ .mmap = args });
	assert_true(vmspace_lookup(space, (unsigned long)at, &info));
	assert_string_equal(info.backing.name, file.name);
	assert_int_equal(info.offset, PAGE);
	at = vmspace_mmap(space, 0, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, NULL, 0);
	SAME(at, VMSPACE_MMAP, mmap, .length = PAGE, .prot = RW,
	     .flags = MAP_SHARED | MAP_ANONYMOUS);
	at = vmspace_shmat(space, 0, SHM_RDONLY, 2 * PAGE, &segment);
	SAME(at, VMSPACE_SHMAT, shmat, 0, SHM_RDONLY, 2 * PAGE, segment);
	SAME(vmspace_shmdt(space, (unsigned long)at), VMSPACE_SHMDT, shmdt, (unsigned long)at);
	SAME(vmspace_shmdt(space, (unsigned long)at), VMSPACE_SHMDT, shmdt, (unsigned long)at);
	SAME(vmspace_msync(space, AT(90), PAGE, MS_SYNC), VMSPACE_MSYNC, msync, AT(90), PAGE, MS_SYNC);
	SAME(vmspace_msync(space, AT(90), PAGE, 99), VMSPACE_MSYNC, msync, AT(90), PAGE, 99);
}

static void without_a_file_the_descriptor_is_not_open(void **state)
{
	(void)state;
	assert_int_equal(vmspace_mmap(space, 0, PAGE, PROT_READ, MAP_PRIVATE, NULL, 0), -EBADF);
	assert_int_equal(vmspace_mmap(space, 0, PAGE, PROT_READ, MAP_PRIVATE, NULL, 1), -EINVAL);
	for (uint64_t offset = 0; offset < 2; offset++)
		vmspace_call(other, &(struct vmspace_request){
			.op = VMSPACE_MMAP, .mmap = { .length = PAGE, .flags = MAP_PRIVATE,
						      .offset = offset, .bad_fd = true } });
}

static void memory_is_locked(void **state)
{
	(void)state;
	map(0, 4, RW);
	SAME(vmspace_mlock(space, AT(0), PAGE), VMSPACE_MLOCK, mlock, AT(0), PAGE, 0, false);
	SAME(vmspace_mlock2(space, AT(1), PAGE, MLOCK_ONFAULT),
	     VMSPACE_MLOCK, mlock, AT(1), PAGE, MLOCK_ONFAULT, true);
	SAME(vmspace_mlock2(space, AT(1), PAGE, 77), VMSPACE_MLOCK, mlock, AT(1), PAGE, 77, true);
	SAME(vmspace_munlock(space, AT(0), PAGE), VMSPACE_MUNLOCK, mlock, AT(0), PAGE, 0, false);
	SAME(vmspace_mlockall(space, MCL_FUTURE), VMSPACE_MLOCKALL, mlockall, MCL_FUTURE);
	SAME(vmspace_mlockall(space, 0), VMSPACE_MLOCKALL, mlockall, 0);
	map(10, 1, RW);
	same(vmspace_munlockall(space), VMSPACE_MUNLOCKALL, (struct vmspace_request){ 0 });
}

/* It was read through NULL. */
static void regress_without_a_segment_there_is_nothing_to_attach(void **state)
{
	(void)state;
	SAME(vmspace_shmat(space, 0, 0, PAGE, NULL), VMSPACE_SHMAT, shmat, 0, 0, 0, segment);
	assert_int_equal(vmspace_shmat(space, AT(0), SHM_REMAP, PAGE, NULL), -EINVAL);
	same(-EINVAL, VMSPACE_SHMAT, (struct vmspace_request){ .shmat = { .size = 0 } });
}

static void keys_and_policies_are_set(void **state)
{
	long key = vmspace_pkey_alloc(space, 0, 0);

	(void)state;
	map(0, 4, RW);
	assert_int_equal(key, 1);
	SAME(key, VMSPACE_PKEY_ALLOC, pkey_alloc, 0, 0);
	SAME(vmspace_pkey_alloc(space, 1, 0), VMSPACE_PKEY_ALLOC, pkey_alloc, 1, 0);
	SAME(vmspace_pkey_mprotect(space, AT(1), PAGE, RW, (int)key),
	     VMSPACE_MPROTECT, mprotect, AT(1), PAGE, RW, (int)key);
	SAME(vmspace_pkey_free(space, (int)key), VMSPACE_PKEY_FREE, pkey_free, (int)key);
	SAME(vmspace_pkey_free(space, (int)key), VMSPACE_PKEY_FREE, pkey_free, (int)key);
	SAME(vmspace_mbind(space, AT(2), PAGE, MPOL_BIND, 1, 0),
	     VMSPACE_MBIND, mbind, AT(2), PAGE, MPOL_BIND, 1, 0);
	SAME(vmspace_mbind(space, AT(2), PAGE, 99, 1, 0), VMSPACE_MBIND, mbind, AT(2), PAGE, 99, 1, 0);
	SAME(vmspace_set_mempolicy_home_node(space, AT(2), PAGE, 0, 0),
	     VMSPACE_SET_HOME_NODE, home_node, AT(2), PAGE, 0, 0);
	SAME(vmspace_set_mempolicy_home_node(space, AT(2), PAGE, 0, 1),
	     VMSPACE_SET_HOME_NODE, home_node, AT(2), PAGE, 0, 1);
}

static void mprotect_leaves_the_key_as_it_is(void **state)
{
	struct vma_info info;

	(void)state;
	map(0, 1, RW);
	assert_int_equal(vmspace_pkey_alloc(space, 0, 0), 1);
	SAME(1, VMSPACE_PKEY_ALLOC, pkey_alloc, 0, 0);
	SAME(vmspace_pkey_mprotect(space, AT(0), PAGE, RW, 1),
	     VMSPACE_MPROTECT, mprotect, AT(0), PAGE, RW, 1);
	SAME(vmspace_mprotect(space, AT(0), PAGE, PROT_READ),
	     VMSPACE_MPROTECT, mprotect, AT(0), PAGE, PROT_READ, -1);
	assert_true(vmspace_lookup(space, AT(0), &info));
	assert_int_equal(info.pkey, 1);
}

static void areas_are_made_without_a_word(void **state)
{
	const struct vmspace_word_hooks hooks = { .size = sizeof(hooks) };
	struct vma_info info;

	(void)state;
	assert_int_equal(vmspace_set_word_hooks(space, &hooks), 0);
	assert_int_equal(vmspace_set_word_hooks(other, &hooks), 0);
	map(0, 1, RW);
	assert_true(vmspace_lookup(space, AT(0), &info));
	assert_int_equal(info.word, 0);
}

static void mincore_fills_the_vector_or_has_none(void **state)
{
	unsigned char vec[4] = { 9, 9, 9, 9 };

	(void)state;
	map(0, 3, RW);
	assert_int_equal(vmspace_mincore(space, AT(0), 4 * PAGE, vec), -ENOMEM);
	assert_memory_equal(vec, "\0\0\0\x9", 4);
	assert_int_equal(vmspace_mincore(space, AT(0), PAGE, NULL), -EFAULT);
	assert_int_equal(vmspace_mincore(space, AT(0), 0, NULL), 0);
	for (int i = 0; i < 3; i++)
		vmspace_call(other, &(struct vmspace_request){ .op = VMSPACE_MINCORE });
}

static void a_child_has_the_areas_of_its_parent(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };
	struct vmspace *child = NULL;
	char ours[8192], theirs[8192];

	(void)state;
	map(0, 3, RW);
	assert_int_equal(vmspace_madvise(space, AT(1), PAGE, MADV_DONTFORK), 0);
	SAME(0, VMSPACE_MADVISE, madvise, AT(1), PAGE, MADV_DONTFORK);
	assert_int_equal(vmspace_fork(space, NULL, &child), 0);
	assert_int_equal(vmspace_call(other, &req), 0);
	vmspace_show(child, ours, sizeof(ours));
	vmspace_show(req.fork.child, theirs, sizeof(theirs));
	assert_string_equal(ours, theirs);
	assert_int_equal(vmspace_count_areas(child), 2);
	vmspace_destroy(child);
	vmspace_destroy(req.fork.child);
}

static void a_fork_that_fails_has_no_child(void **state)
{
	struct vmspace *child = space;
	const struct vmspace *still;

	(void)state;
	assert_int_equal(vmspace_snapshot(&still, space), 0);
	/* What is read alone may be called all the same, and refuses. */
	assert_int_equal(vmspace_fork((struct vmspace *)(uintptr_t)still, NULL, &child), -EROFS);
	assert_null(child);
	assert_int_equal(vmspace_munmap((struct vmspace *)(uintptr_t)still, 0, PAGE), -EROFS);
	vmspace_snapshot_close(still);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_names_are_those_of_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_is_mapped_as_it_is_described, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_a_file_the_descriptor_is_not_open, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(memory_is_locked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(regress_without_a_segment_there_is_nothing_to_attach,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_and_policies_are_set, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mprotect_leaves_the_key_as_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(areas_are_made_without_a_word, set_up, tear_down),
		cmocka_unit_test_setup_teardown(mincore_fills_the_vector_or_has_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_child_has_the_areas_of_its_parent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_fork_that_fails_has_no_child, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
