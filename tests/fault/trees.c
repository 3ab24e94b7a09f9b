/* SPDX-License-Identifier: MIT */
/*
 * trees.c - trees of many shapes, copies of them on heaps of their own, and what they hold.
 */
#include "trees.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <urcu/urcu-bp.h>

static struct scene *closed; /* trees destroyed, whose nodes may still wait for readers */

void complain(const char *what, const char *file, int line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: not true: %s\n  ", file, line, what);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	abort();
}

void expect_sound(struct maple_tree *mt, const char *when)
{
	const char *reason;

	if (mt_check(mt, &reason))
		return;
	mt_dump(mt, mt_dump_dec);
	complain("mt_check()", __FILE__, __LINE__, "%s: %s", when, reason);
}

static struct scene *scene_open(unsigned int flags)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	if (!scene)
		abort();
	heap_open(&scene->heap);
	mt_init_flags(&scene->mt, flags);
	expect(!mt_set_allocator(&scene->mt, &scene->heap.allocator), "empty tree");
	return scene;
}

static void put(struct scene *scene, unsigned int at, unsigned int width)
{
	unsigned long first = (unsigned long)at * STRIDE;
	int error = mtree_store_range(&scene->mt, first, first + width - 1,
				      xa_mk_value(1000 + at), GFP_KERNEL);

	expect(!error, "store at %lu: %d", first, error);
}

/* Every 3 of 4 blocks of 4 entries go, so that leaves of few entries stand side by side. */
static void thin(struct scene *scene, unsigned int entries)
{
	unsigned int i;

	for (i = 0; i < entries; i++)
		if (i % 16 >= 4)
			mtree_erase(&scene->mt, (unsigned long)i * STRIDE);
}

static unsigned int common_factor(unsigned int a, unsigned int b)
{
	return b ? common_factor(b, a % b) : a;
}

/* Stepping by this through 0 .. n-1 meets each once, in an order far from sorted. */
static unsigned int shuffle_step(unsigned int n)
{
	unsigned int step = n * 5 / 8 | 1;

	while (common_factor(n, step) != 1)
		step--;
	return step;
}

struct scene *scene_build(const struct recipe *recipe)
{
	struct scene *scene = scene_open(recipe->flags);
	unsigned int n = recipe->entries;
	unsigned int width = recipe->kind == TREE_TOUCHING || recipe->kind == TREE_THINNED
				     ? STRIDE : STRIDE / 2;
	unsigned int step = recipe->kind == TREE_SHUFFLED && n ? shuffle_step(n) : 1;
	unsigned int i;

	for (i = 0; i < n; i++)
		put(scene, recipe->kind == TREE_DOWN ? n - 1 - i : i * step % n, width);
	if (recipe->kind == TREE_THINNED)
		thin(scene, n);
	if (recipe->kind == TREE_TOP && n)
		expect(!mtree_store_range(&scene->mt, ULONG_MAX - 4, ULONG_MAX, xa_mk_value(7),
					  GFP_KERNEL), "store at the top");
	expect_sound(&scene->mt, "after building");
	return scene;
}

struct scene *scene_copy(struct scene *from)
{
	struct scene *scene = scene_open(from->mt.ma_flags);
	int error = mtree_dup(&from->mt, &scene->mt, GFP_KERNEL);

	expect(!error, "mtree_dup: %d", error);
	return scene;
}

void scene_close(struct scene *scene)
{
	heap_allow(&scene->heap);
	mtree_destroy(&scene->mt);
	expect(mtree_empty(&scene->mt) && !mt_height(&scene->mt), "after mtree_destroy");
	scene->next = closed;
	closed = scene;
}

void scenes_settle(bool wait)
{
	if (wait)
		urcu_bp_barrier();
	while (closed) {
		struct scene *scene = closed;

		closed = scene->next;
		heap_close(&scene->heap);
		free(scene);
	}
}

static void mix(struct digest *digest, unsigned long word)
{
	digest->ranges = (digest->ranges ^ word) * 0x9e3779b97f4a7c15u;
	digest->ranges ^= digest->ranges >> 32;
}

struct digest digest_take(struct maple_tree *mt)
{
	struct digest digest = { 0, { 0 } };
	MA_STATE(mas, mt, 0, 0);
	void *entry;

	mas_for_each(&mas, entry, ULONG_MAX) {
		mix(&digest, mas.index);
		mix(&digest, mas.last);
		mix(&digest, (unsigned long)entry);
	}
	mt_get_statistics(mt, &digest.shape);
	return digest;
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return a->ranges == b->ranges && a->shape.nodes == b->shape.nodes &&
	       a->shape.leaves == b->shape.leaves && a->shape.entries == b->shape.entries &&
	       a->shape.gaps == b->shape.gaps && a->shape.height == b->shape.height;
}
