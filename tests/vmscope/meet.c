/* SPDX-License-Identifier: MIT */
/*
 * Threads with calls that overlap in one address space. Two make calls by turns; each call has an
 * effect that remains visible until the program exits, and always has the same number. A third
 * thread touches pages for the first time while a call is in progress whose outcome depends on
 * that.
 *
 * Usage: meet ROUNDS [SEED] [wait]. With "wait" it makes some areas, reads a line from standard
 * input, and changes these areas afterwards.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGE 4096L
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define SLOT (44 * PAGE)

static char *room;
static long rounds;
static unsigned int seed = 1;
static pthread_barrier_t turn;
static _Atomic(char *) to_touch;

static void spin(unsigned int count)
{
	for (volatile unsigned int i = 0; i < count; i++)
		;
}

static void *toucher(void *arg)
{
	(void)arg;
	for (;;) {
		char *at = atomic_exchange(&to_touch, NULL);

		if (!at) {
			usleep(20);
			continue;
		}
		spin((unsigned int)rand_r(&seed) % 60000);
		*at = 1;
	}
	return NULL;
}

/* Before vmscope attaches: neighbours with pages, which share an anon_vma or have two. */
static void prepare(char *at)
{
	char *apart = at + 24 * PAGE, *two = at + 32 * PAGE, *emptied = at + 38 * PAGE;

	/* One area, split in three. */
	mmap(at, 6 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	memset(at, 1, 6 * PAGE);
	mprotect(at + 2 * PAGE, 2 * PAGE, PROT_READ);
	/* One area, partly replaced: now nobody can see that the rest shares an anon_vma. */
	mmap(apart, 6 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	memset(apart, 1, 6 * PAGE);
	mmap(apart + 2 * PAGE, 2 * PAGE, PROT_NONE, ANON | MAP_FIXED, -1, 0);
	/* Two areas touched separately, then made neighbours: nor that these do not. */
	mmap(two, PAGE, RW, ANON | MAP_FIXED, -1, 0);
	mmap(two + 2 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0);
	two[0] = two[2 * PAGE] = 1;
	mprotect(two + PAGE, PAGE, RW);
	two[PAGE] = 1;
	mprotect(two + 2 * PAGE, PAGE, PROT_READ);
	/* Two areas touched separately, one of which has freed its page: nor that it had one. */
	mmap(emptied, PAGE, RW, ANON | MAP_FIXED, -1, 0);
	mmap(emptied + 2 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0);
	emptied[0] = emptied[2 * PAGE] = 1;
	madvise(emptied, PAGE, MADV_DONTNEED);
}

static void play(char *at)
{
	char *left = at + 8 * PAGE, *moved;

	mprotect(at + 2 * PAGE, 2 * PAGE, RW);
	mprotect(at + 26 * PAGE, 2 * PAGE, RW);
	mprotect(at + 34 * PAGE, PAGE, RW);
	mprotect(at + 39 * PAGE, PAGE, RW);
	mmap(left, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	mmap(left + 3 * PAGE, 2 * PAGE, RW, ANON | MAP_FIXED, -1, 0);
	left[3 * PAGE] = 1;
	atomic_store(&to_touch, left);
	/* If touched before, left and right have different anon_vmas, and are not merged. */
	mprotect(left + 2 * PAGE, PAGE, RW);
	munmap(at + 15 * PAGE, 2 * PAGE);
	madvise(at + 18 * PAGE, PAGE, MADV_DONTFORK);
	moved = mmap(NULL, 3 * PAGE, RW, ANON, -1, 0);
	mremap(moved, 3 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
	mprotect(at + 20 * PAGE, PAGE, PROT_READ);
}

static void *player(void *second)
{
	for (long i = 0; i < rounds; i++) {
		if (i % 2 == (second != NULL))
			play(room + i * SLOT);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[16];

	if (argc < 2)
		return 2;
	rounds = atol(argv[1]);
	seed = argc > 2 ? (unsigned int)atol(argv[2]) : 1;
	room = mmap(NULL, (size_t)(rounds * SLOT), PROT_NONE, ANON, -1, 0);
	if (room == MAP_FAILED || pthread_barrier_init(&turn, NULL, 2) != 0)
		return 1;
	for (long i = 0; i < rounds; i++)
		prepare(room + i * SLOT);
	if (pthread_create(&thread, NULL, toucher, NULL) != 0)
		return 1;
	if (argc > 3) {
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		if (write(STDOUT_FILENO, "ready\n", 6) != 6 ||
		    read(STDIN_FILENO, line, sizeof(line)) <= 0)
			return 1;
	}
	if (pthread_create(&thread, NULL, player, room) != 0)
		return 1;
	player(NULL);
	return 0;
}
