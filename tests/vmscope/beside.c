/* SPDX-License-Identifier: MIT */
/*
 * beside.c - maps a page between two neighbours, of which one has pages, and the other one had some at
 * a former call: all three become one area. By turns at an address that is asked for, and at a fixed
 * one.
 */
#include <stddef.h>
#include <sys/mman.h>

#define PAGE 4096L
#define ROUNDS 8

/* At a place that is free, which the kernel takes if it is asked to. */
static char *map(char *at, int fixed)
{
	char *got = mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1,
			 0);

	return got == at ? got : NULL;
}

int main(void)
{
	int fixed = 0;
	char *room = mmap(NULL, 16 * ROUNDS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED || munmap(room, 16 * ROUNDS * PAGE) != 0)
		return 1;
	for (char *at = room + PAGE; at < room + 16 * ROUNDS * PAGE; at += 16 * PAGE) {
		char *before = map(at, 0), *behind = map(at + 2 * PAGE, 0);

		if (!before || !behind)
			return 1;
		*before = *behind = 1;
		mprotect(behind, PAGE, PROT_READ);
		munmap(behind, PAGE);
		if (!map(behind, 0) || !map(at + PAGE, fixed))
			return 1;
		fixed ^= MAP_FIXED;
	}
	return 0;
}
