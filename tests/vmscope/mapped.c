/* SPDX-License-Identifier: MIT */
/*
 * mapped THREADS COUNT - threads map this program's own file and unmap it, COUNT times each, so that
 * nearly always another one has the lock when a call returns.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIZE = 8192, THREADS_MOST = 64 };

static int fd, count;

static void *map(void *unused)
{
	(void)unused;
	for (int i = 0; i < count; i++) {
		void *at = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);

		if (at == MAP_FAILED || munmap(at, SIZE) != 0)
			exit(1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t all[THREADS_MOST];

	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || threads < 1 || threads > THREADS_MOST)
		return 1;
	count = atoi(argv[2]);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&all[i], NULL, map, NULL) != 0)
			return 1;
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return 0;
}
