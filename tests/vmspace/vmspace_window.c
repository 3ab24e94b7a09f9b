/* SPDX-License-Identifier: MIT */
/*
 * vmspace_window.c - a space whose memory is a window: what threads reach by loads and stores after
 * faults, forks and changes of protection, and in files that others write, too.
 */
#include <dirent.h>
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
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_memfd.h>

#define START 0x10000000UL
#define PAGES 600 /* more than one table of the page table */
#define RW (PROT_READ | PROT_WRITE)
#define ACCESS_READ VMSPACE_ACCESS_READ
#define ACCESS_WRITE VMSPACE_ACCESS_WRITE

struct guest {
	struct vmspace *space;
	struct vmspace_window *window;
};

static struct vmspace_memfd *memfd;
static struct guest parent, child;
static size_t page;

static struct vmspace_window *new_window(void)
{
	struct vmspace_window *window;

	assert_int_equal(vmspace_window_create(&window, memfd, START, 4 * PAGES * page), 0);
	return window;
}

static int begin(void **state)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)64 << 20 };
	struct vmspace_config config;

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(vmspace_memfd_create(&memfd, &memory), 0);
	parent.window = new_window();
	vmspace_config_init(&config);
	config.memory = vmspace_window_memory(parent.window);
	assert_int_equal(vmspace_create(&parent.space, &config), 0);
	child = (struct guest){ NULL, NULL };
	return 0;
}

static void end_guest(struct guest *guest)
{
	vmspace_destroy(guest->space);
	vmspace_window_destroy(guest->window);
}

static int end(void **state)
{
	(void)state;
	end_guest(&child);
	end_guest(&parent);
	vmspace_memfd_destroy(memfd);
	return 0;
}

/* ---- a file that both sides write ---- */

static int file_fd = -1;

static int descriptor(void *ctx, const struct vma_backing *file)
{
	(void)ctx;
	return file->inode == 9 ? file_fd : -1;
}

static void open_file(int flags, unsigned long pages)
{
	char name[] = "/tmp/vmspace-window-XXXXXX", path[64];
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(pages * page)), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file_fd = open(path, flags | O_CLOEXEC);
	close(fd);
	unlink(name);
	assert_true(file_fd >= 0);
}

static void begin_files(int flags, unsigned long pages)
{
	open_file(flags, pages);
	vmspace_memfd_use_files(memfd, descriptor);
}

static void map_file(struct guest *guest, unsigned long at, unsigned long pages, int prot,
		     int flags)
{
	struct vmspace_request req = {
		.op = VMSPACE_MMAP,
		.mmap = { .addr = START + at * page, .length = pages * page, .prot = prot,
			  .flags = flags | MAP_FIXED,
			  .backing = { .kind = VMA_BACKING_FILE, .inode = 9, .name = "nine" } },
	};

	assert_int_equal(vmspace_call(guest->space, &req), START + at * page);
}

static void unmap_file(struct guest *guest, unsigned long at, unsigned long pages)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP,
				       .munmap = { START + at * page, pages * page } };

	assert_int_equal(vmspace_call(guest->space, &req), 0);
}

static void put_in_file(unsigned long number, const char *text)
{
	assert_int_equal(pwrite(file_fd, text, strlen(text) + 1, (off_t)(number * page)),
			 strlen(text) + 1);
}

static const char *in_file(unsigned long number)
{
	static char text[64];

	memset(text, 0, sizeof(text));
	assert_true(pread(file_fd, text, sizeof(text) - 1, (off_t)(number * page)) > 0);
	return text;
}

static unsigned int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void map(int prot)
{
	struct vmspace_request req = {
		.op = VMSPACE_MMAP,
		.mmap = { .addr = START, .length = PAGES * page, .prot = prot,
			  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED },
	};

	assert_int_equal(vmspace_call(parent.space, &req), START);
}

static void protect(unsigned long first, unsigned long pages, int prot)
{
	struct vmspace_request req = {
		.op = VMSPACE_MPROTECT,
		.mprotect = { START + first * page, pages * page, prot, -1 },
	};

	assert_int_equal(vmspace_call(parent.space, &req), 0);
}

static void fork_parent(void)
{
	struct vmspace_request req = { .op = VMSPACE_FORK };

	child.window = new_window();
	req.fork.child_memory = vmspace_window_memory(child.window);
	assert_int_equal(vmspace_call(parent.space, &req), 0);
	child.space = req.fork.child;
}

static char *host(const struct guest *guest, unsigned long number)
{
	return vmspace_window_host(guest->window, START + number * page);
}

static enum vmspace_page_source touch(const struct guest *guest, unsigned long number,
				      unsigned int access)
{
	struct vmspace_page got;

	assert_int_equal(vmspace_touch(guest->space, START + number * page, access, &got),
			 VMSPACE_FAULT_OK);
	return got.source;
}

/* Can the host read, or write, there? Asked of the kernel, which answers instead of a signal. */
static bool reaches(const struct guest *guest, unsigned long number, bool to_write)
{
	char *at = host(guest, number);
	int fds[2];
	bool can;

	assert_int_equal(pipe(fds), 0);
	can = write(fds[1], to_write ? "w" : at, 1) == 1 && (!to_write || read(fds[0], at, 1) == 1);
	close(fds[0]);
	close(fds[1]);
	return can;
}

static void write_all(void)
{
	for (unsigned long i = 0; i < PAGES; i++) {
		touch(&parent, i, ACCESS_WRITE);
		memcpy(host(&parent, i), &i, sizeof(i));
	}
}

static unsigned long number_at(const struct guest *guest, unsigned long number)
{
	unsigned long value;

	memcpy(&value, host(guest, number), sizeof(value));
	return value;
}

static void a_parent_reads_on_after_a_fork(void **state)
{
	(void)state;
	map(RW);
	write_all();
	fork_parent();
	for (unsigned long i = 0; i < PAGES; i++) {
		assert_true(reaches(&parent, i, false));
		assert_false(reaches(&parent, i, true));
		assert_int_equal(number_at(&parent, i), i);
		assert_false(reaches(&child, i, false));
	}
	for (unsigned long i = 0; i < PAGES; i += 7) {
		assert_int_equal(touch(&parent, i, ACCESS_WRITE), VMSPACE_PAGE_COPIED);
		memset(host(&parent, i), 'p', page);
	}
	for (unsigned long i = 0; i < PAGES; i++) {
		assert_int_equal(touch(&child, i, ACCESS_READ), VMSPACE_PAGE_PRESENT);
		assert_int_equal(number_at(&child, i), i);
	}
	/* Where the parent has gone away the page is the child's alone. */
	assert_int_equal(touch(&child, 7, ACCESS_WRITE), VMSPACE_PAGE_REUSED);
	assert_int_equal(touch(&child, 8, ACCESS_WRITE), VMSPACE_PAGE_COPIED);
	memset(host(&child, 8), 'c', page);
	assert_int_equal(number_at(&parent, 8), 8);
}

static void a_present_page_stays_as_it_is(void **state)
{
	struct vmspace_page got;

	(void)state;
	map(RW);
	touch(&parent, 3, ACCESS_WRITE);
	*host(&parent, 3) = 'x';
	for (int i = 0; i < 3; i++) {
		assert_int_equal(vmspace_touch(parent.space, START + 3 * page + 5, ACCESS_READ, &got),
				 VMSPACE_FAULT_OK);
		assert_int_equal(got.source, VMSPACE_PAGE_PRESENT);
		assert_int_equal(got.addr, START + 3 * page);
		assert_int_equal(*(char *)vmspace_memfd_frame(memfd, got.frame), 'x');
	}
	/* Read first, it shows zeros, and is replaced when it is written. */
	assert_int_equal(touch(&parent, 4, ACCESS_READ), VMSPACE_PAGE_NEW);
	assert_int_equal(touch(&parent, 4, ACCESS_READ), VMSPACE_PAGE_PRESENT);
	assert_false(reaches(&parent, 4, true));
	assert_int_equal(touch(&parent, 4, ACCESS_WRITE), VMSPACE_PAGE_COPIED);
	assert_int_equal(touch(&parent, 4, ACCESS_WRITE), VMSPACE_PAGE_PRESENT);
	assert_true(reaches(&parent, 4, true));
}

static void what_loses_writing_can_be_read(void **state)
{
	(void)state;
	map(RW);
	write_all();
	protect(0, PAGES / 2, PROT_READ);
	for (unsigned long i = 0; i < PAGES; i++) {
		assert_int_equal(number_at(&parent, i), i);
		assert_int_equal(reaches(&parent, i, true), i >= PAGES / 2);
		if (i >= PAGES / 2)
			memcpy(host(&parent, i), &i, sizeof(i));
	}
	protect(0, PAGES, PROT_NONE);
	for (unsigned long i = 0; i < PAGES; i++)
		assert_false(reaches(&parent, i, false));
	protect(0, PAGES, RW);
	touch(&parent, 5, ACCESS_READ);
	assert_int_equal(number_at(&parent, 5), 5);
}

/*
 * Found by reading: an area that may only be written shows its pages for reading, too; these were
 * left readable when the right to write, all that it had, was taken away.
 */
static void regress_what_loses_all_cannot_be_read(void **state)
{
	(void)state;
	map(PROT_WRITE);
	touch(&parent, 0, ACCESS_WRITE);
	protect(0, PAGES, PROT_NONE);
	assert_false(reaches(&parent, 0, false));
	protect(0, PAGES, PROT_WRITE);
	assert_int_equal(vmspace_touch(parent.space, START + page, ACCESS_READ, NULL),
			 VMSPACE_FAULT_OK);
	assert_true(reaches(&parent, 1, false));
	protect(0, PAGES, PROT_NONE);
	assert_false(reaches(&parent, 1, false));
}

/*
 * What a guest wrote to a file was lost without a word: the file had the old bytes, and later
 * mappings showed those.
 */
static void regress_a_shared_mapping_is_the_file(void **state)
{
	(void)state;
	begin_files(O_RDWR, 8);
	put_in_file(2, "before");
	map_file(&parent, 0, 8, RW, MAP_SHARED);
	touch(&parent, 2, ACCESS_READ);
	assert_string_equal(host(&parent, 2), "before");
	touch(&parent, 2, ACCESS_WRITE);
	strcpy(host(&parent, 2), "guest");
	assert_string_equal(in_file(2), "guest");
	put_in_file(2, "host");
	assert_string_equal(host(&parent, 2), "host");
	/* Another mapping, at another offset of the same file. */
	map_file(&parent, 20, 8, PROT_READ, MAP_SHARED);
	touch(&parent, 22, ACCESS_READ);
	assert_string_equal(host(&parent, 22), "host");
	strcpy(host(&parent, 2), "again");
	assert_string_equal(host(&parent, 22), "again");
	/* Unmapped and mapped again. */
	unmap_file(&parent, 0, 8);
	assert_false(reaches(&parent, 2, false));
	put_in_file(2, "after");
	map_file(&parent, 0, 8, RW, MAP_SHARED);
	touch(&parent, 2, ACCESS_READ);
	assert_string_equal(host(&parent, 2), "after");
	close(file_fd);
}

static void a_process_beside_writes_the_same_file(void **state)
{
	pid_t writer;
	int status;

	(void)state;
	begin_files(O_RDWR, 4);
	map_file(&parent, 0, 4, RW, MAP_SHARED);
	touch(&parent, 1, ACCESS_WRITE);
	strcpy(host(&parent, 1), "mine");
	writer = fork();
	if (writer == 0) {
		bool seen = strcmp(in_file(1), "mine") == 0;

		put_in_file(1, "theirs");
		_exit(seen ? 0 : 1);
	}
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	assert_string_equal(host(&parent, 1), "theirs");
	close(file_fd);
}

static void a_private_mapping_shows_the_file_until_written(void **state)
{
	(void)state;
	begin_files(O_RDONLY, 4);
	map_file(&parent, 0, 4, RW, MAP_PRIVATE);
	touch(&parent, 0, ACCESS_READ);
	touch(&parent, 1, ACCESS_READ);
	assert_false(reaches(&parent, 0, true));
	{
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
		fd = open(path, O_WRONLY);
		assert_true(fd >= 0);
		assert_int_equal(pwrite(fd, "new", 4, 0), 4);
		assert_string_equal(host(&parent, 0), "new");
		assert_int_equal(touch(&parent, 0, ACCESS_WRITE), VMSPACE_PAGE_COPIED);
		assert_string_equal(host(&parent, 0), "new");
		strcpy(host(&parent, 0), "own");
		assert_string_equal(in_file(0), "new");
		assert_int_equal(pwrite(fd, "later", 6, 0), 6);
		assert_int_equal(pwrite(fd, "other", 6, (off_t)page), 6);
		close(fd);
	}
	assert_string_equal(host(&parent, 0), "own");
	assert_string_equal(host(&parent, 1), "other");
	/* Written first, it is copied from the file as it is then. */
	assert_int_equal(touch(&parent, 2, ACCESS_WRITE), VMSPACE_PAGE_COPIED);
	close(file_fd);
}

static void a_fork_shares_the_file(void **state)
{
	(void)state;
	begin_files(O_RDWR, 4);
	map_file(&parent, 0, 4, RW, MAP_SHARED);
	touch(&parent, 0, ACCESS_WRITE);
	strcpy(host(&parent, 0), "parent");
	fork_parent();
	touch(&child, 0, ACCESS_WRITE);
	assert_string_equal(host(&child, 0), "parent");
	strcpy(host(&child, 0), "child");
	assert_string_equal(host(&parent, 0), "child");
	assert_string_equal(in_file(0), "child");
	close(file_fd);
}

static void a_file_ends_where_it_ends(void **state)
{
	(void)state;
	begin_files(O_RDWR, 2);
	assert_int_equal(ftruncate(file_fd, (off_t)page + 1), 0);
	map_file(&parent, 0, 8, RW, MAP_SHARED);
	touch(&parent, 1, ACCESS_WRITE);
	assert_int_equal(vmspace_touch(parent.space, START + 2 * page, ACCESS_READ, NULL),
			 VMSPACE_FAULT_BUS);
	assert_int_equal(ftruncate(file_fd, (off_t)(5 * page)), 0);
	touch(&parent, 2, ACCESS_WRITE);
	strcpy(host(&parent, 2), "grown");
	assert_string_equal(in_file(2), "grown");
	assert_int_equal(ftruncate(file_fd, 0), 0);
	assert_false(reaches(&parent, 2, false));
	assert_int_equal(vmspace_touch(parent.space, START, ACCESS_READ, NULL), VMSPACE_FAULT_BUS);
	close(file_fd);
}

/* The user's descriptor may be closed, and ours is when the file is forgotten and unmapped. */
static void a_forgotten_file_is_closed_with_its_last_page(void **state)
{
	unsigned int before = open_descriptors();
	struct vma_backing nine = { .kind = VMA_BACKING_FILE, .inode = 9, .name = "nine" };
	struct vmspace_page got;

	(void)state;
	begin_files(O_RDWR, 4);
	put_in_file(3, "kept");
	map_file(&parent, 0, 4, PROT_READ, MAP_SHARED);
	touch(&parent, 3, ACCESS_READ);
	close(file_fd);
	file_fd = -1;
	assert_int_equal(open_descriptors(), before + 1);
	vmspace_memfd_forget(memfd, &nine);
	assert_int_equal(vmspace_touch(parent.space, START + 3 * page, ACCESS_READ, &got),
			 VMSPACE_FAULT_OK);
	assert_string_equal(vmspace_memfd_frame(memfd, got.frame), "kept");
	assert_string_equal(host(&parent, 3), "kept");
	unmap_file(&parent, 0, 4);
	assert_int_equal(open_descriptors(), before);
	/* Whoever maps it now has no descriptor, and no read_page. */
	map_file(&parent, 0, 4, PROT_READ, MAP_SHARED);
	assert_int_equal(vmspace_touch(parent.space, START, ACCESS_READ, NULL), VMSPACE_FAULT_BUS);
}

/* Many files, each with a page in use, and each number used again. */
static void files_come_and_go(void **state)
{
	unsigned int before = open_descriptors();

	(void)state;
	for (int round = 0; round < 3; round++) {
		begin_files(O_RDWR, 40);
		put_in_file(39, round ? "later" : "first");
		map_file(&parent, 0, 40, RW, MAP_SHARED);
		for (unsigned long i = 0; i < 40; i++)
			touch(&parent, i, ACCESS_WRITE);
		assert_string_equal(host(&parent, 39), round ? "later" : "first");
		unmap_file(&parent, 0, 40);
		vmspace_memfd_forget(memfd, &(struct vma_backing){ .kind = VMA_BACKING_FILE,
								    .inode = 9, .name = "nine" });
		close(file_fd);
		assert_int_equal(open_descriptors(), before);
	}
	assert_int_equal(vmspace_memfd_used(memfd), 0);
}

/* ---- copies for system calls ---- */

static void copies_go_both_ways_across_pages(void **state)
{
	size_t size = 2 * page + 100;
	char *text = malloc(size), *back = malloc(size);

	(void)state;
	assert_non_null(text);
	assert_non_null(back);
	for (size_t i = 0; i < size; i++)
		text[i] = (char)(i * 7 + i / 251);
	map(RW);
	assert_int_equal(vmspace_copy_to(parent.space, START + page - 50, text, size), size);
	assert_int_equal(vmspace_copy_from(parent.space, back, START + page - 50, size), size);
	assert_memory_equal(text, back, size);
	/* They are the guest's pages, and private ones are copied before they are written. */
	touch(&parent, 1, ACCESS_READ);
	assert_memory_equal(host(&parent, 1), text + 50, page);
	fork_parent();
	assert_int_equal(vmspace_copy_to(parent.space, START + page, "new", 4), 4);
	assert_int_equal(vmspace_copy_from(child.space, back, START + page, 4), 4);
	assert_memory_equal(back, text + 50, 4);
	assert_int_equal(vmspace_copy_to(parent.space, START, text, 0), 0);
	free(text);
	free(back);
}

static void a_copy_ends_where_the_guest_may_not_go(void **state)
{
	char text[200] = "x";

	(void)state;
	map(RW);
	protect(2, 1, PROT_NONE);
	protect(4, 1, PROT_READ);
	assert_int_equal(vmspace_copy_to(parent.space, START + 2 * page - 100, text, 200), 100);
	assert_int_equal(vmspace_copy_from(parent.space, text, START + 2 * page - 30, 200), 30);
	assert_int_equal(vmspace_copy_from(parent.space, text, START + 2 * page, 1), 0);
	assert_int_equal(vmspace_copy_to(parent.space, START + 4 * page - 10, text, 200), 10);
	assert_int_equal(vmspace_copy_from(parent.space, text, START + 4 * page - 10, 200), 200);
	assert_int_equal(vmspace_copy_from(parent.space, text, START + PAGES * page - 7, 200), 7);
	assert_int_equal(vmspace_copy_from(parent.space, text, -5UL, 200), 0);
	assert_int_equal(vmspace_copy_to(parent.space, 0, text, 200), 0);
}

static void strings_are_copied_up_to_their_ends(void **state)
{
	char text[64];

	(void)state;
	map(RW);
	protect(2, 1, PROT_NONE);
	assert_int_equal(vmspace_copy_to(parent.space, START + page - 3, "across", 7), 7);
	assert_int_equal(vmspace_strncpy_from(parent.space, text, START + page - 3, 64), 6);
	assert_string_equal(text, "across");
	assert_int_equal(vmspace_strncpy_from(parent.space, text, START + page - 3, 4), 4);
	assert_int_equal(vmspace_strncpy_from(parent.space, text, START + page - 3, 6), 6);
	assert_int_equal(vmspace_strncpy_from(parent.space, text, START + page - 3, 7), 6);
	assert_int_equal(vmspace_strncpy_from(parent.space, text, START + page, 0), 0);
	/* The last byte before what cannot be read is a NUL, or is not. */
	assert_int_equal(vmspace_copy_to(parent.space, START + 2 * page - 3, "ab", 3), 3);
	assert_int_equal(vmspace_strncpy_from(parent.space, text, START + 2 * page - 3, 64), 2);
	assert_int_equal(vmspace_copy_to(parent.space, START + 2 * page - 3, "abc", 3), 3);
	assert_int_equal(vmspace_strncpy_from(parent.space, text, START + 2 * page - 3, 64), -EFAULT);
	assert_int_equal(vmspace_strncpy_from(parent.space, text, START + 2 * page - 3, 3), 3);
}

static void copies_reach_files(void **state)
{
	char text[64] = "";

	(void)state;
	begin_files(O_RDWR, 2);
	assert_int_equal(ftruncate(file_fd, (off_t)page + 20), 0);
	map_file(&parent, 0, 4, RW, MAP_SHARED);
	assert_int_equal(vmspace_copy_to(parent.space, START + page - 2, "guest", 6), 6);
	assert_int_equal(pread(file_fd, text, 6, (off_t)page - 2), 6);
	assert_string_equal(text, "guest");
	put_in_file(0, "host");
	assert_int_equal(vmspace_copy_from(parent.space, text, START, 5), 5);
	assert_string_equal(text, "host");
	assert_int_equal(vmspace_copy_to(parent.space, START + 2 * page, text, 64), 0);
	close(file_fd);
}

/* Found from outside: copies ended at the end of the file, in a page that the guest can access. */
static void regress_copies_reach_the_end_of_the_last_page(void **state)
{
	char text[64];

	(void)state;
	begin_files(O_RDWR, 1);
	assert_int_equal(ftruncate(file_fd, 5), 0);
	assert_int_equal(pwrite(file_fd, "hello", 5, 0), 5);
	map_file(&parent, 0, 1, RW, MAP_SHARED);
	map_file(&parent, 10, 1, PROT_READ, MAP_PRIVATE);
	for (unsigned long at = 0; at <= 10; at += 10) {
		memset(text, 'x', sizeof(text));
		assert_int_equal(vmspace_copy_from(parent.space, text, START + at * page, 8), 8);
		assert_memory_equal(text, "hello\0\0\0x", 9);
		assert_int_equal(vmspace_strncpy_from(parent.space, text, START + at * page, 64), 5);
		assert_int_equal(vmspace_copy_from(parent.space, text, START + at * page + 100, 8), 8);
	}
	assert_int_equal(vmspace_copy_to(parent.space, START + 3, "12345", 5), 5);
	assert_string_equal(in_file(0), "hel12");
	close(file_fd);
}

/*
 * Found from outside: a file whose descriptor could not be duplicated when it was first touched had
 * its pages from read_page for good, so that what was written was lost.
 */
static void regress_a_file_without_a_duplicate_is_asked_for_again(void **state)
{
	struct rlimit before, none;

	(void)state;
	begin_files(O_RDWR, 2);
	map_file(&parent, 0, 2, RW, MAP_SHARED);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(vmspace_touch(parent.space, START, ACCESS_WRITE, NULL), VMSPACE_FAULT_NOMEM);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	touch(&parent, 0, ACCESS_WRITE);
	strcpy(host(&parent, 0), "guest");
	assert_string_equal(in_file(0), "guest");
	close(file_fd);
}

static void a_space_without_a_window_copies_nothing(void **state)
{
	struct vmspace_config config;
	struct vmspace *space;
	char byte;

	(void)state;
	vmspace_config_init(&config);
	assert_int_equal(vmspace_create(&space, &config), 0);
	assert_int_equal(vmspace_copy_from(space, &byte, START, 1), 0);
	assert_int_equal(vmspace_strncpy_from(space, &byte, START, 1), -EFAULT);
	vmspace_destroy(space);
}

/* ---- fork() of the host ---- */

/* What a child of fork() finds wrong first: its exit status. */
#define CHECK(condition) do { if (!(condition)) _exit(__LINE__ % 250 + 1); } while (0)

static enum vmspace_fault_result fault(unsigned long number, unsigned int access)
{
	return vmspace_touch(parent.space, START + number * page, access, NULL);
}

static void wait_for_child(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A child of the host's fork() wrote to the parent's guest memory, and nothing warned of it. */
static void regress_a_host_child_cannot_write_to_its_parent(void **state)
{
	pid_t pid;

	(void)state;
	map(RW);
	write_all();
	mt_before_fork();
	pid = fork();
	if (pid == 0) {
		mt_after_fork_child();
		CHECK(!reaches(&parent, 3, false));
		CHECK(fault(3, ACCESS_READ) == VMSPACE_FAULT_NOMEM);
		CHECK(fault(3, ACCESS_WRITE) == VMSPACE_FAULT_NOMEM);
		CHECK(!reaches(&parent, 3, false));
		CHECK(vmspace_memfd_before_fork(memfd) == -ENOMEM);
		/* Its memory is not given back: it is the parent's. */
		end(NULL);
		_exit(0);
	}
	mt_after_fork_parent();
	wait_for_child(pid);
	for (unsigned long i = 0; i < PAGES; i++)
		assert_int_equal(number_at(&parent, i), i);
	touch(&parent, 3, ACCESS_WRITE);
}

static void check_copy(void)
{
	CHECK(vmspace_memfd_after_fork_child(memfd) == 0);
	for (unsigned long i = 0; i < PAGES; i++) {
		CHECK(!reaches(&parent, i, false));
		CHECK(fault(i, ACCESS_WRITE) == VMSPACE_FAULT_OK);
		CHECK(number_at(&parent, i) == i);
		memset(host(&parent, i), 'c', page);
	}
	/* New frames, and those that were free. */
	for (unsigned long i = PAGES; i < 2 * PAGES; i++) {
		CHECK(fault(i, ACCESS_WRITE) == VMSPACE_FAULT_OK);
		CHECK(number_at(&parent, i) == 0);
	}
	/* As long as the parent does, it can fork again. */
	if (vmspace_memfd_before_fork(memfd) == 0)
		vmspace_memfd_after_fork_parent(memfd);
	end(NULL);
}

static void a_host_child_has_a_copy(void **state)
{
	struct vmspace_request more = {
		.op = VMSPACE_MMAP,
		.mmap = { .addr = START + PAGES * page, .length = PAGES * page, .prot = RW,
			  .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED },
	};
	struct vmspace_request free_some = {
		.op = VMSPACE_MADVISE,
		.madvise = { START + PAGES * page, PAGES / 2 * page, MADV_DONTNEED },
	};
	size_t used;
	pid_t pid;

	(void)state;
	map(RW);
	write_all();
	assert_int_equal(vmspace_call(parent.space, &more), START + PAGES * page);
	for (unsigned long i = PAGES; i < PAGES + PAGES / 2; i++) {
		touch(&parent, i, ACCESS_WRITE);
		memset(host(&parent, i), 'f', page);
	}
	assert_int_equal(vmspace_call(parent.space, &free_some), 0);
	used = vmspace_memfd_used(memfd);
	mt_before_fork();
	assert_int_equal(vmspace_memfd_before_fork(memfd), 0);
	pid = fork();
	if (pid == 0) {
		mt_after_fork_child();
		check_copy();
		_exit(0);
	}
	vmspace_memfd_after_fork_parent(memfd);
	mt_after_fork_parent();
	memset(host(&parent, 5), 'p', page); /* still there, and not seen by the child */
	wait_for_child(pid);
	assert_int_equal(*host(&parent, 5), 'p');
	for (unsigned long i = 6; i < PAGES; i++)
		assert_int_equal(number_at(&parent, i), i);
	assert_int_equal(vmspace_memfd_used(memfd), used);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_parent_reads_on_after_a_fork),
		TEST(a_present_page_stays_as_it_is),
		TEST(what_loses_writing_can_be_read),
		TEST(regress_what_loses_all_cannot_be_read),
		TEST(regress_a_shared_mapping_is_the_file),
		TEST(a_process_beside_writes_the_same_file),
		TEST(a_private_mapping_shows_the_file_until_written),
		TEST(a_fork_shares_the_file),
		TEST(a_file_ends_where_it_ends),
		TEST(a_forgotten_file_is_closed_with_its_last_page),
		TEST(files_come_and_go),
		TEST(copies_go_both_ways_across_pages),
		TEST(a_copy_ends_where_the_guest_may_not_go),
		TEST(strings_are_copied_up_to_their_ends),
		TEST(copies_reach_files),
		TEST(regress_copies_reach_the_end_of_the_last_page),
		TEST(regress_a_file_without_a_duplicate_is_asked_for_again),
		TEST(a_space_without_a_window_copies_nothing),
		TEST(regress_a_host_child_cannot_write_to_its_parent),
		TEST(a_host_child_has_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
