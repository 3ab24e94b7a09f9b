/* SPDX-License-Identifier: MIT */
/* pairs COUNT - pairs of mmap() and munmap(), to measure what tracing a call costs. */
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;

	for (long i = 0; i < pairs; i++) {
		void *area = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		if (area == MAP_FAILED || munmap(area, 16384) != 0)
			return 1;
	}
	return 0;
}
