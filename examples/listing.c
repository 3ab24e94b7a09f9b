/* SPDX-License-Identifier: MIT */
/*
 * listing.c - a view of an address space that stands still: a guest's thread unmaps buffers and maps
 * others, so that there are as many all the time, or one less. Who lists the areas one by one beside
 * it may count any number. A snapshot has those of one moment, however slowly it is read.
 */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <mapletree/vmspace.h>

#define PAGE     4096UL
#define FIRST    0x10000000UL
#define PLACES   100UL  /* for buffers, half of which are mapped */
#define LISTINGS 30

static struct vmspace *space;
static bool finished;   /* atomic */
static unsigned long changes; /* atomic */

static unsigned long address(unsigned long at)
{
	return FIRST + at * 8 * PAGE;
}

static void call(struct vmspace_request req)
{
	if (vmspace_call(space, &req) < 0)
		abort();
}

static void map_buffer(unsigned long at)
{
	call((struct vmspace_request){ .op = VMSPACE_MMAP, .mmap = {
		.addr = address(at), .length = 2 * PAGE, .prot = PROT_READ | PROT_WRITE,
		.flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED } });
}

static void unmap_buffer(unsigned long at)
{
	call((struct vmspace_request){ .op = VMSPACE_MUNMAP, .munmap = { address(at), 2 * PAGE } });
}

/* One buffer goes before the next one comes. */
static void *guest(void *unused)
{
	unsigned long at = 0;

	(void)unused;
	while (!__atomic_load_n(&finished, __ATOMIC_RELAXED)) {
		unmap_buffer(at);
		map_buffer((at + PLACES / 2) % PLACES);
		at = (at + 1) % PLACES;
		__atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

struct listing {
	unsigned long lines, bytes;
};

static int count_line(void *ctx, const char *line, size_t length)
{
	struct listing *listing = ctx;

	(void)line;
	listing->lines++;
	listing->bytes += length;
	return 0;
}

/* All that is read of the snapshot agrees, though the guest has long gone on. */
static bool list(void)
{
	struct listing first = { 0, 0 }, again = { 0, 0 };
	const struct vmspace *view;
	struct vmspace_stats stats;
	unsigned long before = __atomic_load_n(&changes, __ATOMIC_RELAXED);
	bool good;

	if (vmspace_snapshot(&view, space))
		abort();
	vmspace_show_lines(view, count_line, &first);
	while (__atomic_load_n(&changes, __ATOMIC_RELAXED) < before + 10)
		sched_yield(); /* the guest goes on meanwhile */
	vmspace_show_lines(view, count_line, &again);
	vmspace_stats(view, &stats);
	good = first.lines == again.lines && first.bytes == again.bytes &&
	       first.lines == stats.areas && stats.total_vm == 2 * stats.areas &&
	       (stats.areas == PLACES / 2 || stats.areas == PLACES / 2 - 1) &&
	       vmspace_check(view, NULL);
	vmspace_snapshot_close(view);
	return good;
}

int main(void)
{
	struct vmspace_config config;
	int consistent = 0;
	pthread_t thread;

	vmspace_config_init(&config);
	config.threads = true;
	config.overcommit = 1;
	if (vmspace_create(&space, &config))
		return 1;
	for (unsigned long at = 0; at < PLACES / 2; at++)
		map_buffer(at);
	if (pthread_create(&thread, NULL, guest, NULL))
		return 1;
	for (int i = 0; i < LISTINGS; i++)
		consistent += list();
	__atomic_store_n(&finished, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	vmspace_destroy(space);
	printf("%d of %d listings were of one moment\n", consistent, LISTINGS);
	return 0;
}
