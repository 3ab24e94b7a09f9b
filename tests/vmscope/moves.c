/* SPDX-License-Identifier: MIT */
/*
 * moves THREADS [SEED] - threads that move, map, empty and protect anonymous memory, each in its
 * own range of addresses, until killed: areas have page offsets of where they once were, and
 * anon_vmas of pages that are gone. Nothing of that shows to a tracer that attaches.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define FIXED (MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)
#define RW (PROT_READ | PROT_WRITE)

enum { THREADS_MAX = 16, PAGES = 48, LONGEST = 6, PAUSE_USEC = 300 };

static char *const arenas = (char *)(1UL << 44);
static unsigned long seed = 1;

static unsigned long below(unsigned long *state, unsigned long n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % n;
}

static void make_call(char *arena, unsigned long *state)
{
	const unsigned long pages = 1 + below(state, LONGEST);
	char *at = arena + below(state, PAGES - LONGEST) * PAGE;
	char *to = arena + below(state, PAGES - LONGEST) * PAGE;

	switch (below(state, 8)) {
	case 0:
	case 1:
		if (mmap(at, pages * PAGE, RW, FIXED, -1, 0) == MAP_FAILED)
			abort();
		if (below(state, 2))
			at[below(state, pages) * PAGE] = 1;
		break;
	case 2:
	case 3:
	case 4:
		if (to + pages * PAGE <= at || at + pages * PAGE <= to)
			(void)mremap(at, pages * PAGE, pages * PAGE,
				     MREMAP_MAYMOVE | MREMAP_FIXED, to);
		break;
	case 5:
		(void)mprotect(at, pages * PAGE, below(state, 2) ? RW : RW | PROT_EXEC);
		break;
	case 6:
		(void)madvise(at, pages * PAGE, MADV_DONTNEED);
		break;
	default:
		(void)munmap(at, pages * PAGE);
	}
}

static void *run(void *arg)
{
	unsigned long state = (seed << 8) + (unsigned long)arg + 1;
	char *arena = arenas + (unsigned long)arg * PAGES * PAGE;

	for (unsigned long n = 0;; n++) {
		make_call(arena, &state);
		/* Before anybody attaches, enough has happened. */
		if (n == 3000 && arg == NULL) {
			puts("ready");
			fflush(stdout);
		}
		if (n > 3000)
			usleep(PAUSE_USEC);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 6;
	pthread_t thread;

	if (argc > 2)
		seed = strtoul(argv[2], NULL, 10);
	for (unsigned long i = 1; i < count && i < THREADS_MAX; i++)
		if (pthread_create(&thread, NULL, run, (void *)i) != 0)
			return 1;
	run(NULL);
	return 0;
}
