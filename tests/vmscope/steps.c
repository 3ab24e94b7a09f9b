/* SPDX-License-Identifier: MIT */
/*
 * A few calls of every kind. Each has an effect that remains visible until the program exits: a
 * mirror that misses a call, or gets one twice, is wrong from then on.
 */
#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096L
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

int main(void)
{
	char *room = mmap(NULL, 64 * PAGE, PROT_NONE, ANON, -1, 0);
	int fd = memfd_create("steps", 0), id = shmget(IPC_PRIVATE, 2 * PAGE, 0600);
	char *moved, *attached;

	if (room == MAP_FAILED || fd < 0 || ftruncate(fd, 8 * PAGE) != 0 || id < 0)
		return 1;
	mmap(room + PAGE, 8 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	mmap(room + 10 * PAGE, 4 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 2 * PAGE);
	mmap(room + 16 * PAGE, 4 * PAGE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	munmap(room + 3 * PAGE, 2 * PAGE);
	mprotect(room + 6 * PAGE, PAGE, PROT_READ);
	mprotect(room + 30 * PAGE, 4 * PAGE, RW);
	moved = mremap(room + 30 * PAGE, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE);
	mremap(moved, 3 * PAGE, PAGE, 0);
	madvise(room + 40 * PAGE, 2 * PAGE, MADV_DONTFORK);
	madvise(room + 44 * PAGE, 2 * PAGE, MADV_SEQUENTIAL);
	mlock(room + PAGE, PAGE);
	mlock2(room + 8 * PAGE, PAGE, MLOCK_ONFAULT);
	munlock(room + PAGE, PAGE);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, room + 50 * PAGE, 2 * PAGE, "steps");
	attached = shmat(id, NULL, 0);
	shmat(id, NULL, SHM_RDONLY);
	shmdt(attached);
	shmctl(id, IPC_RMID, NULL);
	sbrk(3 * PAGE);
	sbrk(-PAGE);
	mlockall(MCL_CURRENT);
	munlockall();
	/* The kernel makes files for these, and rounds up; reserved they would need huge pages. */
	mmap(NULL, (1 << 22) + PAGE, RW, ANON | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
	mmap(NULL, (1 << 22) + PAGE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
	return 0;
}
