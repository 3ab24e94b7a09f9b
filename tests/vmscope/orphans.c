/* SPDX-License-Identifier: MIT */
/* Is killed while four threads fork: some children are never reported by their parents. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void *fork_on(void *arg)
{
	for (;;)
		if (fork() == 0) {
			usleep(1000);
			_exit(0);
		}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread, NULL, fork_on, NULL))
			return 1;
	usleep(20000 + 1000 * (argc > 1 ? (unsigned int)atoi(argv[1]) : 0));
	kill(getpid(), SIGKILL);
	return 1;
}
