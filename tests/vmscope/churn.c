/* SPDX-License-Identifier: MIT */
/*
 * churn THREADS [ROUNDS] - threads that map and unmap until SIGUSR1, or each so many times; then exits with
 * status 21.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RW (PROT_READ | PROT_WRITE)

enum { THREADS_MOST = 64 };

static int rounds;	/* 0: without end */

static void end(int signal)
{
	(void)signal;
	_exit(21);
}

static void *churn(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;

	for (int round = 0; rounds == 0 || round < rounds; round++) {
		size_t length = 4096 * (1 + (size_t)(rand_r(&seed) % 30));
		char *area = mmap(NULL, length, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memset(area, 1, 100);
		mprotect(area, 4096, PROT_READ);
		usleep(1000);
		munmap(area, length);
		free(malloc(300000));
		if (rand_r(&seed) % 100 == 0 || round + 1 == rounds) {
			pid_t pid = fork();

			if (pid == 0)
				_exit(munmap(mmap(NULL, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
					     4096));
			waitpid(pid, NULL, 0);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[THREADS_MOST];

	rounds = argc > 2 ? atoi(argv[2]) : 0;
	signal(SIGUSR1, end);
	for (int i = 0; i < count && i < THREADS_MOST; i++)
		if (pthread_create(&threads[i], NULL, churn, (void *)(size_t)(i + 1)) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < count && i < THREADS_MOST; i++)
		pthread_join(threads[i], NULL);
	return 21;
}
