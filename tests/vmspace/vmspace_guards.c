/* SPDX-License-Identifier: MIT */
/*
 * vmspace_guards.c - calls that populate pages stop at a guard. Whether the area has got an anon_vma before
 * is seen in a child, where what inherits one does not merge with what does not: there as in a child of the
 * kernel's.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mapletree/vmspace_guest.h>
#include <mapletree/vmspace_reading.h>

#include "../sanitizer.h"
#include "mman_names.h"
#include "numbered_frames.h"

/* A sanitizer's shadow is more than can be made present, by mlockall(). */
#if defined(SANITIZED) || defined(SLAB_SANITIZED)
#define ALL_IS_TOO_MUCH
#endif

#define AT    0x10000000000UL
#define PAGES 8UL
#define RW    (PROT_READ | PROT_WRITE)

static size_t page;

static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index, uint64_t *frame)
{
	(void)ctx;
	(void)backing;
	*frame = 1000000 + index;
	return 0;
}

static const struct vmspace_memory memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy, .file_page = file_page,
};

enum call { LOCK, LOCK_ALL, FILL, READ, PROTECT };

/* The call is about the first half of the area, or the whole process. */
struct run {
	const char *name;
	enum call call;
	unsigned long guards, end;   /* pages [guards, end) are guards */
};

static long answer(long result)
{
	return result == -1 ? -errno : result;
}

/* What such a process does first; the second half of the area is one of its own until it is dumped. */
static long call_kernel(const struct run *run, int fd)
{
	int prot = run->call == PROTECT ? PROT_READ : RW;
	size_t half = PAGES / 2 * page;
	char *at = (char *)AT;
	long result = 0;

	if (mmap(at, PAGES * page, prot, MAP_PRIVATE | MAP_FIXED, fd, 0) != at ||
	    madvise(at + half, half, MADV_DONTDUMP) ||
	    (run->guards < run->end && madvise(at + run->guards * page, (run->end - run->guards) * page,
					       MADV_GUARD_INSTALL)))
		return 1;
	if (run->call == LOCK || run->call == PROTECT)
		result = answer(syscall(SYS_mlock, at, half)); /* a sanitizer's mlock() does nothing */
	else if (run->call == LOCK_ALL)
		result = answer(syscall(SYS_mlockall, MCL_CURRENT));
	else
		result = answer(madvise(at, half,
					run->call == FILL ? MADV_POPULATE_WRITE : MADV_POPULATE_READ));
	return run->call == PROTECT ? answer(mprotect(at, half, RW)) : result;
}

/* Is the whole area one, in the process that calls this? */
static bool is_one_in_kernel(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];
	bool one = false;

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2 && start == AT)
			one = end == AT + PAGES * page;
	if (maps)
		fclose(maps);
	return one;
}

static bool join_in_kernel(void)
{
	size_t half = PAGES / 2 * page;

	return !mprotect((char *)AT, PAGES * page, PROT_READ) &&
	       !madvise((char *)AT + half, half, MADV_DODUMP) && is_one_in_kernel();
}

/* What a process of its own finds: the result, and whether its child has one area. False: no guards. */
static bool ask_kernel(const struct run *run, int fd, long *result, bool *one)
{
	int status, answers[2];
	long both[2] = { 1, 0 };
	pid_t parent;

	assert_int_equal(pipe(answers), 0);
	parent = fork();
	if (parent == 0) {
		both[0] = call_kernel(run, fd);
		pid_t child = both[0] == 1 ? -1 : fork();

		if (child == 0)
			_exit(join_in_kernel());
		if (child > 0 && waitpid(child, &status, 0) == child)
			both[1] = WEXITSTATUS(status);
		_exit(write(answers[1], both, sizeof(both)) != sizeof(both));
	}
	assert_int_equal(read(answers[0], both, sizeof(both)), sizeof(both));
	assert_int_equal(waitpid(parent, &status, 0), parent);
	close(answers[0]);
	close(answers[1]);
	*result = both[0];
	*one = both[1];
	return both[0] != 1;
}

static long call_space(struct vmspace *space, const struct run *run)
{
	const struct vma_backing file = { .kind = VMA_BACKING_FILE, .inode = 1, .file_id = 1,
					  .flags = VMA_BACKING_TMPFS, .name = "/file" };
	int prot = run->call == PROTECT ? PROT_READ : RW;
	size_t half = PAGES / 2 * page;
	long result;

	assert_int_equal(vmspace_mmap(space, AT, PAGES * page, prot, MAP_PRIVATE | MAP_FIXED, &file, 0), AT);
	assert_int_equal(vmspace_madvise(space, AT + half, half, MADV_DONTDUMP), 0);
	assert_int_equal(vmspace_madvise(space, AT + run->guards * page, (run->end - run->guards) * page,
					 MADV_GUARD_INSTALL), 0);
	if (run->call == LOCK || run->call == PROTECT)
		result = vmspace_mlock(space, AT, half);
	else if (run->call == LOCK_ALL)
		result = vmspace_mlockall(space, MCL_CURRENT);
	else
		result = vmspace_madvise(space, AT, half,
					 run->call == FILL ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
	return run->call == PROTECT ? vmspace_mprotect(space, AT, half, RW) : result;
}

static bool join_in_space(struct vmspace *space)
{
	size_t half = PAGES / 2 * page;
	struct vma_info info;

	assert_int_equal(vmspace_mprotect(space, AT, PAGES * page, PROT_READ), 0);
	assert_int_equal(vmspace_madvise(space, AT + half, half, MADV_DODUMP), 0);
	assert_true(vmspace_lookup(space, AT, &info));
	return info.end == AT + PAGES * page;
}

static void ask_space(const struct run *run, long *result, bool *one)
{
	struct vmspace_config config;
	struct vmspace *space, *child;
	const char *reason = "";

	vmspace_config_init(&config);
	config.lock_privileged = true;
	config.overcommit = 1;
	config.thp = VMSPACE_THP_NEVER;
	config.memory = &memory;
	assert_int_equal(vmspace_create(&space, &config), 0);
	*result = call_space(space, run);
	assert_int_equal(vmspace_fork(space, NULL, &child), 0);
	*one = join_in_space(child);
	assert_true(vmspace_check(space, &reason));
	assert_true(vmspace_check(child, &reason));
	vmspace_destroy(child);
	vmspace_destroy(space);
	assert_int_equal(frames, 0);
}

static void regress_populating_stops_at_a_guard_before_the_anon_vma(void **state)
{
	static const struct run runs[] = {
		{ "mlock, guards alone", LOCK, 0, 8 },
		{ "MADV_POPULATE_WRITE, guards alone", FILL, 0, 8 },
		{ "mprotect of locked guards", PROTECT, 0, 8 },
		{ "mlock, a guard first", LOCK, 0, 1 },
		{ "MADV_POPULATE_WRITE, a guard first", FILL, 0, 1 },
		{ "mprotect, a guard first", PROTECT, 0, 1 },
		{ "mlock, a guard behind", LOCK, 1, 2 },
		{ "MADV_POPULATE_WRITE, a guard behind", FILL, 1, 2 },
		{ "mprotect, a guard behind", PROTECT, 1, 2 },
		{ "mlock, no guards", LOCK, 0, 0 },
		{ "MADV_POPULATE_WRITE, no guards", FILL, 0, 0 },
		{ "MADV_POPULATE_READ, no guards", READ, 0, 0 },
#ifndef ALL_IS_TOO_MUCH
		{ "mlockall, guards alone", LOCK_ALL, 0, 8 },
		{ "mlockall, a guard first", LOCK_ALL, 0, 1 },
		{ "mlockall, a guard first in each", LOCK_ALL, 0, 5 },
#endif
	};
	int fd = memfd_create("file", 0);

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(ftruncate(fd, (off_t)(PAGES * page)), 0);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		bool one_there, one_here;
		long there, here;

		if (!ask_kernel(&runs[i], fd, &there, &one_there))
			continue;
		ask_space(&runs[i], &here, &one_here);
		if (here != there || one_here != one_there)
			fail_msg("%s: %ld and %s here, %ld and %s there", runs[i].name, here,
				 one_here ? "one area" : "two", there, one_there ? "one area" : "two");
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regress_populating_stops_at_a_guard_before_the_anon_vma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
