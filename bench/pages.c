/* SPDX-License-Identifier: MIT */
/*
 * pages.c - what do pages of a window cost, beside those of the process itself?
 *
 * A guest's page is touched by vmspace_touch() and a store through the window, as in an emulator that
 * asks before it stores; the signal that one gets which does not ask is the host's, and not in it. The
 * host touches by a store. Figures are per page, in the last works per round of calls by each thread.
 */
#include "engine.h"
#include "harness.h"

#include <err.h>
#include <mapletree/vmspace_memfd.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BASE   0x100000000ul /* of guests' areas */
#define WINDOW (1ul << 32)
#define APART  (1ul << 24)   /* areas of threads */
#define FEW    16            /* pages of an area that comes and goes */
#define OTHERS 1000          /* pages that stay meanwhile */
#define MOST_THREADS 16

static const struct engine guest = { .name = "window", .sharing = SHARING_FREE };
static const struct engine host = { .name = "host", .sharing = SHARING_FREE };

static bool is_pages(const struct engine *engine)
{
	return engine == &guest || engine == &host;
}

/* A space with memory; or, if there is no space, the process. */
struct side {
	struct vmspace *space;
	struct vmspace_memfd *memfd;
	struct vmspace_window *window;
	size_t page;
};

static struct side begin(const struct cell *cell)
{
	struct vmspace_memfd_config limits = { .limit = 1ul << 30 };
	struct side side = { .page = (size_t)sysconf(_SC_PAGESIZE) };
	struct vmspace_config config;

	if (cell->engine == &host)
		return side;
	require(!vmspace_memfd_create(&side.memfd, &limits), cell, "vmspace_memfd_create");
	require(!vmspace_window_create(&side.window, side.memfd, BASE, WINDOW), cell,
		"vmspace_window_create");
	vmspace_config_init(&config);
	config.overcommit = 1;
	config.rlimit_as = config.rlimit_data = VMSPACE_NO_LIMIT;
	config.memory = vmspace_window_memory(side.window);
	require(!vmspace_create(&side.space, &config), cell, "vmspace_create");
	return side;
}

static void end(struct side *side)
{
	vmspace_destroy(side->space);
	vmspace_window_destroy(side->window);
	vmspace_memfd_destroy(side->memfd);
}

/* An anonymous private mapping of `pages`, a guest's at `at`. */
static unsigned long map(const struct side *side, unsigned long at, size_t pages)
{
	struct vmspace_request request = { .op = VMSPACE_MMAP };
	void *mapped;

	if (side->space) {
		request.mmap = (struct vmspace_mmap){
			.addr = at, .length = pages * side->page, .prot = PROT_READ | PROT_WRITE,
			.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED };
		if (vmspace_call(side->space, &request) != (long)at)
			errx(1, "libvmspace: mmap failed");
		return at;
	}
	mapped = mmap(NULL, pages * side->page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapped == MAP_FAILED)
		err(1, "mmap");
	madvise(mapped, pages * side->page, MADV_NOHUGEPAGE);
	return (unsigned long)mapped;
}

static void unmap(const struct side *side, unsigned long at, size_t pages)
{
	struct vmspace_request request = { .op = VMSPACE_MUNMAP,
					   .munmap = { at, pages * side->page } };

	if (side->space ? vmspace_call(side->space, &request) != 0
			: munmap((void *)at, pages * side->page))
		errx(1, "munmap failed");
}

static void touch(const struct side *side, unsigned long addr, unsigned int access)
{
	volatile char *at = (char *)addr;

	if (side->space) {
		if (vmspace_touch(side->space, addr, access, NULL) != VMSPACE_FAULT_OK)
			errx(1, "libvmspace: a fault failed");
		at = vmspace_window_host(side->window, addr);
	}
	if (access & VMSPACE_ACCESS_WRITE)
		*at = 1;
	else
		(void)*at;
}

/* Touch all pages, of which two in a row are `step` apart; an odd step reaches all of 2^k. */
static uint64_t touch_all(const struct side *side, unsigned long at, size_t pages, size_t step,
			  unsigned int access)
{
	uint64_t start = now();

	for (size_t i = 0; i < pages; i++)
		touch(side, at + i * step % pages * side->page, access);
	return now() - start;
}

static double first_touch(const struct cell *cell, size_t step)
{
	struct side side = begin(cell);
	unsigned long at = map(&side, BASE, cell->n);
	uint64_t spent = touch_all(&side, at, cell->n, step, VMSPACE_ACCESS_WRITE);

	unmap(&side, at, cell->n);
	end(&side);
	return (double)spent / (double)cell->n;
}

static double ascending(const struct cell *cell)
{
	return first_touch(cell, 1);
}

static double scattered(const struct cell *cell)
{
	return first_touch(cell, 7919); /* prime */
}

static double again(const struct cell *cell)
{
	struct side side = begin(cell);
	unsigned long at = map(&side, BASE, cell->n);
	uint64_t spent;

	touch_all(&side, at, cell->n, 1, VMSPACE_ACCESS_WRITE);
	spent = touch_all(&side, at, cell->n, 7919, VMSPACE_ACCESS_WRITE);
	unmap(&side, at, cell->n);
	end(&side);
	return (double)spent / (double)cell->n;
}

/* ---- fork --------------------------------------------------------------------------------- */

/* Nanoseconds of the fork; or, if `reads`, of the parent's reading all pages after it. */
static uint64_t fork_guest(const struct cell *cell, const struct side *side, bool reads)
{
	struct vmspace_request request = { .op = VMSPACE_FORK };
	struct vmspace_window *window;
	uint64_t start, spent;

	require(!vmspace_window_create(&window, side->memfd, BASE, WINDOW), cell, "a child's window");
	request.fork.child_memory = vmspace_window_memory(window);
	start = now();
	require(!vmspace_call(side->space, &request), cell, "fork");
	spent = now() - start;
	if (reads)
		spent = touch_all(side, BASE, cell->n, 1, VMSPACE_ACCESS_READ);
	vmspace_destroy(request.fork.child);
	vmspace_window_destroy(window);
	return spent;
}

static uint64_t fork_host(const struct cell *cell, const struct side *side, unsigned long at,
			  bool reads)
{
	uint64_t start, spent;
	int pipe_of_child[2];
	char byte;
	pid_t pid;

	require(!pipe(pipe_of_child), cell, "pipe");
	start = now();
	pid = fork();
	if (pid == 0) {
		/* Until the parent has read: it is to share its pages. */
		close(pipe_of_child[1]);
		_exit(read(pipe_of_child[0], &byte, 1) != 0);
	}
	spent = now() - start;
	require(pid > 0, cell, "fork");
	if (reads)
		spent = touch_all(side, at, cell->n, 1, VMSPACE_ACCESS_READ);
	close(pipe_of_child[0]);
	close(pipe_of_child[1]);
	require(waitpid(pid, NULL, 0) == pid, cell, "waitpid");
	return spent;
}

static double after_touching(const struct cell *cell, bool reads)
{
	struct side side = begin(cell);
	unsigned long at = map(&side, BASE, cell->n);
	uint64_t spent;

	touch_all(&side, at, cell->n, 1, VMSPACE_ACCESS_WRITE);
	spent = side.space ? fork_guest(cell, &side, reads) : fork_host(cell, &side, at, reads);
	unmap(&side, at, cell->n);
	end(&side);
	return (double)spent / (double)cell->n;
}

static double fork_all(const struct cell *cell)
{
	return after_touching(cell, false);
}

static double read_after_fork(const struct cell *cell)
{
	return after_touching(cell, true);
}

/* ---- threads ------------------------------------------------------------------------------ */

struct worker {
	const struct side *side;
	unsigned int number, cpu;
	size_t rounds;
	pthread_t thread;
};

static void *map_and_unmap(void *arg)
{
	const struct worker *worker = arg;

	pin(worker->cpu);
	for (size_t i = 0; i < worker->rounds; i++) {
		unsigned long at = map(worker->side, BASE + worker->number * APART, FEW);

		touch_all(worker->side, at, FEW, 1, VMSPACE_ACCESS_WRITE);
		unmap(worker->side, at, FEW);
	}
	return NULL;
}

/* cell->n threads, of a process that has other pages, too. */
static double come_and_go(const struct cell *cell)
{
	struct side side = begin(cell);
	unsigned long others = map(&side, BASE + MOST_THREADS * APART, OTHERS);
	struct worker workers[MOST_THREADS];
	uint64_t start, spent;

	require(cell->n <= MOST_THREADS, cell, "counting threads");
	touch_all(&side, others, OTHERS, 1, VMSPACE_ACCESS_WRITE);
	start = now();
	for (unsigned int i = 0; i < cell->n; i++) {
		workers[i] = (struct worker){ &side, i, i % cell->cpus, cell->ops, 0 };
		require(!pthread_create(&workers[i].thread, NULL, map_and_unmap, &workers[i]), cell,
			"pthread_create");
	}
	for (unsigned int i = 0; i < cell->n; i++)
		pthread_join(workers[i].thread, NULL);
	spent = now() - start;
	unmap(&side, others, OTHERS);
	end(&side);
	return (double)spent / (double)cell->ops;
}

#define PAGES(label, runner) \
	{ .name = label, .unit = "ns", .make_data = data_areas, .can = is_pages, .run = runner, \
	  .extra_engine = &guest, .beside = &host, .quick = { 1000, 10000 }, \
	  .full = { 1000, 10000, 100000 } }

static const struct work works[] = {
	PAGES("first touch of pages, ascending", ascending),
	PAGES("first touch of pages, scattered", scattered),
	PAGES("touch of present pages", again),
	PAGES("fork, a page", fork_all),
	PAGES("read after fork, a page", read_after_fork),
	{ .name = "mmap, 16 touches, munmap, by threads", .unit = "ns", .make_data = data_areas,
	  .can = is_pages, .run = come_and_go, .extra_engine = &guest, .beside = &host,
	  .ops = 500, .ops_full = 5000, .quick = { 1, 2, 4 }, .full = { 1, 2, 4, 8 } },
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
