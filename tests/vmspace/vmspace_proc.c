/* SPDX-License-Identifier: MIT */
/* vmspace_proc.c - texts of /proc/PID taken apart, good and bad; live processes, there and gone. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/vmspace_proc.h>

#include "../sanitizer.h"

static const char heap[] = "5600a000-5600b000 rw-p 00000000 00:00 0                  [heap]\n";
static const char lib[] =
	"7f0000000000-7f0000002000 r-xp 00001000 fe:01 1234    /lib/a\\012b (deleted)\n";

static void a_line_is_taken_apart(void **state)
{
	struct vma_backing backing;
	struct vmspace_line line;
	char name[64];

	(void)state;
	assert_ptr_equal(vmspace_parse_line(lib, &line), lib + strlen(lib));
	assert_true(line.start == 0x7f0000000000 && line.end == 0x7f0000002000);
	assert_string_equal(line.perms, "r-xp");
	assert_true(line.offset == 0x1000 && line.inode == 1234);
	assert_true(line.dev_major == 0xfe && line.dev_minor == 1);
	assert_true(line.text == lib && line.length == strlen(lib));
	vmspace_line_backing(&line, &backing, name, sizeof(name));
	assert_int_equal(backing.kind, VMA_BACKING_FILE);
	assert_string_equal(backing.name, "/lib/a\nb (deleted)");
	vmspace_line_backing(&line, &backing, name, 5);
	assert_string_equal(backing.name, "/lib");
	vmspace_parse_line(heap, &line);
	vmspace_line_backing(&line, &backing, name, sizeof(name));
	assert_int_equal(backing.kind, VMA_BACKING_ANON);
	assert_null(backing.name);
}

static void what_is_no_line_is_refused(void **state)
{
	static const char *const bad[] = {
		"", "\n", "5600a000-5600b000 rw-p 00000000 00:00\n", "5600a000 rw-p 0 00:00 0\n",
		"Size: 4 kB\n", "5600a000-5600b000 rw-px 0 00:00 0\n",
		"5600a000-5600b000 rw-p 00000000 00:00 \n7 [heap]\n",
	};
	struct vmspace_area *areas;
	struct vmspace_line line;
	unsigned long number;
	char text[512];
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(vmspace_parse_line(bad[i], &line));
		strcat(strcpy(text, heap), bad[i]);
		/* Behind an area, details are read over. */
		if (!*bad[i] || bad[i][0] == 'S')
			continue;
		assert_int_equal(vmspace_parse_areas(text, &areas, &count, &number), -EINVAL);
		assert_int_equal(number, 2);
		assert_null(areas);
	}
	assert_int_equal(vmspace_parse_areas("", &areas, &count, NULL), -EINVAL);
}

/* The largest numbers that there are, and capital digits, which other programs write. */
static void the_edges_of_numbers_are_taken(void **state)
{
	static const char *const good[] = {
		"0-ffffffffffffffff ---s ffffffffffffffff ffffffff:ffffffff 18446744073709551615",
		"00000000000000000-0FFFFFFFFFFFFFFFF rwxp FFFFFFFFFFFFFFFF FFFFFFFF:FFFFFFFF "
		"18446744073709551615\n",
	};
	struct vmspace_line line;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_ptr_equal(vmspace_parse_line(good[i], &line), good[i] + strlen(good[i]));
		assert_true(line.start == 0 && line.end == ULONG_MAX);
		assert_true(line.offset == UINT64_MAX && line.inode == UINT64_MAX);
		assert_true(line.dev_major == UINT_MAX && line.dev_minor == UINT_MAX);
		assert_int_equal(line.name_length, 0);
		assert_string_equal(line.perms, i ? "rwxp" : "---s");
	}
}

static void maps_tell_flags_by_permissions(void **state)
{
	struct vmspace_area *areas;
	size_t count;
	char text[512];

	(void)state;
	strcat(strcpy(text, heap), lib);
	strcat(text, "7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0 [stack]\n"
		     "7fff00000000-7fff00001000 rw-s 00000000 00:01 77 /dev/zero (deleted)");
	assert_int_equal(vmspace_parse_areas(text, &areas, &count, NULL), 0);
	assert_int_equal(count, 4);
	assert_string_equal(areas[0].backing.name, "[heap]");
	assert_true(areas[0].flags == (VMA_READ | VMA_WRITE | VMA_MAYREAD | VMA_MAYWRITE |
				       VMA_MAYEXEC | VMA_ACCOUNT));
	assert_true(areas[1].flags == (VMA_READ | VMA_EXEC | VMA_MAYREAD | VMA_MAYWRITE |
				       VMA_MAYEXEC));
	assert_true(areas[2].flags & VMA_GROWSDOWN);
	assert_int_equal(areas[3].backing.kind, VMA_BACKING_SHMEM);
	assert_true(areas[3].flags & VMA_SHARED);
	vmspace_free_areas(areas, count);
	vmspace_free_areas(NULL, 0);
}

static void smaps_tell_more(void **state)
{
	static const char smaps[] =
		"7f0000000000-7f0000002000 rw-p 00000000 00:00 0   [anon:an arena: 1]\n"
		"Size:                  8 kB\nAnonymous:             4 kB\nSwap: 0 kB\n"
		"ProtectionKey:         3\nVmFlags: rd wr mr mw me ac nh \n"
		"7f0000002000-7f0000004000 rw-s 00000000 00:01 77 [anon_shmem:ring]\n"
		"Anonymous: 4 kB\nVmFlags: rd wr sh mr mw me ms \n";
	struct vmspace_area *areas;
	size_t count;

	(void)state;
	assert_int_equal(vmspace_parse_areas(smaps, &areas, &count, NULL), 0);
	assert_int_equal(count, 2);
	assert_string_equal(areas[0].anon_name, "an arena: 1");
	assert_null(areas[0].backing.name);
	assert_true(areas[0].has_anon && areas[0].pkey == 3);
	assert_true(areas[0].flags & VMA_NOHUGEPAGE);
	assert_string_equal(areas[1].anon_name, "ring");
	assert_string_equal(areas[1].backing.name, "/dev/zero (deleted)");
	assert_int_equal(areas[1].backing.kind, VMA_BACKING_SHMEM);
	assert_false(areas[1].has_anon);
	vmspace_free_areas(areas, count);
}

/* A process with as many areas as there may be: in time that grows with their number. */
static void a_long_text_is_read_in_one_go(void **state)
{
	enum { LINES = 65530, LENGTH = 64 };
	char *text = malloc((size_t)LINES * LENGTH + 1), *at = text;
	struct vmspace_area *areas;
	size_t count;

	(void)state;
	assert_non_null(text);
	for (unsigned long i = 0; i < LINES; i++)
		at += sprintf(at, "%08lx-%08lx rw-p 00000000 00:00 0          \n", i * 8192,
			      i * 8192 + 4096);
	assert_int_equal(vmspace_parse_areas(text, &areas, &count, NULL), 0);
	assert_int_equal(count, LINES);
	assert_int_equal(areas[LINES - 1].end, (LINES - 1) * 8192UL + 4096);
	vmspace_free_areas(areas, count);
	free(text);
}

/* A child that stands still; its page at *at is mapped for it alone. */
static pid_t start_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void every_kind_of_difference_is_found(void **state)
{
	struct vmspace_request req = { .op = VMSPACE_MADVISE };
	struct vmspace_difference d;
	struct vmspace *space;
	struct vma_info info;
	pid_t pid = start_child();
	unsigned long at = 0;

	(void)state;
	assert_int_equal(vmspace_load(&space, pid), 0);
	assert_int_equal(vmspace_verify(space, pid, VMSPACE_VERIFY_ALL, &d), 0);
	assert_int_equal(d.what, 0);
	assert_int_equal(vmspace_verify(space, pid, VMSPACE_VERIFY_ALL, NULL), 0);

	/* A flag that no line of maps shows, on a whole area. */
	while (vmspace_next(space, at, &info) &&
	       (info.backing.kind != VMA_BACKING_ANON || (info.flags & VMA_DONTCOPY)))
		at = info.end;
	req.madvise = (struct vmspace_madvise){ info.start, info.end - info.start, MADV_DONTFORK };
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_int_equal(vmspace_verify(space, pid, VMSPACE_VERIFY_MAPS, &d), 0);
	assert_int_equal(vmspace_verify(space, pid, VMSPACE_VERIFY_ALL, &d), 1);
	assert_int_equal(d.what, VMSPACE_VERIFY_FLAGS);
	assert_int_equal(d.addr, info.start);
	assert_non_null(strstr(d.text, " dc "));

	assert_int_equal(vmspace_pin(space, 1), 0);
	assert_int_equal(vmspace_verify(space, pid, VMSPACE_VERIFY_COUNTERS, &d), 1);
	assert_string_equal(d.text, "VmPin: the process has 0 kB, the space 4 kB");

	req = (struct vmspace_request){ .op = VMSPACE_MUNMAP };
	req.munmap = (struct vmspace_munmap){ info.start, info.end - info.start };
	assert_int_equal(vmspace_call(space, &req), 0);
	assert_int_equal(vmspace_verify(space, pid, VMSPACE_VERIFY_ALL, &d), 1);
	assert_int_equal(d.what, VMSPACE_VERIFY_MAPS);
	assert_int_equal(d.addr, info.start);

	vmspace_exit(space);
	assert_int_equal(vmspace_verify(space, pid, VMSPACE_VERIFY_MAPS, &d), 1);
	assert_non_null(strstr(d.text, "the space \"\""));
	vmspace_destroy(space);
	end_child(pid);
}

static void processes_that_are_gone_are_not_loaded(void **state)
{
	pid_t pid = start_child();
	struct vmspace *space, *none;

	(void)state;
	assert_int_equal(vmspace_load(&space, pid), 0);
	kill(pid, SIGKILL);
	/* A zombie has a directory, but no memory. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_true(vmspace_load(&none, pid) < 0);
	assert_null(none);
	waitpid(pid, NULL, 0);
	assert_int_equal(vmspace_load(&none, pid), -ESRCH);
	assert_null(none);
	assert_int_equal(vmspace_verify(space, pid, VMSPACE_VERIFY_ALL, NULL), -ESRCH);
	vmspace_destroy(space);
}

/* What a child inherited, it has since its parent's time; what exec made, it has not. */
static void copies_are_told_from_programs(void **state)
{
	struct vmspace_area *areas;
	struct vmspace_image image;
	pid_t pid = start_child();
	size_t count;

	(void)state;
	assert_int_equal(vmspace_read_process(pid, true, &areas, &count, &image), 0);
	assert_true(areas[0].fork_child);
	assert_true(image.start_brk && image.brk >= image.start_brk && image.start_stack);
	vmspace_free_areas(areas, count);
	assert_int_equal(vmspace_read_process(pid, false, &areas, &count, &image), 0);
	assert_false(areas[0].fork_child);
	vmspace_free_areas(areas, count);
	end_child(pid);
}

/* The layout is chosen by an exec, from what its process has then. */
static void layout_is_that_of_the_process(void **state)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit limit;
#ifdef __x86_64__
	const bool decides = false; /* an unlimited stack moves the base instead */
#else
	const bool decides = true;
#endif

	(void)state;
	for (int way = 0; way < 3; way++) {
		struct vmspace_config config;
		int ready[2];
		pid_t pid;

		assert_int_equal(pipe(ready), 0);
		pid = fork();
		if (!pid) {
			personality(way == 1 ? ADDR_COMPAT_LAYOUT : 0);
			getrlimit(RLIMIT_STACK, &limit);
			limit.rlim_cur = 8UL << 20;
			setrlimit(RLIMIT_STACK, way == 2 ? &none : &limit);
			if (write(ready[1], "", 1) == 1)
				pause();
			_exit(0);
		}
		assert_int_equal(read(ready[0], &limit, 1), 1);
		vmspace_config_init(&config);
		config.mmap_bottom_up = way == 0;
		vmspace_config_read(&config, pid);
		close(ready[0]);
		close(ready[1]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_int_equal(config.mmap_bottom_up, way == 1 || (way == 2 && decides));
	}
}

#ifndef SLAB_SANITIZED /* valgrind, for which it is defined, ends user space elsewhere */
static bool can_map(unsigned long addr, size_t page)
{
	void *at = mmap((void *)addr, page, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED)
		return errno == EEXIST;
	munmap(at, page);
	return at == (void *)addr;
}

static void user_space_ends_where_it_does(void **state)
{
	struct vmspace_config config;
	size_t page;

	(void)state;
	vmspace_config_init(&config);
	page = config.page_size;
	assert_true(can_map(config.task_size - page, page));
	assert_false(can_map(config.task_size, page));
	assert_true(config.map_window <= config.task_size);
	assert_true((unsigned long)&config < config.map_window);
	assert_true((unsigned long)&config > config.map_window / 2);
#ifdef __x86_64__
	assert_int_equal(config.map_window, 0x7ffffffff000);
	assert_true(config.task_size == 0x7ffffffff000 || config.task_size == 0xfffffffffff000);
	assert_int_equal(config.mmap_base_legacy, 0x2aaaaaaab000);
#endif
}
#endif

/* Sanitizers and valgrind need room. */
#if !defined(SANITIZED) && !defined(SLAB_SANITIZED)
#define WITHOUT_ROOM
#endif

#ifdef WITHOUT_ROOM
/* Where nothing can be mapped to find it out, it is that of most machines. */
static void user_space_without_room_to_try(void **state)
{
	struct rlimit limit, none = { 0, RLIM_INFINITY };
	struct vmspace_config before, config;

	(void)state;
	vmspace_config_init(&before);
	getrlimit(RLIMIT_AS, &limit);
	none.rlim_max = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	vmspace_config_init(&config);
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	assert_int_equal(config.map_window, before.map_window);
	assert_true(config.task_size <= before.task_size);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_taken_apart),
		cmocka_unit_test(what_is_no_line_is_refused),
		cmocka_unit_test(the_edges_of_numbers_are_taken),
		cmocka_unit_test(maps_tell_flags_by_permissions),
		cmocka_unit_test(smaps_tell_more),
		cmocka_unit_test(a_long_text_is_read_in_one_go),
		cmocka_unit_test(every_kind_of_difference_is_found),
		cmocka_unit_test(processes_that_are_gone_are_not_loaded),
		cmocka_unit_test(layout_is_that_of_the_process),
#ifndef SLAB_SANITIZED
		cmocka_unit_test(user_space_ends_where_it_does),
#endif
#ifdef WITHOUT_ROOM
		cmocka_unit_test(user_space_without_room_to_try),
#endif
		cmocka_unit_test(copies_are_told_from_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
