/* SPDX-License-Identifier: MIT */
/*
 * vmspace.c - what do system calls on a whole address space cost, and how does fork scale?
 *
 * libvmspace applies all of Linux's rules (merging, limits, accounting). The trio does the same
 * changes of the set of ranges and nothing else: what the tree's part was before maple trees.
 * Figures are per call, of a space with n areas.
 */
#include "engines/vmspace.h"
#include "harness.h"

#include <err.h>
#include <mapletree/vmspace.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- sequences of calls ------------------------------------------------------------------- */

static bool is_space(const struct cell *cell)
{
	return cell->engine == &engine_vmspace;
}

/* One request for all calls, as a user would keep it. */
static long call(const struct cell *cell, struct vmspace_request *request, enum vmspace_op op)
{
	request->op = op;
	request->host.valid = false;
	return vmspace_call(cell->map, request);
}

/* Nanoseconds a call since @start; and a look whether the areas are as they were built. */
static double per_call(const struct cell *cell, uint64_t start, size_t calls)
{
	double spent = (double)(now() - start);
	struct vmspace_stats stats;

	if (is_space(cell)) {
		vmspace_stats(cell->map, &stats);
		require(stats.areas == cell->data->n, cell, "restoring the areas");
	}
	return spent / (double)calls;
}

static struct gap hole(const struct cell *cell)
{
	return (struct gap){ 16 * PAGE, cell->data->ranges[cell->data->n - 1].first - 1,
			     16 * PAGE };
}

static unsigned long map_one(const struct cell *cell, struct vmspace_request *request,
			     const struct gap *gap, int prot)
{
	unsigned long at = 0;

	if (is_space(cell)) {
		request->mmap = (struct vmspace_mmap){
			.length = gap->size, .prot = prot, .flags = MAP_PRIVATE | MAP_ANONYMOUS };
		at = (unsigned long)call(cell, request, VMSPACE_MMAP);
		require((long)at > 0, cell, "mmap");
	} else {
		require(cell->engine->alloc(cell->map, gap, (void *)8, &at), cell, "mmap");
	}
	return at;
}

static void unmap_one(const struct cell *cell, struct vmspace_request *request,
		      unsigned long at, unsigned long size)
{
	struct range area = { at, at + size - 1, (void *)8 };

	if (is_space(cell)) {
		request->munmap = (struct vmspace_munmap){ at, size };
		require(!call(cell, request, VMSPACE_MUNMAP), cell, "munmap");
	} else {
		require(cell->engine->erase(cell->map, &area), cell, "munmap");
	}
}

static double mmap_munmap(const struct cell *cell)
{
	struct vmspace_request request = { 0 };
	struct gap gap = hole(cell);
	uint64_t start = now();

	for (size_t i = 0; i < cell->ops; i++)
		unmap_one(cell, &request,
			  map_one(cell, &request, &gap, PROT_READ | PROT_EXEC), gap.size);
	return per_call(cell, start, 2 * cell->ops);
}

#define BATCH 16

/* Mappings that do not merge come in a row, then go in a row: the time of one half. */
static double in_rows(const struct cell *cell, bool going)
{
	struct vmspace_request request = { 0 };
	struct gap gap = hole(cell);
	unsigned long at[BATCH];
	size_t rows = cell->ops / BATCH + 1;
	uint64_t spent = 0;

	for (size_t i = 0; i < rows; i++) {
		uint64_t start = now(), middle;

		for (int k = 0; k < BATCH; k++)
			at[k] = map_one(cell, &request, &gap,
					PROT_EXEC | (k % 2 ? PROT_READ : 0));
		middle = now();
		for (int k = 0; k < BATCH; k++)
			unmap_one(cell, &request, at[k], gap.size);
		spent += going ? now() - middle : middle - start;
	}
	return (double)spent / (double)(rows * BATCH);
}

static double mmap_row(const struct cell *cell)
{
	return in_rows(cell, false);
}

static double munmap_row(const struct cell *cell)
{
	return in_rows(cell, true);
}

/* The heap is created, grown and given back. */
static double brk(const struct cell *cell)
{
	const struct range *top = &cell->data->ranges[cell->data->n - 1];
	unsigned long heap = top->last + 1, size = 64 * PAGE;
	struct range area = { heap, heap + size - 1, (void *)8 };
	struct vmspace_request request = { 0 };
	uint64_t start = now();

	for (size_t i = 0; i < cell->ops; i++) {
		if (is_space(cell)) {
			unsigned long end[] = { heap + size, heap + 2 * size, heap };

			for (int k = 0; k < 3; k++) {
				request.brk.brk = end[k];
				require(call(cell, &request, VMSPACE_BRK) == (long)end[k], cell,
					"brk");
			}
		} else {
			struct range grown = { heap, heap + 2 * size - 1, area.entry };

			require(cell->engine->insert(cell->map, &area) &&
				cell->engine->resize(cell->map, &area, grown.last) &&
				cell->engine->erase(cell->map, &grown), cell, "brk");
		}
	}
	return per_call(cell, start, 3 * cell->ops);
}

static void protect(const struct cell *cell, struct vmspace_request *request,
		    unsigned long addr, unsigned long length, int prot)
{
	request->mprotect = (struct vmspace_mprotect){
		.addr = addr, .length = length, .prot = prot, .pkey = -1 };
	require(!call(cell, request, VMSPACE_MPROTECT), cell, "mprotect");
}

/* As the engine built it. */
static int protection(const struct range *area)
{
	return PROT_READ | (vmspace_engine_writable(area) ? PROT_WRITE : 0);
}

/* A whole area changes its protection and changes it back; areas with other protection beside it
 * must not merge, so it takes one that no neighbour has. The trio has to find the area: the rest is
 * a word in it. */
static double mprotect_area(const struct cell *cell)
{
	struct vmspace_request request = { 0 };
	size_t n = cell->data->n;
	uint64_t start = now();

	for (size_t i = 0; i < cell->ops; i++) {
		const struct range *area = &cell->data->ranges[cell->data->order[i % n]];

		for (int back = 0; back < 2; back++) {
			if (is_space(cell))
				protect(cell, &request, area->first, area->last - area->first + 1,
					back ? protection(area) : protection(area) | PROT_EXEC);
			else
				require(cell->engine->load(cell->map, area->first) == area->entry,
					cell, "mprotect");
		}
	}
	return per_call(cell, start, 2 * cell->ops);
}

/* A page in the middle of an area changes its protection: three areas; and changes it back: one. */
static double mprotect_page(const struct cell *cell)
{
	struct vmspace_request request = { 0 };
	size_t n = cell->data->n, done = 0;
	uint64_t start = now();

	for (size_t i = 0; done < cell->ops; i++) {
		const struct range *area = &cell->data->ranges[cell->data->order[i % n]];
		unsigned long addr = area->first + PAGE;
		struct range page = { addr, addr + PAGE - 1, (void *)8 };

		if (area->last < addr + PAGE)
			continue;
		done++;
		if (is_space(cell)) {
			protect(cell, &request, addr, PAGE, protection(area) | PROT_EXEC);
			protect(cell, &request, addr, PAGE, protection(area));
		} else {
			require(cell->engine->store(cell->map, &page) &&
				cell->engine->store(cell->map, area), cell, "mprotect");
		}
	}
	return per_call(cell, start, 2 * done);
}

static double fault(const struct cell *cell)
{
	struct vmspace_request request = { 0 };
	const unsigned long *keys = cell->aux;
	uint64_t start = now();

	for (size_t i = 0; i < cell->ops; i++) {
		if (is_space(cell)) {
			request.fault = (struct vmspace_fault){ keys[i], VMSPACE_ACCESS_READ };
			require(!call(cell, &request, VMSPACE_FAULT), cell, "fault");
		} else {
			require(cell->engine->load(cell->map, keys[i]) != NULL, cell, "fault");
		}
	}
	return per_call(cell, start, cell->ops);
}

static void *fault_keys(const struct data *data, size_t ops, uint64_t seed)
{
	return data_keys(data, KEYS_LOCAL, ops, seed);
}

/* ---- fork --------------------------------------------------------------------------------- */

#define CHILDREN_MAX 256

/* Nanoseconds of making a copy by @make, without those of destroying it. */
static double time_copies(const struct cell *cell, void *(*make)(const struct cell *))
{
	size_t count = cell->ops / cell->data->n + 1;
	void *child[CHILDREN_MAX];
	uint64_t spent;

	if (count > CHILDREN_MAX)
		count = CHILDREN_MAX;
	spent = now();
	for (size_t i = 0; i < count; i++)
		child[i] = make(cell);
	spent = now() - spent;
	for (size_t i = 0; i < count; i++) {
		require(child[i], cell, "copying");
		cell->engine->destroy(child[i]);
	}
	return (double)spent / (double)count;
}

static void *make_dup(const struct cell *cell)
{
	return cell->engine->dup(cell->map);
}

/* What a tree without a copy of its own does: read all, store all in bulk. */
static void *make_by_entry(const struct cell *cell)
{
	size_t n = cell->data->n;
	struct range *ranges = malloc(n * sizeof(*ranges));
	void *copy;

	if (!ranges || cell->engine->list(cell->map, false, ranges, n) != n)
		errx(1, "%s: entry by entry", cell->engine->name);
	copy = cell->engine->build(ranges, n);
	free(ranges);
	return copy;
}

/* Areas times forks per microsecond. */
static double fork_rate(const struct cell *cell)
{
	return (double)cell->data->n * 1000 / time_copies(cell, make_dup);
}

static double dup_over_entries(const struct cell *cell)
{
	return time_copies(cell, make_by_entry) / time_copies(cell, make_dup);
}

/* ---- fork, and what is touched after it ------------------------------------------------------ */

#define ALL SIZE_MAX

/* Each of @count areas, far apart, changes as a whole; no two of them become one. */
static void touch_areas(const struct cell *cell, struct vmspace *space, size_t count, int advice)
{
	static struct vmspace_request request;
	size_t n = cell->data->n, step;

	count = count < n ? count : n;
	step = count ? n / count : 0;
	request.op = VMSPACE_MADVISE;
	for (size_t i = 0; i < count; i++) {
		const struct range *range = &cell->data->ranges[i * step];

		request.madvise = (struct vmspace_madvise){ range->first,
							    range->last - range->first + 1, advice };
		require(!vmspace_call(space, &request), cell, "touching an area");
	}
}

/* Microseconds from the fork until @count areas have been touched, without those of the child's end. */
static double fork_and_touch(const struct cell *cell, size_t count, bool in_child)
{
	size_t rounds = cell->ops / cell->data->n + 2;
	uint64_t spent = 0;

	rounds = rounds / 2 * 2; /* so that the parent is as before */
	for (size_t i = 0; i < rounds; i++) {
		uint64_t start = now();
		struct vmspace *child = cell->engine->dup(cell->map);

		require(child, cell, "fork");
		touch_areas(cell, in_child ? child : cell->map, count,
			    i % 2 ? MADV_DODUMP : MADV_DONTDUMP);
		spent += now() - start;
		vmspace_destroy(child);
	}
	return (double)spent / 1000 / (double)rounds;
}

/* The same with the child's end: what a fuzzer does all day. */
static double fork_and_destroy(const struct cell *cell)
{
	size_t rounds = cell->ops / cell->data->n + 1;
	uint64_t start = now();

	for (size_t i = 0; i < rounds; i++) {
		struct vmspace *child = cell->engine->dup(cell->map);

		require(child, cell, "fork");
		touch_areas(cell, child, 10, MADV_DONTDUMP);
		vmspace_destroy(child);
	}
	return (double)(now() - start) / 1000 / (double)rounds;
}

#define FORK_AND(name, count, in_child) \
	static double name(const struct cell *cell) \
	{ \
		return fork_and_touch(cell, count, in_child); \
	}

FORK_AND(fork_alone, 0, true)
FORK_AND(fork_child_1, 1, true)
FORK_AND(fork_child_100, 100, true)
FORK_AND(fork_child_10000, 10000, true)
FORK_AND(fork_child_all, ALL, true)
FORK_AND(fork_parent_1, 1, false)
FORK_AND(fork_parent_100, 100, false)
FORK_AND(fork_parent_10000, 10000, false)
FORK_AND(fork_parent_all, ALL, false)

/* ---- snapshot ----------------------------------------------------------------------------- */

/* Taken and closed. */
static double snapshot(const struct cell *cell)
{
	const struct vmspace *view;
	uint64_t start = now();

	for (size_t i = 0; i < cell->ops; i++) {
		require(!vmspace_snapshot(&view, cell->map), cell, "snapshot");
		vmspace_snapshot_close(view);
	}
	return per_call(cell, start, cell->ops);
}

static bool is_vmspace(const struct engine *engine)
{
	return engine == &engine_vmspace;
}

/* ---- table -------------------------------------------------------------------------------- */

static bool is_peer(const struct engine *engine)
{
	return engine == &engine_vmspace || !strcmp(engine->name, "trio");
}

static bool is_tree(const struct engine *engine)
{
	return engine->dup && engine->build && engine->list;
}

#define CALLS(label, runner, ...) \
	{ .name = label, .unit = "ns", .shared_map = true, .make_data = data_areas, \
	  .ops = 20000, .ops_full = 200000, .can = is_peer, .run = runner, \
	  .extra_engine = &engine_vmspace, .quick = { 30, 1000 }, .full = { 30, 1000, 100000 }, \
	  __VA_ARGS__ }

#define FORKS(label, units, able, runner) \
	{ .name = label, .unit = units, .better_high = true, .shared_map = true, \
	  .make_data = data_areas, .ops = 50000, .ops_full = 500000, .can = able, .run = runner, \
	  .extra_engine = &engine_vmspace, .quick = { 21, 401, 6421 }, \
	  .full = { 21, 85, 401, 1605, 6421, 25685, 102741, 410965, 1600000 } }

#define FORK_TOUCHES(label, runner) \
	{ .name = label, .unit = "us", .shared_map = true, .make_data = data_areas, .ops = 50000, \
	  .ops_full = 500000, .can = is_vmspace, .run = runner, .extra_engine = &engine_vmspace, \
	  .quick = { 21, 401, 6421 }, .full = { 21, 401, 6421, 102741, 1600000 } }

static const struct work works[] = {
	CALLS("mmap and munmap", mmap_munmap, .prepare = NULL),
	CALLS("16 mmaps in a row", mmap_row, .prepare = NULL),
	CALLS("16 munmaps in a row", munmap_row, .prepare = NULL),
	CALLS("brk", brk, .prepare = NULL),
	CALLS("mprotect", mprotect_area, .prepare = NULL),
	CALLS("mprotect of a page", mprotect_page, .prepare = NULL),
	CALLS("fault", fault, .prepare = fault_keys, .discard = free),
	FORKS("fork", "areas per us", is_peer, fork_rate),
	FORK_TOUCHES("fork until the child may run", fork_alone),
	FORK_TOUCHES("fork and 1 area touched", fork_child_1),
	FORK_TOUCHES("fork and 100 areas touched", fork_child_100),
	FORK_TOUCHES("fork and 10000 areas touched", fork_child_10000),
	FORK_TOUCHES("fork and all areas touched", fork_child_all),
	FORK_TOUCHES("fork and 1 of the parent touched", fork_parent_1),
	FORK_TOUCHES("fork and 100 of the parent touched", fork_parent_100),
	FORK_TOUCHES("fork and 10000 of the parent touched", fork_parent_10000),
	FORK_TOUCHES("fork and all of the parent touched", fork_parent_all),
	FORK_TOUCHES("fork and 10 areas touched and exit", fork_and_destroy),
	{ .name = "snapshot of a space", .unit = "ns", .shared_map = true, .make_data = data_areas,
	  .ops = 20000, .ops_full = 200000, .can = is_vmspace, .run = snapshot,
	  .extra_engine = &engine_vmspace, .quick = { 21, 10000 },
	  .full = { 21, 10000, 1600000 } },
	FORKS("tree copy node by node over entry by entry", "ratio", is_tree, dup_over_entries),
	{ 0 }
};

int main(int argc, char **argv)
{
	return bench_main(argc, argv, works);
}
