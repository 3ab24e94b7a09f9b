/* SPDX-License-Identifier: MIT */
/*
 * oracle_shared.c - System V segments that were cut and extended, and remap_file_pages() on files
 * that permit less than they did: made for real and in libvmspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"

#define SHARED (MAP_SHARED | MAP_FIXED)

/* Attaches a new segment of so many bytes at AT(0). */
static void attach(unsigned long bytes)
{
	pair.shm_id = shmget(IPC_PRIVATE, bytes, 0700);
	assert_true(pair.shm_id >= 0);
	new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){ .addr = AT(0), .size = bytes };
	req.shmat.backing.name = "/SYSV00000000 (deleted)";
	assert_int_equal(both(&pair), (long)AT(0));
}

/* Returns how many areas are left. */
static unsigned long detach(void)
{
	unsigned long left;

	new_req(VMSPACE_SHMDT)->shmdt.addr = AT(0);
	assert_int_equal(both(&pair), 0);
	left = areas();
	unmap(AT(0), 64);
	shmctl(pair.shm_id, IPC_RMID, NULL);
	return left;
}

/* The area that is found first goes, however long it has become. */
static void a_cut_and_extended_segment_is_detached(void **state)
{
	(void)state;
	attach(6 * PAGE);
	unmap(AT(2), 4);
	remap(AT(0), 2, 9, 0, 0);
	assert_int_equal(detach(), 0);
	attach(6 * PAGE);
	unmap(AT(0), 3);
	remap(AT(3), 3, 9, 0, 0);
	assert_int_equal(detach(), 0);
}

/* Further ones only go as far as they lie within the segment. */
static void what_reaches_beyond_the_segment_stays_attached(void **state)
{
	(void)state;
	attach(6 * PAGE);
	unmap(AT(2), 1);
	remap(AT(3), 3, 9, 0, 0);
	assert_int_equal(detach(), 1);
	attach(6 * PAGE);
	remap(AT(0), 6, 9, 0, 0);
	protect(AT(4), 4, PROT_READ);
	assert_int_equal(detach(), 2);
}

/* The segment's last page counts as a whole. */
static void a_segment_ends_within_a_page(void **state)
{
	(void)state;
	attach(6 * PAGE - 100);
	protect(AT(4), 2, PROT_READ);
	assert_int_equal(detach(), 0);
	attach(5 * PAGE + 1);
	protect(AT(4), 1, PROT_READ);
	remap(AT(5), 1, 2, 0, 0);
	assert_int_equal(detach(), 1);
}

/* A descriptor that puppets inherit, as a file to map. */
static struct vma_backing inherited(int fd)
{
	const int number = puppet_fd(PUPPET_FILE_COUNT);
	struct vma_backing backing = *pair_backing(PUPPET_MEMFD);
	struct stat st;

	assert_true(fd >= 0 && dup2(fd, number) == number && fstat(number, &st) == 0);
	close(fd);
	backing.inode = st.st_ino;
	backing.file_id = PUPPET_FILE_COUNT + 1;
	backing.name = "/memfd:sealed (deleted)";
	return backing;
}

static void map_shared(const struct vma_backing *backing, int prot)
{
	new_req(VMSPACE_MMAP)->mmap = (struct vmspace_mmap){
		.addr = AT(0), .length = 8 * PAGE, .prot = prot, .flags = SHARED,
		.backing = *backing };
	assert_int_equal(both(&pair), (long)AT(0));
}

static long remap_page(unsigned long addr, unsigned int file_flags)
{
	new_req(VMSPACE_REMAP_FILE_PAGES)->remap_file_pages = (struct vmspace_remap_file_pages){
		addr, PAGE, 0, 5, 0, file_flags };
	return both(&pair);
}

static int sealed_file(int seals)
{
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING);

	assert_true(fd >= 0 && ftruncate(fd, 16 * PAGE) == 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* A file that was sealed before it was mapped. */
static void remapped_pages_stay_sealed(void **state)
{
	struct vma_backing backing;

	case_end(state);
	backing = inherited(sealed_file(F_SEAL_WRITE));
	backing.flags |= VMA_BACKING_SEAL_WRITE;
	assert_int_equal(case_start(state), 0);
	map_shared(&backing, PROT_READ);
	assert_int_equal(remap_page(AT(2), 0), 0);
	assert_int_equal(protect(AT(2), 1, RW), -EACCES);
	assert_int_equal(areas(), 3);
}

/*
 * One that is sealed after it was mapped: what is there may still be written, remapped it may not.
 */
static void pages_are_remapped_after_a_seal(void **state)
{
	const unsigned int seal = VMA_BACKING_SEAL_WRITE | VMA_BACKING_SEAL_FUTURE;
	struct vma_backing backing;

	case_end(state);
	backing = inherited(sealed_file(0));
	assert_int_equal(case_start(state), 0);
	map_shared(&backing, RW);
	assert_int_equal(fcntl(puppet_fd(PUPPET_FILE_COUNT), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	assert_int_equal(protect(AT(0), 8, PROT_READ), 0);
	assert_int_equal(remap_page(AT(2), seal), 0);
	assert_int_equal(protect(AT(2), 1, RW), -EACCES);
	assert_int_equal(protect(AT(4), 1, RW), 0);
	assert_int_equal(remap_page(AT(4), seal), -EPERM);
	assert_int_equal(areas(), has_rule("map-seals-first") ? 5 : 4);
}

/* Found by vmscope check: nothing is in the way of a segment whose address is rounded to 0. */
static void a_segment_at_address_zero_takes_the_place(void **state)
{
	(void)state;
	pair.shm_id = shmget(IPC_PRIVATE, 2 * PAGE, 0700);
	assert_true(pair.shm_id >= 0);
	map(0, 3, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED);
	for (int flags = 0; flags <= (SHM_RND | SHM_REMAP); flags += SHM_RND) {
		new_req(VMSPACE_SHMAT)->shmat = (struct vmspace_shmat){
			.addr = 0xb30, .flags = flags, .size = 2 * PAGE };
		req.shmat.backing.name = "/SYSV00000000 (deleted)";
		both(&pair);
	}
	shmctl(pair.shm_id, IPC_RMID, NULL);
}

static long read_page(unsigned long addr)
{
	new_req(VMSPACE_FAULT)->fault = (struct vmspace_fault){ addr, VMSPACE_ACCESS_READ };
	return both(&pair);
}

static long lock(unsigned long addr, unsigned long pages)
{
	new_req(VMSPACE_MLOCK)->mlock = (struct vmspace_mlock){ addr, pages * PAGE, 0, false };
	return both(&pair);
}

/* What is extended has no pages there: a touch is SIGBUS, and calls that populate stop. */
static void shared_memory_ends_where_it_did(void **state)
{
	(void)state;
	for (int way = 0; way < 3; way++) {
		if (way == 2) {
			attach(4 * PAGE);
			remap(AT(0), 4, 8, 0, 0);
		} else {
			map(AT(0), 4, RW, SHARED | MAP_ANONYMOUS);
			/* The old length 0 makes a second mapping of the same memory. */
			remap(AT(0), way ? 0 : 4, 8, way ? MREMAP_MAYMOVE | MREMAP_FIXED : 0,
			      AT(20));
			if (way)
				assert_int_equal(remap(AT(20), 8, 8, MREMAP_MAYMOVE | MREMAP_FIXED,
						       AT(0)), (long)AT(0));
		}
		assert_int_equal(read_page(AT(3)), 0);
		assert_int_equal(read_page(AT(4)), -ENXIO);
		assert_int_equal(read_page(AT(7)), -ENXIO);
		assert_int_equal(lock(AT(0), 4), 0);
		assert_int_equal(lock(AT(3), 2), -ENOMEM);
		if (has_rule("populate-stops"))
			assert_int_equal(advise(AT(2), 4, MADV_POPULATE_READ), -EFAULT);
		unmap(AT(0), 64);
		if (way == 2)
			shmctl(pair.shm_id, IPC_RMID, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_cut_and_extended_segment_is_detached),
		MIRRORED(a_cut_and_extended_segment_is_detached),
		CASE(what_reaches_beyond_the_segment_stays_attached),
		MIRRORED(what_reaches_beyond_the_segment_stays_attached),
		CASE(a_segment_ends_within_a_page), MIRRORED(a_segment_ends_within_a_page),
		CASE(shared_memory_ends_where_it_did),
		CASE(a_segment_at_address_zero_takes_the_place),
		MIRRORED(a_segment_at_address_zero_takes_the_place),
		CASE(remapped_pages_stay_sealed), CASE(pages_are_remapped_after_a_seal),
	};

	if (!case_possible())
		return TEST_SKIPPED;
	return case_status(cmocka_run_group_tests(tests, NULL, NULL),
			   sizeof(tests) / sizeof(tests[0]));
}
