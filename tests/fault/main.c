/* SPDX-License-Identifier: MIT */
/*
 * main.c - every allocation of every call that changes a tree failed in turn.
 *
 * For trees of many shapes and sizes, in each mode, each call is made at many places with its
 * first allocation refused, then its second, until it succeeds. After each failure the tree must
 * be what it was: same content, same nodes, mt_check() holds, no node kept; after success it is
 * what the call makes of it with all the memory there is. Without leave to wait (GFP_NOWAIT) no
 * allocation may be tried at all.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "whole.h"

struct totals {
	unsigned long long calls;
	unsigned long long failures;
	unsigned long long most; /* allocations in one call */
	unsigned int highest;
};

static const struct {
	const char *name;
	unsigned int flags;
} modes[] = {
	{ "plain", 0 },
	{ "gaps", MT_FLAGS_ALLOC_RANGE },
	{ "rcu", MT_FLAGS_USE_RCU },
	{ "gaps+rcu", MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU },
};

#define MODES (sizeof(modes) / sizeof(modes[0]))

static void expect_unchanged(struct scene *scene, const struct digest *before, unsigned long live,
			     const char *name)
{
	struct digest after = digest_take(&scene->mt);

	expect_sound(&scene->mt, name);
	expect(digest_equal(before, &after), "%s failed and changed the tree", name);
	expect(heap_live(&scene->heap) == live, "%s failed and kept nodes", name);
}

/* What the call makes of the tree when memory is plenty. */
static struct digest make_freely(struct scene *from, const struct call *call,
				 const struct request *request, int *error)
{
	struct scene *scene = scene_copy(from);
	struct digest after;

	*error = call->run(&scene->mt, request, &scene->heap);
	expect(*error != -ENOMEM, "%s has no memory", call->name);
	after = digest_take(&scene->mt);
	scene_close(scene);
	return after;
}

static void run_without_leave(struct scene *from, const struct call *call, struct request request)
{
	struct scene *scene = scene_copy(from);
	struct digest before = digest_take(&scene->mt);
	unsigned long live = heap_live(&scene->heap);
	int error;

	request.gfp = GFP_NOWAIT;
	heap_fail(&scene->heap, 0);
	error = call->run(&scene->mt, &request, &scene->heap);
	expect(!heap_allocs(&scene->heap), "%s allocated without leave", call->name);
	if (error)
		expect_unchanged(scene, &before, live, call->name);
	expect_sound(&scene->mt, call->name);
	scene_close(scene);
}

static void run_failing(struct scene *from, const struct call *call,
			const struct request *request, struct totals *totals)
{
	struct scene *scene = scene_copy(from);
	struct digest before = digest_take(&scene->mt);
	unsigned long live = heap_live(&scene->heap);
	struct digest expected, after;
	int error, free_error;
	unsigned long n;

	expected = make_freely(from, call, request, &free_error);
	for (n = 1;; n++) {
		heap_fail(&scene->heap, n);
		error = call->run(&scene->mt, request, &scene->heap);
		expect(heap_failed(&scene->heap) ? error == -ENOMEM : error == free_error,
		       "%s over %lu..%lu: %d with allocation %lu refused", call->name,
		       request->first, request->last, error, n);
		if (error != -ENOMEM)
			break;
		totals->failures++;
		expect_unchanged(scene, &before, live, call->name);
	}
	totals->calls++;
	if (n - 1 > totals->most)
		totals->most = n - 1;
	expect_sound(&scene->mt, call->name);
	after = digest_take(&scene->mt);
	expect(digest_equal(&expected, &after), "%s after failures differs", call->name);
	scene_close(scene);
}

/* Places in, between, across and beyond the @n entries of a tree. */
static unsigned int choose(struct request *request, unsigned int n)
{
	unsigned long middle = (unsigned long)(n / 2) * STRIDE;
	unsigned long end = (unsigned long)n * STRIDE;
	const unsigned long place[][2] = {
		{ 0, 0 },
		{ 1, 3 },
		{ 0, STRIDE - 1 },
		{ 3, ULONG_MAX },
		{ 0, ULONG_MAX },
		{ ULONG_MAX, ULONG_MAX },
		{ middle, middle + STRIDE / 2 - 1 },
		{ middle + 2, middle + 3 },
		{ middle + 2, middle + 5 * STRIDE },
		{ middle / 2 + 1, middle + middle / 2 + 7 },
		{ 0, end },
		{ end, end },
		{ end + 50, end + 60 },
		{ end ? end - 3 : 0, ULONG_MAX - 3 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		request[i] = (struct request){ place[i][0], place[i][1], xa_mk_value(99),
					       GFP_KERNEL };
	return i;
}

static void try_tree(const struct recipe *recipe, struct totals *totals)
{
	struct scene *from = scene_build(recipe);
	struct request request[16];
	unsigned int requests = choose(request, recipe->entries);
	unsigned int i, k;

	if (mt_height(&from->mt) > totals->highest)
		totals->highest = mt_height(&from->mt);
	for (i = 0; i < calls_count; i++)
		for (k = 0; k < requests; k++) {
			run_failing(from, &calls[i], &request[k], totals);
			if (calls[i].takes_gfp)
				run_without_leave(from, &calls[i], request[k]);
		}
	whole_dup(from, &totals->failures);
	whole_destroy(from);
	scene_close(from);
}

/* Sizes around which trees gain a slot, a node, a level. */
static const unsigned int full_sizes[] = { 0,  1,  2,  3,  4,  5,  6,	7,   8,	  9,   11,
					   13, 15, 16, 17, 22, 31, 33,	48,  65,  80,  100,
					   130, 161, 200, 260, 300 };
static const unsigned int slice_sizes[] = { 0, 1, 2, 5, 9, 16, 40, 170 };

static void try_mode(unsigned int flags, const unsigned int *size, unsigned int sizes,
		     struct totals *totals)
{
	struct recipe recipe = { .flags = flags };
	struct scene *from;
	unsigned int kind, i;

	for (i = 0; i < sizes; i++) {
		for (kind = 0; kind < TREE_KINDS; kind++) {
			recipe.kind = (enum tree_kind)kind;
			recipe.entries = size[i];
			try_tree(&recipe, totals);
		}
		whole_bulk(flags, size[i], &totals->failures);
		scenes_settle(flags & MT_FLAGS_USE_RCU);
	}
	if (flags & MT_FLAGS_USE_RCU) {
		from = scene_build(&recipe);
		whole_batches(from, &totals->failures);
		scene_close(from);
		scenes_settle(true);
	}
}

int main(int argc, char **argv)
{
	bool full = argc == 2 && !strcmp(argv[1], "--full");
	unsigned int sizes = full ? sizeof(full_sizes) / sizeof(full_sizes[0])
				  : sizeof(slice_sizes) / sizeof(slice_sizes[0]);
	unsigned int mode;

	if (argc > 1 && !full) {
		fprintf(stderr, "usage: fault [--full]\n");
		return 2;
	}
	printf("1..%zu\n", MODES);
	for (mode = 0; mode < MODES; mode++) {
		struct totals totals = { 0, 0, 0, 0 };

		try_mode(modes[mode].flags, full ? full_sizes : slice_sizes, sizes, &totals);
		printf("ok %u - %s: %llu calls, %llu allocations refused, at most %llu in one "
		       "call, height up to %u\n",
		       mode + 1, modes[mode].name, totals.calls, totals.failures, totals.most,
		       totals.highest);
		fflush(stdout);
	}
	return 0;
}
