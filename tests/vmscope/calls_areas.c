/* SPDX-License-Identifier: MIT */
/* Every call that changes areas, in every mode, by one thread. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#ifndef MAP_32BIT
#define MAP_32BIT 0 /* x86 alone has it */
#endif
#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

static char *map(void *addr, size_t pages, int prot, int flags)
{
	return mmap(addr, pages * PAGE, prot, flags, -1, 0);
}

void test_map(void)
{
	static const int prots[] = { PROT_NONE, PROT_READ, RW, PROT_READ | PROT_EXEC, RW | PROT_EXEC,
				     PROT_WRITE, PROT_EXEC };
	static const int flags[] = { 0, MAP_NORESERVE, MAP_POPULATE, MAP_STACK, MAP_LOCKED, MAP_32BIT };
	char *a, *b;

	for (size_t p = 0; p < sizeof(prots) / sizeof(prots[0]); p++)
		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
			for (size_t pages = 1; pages <= 5; pages += 2) {
				a = map(NULL, pages, prots[p], ANON | flags[f]);
				MUST(a != MAP_FAILED);
				if (p & 1)
					MUST(munmap(a, pages * PAGE) == 0);
			}
	/* Hints: free, occupied, unaligned, too low, larger than a huge page, adjacent. */
	a = island(16, RW);
	MUST(map(a + 16 * PAGE, 1, RW, ANON) == a + 16 * PAGE);
	MUST(map(a, 1, RW, ANON) != a);
	MUST(map(a - 5 * PAGE + 123, 2, RW, ANON) != MAP_FAILED);
	MUST(map((void *)1, 1, RW, ANON) != MAP_FAILED);
	MUST(map((void *)(1UL << 46), 4, RW, ANON) != MAP_FAILED);
	MUST(map(NULL, 4096, RW, ANON) != MAP_FAILED);
	MUST(map(NULL, 1025, RW, ANON) != MAP_FAILED);
	/* MAP_FIXED over the middle, the edges, everything, several areas at once. */
	touch(a, 16 * PAGE);
	MUST(map(a + 4 * PAGE, 2, PROT_READ, ANON | MAP_FIXED) == a + 4 * PAGE);
	MUST(map(a + 4 * PAGE, 2, RW, ANON | MAP_FIXED) == a + 4 * PAGE);
	MUST(map(a, 1, PROT_NONE, ANON | MAP_FIXED) == a);
	MUST(map(a + 2 * PAGE, 10, RW, ANON | MAP_FIXED) == a + 2 * PAGE);
	MUST(map(a, 16, RW, ANON | MAP_FIXED) == a);
	b = map(a + 3 * PAGE, 1, RW, ANON | MAP_FIXED_NOREPLACE);
	MUST(b == MAP_FAILED && errno == EEXIST);
	MUST(munmap(a + 3 * PAGE, PAGE) == 0);
	MUST(map(a + 3 * PAGE, 1, RW, ANON | MAP_FIXED_NOREPLACE) == a + 3 * PAGE);
	/* These must fail. */
	MUST(map(NULL, 0, RW, ANON) == MAP_FAILED && errno == EINVAL);
	MUST(map(a + 1, 1, RW, ANON | MAP_FIXED) == MAP_FAILED && errno == EINVAL);
	MUST(map(NULL, 1, RW, MAP_ANONYMOUS) == MAP_FAILED && errno == EINVAL);
	MUST(mmap(NULL, 1UL << 48, RW, ANON, -1, 0) == MAP_FAILED && errno == ENOMEM);
	MUST(mmap(NULL, PAGE, RW, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
	MUST(mmap(NULL, PAGE, RW, MAP_PRIVATE, 0, 1) == MAP_FAILED && errno == EINVAL);
}

void test_unmap(void)
{
	char *a = island(32, RW);

	touch(a + 8 * PAGE, 8 * PAGE);
	MUST(munmap(a, PAGE) == 0);
	MUST(munmap(a + 31 * PAGE, PAGE) == 0);
	MUST(munmap(a + 10 * PAGE, 3 * PAGE) == 0);
	MUST(munmap(a + 20 * PAGE, 100) == 0);
	MUST(munmap(a + 8 * PAGE, 14 * PAGE) == 0);	/* over holes and areas */
	MUST(munmap(a + 8 * PAGE, 14 * PAGE) == 0);	/* nothing there any more */
	MUST(munmap(a, 32 * PAGE) == 0);
	MUST(munmap(a + 1, PAGE) == -1 && errno == EINVAL);
	MUST(munmap(a, 0) == -1 && errno == EINVAL);
	MUST(munmap((void *)(1UL << 60), PAGE) == -1 && errno == EINVAL);
}

void test_protect(void)
{
	char *a = island(20, RW), *b = island(6, PROT_NONE);

	/* Split and merge again, with and without pages on either side. */
	MUST(mprotect(a + 5 * PAGE, PAGE, PROT_READ) == 0);
	MUST(mprotect(a + 5 * PAGE, PAGE, RW) == 0);
	touch(a, 3 * PAGE);
	MUST(mprotect(a + PAGE, PAGE, PROT_NONE) == 0);
	MUST(mprotect(a + 10 * PAGE, 4 * PAGE, PROT_READ) == 0);
	MUST(mprotect(a + 12 * PAGE, 4 * PAGE, PROT_READ) == 0);
	MUST(mprotect(a + PAGE, PAGE, RW) == 0);
	MUST(mprotect(a, 20 * PAGE, PROT_READ | PROT_EXEC) == 0);
	MUST(mprotect(a, 20 * PAGE, RW) == 0);
	/* Pages touched while the parts were separate give each its own anon_vma. */
	for (int i = 0; i < 6; i++)
		MUST(mprotect(b + i * (long)PAGE, PAGE, i % 2 ? PROT_READ : RW) == 0);
	touch(b, PAGE);
	touch(b + 4 * PAGE, PAGE);
	touch(b + 2 * PAGE, PAGE);
	MUST(mprotect(b, 6 * PAGE, RW) == 0);
	touch(b, 6 * PAGE);
	MUST(mprotect(b + 3 * PAGE, PAGE, PROT_NONE) == 0);
	MUST(mprotect(b + 3 * PAGE, PAGE, RW) == 0);
	/* A hole: areas before it are changed, then ENOMEM. */
	MUST(munmap(a + 8 * PAGE, PAGE) == 0);
	MUST(mprotect(a + 6 * PAGE, 6 * PAGE, PROT_READ) == -1 && errno == ENOMEM);
	MUST(mprotect(a + 1, PAGE, RW) == -1 && errno == EINVAL);
	MUST(mprotect(a, 0, RW) == 0);
	MUST(mprotect(a, PAGE, RW | PROT_GROWSDOWN) == -1 && errno == EINVAL);
	MUST(mprotect(a, PAGE, 0x400) == -1 && errno == EINVAL);
	MUST(syscall(SYS_pkey_mprotect, a, PAGE, PROT_READ, -1) == 0);
	syscall(SYS_pkey_mprotect, a, PAGE, RW, 1);	/* EINVAL if there are no protection keys */
	int key = (int)syscall(SYS_pkey_alloc, 0, 0);
	if (key > 0) {
		MUST(syscall(SYS_pkey_mprotect, a, 2 * PAGE, RW, key) == 0);
		MUST(mprotect(a, PAGE, PROT_READ) == 0);
		MUST(syscall(SYS_pkey_free, key) == 0);
	}
	/* With protection keys, they get one that denies reading; perhaps the freed one. */
	MUST(mprotect(a + 3 * PAGE, PAGE, PROT_EXEC) == 0);
	MUST(map(NULL, 2, PROT_EXEC, ANON) != MAP_FAILED);
	MUST(mprotect(a + 3 * PAGE, PAGE, RW) == 0);
	if (key > 0)
		MUST(syscall(SYS_pkey_alloc, 0, 0) > 0);
}

static void remap_private(void)
{
	char *room = island(64, PROT_NONE), *a = room + 8 * PAGE, *b, *c;

	/* All moves to fixed addresses stay in this range. */
	MUST(munmap(room, 64 * PAGE) == 0);
	MUST(map(a, 8, RW, ANON | MAP_FIXED) == a);
	MUST(map(room + 63 * PAGE, 1, PROT_NONE, ANON | MAP_FIXED) == room + 63 * PAGE);
	touch(a, 4 * PAGE);
	MUST(mremap(a, 8 * PAGE, 4 * PAGE, 0) == a);			/* shrink */
	MUST(mremap(a, 4 * PAGE, 8 * PAGE, 0) == a);			/* grow in place */
	MUST(mremap(a, 8 * PAGE, 8 * PAGE, 0) == a);
	map(a + 8 * PAGE, 1, PROT_READ, ANON | MAP_FIXED);
	MUST(mremap(a, 8 * PAGE, 9 * PAGE, 0) == MAP_FAILED && errno == ENOMEM);
	b = mremap(a, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);		/* move and grow */
	MUST(b != MAP_FAILED && b != a);
	c = mremap(b + 4 * PAGE, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a);
	MUST(c == a);							/* from the middle */
	c = mremap(b, 4 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a + 16 * PAGE);
	MUST(c == a + 16 * PAGE);					/* shrink and move */
	c = mremap(b + 8 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	MUST(c != MAP_FAILED);
	touch(b + 8 * PAGE, 2 * PAGE);
	c = mremap(b + 12 * PAGE, 2 * PAGE, 2 * PAGE,
		   MREMAP_MAYMOVE | MREMAP_DONTUNMAP | MREMAP_FIXED, a + 24 * PAGE);
	MUST(c == a + 24 * PAGE);
	MUST(mremap(b + 8 * PAGE, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) ==
	     MAP_FAILED && errno == EINVAL);
	MUST(munmap(room, 64 * PAGE) == 0);
	/* Move away and back: whether it merges depends on the page offsets. */
	a = island(12, RW);
	touch(a, 12 * PAGE);
	b = island(4, PROT_NONE);
	MUST(mremap(a + 4 * PAGE, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, b) == b);
	MUST(mremap(b, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a + 4 * PAGE) == a + 4 * PAGE);
	a = island(12, RW);
	MUST(mremap(a + 4 * PAGE, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, b) == b);
	MUST(mremap(b, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a + 4 * PAGE) == a + 4 * PAGE);
}

void test_remap(void)
{
	char *a, *b;

	remap_private();
	a = map(NULL, 8, RW, MAP_SHARED | MAP_ANONYMOUS);
	MUST(a != MAP_FAILED);
	b = mremap(a, 0, 8 * PAGE, MREMAP_MAYMOVE);			/* map it twice */
	MUST(b != MAP_FAILED && b != a);
	MUST(mremap(a, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
	a = island(4, RW);
	MUST(mremap(a, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
	MUST(mremap(a + 1, PAGE, PAGE, 0) == MAP_FAILED && errno == EINVAL);
	MUST(mremap(a, PAGE, 0, 0) == MAP_FAILED && errno == EINVAL);
	MUST(mremap(a, 6 * PAGE, 8 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EFAULT);
	MUST(mremap(a + 64 * PAGE * 1024, PAGE, PAGE * 2, MREMAP_MAYMOVE) == MAP_FAILED);
	MUST(mremap(a, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a + PAGE) == MAP_FAILED &&
	     errno == EINVAL);
	MUST(mremap(a, PAGE, PAGE, MREMAP_FIXED, a + PAGE) == MAP_FAILED && errno == EINVAL);
	MUST(mremap(a, PAGE, PAGE, 64) == MAP_FAILED && errno == EINVAL);
}

void test_brk(void)
{
	char *begin = sbrk(0);

	MUST(syscall(SYS_brk, begin + 3 * PAGE + 17) == (long)(begin + 3 * PAGE + 17));
	touch(begin, 3 * PAGE);
	MUST(syscall(SYS_brk, begin + 3 * PAGE + 18) == (long)(begin + 3 * PAGE + 18));
	MUST(syscall(SYS_brk, begin + 40 * PAGE) == (long)(begin + 40 * PAGE));
	MUST(syscall(SYS_brk, begin + PAGE) == (long)(begin + PAGE));
	MUST(mprotect((void *)(((uintptr_t)begin + PAGE - 1) / PAGE * PAGE), PAGE, RW) == 0);
	MUST(syscall(SYS_brk, begin + 20 * PAGE) == (long)(begin + 20 * PAGE));
	MUST(syscall(SYS_brk, 1) == (long)(begin + 20 * PAGE));	/* refused */
	MUST(syscall(SYS_brk, 0) == (long)(begin + 20 * PAGE));
	MUST(syscall(SYS_brk, begin) == (long)begin);
}

void test_advise(void)
{
	static const int advice[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
				      MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP, MADV_DODUMP,
				      MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_HUGEPAGE,
				      MADV_NOHUGEPAGE, MADV_MERGEABLE, MADV_UNMERGEABLE,
				      MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT,
				      MADV_POPULATE_READ, MADV_POPULATE_WRITE, 102, 103, 9999 };
	char *a = island(16, RW);

	for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
		madvise(a + 4 * PAGE, 4 * PAGE, advice[i]);
		madvise(a + 2 * PAGE, 4 * PAGE, advice[i]);
		madvise(a, 16 * PAGE, advice[i]);
	}
	/* Freeing the pages leaves the anon_vma behind. */
	a = island(6, RW);
	MUST(mprotect(a + 2 * PAGE, 2 * PAGE, PROT_READ) == 0);
	touch(a, 2 * PAGE);
	touch(a + 4 * PAGE, 2 * PAGE);
	MUST(madvise(a, 6 * PAGE, MADV_DONTNEED) == 0);
	MUST(mprotect(a + 2 * PAGE, 2 * PAGE, RW) == 0);
	MUST(madvise(a + 1, PAGE, MADV_DONTNEED) == -1 && errno == EINVAL);
	MUST(munmap(a + PAGE, PAGE) == 0);
	MUST(madvise(a, 3 * PAGE, MADV_DONTFORK) == -1 && errno == ENOMEM);
	MUST(madvise(a, 0, MADV_DONTFORK) == 0);
	a = map(NULL, 4, RW, MAP_SHARED | MAP_ANONYMOUS);
	MUST(madvise(a, PAGE, MADV_WIPEONFORK) == -1 && errno == EINVAL);
	MUST(madvise(a, PAGE, MADV_REMOVE) == 0);
	MUST(madvise(a, PAGE, MADV_DONTDUMP) == 0);
}

void test_lock(void)
{
	char *a = island(12, RW), *b;

	MUST(mlock(a + 2 * PAGE, 2 * PAGE) == 0);
	MUST(mlock2(a + 6 * PAGE, 2 * PAGE, MLOCK_ONFAULT) == 0);
	MUST(mlock(a, 12 * PAGE) == 0);
	MUST(munlock(a + 4 * PAGE, PAGE) == 0);
	MUST(munlock(a, 12 * PAGE) == 0);
	MUST(mlock(a + 1, 1) == 0);
	MUST(munmap(a + 6 * PAGE, PAGE) == 0);
	MUST(mlock(a + 4 * PAGE, 4 * PAGE) == -1 && errno == ENOMEM);
	MUST(munlock(a + 4 * PAGE, 4 * PAGE) == -1 && errno == ENOMEM);
	MUST(mlock2(a, PAGE, 2) == -1 && errno == EINVAL);
	MUST(mremap(a, PAGE, 3 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
	MUST(munlock(a, 4 * PAGE) == 0 || errno == ENOMEM);
	if (mlockall(MCL_CURRENT) == 0) {
		MUST(mlockall(MCL_FUTURE) == 0);
		b = map(NULL, 2, RW, ANON);
		MUST(mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0);
		MUST(map(NULL, 2, RW, ANON) != MAP_FAILED);
		MUST(munlock(b, PAGE) == 0);
		MUST(munlockall() == 0);
		MUST(map(NULL, 2, RW, ANON) != MAP_FAILED);
	}
	MUST(mlockall(0) == -1 && errno == EINVAL);
	MUST(mlockall(MCL_ONFAULT) == -1 && errno == EINVAL);
}

static int name_memory(void *start, size_t length, const char *name)
{
	return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, start, length, name);
}

void test_names(void)
{
	char *a = island(10, RW), *s = map(NULL, 4, RW, MAP_SHARED | MAP_ANONYMOUS);

	if (name_memory(a, PAGE, "one") != 0)
		return; /* the kernel does not support names */
	MUST(name_memory(a + PAGE, PAGE, "one") == 0);
	MUST(name_memory(a + 4 * PAGE, 2 * PAGE, "the other one, with blanks") == 0);
	MUST(name_memory(a + 2 * PAGE, 2 * PAGE, "one") == 0);
	MUST(munmap(a + 9 * PAGE, PAGE) == 0);
	MUST(map(a + 9 * PAGE, 1, RW, ANON | MAP_FIXED_NOREPLACE) == a + 9 * PAGE);
	MUST(name_memory(a, 6 * PAGE, NULL) == 0);
	MUST(name_memory(a, PAGE, "") == 0);
	MUST(name_memory(a, PAGE, "no[brackets]") == -1 && errno == EINVAL);
	MUST(name_memory(a + 1, PAGE, "x") == -1 && errno == EINVAL);
	MUST(name_memory(s, 2 * PAGE, "shared") == 0);
	MUST(name_memory(s, 4 * PAGE, NULL) == 0);
	MUST(mremap(a + 4 * PAGE, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
}

/* Sealed after it was mapped, a file is remapped with less rights than its neighbours have. */
static void remap_sealed(int memfd)
{
	char *a = mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED, memfd, 0);

	MUST(a != MAP_FAILED);
	if (fcntl(memfd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0)
		return;
	/* Who may not look at the seals of a mapped file takes them to be as they were. */
	if (geteuid() == 0 && syscall(SYS_remap_file_pages, a, PAGE, 0, 3, 0) == 0)
		MUST(mprotect(a, PAGE, RW) == -1 && errno == EACCES);
	(void)mlock(a, PAGE);
}

/* A piece of a segment that was extended beyond its end stays attached. */
static void detach_extended(int id)
{
	char *a = shmat(id, (void *)(1UL << 44), 0);

	MUST(a != (void *)-1 && munmap(a + PAGE, PAGE) == 0);
	if (mremap(a + 2 * PAGE, 2 * PAGE, 5 * PAGE, 0) != MAP_FAILED)
		MUST(shmdt(a) == 0 && mprotect(a + 2 * PAGE, PAGE, PROT_READ) == 0);
	MUST(munmap(a, 8 * PAGE) == 0);
}

void test_shared(void)
{
	int memfd = memfd_create("a name", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int id = shmget(IPC_PRIVATE, 3 * PAGE + 5, IPC_CREAT | 0600);
	char *a, *b;

	/* Shared anonymous memory never merges with its neighbour. */
	a = map(NULL, 2, RW, MAP_SHARED | MAP_ANONYMOUS);
	b = map(NULL, 2, RW, MAP_SHARED | MAP_ANONYMOUS);
	MUST(a != MAP_FAILED && b != MAP_FAILED);
	MUST(mprotect(a, PAGE, PROT_READ) == 0 && mprotect(a, PAGE, RW) == 0);
	MUST(memfd >= 0 && ftruncate(memfd, 8 * PAGE) == 0);
	a = mmap(NULL, 4 * PAGE, RW, MAP_SHARED, memfd, 0);
	MUST(a != MAP_FAILED);
	/* The next pages of the same file, adjacent: one area. */
	MUST(munmap(a + 2 * PAGE, 2 * PAGE) == 0);
	MUST(mmap(a + 2 * PAGE, 2 * PAGE, RW, MAP_SHARED | MAP_FIXED, memfd, 2 * PAGE) == a + 2 * PAGE);
	MUST(mmap(a + 2 * PAGE, PAGE, RW, MAP_SHARED | MAP_FIXED, memfd, 5 * PAGE) == a + 2 * PAGE);
	MUST(mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE, memfd, PAGE) != MAP_FAILED);
	MUST(mmap(NULL, PAGE, PROT_READ, MAP_SHARED_VALIDATE, memfd, 0) != MAP_FAILED);
	syscall(SYS_remap_file_pages, a, PAGE, 0, 3, 0);
	if (id >= 0) {
		a = shmat(id, NULL, 0);
		b = shmat(id, NULL, SHM_RDONLY);
		MUST(a != (void *)-1 && b != (void *)-1);
		MUST(shmat(id, a, SHM_REMAP) == a);
		MUST(munmap(b, PAGE) == 0);
		MUST(mprotect(a + PAGE, PAGE, PROT_READ) == 0);
		MUST(shmdt(b) == -1 || 1);
		MUST(shmdt(a) == 0);
		detach_extended(id);
		MUST(shmctl(id, IPC_RMID, NULL) == 0);
		MUST(shmdt(a) == -1 && errno == EINVAL);
	}
	remap_sealed(memfd);
	close(memfd);
}

/*
 * A write beyond the end of a file leaves no page, but an anon_vma, which keeps areas apart. @prot:
 * of the mapping at first.
 */
static void write_past_end(int fd, int zero, int prot)
{
	char *a = island(8, PROT_NONE), *b;

	MUST(mmap(a, 4 * PAGE, prot, MAP_PRIVATE | MAP_FIXED, fd, 20 * PAGE) == a);
	MUST(prot == RW || mprotect(a, 4 * PAGE, RW) == 0);
	MUST(read(zero, a + PAGE, 1) == -1 && errno == EFAULT);
	MUST(ftruncate(fd, 40 * PAGE) == 0);
	b = mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE, fd, 24 * PAGE);
	MUST(b != MAP_FAILED);
	touch(b, PAGE);
	MUST(mremap(b, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a + 4 * PAGE) ==
	     a + 4 * PAGE);
	MUST(mprotect(a + 2 * PAGE, 4 * PAGE, PROT_READ) == 0);
	MUST(ftruncate(fd, 16 * PAGE) == 0);
}

void test_files(void)
{
	char path[] = "/tmp/vmscope-calls-XXXXXX", moved[64];
	int fd = mkstemp(path), again, zero = open("/dev/zero", O_RDWR);
	char *a;

	MUST(fd >= 0 && ftruncate(fd, 16 * PAGE) == 0 && zero >= 0);
	a = mmap(NULL, 8 * PAGE, RW, MAP_PRIVATE, fd, 0);
	MUST(a != MAP_FAILED);
	touch(a, 2 * PAGE);
	MUST(mprotect(a + PAGE, PAGE, PROT_READ) == 0);
	MUST(mprotect(a + PAGE, PAGE, RW) == 0);
	MUST(mmap(a + 4 * PAGE, PAGE, RW, MAP_PRIVATE | MAP_FIXED, fd, 4 * PAGE) == a + 4 * PAGE);
	MUST(mmap(a + 5 * PAGE, PAGE, RW, MAP_PRIVATE | MAP_FIXED, fd, 9 * PAGE) == a + 5 * PAGE);
	/* The same file by another open(): never merged. */
	again = open(path, O_RDWR);
	MUST(mmap(a + 6 * PAGE, PAGE, RW, MAP_PRIVATE | MAP_FIXED, again, 6 * PAGE) == a + 6 * PAGE);
	MUST(mmap(a + 6 * PAGE, PAGE, RW, MAP_PRIVATE | MAP_FIXED, fd, 6 * PAGE) == a + 6 * PAGE);
	/* By a duplicated descriptor, of the same open file. */
	MUST(dup2(fd, again) == again);
	MUST(mmap(a + 7 * PAGE, PAGE, RW, MAP_PRIVATE | MAP_FIXED, again, 7 * PAGE) == a + 7 * PAGE);
	MUST(mremap(a, 2 * PAGE, 4 * PAGE, MREMAP_MAYMOVE) != MAP_FAILED);
	MUST(mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 4 * PAGE) != MAP_FAILED);
	write_past_end(fd, zero, RW);
	write_past_end(fd, zero, PROT_READ);
	/* The path of a mapped file changes. */
	snprintf(moved, sizeof(moved), "%s moved", path);
	MUST(rename(path, moved) == 0);
	MUST(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	MUST(unlink(moved) == 0);
	MUST(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE) != MAP_FAILED);
	close(again);
	again = open("/proc/self/exe", O_RDONLY);
	MUST(mmap(NULL, PAGE, RW, MAP_SHARED, again, 0) == MAP_FAILED && errno == EACCES);
	MUST(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, again, 0) != MAP_FAILED);
	MUST(mmap(NULL, 2 * PAGE, RW, MAP_PRIVATE, zero, 0) != MAP_FAILED);
	MUST(mmap(NULL, 2 * PAGE, RW, MAP_SHARED, zero, 0) != MAP_FAILED);
	close(again);
	again = open("/tmp", O_RDONLY | O_DIRECTORY);
	MUST(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, again, 0) == MAP_FAILED && errno == ENODEV);
	close(again);
	close(zero);
	close(fd);
}

void test_growsdown(void)
{
	char *room = island(400, PROT_NONE), *a;

	MUST(munmap(room, 400 * PAGE) == 0);
	a = map(room + 396 * PAGE, 4, RW, ANON | MAP_FIXED | MAP_GROWSDOWN);
	MUST(a == room + 396 * PAGE);
	touch(a, PAGE);
	for (long i = 1; i <= 20; i++) {
		touch(a - i * (long)PAGE, PAGE);	/* grows by a page fault */
		if (i % 5 == 0)
			MUST(mprotect(a, PAGE, i % 2 ? PROT_READ : RW) == 0);
	}
	MUST(mprotect(a, PAGE, RW) == 0);
	MUST(mprotect(a - 2 * PAGE, PAGE, PROT_READ | PROT_GROWSDOWN) == 0);
	MUST(munmap(a - 10 * PAGE, 3 * PAGE) == 0);
	MUST(map(room, 1, RW, ANON | MAP_FIXED) == room);
	MUST(map(NULL, 2, RW, ANON | MAP_GROWSDOWN | MAP_STACK) != MAP_FAILED);
}

static int new_uffd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	MUST(fd < 0 || ioctl(fd, UFFDIO_API, &api) == 0);
	return fd;
}

static int reg(int fd, char *at, size_t pages, unsigned long mode)
{
	struct uffdio_register args = { .range = { (uintptr_t)at, pages * PAGE }, .mode = mode };

	return ioctl(fd, UFFDIO_REGISTER, &args);
}

static int unreg(int fd, char *at, size_t pages)
{
	struct uffdio_range args = { (uintptr_t)at, pages * PAGE };

	return ioctl(fd, UFFDIO_UNREGISTER, &args);
}

/* Does nothing if userfaultfd(2) is forbidden. */
void test_uffd(void)
{
	char *a = island(16, RW);
	int one = new_uffd(), two, again;
	pid_t child;

	if (one < 0)
		return;
	two = new_uffd();
	MUST(reg(one, a, 8, UFFDIO_REGISTER_MODE_WP) == 0);
	MUST(reg(two, a + 8 * PAGE, 4, UFFDIO_REGISTER_MODE_WP) == 0);
	MUST(reg(two, a, 1, UFFDIO_REGISTER_MODE_WP) == -1 && errno == EBUSY);
	MUST(reg(two, a - PAGE, 1, UFFDIO_REGISTER_MODE_WP) == -1 && errno == EINVAL);
	MUST(reg(1, a, 1, UFFDIO_REGISTER_MODE_WP) == -1 && errno == ENOTTY);
	touch(a, 16 * PAGE);
	MUST(unreg(one, a + 2 * PAGE, 2) == 0);
	MUST(mprotect(a, PAGE, PROT_READ) == 0);
	MUST(mprotect(a, PAGE, RW) == 0);
	MUST(mremap(a + 5 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, a + 13 * PAGE) ==
	     a + 13 * PAGE);
	child = fork();
	if (child == 0) {
		MUST(munmap(a, PAGE) == 0);
		_exit(0);
	}
	MUST(waitpid(child, NULL, 0) == child);
	/* A duplicated descriptor keeps it; closing the last one releases it. */
	again = dup(two);
	MUST(close(two) == 0);
	MUST(munmap(a + 15 * PAGE, PAGE) == 0);
	MUST(close(again) == 0);
	MUST(munmap(a + 14 * PAGE, PAGE) == 0);
	MUST(close(one) == 0);
}

/* What may be done with a mapping shows as results and, after a lock, as flags. */
static void use_ring(char *ring)
{
	MUST(ring != MAP_FAILED);
	(void)mprotect(ring, PAGE, PROT_READ | PROT_EXEC);
	(void)mprotect(ring, PAGE, PROT_READ);
	(void)mlock(ring, PAGE);
	(void)munlock(ring, PAGE);
}

/* Mappings of files that have no name and lie on mounts of the kernel's own. */
void test_rings(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.config = PERF_COUNT_SW_TASK_CLOCK, .disabled = 1,
					.exclude_kernel = 1 };
	struct io_uring_params params;
	aio_context_t aio = 0;
	int fd;

	memset(&params, 0, sizeof(params));
	if (syscall(SYS_io_setup, 10, &aio) == 0) {
		use_ring((char *)aio);
		MUST(syscall(SYS_io_destroy, aio) == 0);
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd >= 0) {
		use_ring(mmap(NULL, 3 * PAGE, RW, MAP_SHARED, fd, 0));
		(void)mmap(NULL, 3 * PAGE, RW | PROT_EXEC, MAP_SHARED, fd, 0);
		close(fd);
	}
	fd = (int)syscall(SYS_io_uring_setup, 8, &params);
	if (fd >= 0) {
		use_ring(mmap(NULL, PAGE, RW, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING));
		use_ring(mmap(NULL, PAGE, RW, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES));
		close(fd);
	}
}

void test_odd(void)
{
	struct rlimit limit, low;
	aio_context_t aio = 0;
	char *a = island(4, RW);
	int old = personality(0xffffffff);

	if (syscall(SYS_mseal, a, PAGE, 0) == 0) {
		MUST(munmap(a, PAGE) == -1 && errno == EPERM);
		MUST(mprotect(a, 4 * PAGE, PROT_READ) == -1 && errno == EPERM);
		MUST(mprotect(a + PAGE, PAGE, PROT_READ) == 0);
	}
	if (syscall(SYS_io_setup, 10, &aio) == 0)
		MUST(syscall(SYS_io_destroy, aio) == 0);
	/* Containers usually do not permit setting this one. */
	if (personality((unsigned long)old | READ_IMPLIES_EXEC) >= 0) {
		MUST(map(NULL, 1, PROT_READ, ANON) != MAP_FAILED);
		MUST(personality((unsigned long)old) >= 0);
	}
	MUST(getrlimit(RLIMIT_AS, &limit) == 0);
	low = limit;
	low.rlim_cur = 1UL << 30;
	MUST(setrlimit(RLIMIT_AS, &low) == 0);
	MUST(mmap(NULL, 2UL << 30, PROT_NONE, ANON | MAP_NORESERVE, -1, 0) == MAP_FAILED &&
	     errno == ENOMEM);
	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	MUST(mmap(NULL, 2UL << 30, PROT_NONE, ANON | MAP_NORESERVE, -1, 0) != MAP_FAILED);
}

/* A page of a file over the middle of an area; many file systems have no MAP_SYNC. */
static void map_sync(char *a)
{
	char path[] = "/tmp/vmscope-calls-XXXXXX";
	int fd = mkstemp(path);

	MUST(fd >= 0 && ftruncate(fd, 4 * PAGE) == 0 && unlink(path) == 0);
	for (int kind = MAP_SHARED; kind <= MAP_SHARED_VALIDATE; kind++, a += 4 * PAGE)
		mmap(a, PAGE, RW, kind | MAP_FIXED | MAP_SYNC, fd, 0);
	close(fd);
}

/* A huge page over the middle of an area; most machines have none. */
static void map_huge(void)
{
	const uintptr_t huge = 2UL << 20;
	uintptr_t a = (uintptr_t)mmap(NULL, 4 * huge, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);

	a = (a + huge) & ~(huge - 1);
	mmap((void *)a, huge, RW, ANON | MAP_FIXED | MAP_HUGETLB, -1, 0);
}

/* Calls that the kernel refuses when it has cut or unmapped something. */
void test_refused(void)
{
	const uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
	char *a = island(32, RW), *b = map((void *)(1UL << 40), 32, PROT_READ, ANON);
	struct rlimit limit, low;

	MUST(getrlimit(RLIMIT_AS, &limit) == 0);
	low = limit;
	low.rlim_cur = PAGE;
	MUST(setrlimit(RLIMIT_AS, &low) == 0);
	MUST(map(a + PAGE, 2, PROT_READ, ANON | MAP_FIXED) == MAP_FAILED && errno == ENOMEM);
	MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	map_sync(a + 8 * PAGE);
	map_huge();
	/* Far more than there is memory: refused, unless the machine commits any amount. */
	mremap(a, PAGE, 1UL << 46, MREMAP_MAYMOVE | MREMAP_FIXED, b + PAGE);
	/* Linux 5.10 lets it be cut. */
	if (vdso && madvise((void *)vdso, PAGE, MADV_RANDOM))
		MUST(errno == EINVAL && munmap((void *)vdso, PAGE) == -1 && errno == EINVAL);
}
