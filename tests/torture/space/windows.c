/* SPDX-License-Identifier: MIT */
/*
 * windows.c - torture of guests in windows: threads that call, load and store, beside forks of the guest; and
 * beside forks of the host, a process that writes the file that they map, or pins, in turns, and then all.
 *
 *	torture-windows [--duration=SECONDS] [--seed=NUMBER] [--tap]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mapletree/maple_tree.h>

#include "../options.h"
#include "windows.h"

#define ROUND 1.0 /* seconds, at most */

static const char *const count_names[COUNTS] = {
	"steps", "loads", "stores", "pins", "stores through pins", "children", "children of the host",
	"without memory", "loads of the file", "stores to it",
};

static const unsigned int rounds[] = {
	WITH_HOST_FORKS, WITH_FILES, WITH_PINS, WITH_HOST_FORKS | WITH_FILES | WITH_PINS,
};

static void create(struct crowd *crowd)
{
	struct vmspace_memfd_config memory = { .limit = (size_t)64 << 20 };
	struct vmspace_config config;

	expect(!vmspace_memfd_create(&crowd->memfd, &memory), "no memfd");
	if (crowd->with & WITH_FILES)
		vmspace_memfd_use_files(crowd->memfd, files_descriptor);
	expect(!vmspace_window_create(&crowd->view.window, crowd->memfd, WINDOW_START, WINDOW_PAGES * PAGE),
	       "no window");
	/* The running kernel is not looked at: ThreadSanitizer does not let its address 0 be mapped. */
	expect(!vmspace_config_preset(&config, "x86_64", "7.3"), "no configuration");
	config.memory = vmspace_window_memory(crowd->view.window);
	expect(!vmspace_create(&crowd->view.space, &config), "no space");
}

static struct crowd *begin(uint64_t seed, unsigned int with)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	pthread_rwlockattr_t kind;

	expect(crowd, "no memory");
	crowd->with = with;
	create(crowd);
	/* Else those who are always there keep who forks waiting. */
	pthread_rwlockattr_init(&kind);
	pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&crowd->gate, &kind);
	random_seed(&crowd->kids, seed + 50);
	random_seed(&crowd->host, seed + 51);
	random_seed(&crowd->files, seed + 52);
	for (unsigned int i = 0; i < WORKERS; i++) {
		struct worker *w = &crowd->worker[i];

		*w = (struct worker){ .crowd = crowd, .number = i, .first = i * SLICE };
		random_seed(&w->random, seed + i);
		worker_begin(w);
	}
	if (with & WITH_FILES)
		files_map(crowd);
	return crowd;
}

static void end(struct crowd *crowd, unsigned long long *count)
{
	const char *why = "";

	for (int i = 0; i < WORKERS; i++) {
		worker_check(&crowd->worker[i]);
		worker_end(&crowd->worker[i]);
		for (int k = 0; k < COUNTS; k++)
			count[k] += crowd->worker[i].count[k];
	}
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < COUNTS; k++)
			count[k] += crowd->count[i][k];
	kids_check(crowd);
	expect(vmspace_check(crowd->view.space, &why), "%s", why);
	kids_end(crowd);
	view_end(&crowd->view);
	expect(!vmspace_memfd_used(crowd->memfd), "frames are left");
	vmspace_memfd_destroy(crowd->memfd);
	pthread_rwlock_destroy(&crowd->gate);
	free(crowd);
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	expect(!pthread_create(thread, NULL, run, arg), "no thread");
}

static void run_round(uint64_t seed, double length, unsigned int with, unsigned long long *count)
{
	const bool forks = with & WITH_HOST_FORKS, files = with & WITH_FILES;
	struct crowd *crowd = begin(seed, with);
	pthread_t thread[WORKERS + 2], host;
	unsigned int threads = 0;

	pthread_barrier_init(&crowd->begin, NULL, WORKERS + 2 + forks + files);
	for (; threads < WORKERS; threads++)
		start(&thread[threads], worker_run, &crowd->worker[threads]);
	start(&thread[threads++], kids_run, crowd);
	if (files)
		start(&thread[threads++], files_run, crowd);
	if (forks)
		start(&host, host_run, crowd);
	pthread_barrier_wait(&crowd->begin);
	usleep((useconds_t)(length * 1e6));
	__atomic_store_n(&crowd->forks_stop, true, __ATOMIC_RELAXED);
	if (forks)
		pthread_join(host, NULL);
	__atomic_store_n(&crowd->stop, true, __ATOMIC_RELAXED);
	while (threads--)
		pthread_join(thread[threads], NULL);
	pthread_barrier_destroy(&crowd->begin);
	end(crowd, count);
}

int main(int argc, char **argv)
{
	unsigned long long count[COUNTS] = { 0 };
	struct options options;
	double until, length;

	if (!take_options(&options, argc, argv))
		return 2;
	if (sysconf(_SC_PAGESIZE) != PAGE) {
		printf("1..0 # SKIP the host's pages are not of %lu bytes\n", PAGE);
		return 0;
	}
	views_begin();
	files_begin();
	until = seconds() + options.duration;
	length = options.duration / 4 < ROUND ? options.duration / 4 : ROUND;
	for (unsigned long round = 0; seconds() < until || round < 4; round++)
		run_round(options.seed + round * 100, length, rounds[round % 4], count);
	files_end();
	mt_barrier();
	for (int k = 0; k < COUNTS; k++)
		printf("%s%llu %s", k ? ", " : "# ", count[k], count_names[k]);
	printf("\n");
	if (options.tap)
		printf("1..1\nok 1 - every page, file and pin as expected\n");
	return 0;
}
