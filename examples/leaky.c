/* SPDX-License-Identifier: MIT */
/*
 * leaky.c - the service of the guide docs/guides/mappings.md: each of its tasks gets a stack with a
 * guard page below, and is never told to give it back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE  4096UL
#define STACK (16 * PAGE)

static int start_task(void)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return stack == MAP_FAILED ? -1 : mprotect(stack, PAGE, PROT_NONE);
}

int main(int argc, char **argv)
{
	int tasks = argc > 1 ? atoi(argv[1]) : 200;

	for (int task = 0; task < tasks; task++)
		if (start_task()) {
			perror("leaky: no room for another task");
			return 1;
		}
	return 0;
}
