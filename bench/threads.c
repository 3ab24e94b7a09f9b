/* SPDX-License-Identifier: MIT */
/*
 * threads.c - how do readers scale, and what do a writer and a reader cost each other?
 *
 * Engines that need a lock get the reader-writer lock their users would put around them, taken
 * per operation. Readers check each answer: what they find is the right entry, or nothing where
 * the writer comes and goes. The writer erases and inserts ranges in random order. Threads that map
 * and unmap do so each in a region of its own, as allocators' arenas do, in one and the same space.
 * "line handed over" is what the machine takes for a cache line's way from thread to thread.
 */
#include "engines/vmspace.h"
#include "harness.h"

#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 64
#define KEYS        65536

/* Keys, and what a lookup of each finds unless a writer has just erased it. */
struct expected {
	unsigned long *keys;
	void **entries;
};

/* The kernel's tree makes about as many, so readers beside different writers can be compared. */
#define PACE_PER_US 2

enum role { READER, WRITER, PACED_WRITER, MAPPER, HANDER };

/* What threads write lies in lines of its own: only the engines may cost readers cache misses. */
#define OWN_LINE _Alignas(128)

struct worker {
	OWN_LINE pthread_t thread;
	enum role role;
	unsigned int number; /* also the processor */
	struct team *team;
	double rate; /* operations per microsecond */
};

/* Who runs: readers, then others of that role, from processor @first on. */
struct crew {
	unsigned int readers;
	unsigned int others;
	enum role role;
	unsigned int first;
};

struct team {
	const struct cell *cell;
	_Atomic bool stop;
	OWN_LINE pthread_barrier_t start;
	OWN_LINE pthread_rwlock_t lock;
	OWN_LINE pthread_mutex_t writers;
	OWN_LINE _Atomic unsigned long handed; /* how often; whose turn it is */
	struct worker worker[THREADS_MAX];
};

static void *make_expected(const struct data *data, size_t ops, uint64_t seed)
{
	struct expected *expected = malloc(sizeof(*expected));
	struct random random;

	(void)ops;
	if (!expected)
		err(1, "threads");
	*expected = (struct expected){ malloc(KEYS * sizeof(unsigned long)),
				       malloc(KEYS * sizeof(void *)) };
	if (!expected->keys || !expected->entries)
		err(1, "threads");
	random_seed(&random, seed);
	for (size_t i = 0; i < KEYS; i++) {
		const struct range *range = &data->ranges[random_below(&random, data->n)];

		expected->keys[i] = range->first + random_below(&random, range->last -
									 range->first + 1);
		expected->entries[i] = range->entry;
	}
	return expected;
}

static void drop_expected(void *aux)
{
	struct expected *expected = aux;

	free(expected->keys);
	free(expected->entries);
	free(expected);
}

static void reader_lock(struct team *team, bool take)
{
	switch (team->cell->engine->sharing) {
	case SHARING_LOCK:
		take ? pthread_rwlock_rdlock(&team->lock) : pthread_rwlock_unlock(&team->lock);
		break;
	case SHARING_ALONE:
		take ? pthread_mutex_lock(&team->writers) : pthread_mutex_unlock(&team->writers);
		break;
	case SHARING_READ_FREE:
	case SHARING_FREE:
	case SHARING_WRITE_FREE:
		break;
	}
}

static void writer_lock(struct team *team, bool take)
{
	switch (team->cell->engine->sharing) {
	case SHARING_LOCK:
		take ? pthread_rwlock_wrlock(&team->lock) : pthread_rwlock_unlock(&team->lock);
		break;
	case SHARING_READ_FREE:
	case SHARING_ALONE:
		take ? pthread_mutex_lock(&team->writers) : pthread_mutex_unlock(&team->writers);
		break;
	case SHARING_FREE:
	case SHARING_WRITE_FREE:
		break;
	}
}

static size_t read_until_stopped(struct worker *worker)
{
	const struct cell *cell = worker->team->cell;
	const struct expected *expected = cell->aux;
	size_t done = 0, at = worker->number * 7919;

	while (!atomic_load_explicit(&worker->team->stop, memory_order_relaxed)) {
		for (int i = 0; i < 64; i++, at++, done++) {
			void *entry;

			reader_lock(worker->team, true);
			entry = cell->engine->load(cell->map, expected->keys[at % KEYS]);
			reader_lock(worker->team, false);
			if (entry && entry != expected->entries[at % KEYS])
				errx(1, "%s: a reader found a wrong entry", cell->engine->name);
		}
	}
	return done;
}

static size_t write_until_stopped(struct worker *worker)
{
	struct team *team = worker->team;
	const struct cell *cell = team->cell;
	const struct data *data = cell->data;
	uint64_t start = now();
	bool ok = true;
	size_t done = 0;

	for (size_t at = 0; !atomic_load_explicit(&team->stop, memory_order_relaxed); at++) {
		const struct range *range = &data->ranges[data->order[at % data->n]];

		writer_lock(team, true);
		ok &= cell->engine->erase(cell->map, range);
		writer_lock(team, false);
		writer_lock(team, true);
		ok &= cell->engine->insert(cell->map, range);
		writer_lock(team, false);
		done += 2;
		while (worker->role == PACED_WRITER && (now() - start) * PACE_PER_US < done * 1000)
			;
	}
	require(ok, cell, "writing beside readers");
	return done;
}

/* Areas of a thread's own: so many at a time, 16 pages each, above all others. */
#define LIVE_AREAS   64
#define AREA_BYTES   (16 * PAGE)
#define REGION_BYTES (2ul * LIVE_AREAS * AREA_BYTES)

static struct range own_area(const struct worker *worker, size_t number)
{
	const struct data *data = worker->team->cell->data;
	unsigned long region = data->ranges[data->n - 1].last + 1 +
			       (worker->number + 1) * REGION_BYTES;
	unsigned long first = region + 2 * (number % LIVE_AREAS) * AREA_BYTES;

	return (struct range){ first, first + AREA_BYTES - 1, (void *)(16 * (number + 1)) };
}

static bool change(struct worker *worker, bool map, size_t number)
{
	const struct cell *cell = worker->team->cell;
	struct range area = own_area(worker, number);
	bool ok;

	writer_lock(worker->team, true);
	ok = map ? cell->engine->insert(cell->map, &area) : cell->engine->erase(cell->map, &area);
	writer_lock(worker->team, false);
	return ok;
}

/* The oldest area goes, a new one comes. In the end none is left. */
static size_t map_until_stopped(struct worker *worker)
{
	size_t mapped = 0, unmapped = 0;
	bool ok = true;

	while (!atomic_load_explicit(&worker->team->stop, memory_order_relaxed)) {
		if (mapped >= LIVE_AREAS)
			ok &= change(worker, false, unmapped++);
		ok &= change(worker, true, mapped++);
	}
	while (unmapped < mapped)
		ok &= change(worker, false, unmapped++);
	require(ok, worker->team->cell, "mapping by several threads");
	return mapped + unmapped;
}

/* A word is written by two threads in turn, so its cache line goes from one to the other. */
static size_t hand_over_until_stopped(struct worker *worker)
{
	struct team *team = worker->team;
	size_t done = 0;

	while (!atomic_load_explicit(&team->stop, memory_order_relaxed)) {
		unsigned long handed = atomic_load_explicit(&team->handed, memory_order_relaxed);

		if (handed % 2 != worker->number % 2)
			continue;
		atomic_store_explicit(&team->handed, handed + 1, memory_order_relaxed);
		done++;
	}
	return done;
}

static void *work(void *argument)
{
	static size_t (*const until_stopped[])(struct worker *) = {
		[READER] = read_until_stopped,
		[WRITER] = write_until_stopped,
		[PACED_WRITER] = write_until_stopped,
		[MAPPER] = map_until_stopped,
		[HANDER] = hand_over_until_stopped,
	};
	struct worker *worker = argument;
	uint64_t start;
	size_t done;

	pin(worker->number % worker->team->cell->cpus);
	pthread_barrier_wait(&worker->team->start);
	start = now();
	done = until_stopped[worker->role](worker);
	worker->rate = (double)done * 1000 / (double)(now() - start);
	return NULL;
}

/* Let @crew run for a spell; the rates of all of them. */
static void run_crew(const struct cell *cell, struct crew crew, double *reads, double *changes)
{
	struct team team = { .cell = cell };
	unsigned int count = crew.readers + crew.others;
	struct timespec spell = { 0, (long)cell->ops * 1000000 }; /* operations are milliseconds */

	if (pthread_barrier_init(&team.start, NULL, count + 1) ||
	    pthread_rwlock_init(&team.lock, NULL) || pthread_mutex_init(&team.writers, NULL))
		errx(1, "threads: no barrier or lock");
	for (unsigned int i = 0; i < count; i++) {
		struct worker *worker = &team.worker[i];

		*worker = (struct worker){ .role = i < crew.readers ? READER : crew.role,
					   .number = crew.first + i, .team = &team };
		if (pthread_create(&worker->thread, NULL, work, worker))
			errx(1, "threads: pthread_create failed");
	}
	pthread_barrier_wait(&team.start);
	nanosleep(&spell, NULL);
	atomic_store(&team.stop, true);
	*reads = *changes = 0;
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(team.worker[i].thread, NULL);
		*(i < crew.readers ? reads : changes) += team.worker[i].rate;
	}
	pthread_barrier_destroy(&team.start);
	pthread_rwlock_destroy(&team.lock);
	pthread_mutex_destroy(&team.writers);
}

static void run_team(const struct cell *cell, unsigned int readers, unsigned int writers,
		     double *reads, double *writes)
{
	run_crew(cell, (struct crew){ readers, writers, WRITER, 0 }, reads, writes);
}

/*
 * Over the mean of one alone on each of the two processors: a second processor that is slower, or
 * has other work, is not a cost of sharing.
 */
static double two_over_one(const struct cell *cell)
{
	double here, there, two, writes;

	if (cell->cpus < 2)
		return -1;
	run_team(cell, 1, 0, &here, &writes);
	run_team(cell, 2, 0, &two, &writes);
	run_crew(cell, (struct crew){ .readers = 1, .first = 1 }, &there, &writes);
	return 2 * two / (here + there);
}

static double beside_over_alone(const struct cell *cell, enum role writer)
{
	double alone, beside, writes;

	if (cell->cpus < 2)
		return -1;
	run_team(cell, 1, 0, &alone, &writes);
	run_crew(cell, (struct crew){ 1, 1, writer, 0 }, &beside, &writes);
	return beside / alone;
}

static double beside_writer(const struct cell *cell)
{
	return beside_over_alone(cell, WRITER);
}

static double beside_paced_writer(const struct cell *cell)
{
	return beside_over_alone(cell, PACED_WRITER);
}

static double writes_alone(const struct cell *cell)
{
	double reads, writes;

	run_team(cell, 0, 1, &reads, &writes);
	return writes;
}

static double writes_beside(const struct cell *cell)
{
	double reads, writes;

	if (cell->cpus < 2)
		return -1;
	run_team(cell, 1, 1, &reads, &writes);
	return writes;
}

/* n is the number of threads here. */
static double scaling(const struct cell *cell, unsigned int writers)
{
	unsigned int threads = (unsigned int)cell->n;
	double reads, writes;

	if (threads + writers > cell->cpus || threads + writers > THREADS_MAX)
		return -1;
	run_team(cell, threads, writers, &reads, &writes);
	return reads;
}

static double readers(const struct cell *cell)
{
	return scaling(cell, 0);
}

static double readers_beside(const struct cell *cell)
{
	return scaling(cell, 1);
}

/* More threads than processors only up to so many: some locks take long then. */
#define CROWD 8

static double mappers(const struct cell *cell)
{
	unsigned int threads = (unsigned int)cell->n;
	double reads, changes;

	if ((threads > cell->cpus && threads > CROWD) || threads > THREADS_MAX)
		return -1;
	run_crew(cell, (struct crew){ .others = threads, .role = MAPPER }, &reads, &changes);
	return changes;
}

/* What this machine allows: the way of one cache line from processor to processor. */
static double handed_over(const struct cell *cell)
{
	double reads, changes;

	if (cell->cpus < 2)
		return -1;
	run_crew(cell, (struct crew){ 0, 2, HANDER, 0 }, &reads, &changes);
	return 1000 / changes;
}

static const struct engine engine_pair = { .name = "two threads" };

static bool is_pair(const struct engine *engine)
{
	return engine == &engine_pair;
}

static struct data *data_10000(size_t n, uint64_t seed)
{
	(void)n;
	return data_mixed(10000, seed);
}

static struct data *areas_1000(size_t n, uint64_t seed)
{
	(void)n;
	return data_areas(1000, seed);
}

static bool is_space(const struct engine *engine)
{
	return engine == &engine_vmspace_pages || !strcmp(engine->name, "trio");
}

static bool can_load(const struct engine *engine)
{
	return engine->create && engine->load;
}

static bool can_write(const struct engine *engine)
{
	return can_load(engine) && engine->insert && engine->erase;
}

/* Readers and a writer at once. */
static bool can_share(const struct engine *engine)
{
	return can_write(engine) && engine->sharing != SHARING_WRITE_FREE;
}

static bool can_map(const struct engine *engine)
{
	return engine == &engine_vmspace_pages || can_write(engine);
}

#define THREADS(label, units, able, runner, data, ...) \
	{ .name = label, .unit = units, .better_high = true, .shared_map = true, \
	  .no_warmup = true, .make_data = data, .prepare = make_expected, \
	  .discard = drop_expected, .ops = 40, .ops_full = 100, \
	  .can = able, .run = runner, __VA_ARGS__ }

#define RANGES  .quick = { 1000 }, .full = { 1000, 100000 }
#define TEAMS   .quick = { 1, 2 }, .full = { 1, 2, 4, 8, 16, 32 }

static const struct work works[] = {
	{ .name = "line handed over", .unit = "ns", .make_data = data_mixed, .ops = 40,
	  .ops_full = 100, .can = is_pair, .run = handed_over, .extra_engine = &engine_pair,
	  .quick = { 1000 }, .full = { 1000 } },
	THREADS("2 readers over 1", "ratio", can_load, two_over_one, data_mixed, RANGES),
	THREADS("reader beside writer", "ratio", can_share, beside_writer, data_mixed, RANGES),
	THREADS("reader beside 2 writes per us", "ratio", can_share, beside_paced_writer,
		data_mixed, RANGES),
	THREADS("writes alone", "per us", can_write, writes_alone, data_mixed, RANGES),
	THREADS("writes beside reader", "per us", can_share, writes_beside, data_mixed, RANGES),
	THREADS("readers by threads", "per us", can_load, readers, data_10000, TEAMS),
	THREADS("readers beside writer by threads", "per us", can_share, readers_beside,
		data_10000, TEAMS),
	THREADS("map and unmap by threads", "per us", can_map, mappers, areas_1000, TEAMS,
		.extra_engine = &engine_vmspace_pages),
	THREADS("faults by threads", "per us", is_space, readers, areas_1000, TEAMS,
		.extra_engine = &engine_vmspace_pages),
	THREADS("faults beside mapping by threads", "per us", is_space, readers_beside, areas_1000,
		TEAMS, .extra_engine = &engine_vmspace_pages),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
