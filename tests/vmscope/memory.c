/* SPDX-License-Identifier: MIT */
/*
 * memory.c [MICROSECONDS] - calls whose arguments point to memory, in which something else stands
 * afterwards: names of areas n0 to n99, process_madvise and mbind. It prints which of the last two
 * succeeded, and ends then, or so much later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Newer than some C libraries. */
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

enum { PAGE = 4096, NAMES = 100, BIND = 2 /* MPOL_BIND */ };

static void name_areas(char *memory)
{
	char name[20];

	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory + 2 * i * PAGE, PAGE, name);
	}
}

int main(int argc, char **argv)
{
	char *memory = mmap(NULL, 300 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec range = { memory + 250 * PAGE, PAGE };
	unsigned long nodes = 1;
	const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (memory == MAP_FAILED)
		return 1;
	name_areas(memory);
	if (syscall(SYS_process_madvise, self, &range, 1, MADV_DONTDUMP, 0) == PAGE)
		puts("process_madvise");
	if (syscall(SYS_mbind, memory + 270 * PAGE, PAGE, BIND, &nodes, 64, 0) == 0)
		puts("mbind");
	nodes = range.iov_len = 0;
	close(self);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, PAGE, 1); /* a name that is no memory */
	if (argc > 1)
		usleep((unsigned int)atoi(argv[1]));
	return 0;
}
