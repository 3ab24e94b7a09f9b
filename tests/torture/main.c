/* SPDX-License-Identifier: MIT */
/*
 * main.c - readers of every kind beside writers of every kind, for as long as asked.
 *
 * The time is divided into rounds of a few seconds; each takes the next of the kinds of trees
 * and of crowds below, begins with a new tree and ends with a check of all of it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu/urcu-bp.h>

#include "options.h"
#include "quarantine.h"
#include "world.h"

#define THREADS_MAX 16
#define RCU_GAPS    (MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE)

static const struct round {
	const char *name;
	unsigned int flags;
	bool tiny;
	unsigned int writers;
	unsigned int readers;
	unsigned int heirs; /* threads that own snapshots of the tree */
	bool snapshot;      /* the tree is a snapshot itself */
	bool counted;       /* trees hold references to their entries */
	bool polled;        /* no helper frees what they retire */
} rounds[] = {
	{ "rcu, one writer", MT_FLAGS_USE_RCU, false, 1, 3, 0, false, false, false },
	{ "gaps+rcu, one writer", RCU_GAPS, false, 1, 3, 0, false, false, false },
	{ "rcu, tiny, one writer", MT_FLAGS_USE_RCU, true, 1, 2, 0, false, false, false },
	{ "gaps+rcu, tiny, one writer", RCU_GAPS, true, 1, 2, 0, false, false, false },
	{ "rcu, three writers", MT_FLAGS_USE_RCU, false, 3, 3, 0, false, false, false },
	{ "gaps+rcu, three writers", RCU_GAPS, false, 3, 3, 0, false, false, false },
	{ "rcu, tiny, three writers", MT_FLAGS_USE_RCU, true, 3, 2, 0, false, false, false },
	{ "gaps+rcu, tiny, three writers", RCU_GAPS, true, 3, 2, 0, false, false, false },
	{ "rcu, snapshotted", MT_FLAGS_USE_RCU, false, 2, 2, 2, false, false, false },
	{ "gaps+rcu, snapshotted", RCU_GAPS, false, 2, 2, 2, false, false, false },
	{ "rcu, tiny, snapshotted", MT_FLAGS_USE_RCU, true, 2, 2, 2, false, false, false },
	{ "rcu, a snapshot", MT_FLAGS_USE_RCU, false, 2, 2, 2, true, false, false },
	{ "gaps+rcu, a snapshot", RCU_GAPS, false, 2, 2, 2, true, false, false },
	{ "gaps+rcu, tiny, a snapshot", RCU_GAPS, true, 2, 2, 2, true, false, false },
	{ "rcu, counted", MT_FLAGS_USE_RCU, false, 2, 2, 2, false, true, false },
	{ "gaps+rcu, tiny, counted", RCU_GAPS, true, 2, 2, 2, false, true, false },
	{ "gaps+rcu, a snapshot, counted", RCU_GAPS, false, 2, 2, 2, true, true, false },
	{ "rcu, polled", MT_FLAGS_USE_RCU, false, 2, 3, 0, false, false, true },
	{ "gaps+rcu, tiny, counted, polled", RCU_GAPS, true, 2, 2, 2, false, true, true },
};

#define ROUNDS (sizeof(rounds) / sizeof(rounds[0]))

struct totals {
	unsigned long long reads;
	unsigned long long writes;
	unsigned long long overlaps;
	unsigned long long snapshots;
};

/* Looks at the whole tree now and then, and forces grace periods to pass. */
static void watch(struct world *w, double until)
{
	struct worker me = { .world = w, .number = THREADS_MAX };
	const char *reason = "";

	while (seconds() < until) {
		usleep(5000);
		mtree_lock(&w->mt);
		expect(&me, mt_check(&w->mt, &reason), "%s", reason);
		mtree_unlock(&w->mt);
		if (!mt_poll())
			urcu_bp_synchronize_rcu();
	}
}

/* What thread @i of a round does. */
static void *(*runs(const struct round *round, unsigned int i))(void *arg)
{
	if (i < round->writers)
		return writer_run;
	return i < round->writers + round->readers ? reader_run : heir_run;
}

static void run_round(const struct round *round, uint64_t seed, double length,
		      struct totals *totals)
{
	struct world *w = calloc(1, sizeof(*w));
	pthread_t thread[THREADS_MAX];
	static struct worker worker[THREADS_MAX];
	unsigned int i, threads = round->writers + round->readers + round->heirs;

	if (!w)
		abort();
	w->seed = seed;
	w->writers = round->writers;
	w->polled = round->polled;
	world_begin(w, round->flags, round->tiny, round->counted);
	if (round->snapshot)
		world_become_snapshot(w);
	for (i = 0; i < threads; i++) {
		worker[i] = (struct worker){ .world = w, .number = i };
		random_seed(&worker[i].random, seed + i);
		if (pthread_create(&thread[i], NULL, runs(round, i), &worker[i]))
			abort();
	}
	watch(w, seconds() + length);
	__atomic_store_n(&w->stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	world_end(w);
	totals->reads += w->reads;
	totals->writes += w->writes;
	totals->overlaps += w->overlaps;
	totals->snapshots += w->snapshots;
	free(w);
}

int main(int argc, char **argv)
{
	struct totals sum[ROUNDS] = { { 0, 0, 0, 0 } };
	struct options options;
	double start = seconds(), length;
	unsigned long i;

	if (!take_options(&options, argc, argv))
		return 2;
	alarm((unsigned int)(options.duration * 2 + 120)); /* a reader that waits forever */
	length = options.duration / ROUNDS < 5 ? options.duration / ROUNDS : 5;
	for (i = 0; i < ROUNDS || seconds() - start < options.duration; i++)
		run_round(&rounds[i % ROUNDS], options.seed + 100 * i, length, &sum[i % ROUNDS]);
	for (i = 0; i < ROUNDS; i++)
		printf("%s %lu - %s: %llu reads, %llu writes, %llu overlaps seen, "
		       "%llu looks at snapshots\n",
		       options.tap ? "ok" : "kind", i + 1, rounds[i].name, sum[i].reads,
		       sum[i].writes, sum[i].overlaps, sum[i].snapshots);
	printf("%s%lu nodes freed and found untouched\n", options.tap ? "# " : "",
	       quarantine_drain());
	if (options.tap)
		printf("1..%zu\n", ROUNDS);
	return 0;
}
