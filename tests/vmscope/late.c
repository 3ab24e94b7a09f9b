/* SPDX-License-Identifier: MIT */
/*
 * late SECONDS - a thread in an uninterruptible call: a vfork() whose child takes so many seconds.
 * A tracer that attaches meanwhile cannot wait for the thread to stop. Exits with status 23.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static unsigned int seconds;

static void *blocked(void *arg)
{
	pid_t pid;

	(void)arg;
	puts("ready");
	fflush(stdout);
	pid = vfork();
	if (pid == 0) {
		sleep(seconds);
		_exit(0);
	}
	for (int i = 0; i < 10; i++)
		munmap(mmap(NULL, 40960, PROT_READ, ANON, -1, 0), 8192);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	seconds = argc > 1 ? (unsigned int)atoi(argv[1]) : 4;
	if (pthread_create(&thread, NULL, blocked, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 23;
}
