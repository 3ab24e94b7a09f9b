/* SPDX-License-Identifier: MIT */
/*
 * vmspace_remove.c - MADV_REMOVE makes a hole in a file, or in shared memory: zeros for all that map it.
 * What it does to a guest's memory is what the kernel does to this process's, of the same calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mapletree/vmspace_files.h>
#include <mapletree/vmspace_pins.h>

#define START 0x10000000UL
#define PAGES 32UL
#define ALL   (2 * PAGES)
#define RW    (PROT_READ | PROT_WRITE)
#define SHARED_ANON (MAP_SHARED | MAP_ANONYMOUS)
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { OURS, GUESTS, OURS_READ, FILES };

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static struct vmspace *space;
static size_t page;
static char *real;               /* the kernel's ALL pages */
static int file[FILES];          /* of the same bytes; ours also opened to be read alone */
static unsigned char *bytes;     /* of a file without a descriptor */
static size_t byte_pages;
static size_t limit;

static const struct vma_backing plain = { .kind = VMA_BACKING_FILE, .inode = 7, .file_id = 7 };

static int descriptor(void *ctx, const struct vma_backing *is)
{
	(void)ctx;
	return is->inode == 1 ? file[GUESTS] : -1;
}

static int read_page(void *ctx, const struct vma_backing *is, uint64_t index, void *to)
{
	(void)ctx;
	(void)is;
	if (index >= byte_pages)
		return -ENXIO;
	memcpy(to, bytes + index * page, page);
	return 0;
}

static int write_page(void *ctx, const struct vma_backing *is, uint64_t index, const void *from)
{
	(void)ctx;
	(void)is;
	assert_true(index < byte_pages);
	memcpy(bytes + index * page, from, page);
	return 0;
}

static int open_file(void)
{
	int fd = memfd_create("file", MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	for (unsigned long n = 0; n < 8; n++)
		assert_int_equal(pwrite(fd, &(char){ 'A' + (char)n }, 1, (off_t)(n * page)), 1);
	assert_int_equal(ftruncate(fd, (off_t)(8 * page)), 0);
	return fd;
}

static int open_to_read(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void make_space(size_t guest_page)
{
	struct vmspace_memfd_config memory = { .limit = limit, .read_page = read_page };
	struct vmspace_config config;

	page = guest_page;
	bytes = malloc(8 * page);
	byte_pages = 8;
	for (unsigned long n = 0; n < 8; n++)
		memset(bytes + n * page, 'A' + (int)n, page);
	file[OURS] = open_file();
	file[GUESTS] = open_file();
	file[OURS_READ] = open_to_read(file[OURS]);
	assert_int_equal(vmspace_memfd_create_pages(&memfd, &memory, page, 0), 0);
	vmspace_memfd_use_files(memfd, descriptor);
	assert_int_equal(vmspace_window_create(&window, memfd, START, ALL * page), 0);
	vmspace_config_init(&config);
	config.page_size = page;
	config.overcommit = 1;
	config.thp = VMSPACE_THP_NEVER;
	config.lock_privileged = true;
	config.memory = vmspace_window_memory(window);
	assert_int_equal(vmspace_create(&space, &config), 0);
}

static int begin(void **state)
{
	(void)state;
	limit = (size_t)16 << 20;
	make_space((size_t)sysconf(_SC_PAGESIZE));
	real = mmap(NULL, ALL * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(real != MAP_FAILED);
	return 0;
}

static int end(void **state)
{
	(void)state;
	assert_true(vmspace_check(space, NULL));
	vmspace_destroy(space);
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	for (int i = 0; i < FILES; i++)
		close(file[i]);
	if (real)
		munmap(real, ALL * page);
	real = NULL;
	free(bytes);
	return 0;
}

static unsigned long at(unsigned long n)
{
	return START + n * page;
}

/* ---- the same calls of both ---- */

static long answer(long result)
{
	return result == -1 ? -errno : result;
}

static void map(unsigned long first, unsigned long pages, unsigned long index, int prot, int flags,
		bool to_read)
{
	struct vma_backing backing = { .kind = VMA_BACKING_FILE, .inode = 1, .file_id = to_read ? 2 : 1,
				       .flags = VMA_BACKING_TMPFS | (to_read ? VMA_BACKING_NO_WRITE : 0),
				       .name = "/file" };
	bool anon = flags & MAP_ANONYMOUS;
	int fd = anon ? -1 : file[to_read ? OURS_READ : OURS];

	assert_int_equal(vmspace_mmap(space, at(first), pages * page, prot, flags | MAP_FIXED,
				      anon ? NULL : &backing, index * page), at(first));
	assert_ptr_equal(mmap(real + first * page, pages * page, prot, flags | MAP_FIXED, fd,
			      (off_t)(index * page)), real + first * page);
}

/* What is mapped shared at `first` is mapped at `to` as well. */
static void map_again(unsigned long first, unsigned long pages, unsigned long to)
{
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;

	assert_int_equal(vmspace_mremap(space, at(first), 0, pages * page, flags, at(to)), at(to));
	assert_ptr_equal(mremap(real + first * page, 0, pages * page, flags, real + to * page),
			 real + to * page);
}

static void unmap(unsigned long first, unsigned long pages)
{
	assert_int_equal(vmspace_munmap(space, at(first), pages * page), 0);
	assert_int_equal(munmap(real + first * page, pages * page), 0);
}

static void put(unsigned long n, char value)
{
	assert_int_equal(vmspace_copy_to(space, at(n), &value, 1), 1);
	*(volatile char *)(real + n * page) = value;
}

static char get(unsigned long n)
{
	char value = '?';

	assert_int_equal(vmspace_copy_from(space, &value, at(n), 1), 1);
	return value;
}

/* The first bytes of pages, the same in both: '.' for a zero. */
static const char *show(unsigned long first, unsigned long pages)
{
	static char text[ALL + 1];

	for (unsigned long i = 0; i < pages; i++) {
		text[i] = get(first + i);
		if (real)
			assert_int_equal(text[i], *(volatile char *)(real + (first + i) * page));
		text[i] = text[i] ? text[i] : '.';
	}
	text[pages] = '\0';
	return text;
}

/* Pages of the files, which are the same and have not changed their sizes. */
static const char *in_file(void)
{
	static char text[9];
	char other;

	for (unsigned long n = 0; n < 8; n++) {
		assert_int_equal(pread(file[GUESTS], &text[n], 1, (off_t)(n * page)), 1);
		assert_int_equal(pread(file[OURS], &other, 1, (off_t)(n * page)), 1);
		if (real)
			assert_int_equal(text[n], other);
		text[n] = text[n] ? text[n] : '.';
	}
	assert_int_equal(lseek(file[GUESTS], 0, SEEK_END), 8 * page);
	return text;
}

static long discard(unsigned long first, unsigned long pages)
{
	long result = vmspace_madvise(space, at(first), pages * page, MADV_REMOVE);

	if (real)
		assert_int_equal(result, answer(madvise(real + first * page, pages * page, MADV_REMOVE)));
	return result;
}

/* ---- holes ---- */

static void regress_a_hole_in_a_file_is_zeros_for_all(void **state)
{
	(void)state;
	map(0, 8, 0, RW, MAP_SHARED, false);
	map(10, 4, 2, PROT_READ, MAP_SHARED, false);
	map(20, 8, 0, RW, MAP_PRIVATE, false);
	put(4, 'x');
	put(23, 'p');
	assert_string_equal(show(0, 8), "ABCDxFGH");
	assert_string_equal(show(10, 4), "CDxF");
	assert_string_equal(show(20, 8), "ABCpxFGH");
	assert_int_equal(discard(1, 4), 0);
	assert_string_equal(in_file(), "A....FGH");
	assert_string_equal(show(0, 8), "A....FGH");
	assert_string_equal(show(10, 4), "...F");
	assert_string_equal(show(20, 8), "A..p.FGH");
	put(2, 'y');
	assert_string_equal(show(10, 4), "y..F");
	assert_string_equal(in_file(), "A.y..FGH");
	/* It may be mapped to be read alone; and nothing need have been touched. */
	map(40, 2, 6, PROT_READ, MAP_SHARED, false);
	assert_int_equal(discard(41, 1), 0);
	assert_string_equal(in_file(), "A.y..FG.");
}

static void regress_a_file_is_asked_for_before_there_is_a_hole(void **state)
{
	(void)state;
	map(0, 8, 0, RW, MAP_SHARED, false);
	assert_int_equal(discard(2, 2), 0);
	assert_string_equal(in_file(), "AB..EFGH");
	assert_string_equal(show(0, 8), "AB..EFGH");
}

static void regress_a_hole_in_shared_memory_is_zeros_for_all(void **state)
{
	size_t used;

	(void)state;
	map(0, 8, 0, RW, SHARED_ANON, false);
	map_again(0, 8, 10);
	for (unsigned long n = 0; n < 6; n++)
		put(n, 'a' + (char)n);
	assert_string_equal(show(10, 8), "abcdef..");
	used = vmspace_memfd_used(memfd);
	assert_int_equal(discard(11, 3), 0);
	assert_string_equal(show(0, 8), "a...ef..");
	assert_string_equal(show(10, 8), "a...ef..");
	put(12, 'x');
	assert_string_equal(show(0, 8), "a.x.ef..");
	/* What nobody else has mapped is free. */
	unmap(0, 8);
	assert_int_equal(discard(10, 8), 0);
	assert_true(vmspace_memfd_used(memfd) < used);
	assert_string_equal(show(10, 8), "........");
	put(13, 'y');
	map_again(10, 8, 0);
	assert_string_equal(show(0, 8), "...y....");
}

static void regress_a_hole_shows_in_a_child(void **state)
{
	struct vmspace_window *other;
	struct vmspace *child, *parent = space;

	(void)state;
	map(0, 4, 0, RW, SHARED_ANON, false);
	put(0, 'a');
	put(1, 'b');
	assert_int_equal(vmspace_window_create(&other, memfd, START, ALL * page), 0);
	assert_int_equal(vmspace_fork(space, vmspace_window_memory(other), &child), 0);
	space = child;
	assert_string_equal(show(0, 4), "ab..");
	assert_int_equal(discard(1, 1), 0);
	space = parent;
	assert_string_equal(show(0, 4), "a...");
	vmspace_destroy(child);
	vmspace_window_destroy(other);
}

static void regress_a_hole_in_a_segment(void **state)
{
	struct vma_backing segment = { .kind = VMA_BACKING_SYSV, .inode = 9, .name = "/SYSV00000000 (deleted)" };
	unsigned long size = 4 * page;
	int id = shmget(IPC_PRIVATE, size, 0600);

	(void)state;
	if (id < 0)
		return; /* a kernel without System V memory */
	for (unsigned long n = 0; n <= 20; n += 10) {
		int flags = n == 20 ? SHM_RDONLY : 0;

		assert_int_equal(vmspace_shmat(space, at(n), flags, size, &segment), at(n));
		assert_ptr_equal(shmat(id, real + n * page, flags | SHM_REMAP), real + n * page);
	}
	assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
	for (unsigned long n = 0; n < 4; n++)
		put(n, 'a' + (char)n);
	assert_int_equal(discard(21, 1), -EACCES);
	assert_string_equal(show(10, 4), "abcd");
	assert_int_equal(discard(11, 2), 0);
	assert_string_equal(show(0, 4), "a..d");
	assert_string_equal(show(10, 4), "a..d");
	assert_string_equal(show(20, 4), "a..d");
}

static void regress_holes_that_are_refused(void **state)
{
	(void)state;
	map(0, 8, 0, RW, MAP_PRIVATE, false);
	assert_int_equal(discard(1, 1), -EACCES);
	map(10, 8, 0, PROT_READ, MAP_SHARED, true);
	assert_int_equal(discard(11, 1), -EACCES);
	map(20, 8, 0, RW, MAP_PRIVATE | MAP_ANONYMOUS, false);
	assert_int_equal(discard(21, 1), -EINVAL);
	map(30, 8, 0, RW, MAP_SHARED, false);
	assert_int_equal(vmspace_mlock(space, at(32), 1), 0);
	/* A sanitizer's mlock() does nothing. */
	if (!syscall(SYS_mlock, real + 32 * page, 1UL))
		assert_int_equal(discard(31, 3), -EINVAL);
	assert_string_equal(show(30, 8), "A.CDEFGH");
	/* Beyond the end of the file there is nothing to be removed, and over a gap it goes on. */
	map(40, 8, 4, RW, MAP_SHARED, false);
	unmap(46, 1);
	assert_int_equal(discard(43, 5), -ENOMEM);
	assert_string_equal(in_file(), "A.CDEFG.");
	assert_string_equal(show(40, 4), "EFG.");
	map(50, 8, 1UL << 45, RW, MAP_SHARED, false);
	assert_int_equal(discard(51, 2), 0);
	/* Sealed since it was mapped. */
	for (int i = 0; i < OURS_READ; i++)
		assert_int_equal(fcntl(file[i], F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	assert_int_equal(discard(40, 1), -EPERM);
	assert_string_equal(in_file(), "A.CDEFG.");
}

/* ---- files without a descriptor ---- */

static void map_plain(unsigned long first, unsigned long pages, int flags)
{
	assert_int_equal(vmspace_mmap(space, at(first), pages * page, RW, flags | MAP_FIXED, &plain, 0),
			 at(first));
}

static int begin_plain(void **state)
{
	(void)state;
	limit = (size_t)16 << 20;
	make_space((size_t)sysconf(_SC_PAGESIZE));
	return 0;
}

static void write_back(void)
{
	assert_int_equal(vmspace_memfd_write_back(memfd, &plain, 0, UINT64_MAX, write_page, NULL), 0);
}

/* It is written back as what guests write is, whether or not the pages were there. */
static void regress_a_hole_in_a_file_of_the_programs_is_written_back(void **state)
{
	(void)state;
	map_plain(0, 16, MAP_SHARED);
	map_plain(20, 8, MAP_PRIVATE);
	assert_string_equal(show(0, 4), "ABCD");
	assert_string_equal(show(20, 4), "ABCD");
	assert_int_equal(vmspace_copy_to(space, at(23), "p", 1), 1);
	assert_int_equal(discard(2, 14), 0);
	assert_string_equal(show(0, 8), "AB......");
	assert_string_equal(show(20, 8), "AB.p....");
	assert_int_equal(vmspace_touch(space, at(8), VMSPACE_ACCESS_READ, NULL), VMSPACE_FAULT_BUS);
	assert_int_equal(vmspace_memfd_invalidate(memfd, &plain, 0, UINT64_MAX), 0);
	assert_string_equal(show(0, 8), "AB......");
	assert_int_equal(bytes[2 * page], 'C');
	write_back();
	for (unsigned long n = 0; n < 8; n++)
		assert_int_equal(bytes[n * page + page - 1], n < 2 ? 'A' + (int)n : 0);
}

static void regress_a_pin_has_the_hole(void **state)
{
	struct vmspace_pinned *pinned;
	struct iovec part;

	(void)state;
	map_plain(0, 8, MAP_SHARED);
	assert_int_equal(vmspace_pin_pages(space, at(1), 1, VMSPACE_ACCESS_WRITE, &part, 1, &pinned), 1);
	assert_int_equal(discard(1, 1), 0);
	assert_int_equal(*(char *)part.iov_base, 0);
	*(char *)part.iov_base = 'x';
	assert_string_equal(show(0, 3), "AxC");
	vmspace_unpin_pages(pinned);
	write_back();
	assert_int_equal(bytes[page], 'x');
}

static int begin_scarce(void **state)
{
	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	limit = 4 * page;
	make_space(page);
	return 0;
}

/* Without memory nothing has changed. */
static void regress_a_hole_without_memory(void **state)
{
	(void)state;
	map_plain(0, 8, MAP_SHARED);
	assert_int_equal(vmspace_mprotect(space, at(3), 3 * page, PROT_READ), 0);
	assert_string_equal(show(0, 1), "A");
	assert_int_equal(discard(0, 8), -ENOMEM);
	assert_string_equal(show(0, 4), "ABCD");
	write_back();
	assert_int_equal(bytes[0], 'A');
	assert_int_equal(discard(0, 4), 0);
	assert_string_equal(show(0, 4), "....");
}

/* ---- pages that are smaller than the host's ---- */

static int begin_small(void **state)
{
	(void)state;
	limit = (size_t)16 << 20;
	make_space(1024);
	return 0;
}

static void regress_holes_of_small_pages(void **state)
{
	const struct vma_backing whole = { .kind = VMA_BACKING_FILE, .inode = 1, .name = "/file" };
	unsigned long from = 10, to = 20;

	(void)state;
	assert_int_equal(vmspace_mmap(space, at(0), 8 * page, RW, MAP_SHARED | MAP_FIXED, &whole, 0), at(0));
	assert_string_equal(show(0, 8), "ABCDEFGH");
	assert_int_equal(discard(1, 4), 0);
	assert_string_equal(show(0, 8), "A....FGH");
	assert_string_equal(in_file(), "A....FGH");
	assert_int_equal(vmspace_mmap(space, at(from), 8 * page, RW, SHARED_ANON | MAP_FIXED, NULL, 0),
			 at(from));
	assert_int_equal(vmspace_mremap(space, at(from), 0, 8 * page, MREMAP_MAYMOVE | MREMAP_FIXED, at(to)),
			 at(to));
	for (unsigned long n = 0; n < 8; n++)
		assert_int_equal(vmspace_copy_to(space, at(from + n), &(char){ 'a' + (char)n }, 1), 1);
	assert_int_equal(discard(from + 3, 3), 0);
	assert_string_equal(show(to, 8), "abc...gh");
	assert_string_equal(show(from, 8), "abc...gh");
}

int main(void)
{
#define TEST(name)     cmocka_unit_test_setup_teardown(name, begin, end)
#define PLAIN(name)    cmocka_unit_test_setup_teardown(name, begin_plain, end)
	const struct CMUnitTest tests[] = {
		TEST(regress_a_hole_in_a_file_is_zeros_for_all),
		TEST(regress_a_file_is_asked_for_before_there_is_a_hole),
		TEST(regress_a_hole_in_shared_memory_is_zeros_for_all),
		TEST(regress_a_hole_shows_in_a_child),
		TEST(regress_a_hole_in_a_segment),
		TEST(regress_holes_that_are_refused),
		PLAIN(regress_a_hole_in_a_file_of_the_programs_is_written_back),
		PLAIN(regress_a_pin_has_the_hole),
		cmocka_unit_test_setup_teardown(regress_a_hole_without_memory, begin_scarce, end),
		cmocka_unit_test_setup_teardown(regress_holes_of_small_pages, begin_small, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
