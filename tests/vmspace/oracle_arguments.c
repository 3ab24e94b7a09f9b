/* SPDX-License-Identifier: MIT */
/*
 * oracle_arguments.c - arguments at the edge of what calls take: addresses in the first and the
 * last page, offsets from 2^63 on, lengths beyond the address space, flags that few use. Made for
 * real and in libvmspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include "cases.h"

#define TIB (1UL << 40)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static long make_map(unsigned long addr, unsigned long length, int prot, int flags)
{
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = addr, .length = length, .prot = prot, .flags = flags };
	return both(&pair);
}

static long map_backing(const struct vma_backing *backing, unsigned long addr,
			unsigned long length, int prot, int flags, uint64_t offset)
{
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = addr, .length = length, .prot = prot, .flags = flags,
		.offset = offset, .backing = *backing };
	return both(&pair);
}

/* ---- files beside those of puppets ---- */

enum file { FILE_SEALED, FILE_SEALED_READ_ONLY, FILE_ON_NOEXEC, FILES };

static struct backing_file files[FILES];

static int open_sealed(int mode)
{
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING), again;
	char path[64];

	if (fd < 0 || ftruncate(fd, 64 * PAGE) || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, mode);
	close(fd);
	return again;
}

static int open_on_noexec(void)
{
	char dir[] = "/tmp/noexec-XXXXXX", path[64];
	int fd;

	if (!mkdtemp(dir))
		return -1;
	if (mount("none", dir, "tmpfs", MS_NOEXEC, NULL)) {
		rmdir(dir);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd >= 0 && ftruncate(fd, 64 * PAGE))
		fail();
	unlink(path);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	return fd;
}

static const struct vma_backing *file(enum file which)
{
	if (!files[which].backing.file_id)
		case_skip("there is no such file here");
	return &files[which].backing;
}

/* ---- addresses ---- */

static void unreplaced_at_address_zero(void **state)
{
	const struct vmspace_config *c = vmspace_config(pair.space);

	(void)state;
	if (c->mmap_min_addr && !c->low_privileged) {
		assert_int_equal(map(0, 1, RW, FIXED), -EPERM);
		assert_int_equal(map(0, 1, RW, ANON | MAP_FIXED_NOREPLACE), -EPERM);
		return;
	}
	assert_int_equal(map(0, 1, RW, FIXED), 0);
	assert_int_equal(map(0, 1, RW, ANON | MAP_FIXED_NOREPLACE), -EEXIST);
	assert_int_equal(map(0, 2, RW, ANON | MAP_FIXED_NOREPLACE), -EEXIST);
	assert_int_equal(map(PAGE, 1, RW, ANON | MAP_FIXED_NOREPLACE), (long)PAGE);
	assert_int_equal(map(0, 1, PROT_READ, FIXED), 0);
	assert_int_equal(unmap(0, 1), 0);
	assert_int_equal(map(0, 1, RW, ANON | MAP_FIXED_NOREPLACE), 0);
}

/* An address in the last page is taken for an error. */
static void addresses_up_to_the_last(void **state)
{
	static const unsigned long addrs[] = {
		-1UL, -2UL, -12UL, -4094UL, -4095UL, -PAGE, -PAGE - 1, -2 * PAGE, 1UL << 63,
		(1UL << 47) - PAGE, (1UL << 47) - PAGE - 1, (1UL << 47) - 2 * PAGE, 1UL << 47,
	};
	static const unsigned long lengths[] = { 1, PAGE, 2 * PAGE, 1UL << 48, -1UL };

	(void)state;
	for (size_t i = 0; i < COUNT(addrs); i++)
		for (size_t k = 0; k < COUNT(lengths); k++) {
			make_map(addrs[i], lengths[k], RW, FIXED);
			make_map(addrs[i], lengths[k], RW, ANON | MAP_FIXED_NOREPLACE);
			make_map(addrs[i], lengths[k], RW, ANON);
			make_map(addrs[i], lengths[k], RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED);
			map_backing(pair_backing(PUPPET_FILE_RW), addrs[i], lengths[k], RW,
				    MAP_SHARED | MAP_FIXED, 0);
		}
}

static void moves_to_low_addresses(bool privileged)
{
	static const unsigned long hints[] = { 0x2000, PAGE, 0x8000, 0xf000, 0x10000, 0x20000, 1 };
	int stays = MREMAP_MAYMOVE | MREMAP_STAYS;

	if (!privileged)
		drop_privileges();
	map(AT(0), 1, RW, FIXED);
	for (size_t i = 0; i < COUNT(hints); i++) {
		new_req(VMSPACE_MREMAP)->mremap =
			(struct vmspace_mremap){ AT(0), PAGE, PAGE, stays, hints[i] };
		both(&pair);
	}
	for (size_t i = 0; i < COUNT(hints); i++)
		remap(AT(0), 1, 1, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_STAYS, hints[i]);
}

/* Unlike mmap, mremap does not raise a hint. */
static void low_hints_of_moves(void **state)
{
	(void)state;
	moves_to_low_addresses(true);
}

static void low_hints_of_moves_without_privilege(void **state)
{
	(void)state;
	moves_to_low_addresses(false);
}

/* What does not change its size may reach beyond the address space. */
static void moves_of_nothing(void **state)
{
	static const unsigned long lengths[] = {
		PAGE, 100 * PAGE, 1UL << 46, (1UL << 47) - PAGE, (1UL << 47) - 2 * PAGE,
		1UL << 47, -PAGE,
	};
	static const int flags[] = { 0, MREMAP_MAYMOVE };
	struct vma_info stack;

	(void)state;
	assert_true(vmspace_prev(pair.space, -1UL, &stack));
	map(AT(0), 10, RW, FIXED);
	for (size_t i = 0; i < COUNT(lengths); i++)
		for (size_t k = 0; k < COUNT(flags); k++) {
			new_req(VMSPACE_MREMAP)->mremap = (struct vmspace_mremap){
				stack.start, lengths[i], lengths[i], flags[k], 0 };
			both(&pair);
			new_req(VMSPACE_MREMAP)->mremap = (struct vmspace_mremap){
				AT(0), lengths[i], lengths[i], flags[k], 0 };
			both(&pair);
			/* As long as only [stack, its end) is left of it. */
			new_req(VMSPACE_MREMAP)->mremap = (struct vmspace_mremap){
				AT(0), lengths[i], 10 * PAGE, flags[k], 0 };
			both(&pair);
		}
}

/* ---- kinds and flags of mappings ---- */

static const int kinds[] = { 0, MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE, 4, DROPPABLE, 15 };

static const int flag_bits[] = {
	0, MAP_GROWSDOWN, MAP_HUGETLB, MAP_SYNC, MAP_UNINITIALIZED, MAP_LOCKED, MAP_NORESERVE,
	MAP_STACK, MAP_DENYWRITE, MAP_EXECUTABLE, 1 << 21, 1 << 26, 1 << 27, 1 << 30,
	(int)(1U << 31), (int)(1U << 31) | MAP_SYNC, MAP_SYNC | MAP_GROWSDOWN, 0x200, 0x400,
};

/* Is the mapping made of huge pages, of which the machine may have none? */
static bool takes_huge_pages(int flags)
{
	return (flags & MAP_ANONYMOUS) && (flags & MAP_HUGETLB);
}

static void every_kind_and_flag(const struct vma_backing *backing, int anonymous)
{
	static const int prots[] = { PROT_READ, RW, PROT_READ | PROT_EXEC };

	for (size_t i = 0; i < COUNT(kinds); i++)
		for (size_t k = 0; k < COUNT(flag_bits); k++) {
			int flags = kinds[i] | flag_bits[k] | anonymous;

			if (takes_huge_pages(flags))
				continue;
			for (size_t p = 0; p < COUNT(prots); p++) {
				map(AT(0), 4, RW, FIXED);
				map_backing(backing, AT(1), PAGE, prots[p], flags | MAP_FIXED, 0);
			}
			unmap(AT(0), 4);
		}
}

static void flags_of_anonymous_mappings(void **state)
{
	const struct vma_backing none = { .kind = VMA_BACKING_ANON };

	(void)state;
	every_kind_and_flag(&none, MAP_ANONYMOUS);
}

static void flags_of_file_mappings(void **state)
{
	static const enum puppet_file each[] = {
		PUPPET_FILE_RW, PUPPET_FILE_RDONLY, PUPPET_MEMFD, PUPPET_PIPE };

	(void)state;
	for (size_t i = 0; i < COUNT(each); i++)
		every_kind_and_flag(pair_backing(each[i]), 0);
}

static void flags_of_sealed_files(void **state)
{
	(void)state;
	every_kind_and_flag(file(FILE_SEALED), 0);
	every_kind_and_flag(file(FILE_SEALED_READ_ONLY), 0);
}

static void flags_on_noexec_mounts(void **state)
{
	(void)state;
	every_kind_and_flag(file(FILE_ON_NOEXEC), 0);
}

/* A regular file has no byte 2^63; a device may have, and anonymous memory ignores the offset. */
static void offsets_up_to_the_last(void **state)
{
	static const uint64_t offsets[] = {
		((uint64_t)1 << 63) - 2 * PAGE, ((uint64_t)1 << 63) - PAGE, (uint64_t)1 << 63,
		-3 * PAGE, -2 * PAGE, -PAGE, -PAGE + 1, 1,
	};
	const struct vma_backing none = { .kind = VMA_BACKING_ANON };

	(void)state;
	for (size_t i = 0; i < COUNT(offsets); i++)
		for (unsigned long pages = 1; pages < 4; pages++) {
			map_backing(pair_backing(PUPPET_FILE_RW), 0, pages * PAGE, PROT_READ,
				    MAP_PRIVATE, offsets[i]);
			map_backing(pair_backing(PUPPET_MEMFD), 0, pages * PAGE, PROT_READ,
				    MAP_SHARED, offsets[i]);
			/* Where the kernel places those of /dev/zero is not modelled. */
			map_backing(pair_backing(PUPPET_ZERO), AT(0), pages * PAGE, PROT_READ,
				    MAP_PRIVATE | MAP_FIXED, offsets[i]);
			map_backing(pair_backing(PUPPET_PIPE), 0, pages * PAGE, PROT_READ,
				    MAP_PRIVATE, offsets[i]);
			map_backing(&none, 0, pages * PAGE, PROT_READ, ANON, offsets[i]);
		}
}

/* ---- remap_file_pages ---- */

static long remap_pages_from(unsigned long addr, unsigned long pages, unsigned long page_offset)
{
	new_req(VMSPACE_REMAP_FILE_PAGES)->remap_file_pages =
		(struct vmspace_remap_file_pages){ .addr = addr, .size = pages * PAGE,
						   .page_offset = page_offset,
						   .flags = MAP_NONBLOCK };
	return both(&pair);
}

static long remap_pages(unsigned long addr, unsigned long pages)
{
	return remap_pages_from(addr, pages, 7);
}

/* Of a file on disk, a memfd and anonymous shared memory; pages are numbered to the last one. */
static void pages_beyond_every_file(void **state)
{
	static const unsigned long offsets[] = {
		-1UL, -2UL, -3UL, -4UL, 1UL << 63,
		1UL << 51, (1UL << 51) - 1, (1UL << 51) - 2, (1UL << 51) - 3,
		1UL << 52, (1UL << 52) - 1, (1UL << 52) - 2,
	};

	(void)state;
	for (int kind = 0; kind < 3; kind++)
		for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
			if (kind == 2)
				map(AT(0), 4, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED);
			else
				map_file(kind ? PUPPET_MEMFD : PUPPET_FILE_RW, AT(0), 4, RW,
					 MAP_SHARED | MAP_FIXED, 0);
			remap_pages_from(AT(0), 1, offsets[i]);
			remap_pages_from(AT(2), 2, offsets[i]);
		}
}

/* It is a new mapping, which the file still does not allow to be written or executed. */
static void pages_of_files_that_forbid(void **state)
{
	(void)state;
	assert_int_equal(map_backing(file(FILE_SEALED), AT(0), 4 * PAGE, PROT_READ,
				     MAP_SHARED | MAP_FIXED, 0), (long)AT(0));
	assert_int_equal(remap_pages(AT(0), 4), 0);
	assert_int_equal(protect(AT(0), 4, RW), -EACCES);
	assert_int_equal(map_backing(file(FILE_ON_NOEXEC), AT(10), 4 * PAGE, RW,
				     MAP_SHARED | MAP_FIXED | MAP_SYNC, 0), (long)AT(10));
	assert_int_equal(remap_pages(AT(11), 2), 0);
	assert_int_equal(protect(AT(10), 4, PROT_READ | PROT_EXEC), -EACCES);
}

/* ---- RLIMIT_MEMLOCK after mlockall(MCL_FUTURE) ---- */

static void future_locks_of_other_calls(void **state)
{
	const struct vmspace_shmat attach = {
		.addr = AT(40), .size = 10 * PAGE,
		.backing = { .name = "/SYSV00000000 (deleted)" } };

	(void)state;
	pair.shm_id = shmget(IPC_PRIVATE, 10 * PAGE, 0600);
	assert_true(pair.shm_id >= 0);
	drop_privileges();
	set_limit(RLIMIT_MEMLOCK, 12);
	new_req(VMSPACE_MLOCKALL)->mlockall.flags = MCL_FUTURE | MCL_ONFAULT;
	assert_int_equal(both(&pair), 0);
	assert_int_equal(map_file(PUPPET_MEMFD, AT(0), 7, RW, MAP_SHARED | MAP_FIXED, 0),
			 (long)AT(0));
	new_req(VMSPACE_SHMAT)->shmat = attach;
	assert_int_equal(both(&pair), -EAGAIN);
	/* The old mapping, still locked, counts beside the new one. */
	assert_int_equal(remap_pages(AT(0), 5), 0);
	assert_int_equal(remap_pages(AT(0), 6), -EAGAIN);
	set_limit(RLIMIT_MEMLOCK, 0);
	assert_int_equal(remap_pages(AT(0), 1), -EPERM);
	set_limit(RLIMIT_MEMLOCK, 17);
	new_req(VMSPACE_SHMAT)->shmat = attach;
	assert_int_equal(both(&pair), (long)AT(40));
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

/* ---- lengths ---- */

static long advise_ranges(const struct vmspace_range *ranges, size_t count, int advice)
{
	new_req(VMSPACE_PROCESS_MADVISE)->process_madvise =
		(struct vmspace_process_madvise){ ranges, count, advice, 0 };
	return both(&pair);
}

/* It stops, as read() does, one page below 2 GiB. */
static void ranges_of_two_gibibytes(void **state)
{
	const unsigned long gib = 1UL << 30, most = 0x7ffff000;
	const struct vmspace_range ranges[][3] = {
		{ { AT(0), 3 * gib }, { 0, 0 }, { 0, 0 } },
		{ { AT(0), PAGE }, { AT(0), 3 * gib }, { AT(0), PAGE } },
		{ { AT(0), 100 }, { AT(0), 3 * gib }, { AT(0), PAGE } },
		{ { AT(0), gib }, { AT(0) + 1, gib }, { AT(0), PAGE } },
		{ { AT(0), gib }, { AT(0), gib }, { AT(0), 1UL << 63 } },
		{ { AT(0), gib }, { AT(0), gib }, { AT(0), 1UL << 48 } },
		{ { AT(0), gib }, { AT(0), gib }, { AT(0) + 1, PAGE } },
		{ { AT(0), most }, { AT(0) + 1, PAGE }, { AT(0), 0 } },
		{ { AT(0), most - 100 }, { AT(0), PAGE }, { AT(0), PAGE } },
		{ { AT(0), 1UL << 47 }, { AT(0), 1UL << 47 }, { 0, 0 } },
		{ { AT(0), 1UL << 63 }, { AT(0), PAGE }, { 0, 0 } },
	};

	(void)state;
	assert_int_equal(make_map(AT(0), 4 * gib, PROT_NONE, FIXED | MAP_NORESERVE), (long)AT(0));
	for (size_t i = 0; i < COUNT(ranges); i++)
		for (size_t count = 1; count <= 3; count++)
			advise_ranges(ranges[i], count, MADV_COLD);
	if (!has_rule("advise-self")) {
		assert_int_equal(advise_ranges(ranges[1], 3, MADV_DONTDUMP), -EINVAL);
		return;
	}
	assert_int_equal(advise_ranges(ranges[1], 3, MADV_DONTDUMP), (long)most);
	/* The second range begins where the first did. */
	assert_int_equal(areas_from(&pair, AT(0), AT(0) + 4 * gib), 2);
}

static void make_lock(unsigned long addr, unsigned long length, bool lock)
{
	new_req(lock ? VMSPACE_MLOCK : VMSPACE_MUNLOCK)->mlock =
		(struct vmspace_mlock){ addr, length, lock ? MLOCK_ONFAULT : 0, lock };
	both(&pair);
}

/* Linux counts what it locks and unlocks in 32 bits of pages, and what it unmaps in 64. */
static void locks_of_eight_tebibytes(void **state)
{
	(void)state;
	/* Nor can it be killed meanwhile. */
	if (has_rule("onfault-readable"))
		case_skip("the kernel goes through each page that it locks or unlocks, for hours");
	make_map(2 * TIB, 20 * TIB, PROT_NONE, FIXED | MAP_NORESERVE);
	make_lock(2 * TIB, 8 * TIB, true);
	make_lock(2 * TIB, 8 * TIB, true);
	make_lock(2 * TIB, 8 * TIB, false);
	make_lock(2 * TIB, 20 * TIB, true);
	make_lock(3 * TIB, 9 * TIB, false);
	unmap(2 * TIB, TIB / PAGE);
	make_lock(2 * TIB, 20 * TIB, false);
	make_lock(3 * TIB, 7 * TIB, true);
	make_lock(3 * TIB, 9 * TIB, true);
	new_req(VMSPACE_MUNLOCKALL);
	both(&pair);
	new_req(VMSPACE_MLOCKALL)->mlockall.flags = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;
	both(&pair);
	make_map(32 * TIB, 9 * TIB, PROT_NONE, FIXED | MAP_NORESERVE);
	make_lock(32 * TIB, 9 * TIB, false);
}

#define BOTH_WAYS(name) CASE(name), MIRRORED(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH_WAYS(unreplaced_at_address_zero), BOTH_WAYS(addresses_up_to_the_last),
		BOTH_WAYS(low_hints_of_moves), BOTH_WAYS(low_hints_of_moves_without_privilege),
		BOTH_WAYS(moves_of_nothing), BOTH_WAYS(flags_of_anonymous_mappings),
		BOTH_WAYS(flags_of_file_mappings), BOTH_WAYS(flags_of_sealed_files),
		BOTH_WAYS(flags_on_noexec_mounts), BOTH_WAYS(offsets_up_to_the_last),
		BOTH_WAYS(pages_of_files_that_forbid), BOTH_WAYS(pages_beyond_every_file),
		BOTH_WAYS(future_locks_of_other_calls),
		BOTH_WAYS(ranges_of_two_gibibytes), BOTH_WAYS(locks_of_eight_tebibytes),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	signal(SIGPIPE, SIG_IGN);
	if (!case_add_file(&files[FILE_SEALED], open_sealed(O_RDWR)) ||
	    !case_add_file(&files[FILE_SEALED_READ_ONLY], open_sealed(O_RDONLY)))
		return 1;
	case_add_file(&files[FILE_ON_NOEXEC], open_on_noexec());
	return case_status(cmocka_run_group_tests(tests, NULL, NULL),
			   sizeof(tests) / sizeof(tests[0]));
}
