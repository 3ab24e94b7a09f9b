/* SPDX-License-Identifier: MIT */
/*
 * whole.c - failures of the calls that make or drop a whole tree.
 */
#include "whole.h"

#include <errno.h>
#include <urcu/urcu-bp.h>

static int dup(struct maple_tree *from, struct maple_tree *to, gfp_t gfp, bool locked)
{
	int error;

	if (!locked)
		return mtree_dup(from, to, gfp);
	mtree_lock(from);
	mtree_lock_nested(to, 1);
	error = __mt_dup(from, to, gfp);
	mtree_unlock(to);
	mtree_unlock(from);
	return error;
}

/* One failure after the other, until it succeeds. */
static void dup_each(struct scene *from, bool locked, unsigned long long *failures)
{
	const struct recipe empty = { TREE_APART, 0, from->mt.ma_flags & ~MT_FLAGS_HEIGHT_MASK };
	struct digest before = digest_take(&from->mt);
	struct scene *to = scene_build(&empty);
	struct digest after;
	unsigned long n;

	heap_deny(&to->heap);
	n = (unsigned long)dup(&from->mt, &to->mt, GFP_NOWAIT, locked);
	expect(!heap_allocs(&to->heap), "a copy that may not allocate did");
	expect((int)n == (mt_height(&from->mt) ? -ENOMEM : 0), "error %d", (int)n);
	mtree_destroy(&to->mt);
	for (n = 1;; n++) {
		int error;

		heap_fail(&to->heap, n);
		error = dup(&from->mt, &to->mt, GFP_KERNEL, locked);
		expect(error == (heap_failed(&to->heap) ? -ENOMEM : 0), "error %d", error);
		if (!error)
			break;
		++*failures;
		expect(mtree_empty(&to->mt) && !mt_height(&to->mt), "left half a copy");
		expect(!heap_live(&to->heap), "kept %lu nodes", heap_live(&to->heap));
		expect_sound(&to->mt, "after a failed copy");
		expect_sound(&from->mt, "copied from");
	}
	expect(n == before.shape.nodes + 1, "%lu allocations for %lu nodes", n - 1,
	       before.shape.nodes);
	after = digest_take(&to->mt);
	expect(digest_equal(&before, &after), "the copy differs");
	after = digest_take(&from->mt);
	expect(digest_equal(&before, &after), "the original changed");
	scene_close(to);
}

void whole_dup(struct scene *from, unsigned long long *failures)
{
	dup_each(from, false, failures);
	dup_each(from, true, failures);
}

/* Ascending ranges; with gaps between there are twice as many slots. */
static void fill(struct scene *scene, struct ma_state *mas, unsigned int entries, bool apart)
{
	unsigned int i;

	for (i = 0; i < entries; i++) {
		unsigned long first = STRIDE * (i + 1ul);

		mas_set_range(mas, first, first + STRIDE - 1 - apart);
		mas_store(mas, xa_mk_value(i));
		expect(!mas_is_err(mas), "store %u of %u promised ones failed", i, entries);
	}
	expect(!heap_allocs(&scene->heap), "promised stores asked for more nodes");
}

static void bulk(unsigned int flags, unsigned int entries, bool apart,
		 unsigned long long *failures)
{
	const struct recipe empty = { TREE_APART, 0, flags };
	struct scene *scene = scene_build(&empty);
	struct mt_statistics shape;
	MA_STATE(mas, &scene->mt, 0, 0);
	unsigned long n;
	int error;

	mas_lock(&mas);
	for (n = 1;; n += n < 50 ? 1 : n / 7) {
		heap_fail(&scene->heap, n);
		error = mas_expected_entries(&mas, entries);
		expect(error == (heap_failed(&scene->heap) ? -ENOMEM : 0), "error %d", error);
		if (!error)
			break;
		++*failures;
		expect(mas_is_err(&mas) && mas.node == MA_ERROR(-ENOMEM), "no error set");
		mas_destroy(&mas);
		mas_reset(&mas);
		expect(!heap_live(&scene->heap), "kept nodes");
	}
	heap_deny(&scene->heap);
	fill(scene, &mas, entries, apart);
	mas_destroy(&mas);
	mas_unlock(&mas);
	expect_sound(&scene->mt, "after bulk stores");
	mt_get_statistics(&scene->mt, &shape);
	expect(shape.entries == entries, "%lu entries of %u", shape.entries, entries);
	expect(flags & MT_FLAGS_USE_RCU || heap_live(&scene->heap) == shape.nodes,
	       "%lu nodes in use, %lu in the tree", heap_live(&scene->heap), shape.nodes);
	scene_close(scene);
}

void whole_bulk(unsigned int flags, unsigned int entries, unsigned long long *failures)
{
	bulk(flags, entries, false, failures);
	bulk(flags, entries, true, failures);
}

void whole_destroy(struct scene *from)
{
	struct scene *scene = scene_copy(from);

	heap_deny(&scene->heap);
	mtree_destroy(&scene->mt);
	expect(mtree_empty(&scene->mt) && !mt_height(&scene->mt), "not empty");
	scene_close(scene);
}

void whole_batches(struct scene *from, unsigned long long *failures)
{
	unsigned int before, i;

	for (before = 0; before < 40; before++) {
		struct scene *scene = scene_copy(from);
		unsigned long n, live;
		struct digest was, is;

		for (i = 0; i < before; i++)
			expect(!mtree_store_range(&scene->mt, 3, 3 + i % 2, xa_mk_value(5),
						  GFP_KERNEL), "store");
		urcu_bp_barrier();
		was = digest_take(&scene->mt);
		live = heap_live(&scene->heap);
		for (n = 1;; n++) {
			heap_fail(&scene->heap, n);
			if (!mtree_store_range(&scene->mt, 15, ULONG_MAX - 9, xa_mk_value(6),
					       GFP_KERNEL))
				break;
			++*failures;
			is = digest_take(&scene->mt);
			expect(digest_equal(&was, &is), "changed after %u writes", before);
			expect(heap_live(&scene->heap) == live, "kept nodes");
		}
		expect(!heap_failed(&scene->heap), "a failed allocation went unnoticed");
		expect_sound(&scene->mt, "after a wide store");
		scene_close(scene);
	}
}
