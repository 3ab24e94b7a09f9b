/* SPDX-License-Identifier: MIT */
/*
 * maps.c COUNT - reads a byte, makes so many areas, with a munmap of nothing after each, and reads until
 * the end of its input. Its functions are never inlined: stacks have all of them.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static __attribute__((noinline)) int maker_of_areas(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static __attribute__((noinline)) int user_of_areas(int count)
{
	int made = 0;

	while (count-- > 0) {
		made += maker_of_areas();
		munmap(NULL, 4096);
	}
	return made;
}

int main(int argc, char **argv)
{
	char byte;
	const int count = argc > 1 ? atoi(argv[1]) : 0;

	return read(0, &byte, 1) != 1 || user_of_areas(count) != count || read(0, &byte, 1) < 0;
}
