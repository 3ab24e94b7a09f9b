/* SPDX-License-Identifier: MIT */
/*
 * calls.c - what callgrind counts of libvmspace: system calls on a space that one thread uses, and on
 * one with a page table, which several may use; each cell of a table a dump. As counts.c, whose rules it
 * follows; the spaces are the benchmark's.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <mapletree/vmspace.h>
#include <valgrind/callgrind.h>

#include "../../bench/data.h"
#include "../../bench/engines/vmspace.h"

#define ROUNDS 500
#define HEAP   (64 * PAGE)

static const size_t sizes[] = { 30, 1000 };

/* One request for all calls, as a user would keep it. */
static struct vmspace_request request;

static long call(struct vmspace *space, enum vmspace_op op)
{
	long result;

	request.op = op;
	request.host.valid = false;
	CALLGRIND_TOGGLE_COLLECT;
	result = vmspace_call(space, &request);
	CALLGRIND_TOGGLE_COLLECT;
	return result;
}

static void require(bool ok, const char *what)
{
	if (!ok)
		errx(1, "%s failed", what);
}

/* Each round returns the number of calls, and leaves the areas as they were. */
typedef unsigned int round_fn(struct vmspace *space, const struct data *data, size_t number);

static unsigned int mmap_munmap(struct vmspace *space, const struct data *data, size_t number)
{
	long at;

	(void)data;
	(void)number;
	request.mmap = (struct vmspace_mmap){ .length = 16 * PAGE, .prot = PROT_READ | PROT_EXEC,
					      .flags = MAP_PRIVATE | MAP_ANONYMOUS };
	at = call(space, VMSPACE_MMAP);
	require(at > 0, "mmap");
	request.munmap = (struct vmspace_munmap){ (unsigned long)at, 16 * PAGE };
	require(!call(space, VMSPACE_MUNMAP), "munmap");
	return 2;
}

static unsigned int brk(struct vmspace *space, const struct data *data, size_t number)
{
	unsigned long heap = data->ranges[data->n - 1].last + 1;
	unsigned long end[] = { heap + HEAP, heap + 2 * HEAP, heap };

	(void)number;
	for (int i = 0; i < 3; i++) {
		request.brk.brk = end[i];
		require(call(space, VMSPACE_BRK) == (long)end[i], "brk");
	}
	return 3;
}

static void protect(struct vmspace *space, unsigned long first, unsigned long last, int prot)
{
	request.mprotect = (struct vmspace_mprotect){ .addr = first, .length = last - first + 1,
						      .prot = prot, .pkey = -1 };
	require(!call(space, VMSPACE_MPROTECT), "mprotect");
}

/* A whole area, which stays one; then a page in its middle, which makes three of it. */
static unsigned int change(struct vmspace *space, const struct data *data, size_t number, bool page)
{
	const struct range *area = &data->ranges[data->order[number % data->n]];
	int prot = PROT_READ | (vmspace_engine_writable(area) ? PROT_WRITE : 0);
	unsigned long first = area->first, last = area->last;

	if (page && last - first < 3 * PAGE)
		return 0;
	if (page) {
		first += PAGE;
		last = first + PAGE - 1;
	}
	protect(space, first, last, prot | PROT_EXEC);
	protect(space, first, last, prot);
	return 2;
}

static unsigned int mprotect_area(struct vmspace *space, const struct data *data, size_t number)
{
	return change(space, data, number, false);
}

static unsigned int mprotect_page(struct vmspace *space, const struct data *data, size_t number)
{
	return change(space, data, number, true);
}

static const struct {
	const char *name;
	round_fn *round;
} rows[] = {
	{ "mmap and munmap", mmap_munmap },
	{ "brk", brk },
	{ "mprotect", mprotect_area },
	{ "mprotect of a page", mprotect_page },
};

static const struct {
	const char *name;
	const struct engine *engine;
} modes[] = {
	{ "plain", &engine_vmspace },
	{ "with pages", &engine_vmspace_pages },
};

static void count_cell(const char *name, round_fn *round, size_t n, size_t mode)
{
	struct data *data = data_areas(n, 42);
	struct vmspace *space = modes[mode].engine->build(data->ranges, data->n);
	unsigned int calls = 0;
	char label[100];

	round(space, data, 0); /* what is allocated once is there */
	CALLGRIND_ZERO_STATS;
	for (size_t i = 0; i < ROUNDS; i++)
		calls += round(space, data, i);
	snprintf(label, sizeof(label), "%s/%s/%zu", name, modes[mode].name, n);
	CALLGRIND_DUMP_STATS_AT(label);
	printf("%s\t%u\n", label, calls);
	vmspace_destroy(space);
	data_free(data);
}

int main(void)
{
	printf("# variant\tthe processor that runs them\n");
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
		for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
			for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
				count_cell(rows[r].name, rows[r].round, sizes[s], m);
	return 0;
}
