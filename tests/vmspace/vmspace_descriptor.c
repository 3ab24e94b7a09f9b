/* SPDX-License-Identifier: MIT */
/*
 * vmspace_descriptor.c - the descriptor of a memfd is told, moved while other threads map its pages, and
 * is where it was in a child of fork().
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/maple_tree_rcu.h>
#include "memfd.h"
#include "window.h"

#define START 0x100000UL
#define PAGES 64
#define ACCESS_RW (VMSPACE_ACCESS_READ | VMSPACE_ACCESS_WRITE)

static struct vmspace_memfd *memfd;
static struct vmspace_window *window;
static const struct vmspace_memory *memory;
static size_t page;

static int begin(void **state)
{
	struct vmspace_memfd_config config = { .limit = (size_t)4 << 20 };

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(vmspace_memfd_create(&memfd, &config), 0);
	assert_int_equal(vmspace_window_create(&window, memfd, START, PAGES * page), 0);
	memory = vmspace_window_memory(window);
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmspace_window_destroy(window);
	vmspace_memfd_destroy(memfd);
	return 0;
}

/* A number that is free, and none of the lowest. */
static int free_number(void)
{
	int fd = fcntl(0, F_DUPFD_CLOEXEC, 50);

	assert_true(fd >= 50);
	close(fd);
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static bool same_file(int fd, const struct stat *as)
{
	struct stat is;

	return !fstat(fd, &is) && is.st_dev == as->st_dev && is.st_ino == as->st_ino;
}

/* A new frame can be had, mapped, and is one memory in the window and outside. */
static bool memory_works(unsigned long number)
{
	uint64_t frame = memory->alloc(memory->ctx);
	char *host = vmspace_window_host(window, START + number * page);

	if (!frame || memory->map(memory->ctx, START + number * page, frame, ACCESS_RW))
		return false;
	strcpy(host, "guest");
	return !strcmp(vmspace_memfd_frame(memfd, frame), "guest");
}

static void the_descriptor_is_told_and_moved(void **state)
{
	int old = vmspace_memfd_descriptor(memfd), to = free_number(), ends[2];
	struct stat is;
	char byte;

	(void)state;
	assert_int_equal(fstat(old, &is), 0);
	assert_true(memory_works(0));
	assert_int_equal(vmspace_memfd_move_descriptor(memfd, to), 0);
	assert_int_equal(vmspace_memfd_descriptor(memfd), to);
	assert_int_equal(fcntl(to, F_GETFD), FD_CLOEXEC);
	assert_true(same_file(to, &is));
	assert_false(is_open(old));
	assert_true(memory_works(1));
	/* To where it is. */
	assert_int_equal(vmspace_memfd_move_descriptor(memfd, to), 0);
	assert_true(same_file(to, &is));
	/* What is open there is closed. */
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(vmspace_memfd_move_descriptor(memfd, ends[1]), 0);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	assert_true(same_file(ends[1], &is));
	assert_int_equal(fcntl(ends[1], F_GETFD), FD_CLOEXEC);
	assert_false(is_open(to));
	assert_true(memory_works(2));
	close(ends[0]);
}

static void expect_refused(int to, int error)
{
	int before = vmspace_memfd_descriptor(memfd);

	assert_int_equal(vmspace_memfd_move_descriptor(memfd, to), error);
	assert_int_equal(vmspace_memfd_descriptor(memfd), before);
	assert_true(is_open(before));
	assert_true(memory_works(5));
}

static int own_file = -1;

static int descriptor(void *ctx, const struct vma_backing *file)
{
	(void)ctx;
	(void)file;
	return own_file;
}

static void bad_numbers_are_refused(void **state)
{
	const struct vma_backing file = { .kind = VMA_BACKING_FILE, .inode = 9, .name = "nine" };
	struct vmspace_memfd_config config = { .limit = page };
	struct vmspace_memfd *other;
	struct rlimit limit;
	struct stat is;
	uint64_t frame;
	int fd = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	expect_refused(-1, -EBADF);
	if (limit.rlim_cur < INT32_MAX)
		expect_refused((int)limit.rlim_cur, -EBADF);
	assert_int_equal(vmspace_memfd_create(&other, &config), 0);
	expect_refused(vmspace_memfd_descriptor(other), -EBUSY);
	vmspace_memfd_destroy(other);
	mt_read_lock();
	expect_refused(free_number(), -EDEADLK);
	mt_read_unlock();

	/* The duplicate of a file whose pages are mapped. */
	own_file = memfd_create("file", MFD_CLOEXEC);
	assert_int_equal(ftruncate(own_file, (off_t)page), 0);
	vmspace_memfd_use_files(memfd, descriptor);
	assert_int_equal(memory->file_page(memory->ctx, &file, 0, &frame), 0);
	assert_int_equal(fstat(own_file, &is), 0);
	close(own_file);
	while (fd < 100000 && !same_file(fd, &is))
		fd++;
	assert_true(fd < 100000);
	expect_refused(fd, -EBUSY);
	memory->file_release(memory->ctx, frame);
}

/*
 * The system's mmap(), told to wait: a thread that has read the descriptor's number, and is slow, maps when
 * another thread has moved it.
 */
static int slow_fd = -1;
static struct stat slow_file;
static bool is_slow, still_there;

static void be_slow(int fd)
{
	if (fd < 0 || fd != __atomic_load_n(&slow_fd, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&is_slow, true, __ATOMIC_RELEASE);
	while (vmspace_memfd_descriptor(memfd) == fd)
		usleep(100);
	/* Who does not wait for us has closed it by now. */
	usleep(20000);
	still_there = same_file(fd, &slow_file);
}

#define WRAP_MMAP(name)                                                                   \
	void *__real_##name(void *, size_t, int, int, int, off_t);                        \
	void *__wrap_##name(void *, size_t, int, int, int, off_t);                        \
	void *__wrap_##name(void *at, size_t size, int prot, int flags, int fd, off_t from) \
	{                                                                                 \
		be_slow(fd);                                                              \
		return __real_##name(at, size, prot, flags, fd, from);                    \
	}

WRAP_MMAP(mmap)
WRAP_MMAP(mmap64)

static pthread_t mapper;
static uint64_t frame;
static bool wanted, worked;

static void *map_page(void *arg)
{
	char *host = vmspace_window_host(window, START);

	worked = !memory->map(memory->ctx, START, frame, ACCESS_RW) && !strcmp(host, "guest");
	return arg;
}

/* When the descriptor is about to have a second number, another thread begins to map by the first. */
int __real_dup3(int from, int to, int flags);
int __wrap_dup3(int from, int to, int flags);
int __wrap_dup3(int from, int to, int flags)
{
	if (wanted) {
		wanted = false;
		__atomic_store_n(&slow_fd, from, __ATOMIC_RELAXED);
		assert_int_equal(pthread_create(&mapper, NULL, map_page, NULL), 0);
		while (!__atomic_load_n(&is_slow, __ATOMIC_ACQUIRE))
			usleep(100);
	}
	return __real_dup3(from, to, flags);
}

/* The old number stays what it was as long as a thread is about to map a page by it, and no longer. */
static void it_is_moved_while_a_page_is_mapped(void **state)
{
	int old = vmspace_memfd_descriptor(memfd), to = free_number();

	(void)state;
	frame = memory->alloc(memory->ctx);
	strcpy(vmspace_memfd_frame(memfd, frame), "guest");
	assert_int_equal(fstat(old, &slow_file), 0);
	worked = is_slow = still_there = false;
	wanted = true;
	assert_int_equal(vmspace_memfd_move_descriptor(memfd, to), 0);
	assert_false(is_open(old));
	pthread_join(mapper, NULL);
	slow_fd = -1;
	assert_true(still_there && worked);
}

static void *move_about(void *arg)
{
	int numbers[2] = { ((int *)arg)[0], ((int *)arg)[1] };

	for (int i = 1; i <= 1000; i++)
		if (vmspace_memfd_move_descriptor(memfd, numbers[i % 2]))
			return arg;
	return NULL;
}

/* Two threads move it, others map pages: whatever number it has, it is one that they gave it. */
static void two_threads_move_it(void **state)
{
	int numbers[4] = { free_number() };
	pthread_t threads[2];
	void *failed;

	(void)state;
	for (int i = 1; i < 4; i++)
		numbers[i] = numbers[0] + i;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, move_about, &numbers[2 * i]), 0);
	for (unsigned long i = 0; i < 200; i++)
		assert_true(memory_works(i % PAGES));
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(is_open(numbers[i]), numbers[i] == vmspace_memfd_descriptor(memfd));
}

static int in_child(int number, const struct stat *parents)
{
	int to = free_number();

	if (vmspace_memfd_after_fork_child(memfd))
		return 1;
	if (vmspace_memfd_descriptor(memfd) != number || fcntl(number, F_GETFD) != FD_CLOEXEC)
		return 2;
	if (same_file(number, parents) || !memory_works(3))
		return 3;
	if (vmspace_memfd_move_descriptor(memfd, to) || vmspace_memfd_descriptor(memfd) != to)
		return 4;
	return is_open(number) || !memory_works(4) ? 5 : 0;
}

static void a_forked_child_has_its_own_at_the_same_number(void **state)
{
	int number = free_number(), status;
	struct stat is;
	pid_t child;

	(void)state;
	assert_int_equal(vmspace_memfd_move_descriptor(memfd, number), 0);
	assert_int_equal(fstat(number, &is), 0);
	mt_before_fork();
	assert_int_equal(vmspace_memfd_before_fork(memfd), 0);
	child = fork();
	if (!child) {
		mt_after_fork_child();
		_exit(in_child(number, &is));
	}
	vmspace_memfd_after_fork_parent(memfd);
	mt_after_fork_parent();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(same_file(number, &is));
	assert_int_equal(vmspace_memfd_descriptor(memfd), number);
	assert_true(memory_works(3));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(the_descriptor_is_told_and_moved),
		TEST(bad_numbers_are_refused),
		TEST(it_is_moved_while_a_page_is_mapped),
		TEST(two_threads_move_it),
		TEST(a_forked_child_has_its_own_at_the_same_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
