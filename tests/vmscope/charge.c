/* SPDX-License-Identifier: MIT */
/*
 * charge ROUNDS SEED - a thread maps a page and makes it unwritable, while another writes to it for
 * the first time: before, so that the area stays charged (VmFlags "ac"), or too late, for a SIGSEGV.
 * Nothing else tells which.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096L

static _Atomic(char *) to_touch;
static atomic_bool done;
static unsigned int seed;
static sigjmp_buf too_late;

static void refused(int signal)
{
	(void)signal;
	siglongjmp(too_late, 1);
}

static void spin(unsigned int count)
{
	for (volatile unsigned int i = 0; i < count; i++)
		;
}

static void *toucher(void *arg)
{
	(void)arg;
	while (!atomic_load(&done)) {
		char *at = atomic_load(&to_touch);

		if (!at) {
			usleep(1);
			continue;
		}
		spin((unsigned int)rand_r(&seed) % 60000);
		if (sigsetjmp(too_late, 1) == 0)
			*at = 1;
		atomic_store(&to_touch, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? atol(argv[1]) : 0;
	pthread_t thread;

	seed = argc > 2 ? (unsigned int)atol(argv[2]) : 1;
	signal(SIGSEGV, refused);
	if (pthread_create(&thread, NULL, toucher, NULL) != 0)
		return 1;
	for (long i = 0; i < rounds; i++) {
		char *pages = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages == MAP_FAILED || mprotect(pages, PAGE, PROT_READ | PROT_WRITE) != 0)
			return 1;
		atomic_store(&to_touch, pages);
		usleep(1);
		if (mprotect(pages, PAGE, PROT_READ | PROT_EXEC) != 0)
			return 1;
		while (atomic_load(&to_touch))
			usleep(1);
	}
	atomic_store(&done, true);
	return pthread_join(thread, NULL) == 0 ? 0 : 1;
}
