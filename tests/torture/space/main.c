/* SPDX-License-Identifier: MIT */
/*
 * main.c - threads that fault and look areas up beside threads that map, unmap, protect, move,
 * discard, fork, take snapshots and collect what was written, for as long as asked.
 *
 * A quarter of the time is calm: faults only where nothing changes, no fork, no snapshots, and nothing
 * is collected, to see how many of them take the space's lock while others map elsewhere. In the rest
 * all do everything, and frames run out now and then. Half of the time nothing is translated, so that
 * each access is a fault, of a present page mostly.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <mapletree/maple_tree.h>

#include "../options.h"
#include "actors.h"

#define ROUND 2.0 /* seconds, at most */

const char *const kind_names[KINDS] = {
	"mmap", "munmap", "mprotect", "mremap", "madvise", "names", "stacks", "forks",
	"snapshots", "dirty pages",
	"out of memory", "loads", "stores", "areas read",
};

static const struct {
	void *(*run)(void *actor);
	unsigned int count;
} sorts[] = {
	{ faulter_run, 2 }, { reader_run, 1 }, { mapper_run, 2 }, { forker_run, 1 },
	{ viewer_run, 1 }, { collector_run, 1 },
};

#define ACTORS_MAX 16

struct totals {
	unsigned long long count[KINDS];
	unsigned long faults, locked;           /* in all */
	unsigned long calm_faults, calm_locked; /* in calm times, once the areas were there */
};

long make_call(struct guest *guest, struct vmspace_request *req)
{
	return vmspace_call(guest->space, req);
}

long map_pages(struct guest *guest, unsigned long first, unsigned long count, int prot, int flags)
{
	struct vmspace_request req = { .op = VMSPACE_MMAP };

	req.mmap = (struct vmspace_mmap){
		.addr = BASE + first * PAGE, .length = count * PAGE, .prot = prot,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags,
	};
	return make_call(guest, &req);
}

long unmap_pages(struct guest *guest, unsigned long first, unsigned long count)
{
	struct vmspace_request req = { .op = VMSPACE_MUNMAP };

	req.munmap = (struct vmspace_munmap){ BASE + first * PAGE, count * PAGE };
	return make_call(guest, &req);
}

/* The stable area has its anon_vma: the first store of all takes the space's lock. */
static void begin(struct crowd *crowd)
{
	uint64_t value;

	expect(map_pages(crowd->guest, STABLE, STABLE_PAGES, PROT_READ | PROT_WRITE, 0) > 0 &&
	       map_pages(crowd->guest, READONLY, READONLY_PAGES, PROT_READ, 0) > 0, "no areas");
	expect(!guest_store(crowd->guest, STABLE, 0) && !guest_load(crowd->guest, READONLY, &value),
	       "no pages");
}

static void run_crowd(struct crowd *crowd, uint64_t seed, double length, struct totals *totals)
{
	static struct actor actor[ACTORS_MAX];
	pthread_t thread[ACTORS_MAX];
	unsigned int count = 0;
	struct vmspace_stats before, after;

	collector_begin();
	vmspace_stats(crowd->guest->space, &before);
	for (unsigned int sort = 0; sort < sizeof(sorts) / sizeof(sorts[0]); sort++) {
		if (crowd->calm &&
		    (sorts[sort].run == forker_run || sorts[sort].run == viewer_run ||
		     sorts[sort].run == collector_run))
			continue;
		for (unsigned int i = 0; i < sorts[sort].count; i++, count++) {
			actor[count] = (struct actor){ .crowd = crowd, .number = i };
			random_seed(&actor[count].random, seed + count);
			if (pthread_create(&thread[count], NULL, sorts[sort].run, &actor[count]))
				abort();
		}
	}
	usleep((useconds_t)(length * 1e6));
	__atomic_store_n(&crowd->stop, true, __ATOMIC_RELAXED);
	while (count--) {
		pthread_join(thread[count], NULL);
		for (int kind = 0; kind < KINDS; kind++)
			totals->count[kind] += actor[count].count[kind];
	}
	vmspace_stats(crowd->guest->space, &after);
	totals->faults += after.faults - before.faults;
	totals->locked += after.faults_locked - before.faults_locked;
	frames_fail_one_of = 0;
	if (!crowd->calm)
		collector_check(crowd->guest);
}

static void run_round(uint64_t seed, double length, bool calm, struct totals *totals)
{
	struct crowd crowd = { .guest = guest_new(), .calm = calm };
	struct totals mine = { 0 };
	const char *why = "";

	frames_fail_one_of = 0;
	begin(&crowd);
	frames_fail_one_of = calm ? 0 : 500;
	run_crowd(&crowd, seed, length, &mine);
	expect(vmspace_check(crowd.guest->space, &why), "%s", why);
	guest_end(crowd.guest);
	expect(!frames_in_use(), "%lu frames are left", frames_in_use());
	for (int kind = 0; kind < KINDS; kind++)
		totals->count[kind] += mine.count[kind];
	totals->faults += mine.faults;
	totals->locked += mine.locked;
	totals->calm_faults += calm ? mine.faults : 0;
	totals->calm_locked += calm ? mine.locked : 0;
}

static void report(const struct totals *totals)
{
	double share = totals->calm_faults
			       ? 100.0 * (double)(totals->calm_faults - totals->calm_locked) /
					 (double)totals->calm_faults
			       : 0;

	for (int kind = 0; kind < KINDS; kind++)
		printf("%s%llu %s", kind ? ", " : "# ", totals->count[kind], kind_names[kind]);
	printf("\n# %lu faults, %.1f%% without the space's lock; "
	       "%.3f%% of %lu where areas are stable\n",
	       totals->faults,
	       totals->faults ? 100.0 * (double)(totals->faults - totals->locked) /
					(double)totals->faults : 0,
	       share, totals->calm_faults);
	expect(share > 99, "too many faults in stable areas took the space's lock");
}

int main(int argc, char **argv)
{
	struct totals totals = { 0 };
	struct options options;
	double until, left, length;

	if (!take_options(&options, argc, argv))
		return 2;
	until = seconds() + options.duration;
	length = options.duration / 4 < ROUND ? options.duration / 4 : ROUND;
	/* On a busy machine no thread may have got the time to fault in a short calm round. */
	for (unsigned long round = 0;
	     (left = until - seconds()) > 0 || round < 2 || !totals.calm_faults; round++) {
		/* Every second one, a calm one now and then. */
		guests_translate = !((round ^ round / 4) & 1);
		run_round(options.seed + round * 100, length, round % 4 == 0, &totals);
	}
	mt_barrier();
	report(&totals);
	if (options.tap)
		printf("1..1\nok 1 - every page as expected\n");
	return 0;
}
