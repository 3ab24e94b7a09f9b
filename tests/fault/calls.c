/* SPDX-License-Identifier: MIT */
/*
 * calls.c - every call that changes a tree, behind one interface.
 */
#include "calls.h"

#include <errno.h>

#include "trees.h"

#define CALL(name) \
	static int name(struct maple_tree *mt, const struct request *r, struct heap *heap)

/* What a cursor reports after a failure. */
static int cursor_error(struct ma_state *mas)
{
	if (!mas_is_err(mas))
		return 0;
	expect(mas->node == MA_ERROR(-ENOMEM), "node %p", (void *)mas->node);
	mas_destroy(mas);
	return -ENOMEM;
}

CALL(store)
{
	(void)heap;
	return mtree_store(mt, r->first, r->entry, r->gfp);
}

CALL(store_range)
{
	(void)heap;
	return mtree_store_range(mt, r->first, r->last, r->entry, r->gfp);
}

CALL(store_null)
{
	(void)heap;
	return mtree_store_range(mt, r->first, r->last, NULL, r->gfp);
}

CALL(insert)
{
	(void)heap;
	return mtree_insert(mt, r->first, r->entry, r->gfp);
}

CALL(insert_range)
{
	(void)heap;
	return mtree_insert_range(mt, r->first, r->last, r->entry, r->gfp);
}

CALL(erase)
{
	void *there = mtree_load(mt, r->first);
	void *erased = mtree_erase(mt, r->first);

	(void)heap;
	if (erased) {
		expect(erased == there && !mtree_load(mt, r->first), "erased %p", erased);
		return 0;
	}
	return mtree_load(mt, r->first) ? -ENOMEM : 0;
}

static unsigned long size_of(const struct request *r)
{
	return r->last - r->first < 40 ? r->last - r->first + 1 : 1;
}

CALL(alloc_range)
{
	unsigned long start = 77;
	int error = mtree_alloc_range(mt, &start, r->entry, size_of(r), r->first, ULONG_MAX,
				      r->gfp);

	(void)heap;
	expect(error ? start == 77 : mtree_load(mt, start) == r->entry, "start %lu", start);
	return error;
}

CALL(alloc_rrange)
{
	unsigned long start = 77;
	int error = mtree_alloc_rrange(mt, &start, r->entry, size_of(r), 0, r->last, r->gfp);

	(void)heap;
	expect(error ? start == 77 : mtree_load(mt, start) == r->entry, "start %lu", start);
	return error;
}

CALL(alloc_cyclic)
{
	unsigned long start = 77, next = r->first;
	int error = mtree_alloc_cyclic(mt, &start, r->entry, 0, r->last, &next, r->gfp);

	(void)heap;
	if (error < 0) {
		expect(start == 77 && next == r->first, "start %lu, next %lu", start, next);
		return error;
	}
	expect(next == start + 1 && mtree_load(mt, start) == r->entry, "start %lu", start);
	return 0;
}

CALL(alloc_area)
{
	struct mt_area area = { .min = r->first, .max = ULONG_MAX, .size = size_of(r), .align = 8,
				.fit = MT_FIT_LOWEST };
	int error = mtree_alloc_area(mt, &area, r->entry, r->gfp);

	(void)heap;
	expect(error || mtree_load(mt, area.start) == r->entry, "start %lu", area.start);
	return error;
}

CALL(fill_gap)
{
	unsigned long first = 77, last = 77;
	int error = mtree_fill_gap(mt, r->first, r->entry, &first, &last, r->gfp);

	(void)heap;
	expect(error ? first == 77 : mtree_load(mt, last) == r->entry, "%lu..%lu", first, last);
	return error;
}

CALL(cursor_alloc_cyclic)
{
	unsigned long start = 77, next = r->first;
	MA_STATE(mas, mt, 0, 0);
	int error;

	(void)heap;
	mas_lock(&mas);
	error = mas_alloc_cyclic(&mas, &start, r->entry, 0, r->last, &next, r->gfp);
	mas_destroy(&mas);
	mas_unlock(&mas);
	return error < 0 ? error : 0;
}

CALL(cursor_store)
{
	MA_STATE(mas, mt, r->first, r->last);
	void *there = mtree_load(mt, r->first);
	void *old;
	int error;

	(void)heap;
	mas_lock(&mas);
	old = mas_store(&mas, r->entry);
	error = cursor_error(&mas);
	expect(error ? !old : old == there, "old %p", old);
	mas_unlock(&mas);
	return error;
}

CALL(cursor_store_gfp)
{
	MA_STATE(mas, mt, r->first, r->last);
	int error;

	(void)heap;
	mas_lock(&mas);
	error = mas_store_gfp(&mas, r->entry, r->gfp);
	expect(error == cursor_error(&mas), "error %d", error);
	mas_destroy(&mas);
	mas_unlock(&mas);
	return error;
}

/* Once the nodes are reserved the heap gives no more. */
CALL(preallocated)
{
	MA_STATE(mas, mt, r->first, r->last);
	int error;

	mas_lock(&mas);
	error = mas_preallocate(&mas, r->entry, r->gfp);
	if (!error) {
		heap_deny(heap);
		mas_store_prealloc(&mas, r->entry);
		expect(!mas_is_err(&mas), "mas_store_prealloc() failed");
		expect(!heap_allocs(heap), "mas_store_prealloc() asked for nodes");
		expect(!mas.reserve_count && !mas.reserve, "nodes stayed reserved");
		heap_allow(heap);
	} else {
		expect(error == cursor_error(&mas), "error %d", error);
		expect(!mas.reserve_count, "a failed mas_preallocate() reserved nodes");
	}
	mas_unlock(&mas);
	return error;
}

/* What was reserved serves a store that may not allocate, and goes back if it is not used. */
CALL(reserved)
{
	unsigned long live = heap_live(heap);
	MA_STATE(mas, mt, r->first, r->last);
	int error;

	mas_lock(&mas);
	error = mas_preallocate(&mas, NULL, r->gfp);
	mas_destroy(&mas);
	expect(heap_live(heap) == live, "mas_destroy() kept nodes");
	mas_reset(&mas);
	if (!error)
		error = mas_preallocate(&mas, r->entry, r->gfp);
	if (!error)
		error = mas_store_gfp(&mas, r->entry, GFP_NOWAIT);
	mas_destroy(&mas);
	mas_unlock(&mas);
	return error;
}

CALL(cursor_erase)
{
	MA_STATE(mas, mt, r->first, r->first);
	void *there = mtree_load(mt, r->first);
	void *erased;
	int error;

	(void)heap;
	mas_lock(&mas);
	erased = mas_erase(&mas);
	error = cursor_error(&mas);
	expect(error ? !erased : erased == there, "erased %p", erased);
	mas_unlock(&mas);
	return error;
}

/* The loop of a caller that may not allocate under its lock. */
CALL(nomem)
{
	MA_STATE(mas, mt, r->first, r->last);
	unsigned int rounds = 0;
	int error;

	(void)heap;
	mas_lock(&mas);
	do {
		error = mas_store_gfp(&mas, r->entry, GFP_NOWAIT);
		expect(++rounds <= 2, "mas_nomem() reserved too little");
	} while (mas_nomem(&mas, r->gfp));
	expect(error == (mas_is_err(&mas) ? -ENOMEM : 0), "error %d", error);
	mas_destroy(&mas);
	mas_unlock(&mas);
	return error;
}

static bool same_digit(const void *a, const void *b)
{
	return xa_to_value(a) % 3 == xa_to_value(b) % 3;
}

CALL(store_merge)
{
	(void)heap;
	return mtree_store_merge(mt, r->first, r->last, r->entry, same_digit, r->gfp);
}

/* What an update makes of its pieces, in turn; the answers of some join. */
static void *in_turn(void *old, unsigned long first, unsigned long last, void *ctx)
{
	unsigned int *asked = ctx;

	(void)first, (void)last;
	switch ((*asked)++ % 6) {
	case 0: return xa_mk_value(1);
	case 1: return xa_mk_value(2);
	case 3: return NULL;
	case 4: return xa_mk_value(*asked);
	default: return old;
	}
}

/* The end of a stretch that is not all of a large tree: each of many allocations is refused. */
static unsigned long not_far(const struct request *r)
{
	return r->last - r->first > 400 ? r->first + 400 : r->last;
}

CALL(update_range)
{
	unsigned int asked = 0;

	(void)heap;
	return mtree_update_range(mt, r->first, not_far(r), in_turn, &asked, NULL, r->gfp);
}

CALL(cursor_update_range)
{
	MA_STATE(mas, mt, r->first, not_far(r));
	unsigned int asked = 0;
	int error;

	(void)heap;
	mas_lock(&mas);
	error = mas_update_range(&mas, in_turn, &asked, same_digit, r->gfp);
	expect(error == (mas_is_err(&mas) ? -ENOMEM : 0), "error %d", error);
	expect(mas.index == r->first && mas.last == not_far(r), "at %lu..%lu", mas.index, mas.last);
	expect(!mas.reserve, "nodes stayed reserved");
	mas_unlock(&mas);
	return error;
}

static void count_erased(void *old, unsigned long first, unsigned long last, void *ctx)
{
	unsigned long *next = ctx;

	expect(old && first >= *next && first <= last, "%p erased at %lu", old, first);
	*next = last + 1;
}

CALL(erase_range)
{
	unsigned long next = 0;
	int error = mtree_erase_range(mt, r->first, r->last, count_erased, &next, r->gfp);

	(void)heap;
	expect(!error || !next, "erased up to %lu", next);
	return error;
}

const struct call calls[] = {
	{ "mtree_store", true, store },
	{ "mtree_store_range", true, store_range },
	{ "mtree_store_range(NULL)", true, store_null },
	{ "mtree_insert", true, insert },
	{ "mtree_insert_range", true, insert_range },
	{ "mtree_erase", false, erase },
	{ "mtree_alloc_range", true, alloc_range },
	{ "mtree_alloc_rrange", true, alloc_rrange },
	{ "mtree_alloc_cyclic", true, alloc_cyclic },
	{ "mtree_alloc_area", true, alloc_area },
	{ "mtree_fill_gap", true, fill_gap },
	{ "mas_alloc_cyclic", true, cursor_alloc_cyclic },
	{ "mas_store", false, cursor_store },
	{ "mas_store_gfp", true, cursor_store_gfp },
	{ "mas_preallocate, mas_store_prealloc", true, preallocated },
	{ "mas_preallocate, mas_destroy, mas_store_gfp", true, reserved },
	{ "mas_erase", false, cursor_erase },
	{ "mas_store_gfp, mas_nomem", true, nomem },
	{ "mtree_store_merge", true, store_merge },
	{ "mtree_update_range", true, update_range },
	{ "mas_update_range", true, cursor_update_range },
	{ "mtree_erase_range", true, erase_range },
};

const unsigned int calls_count = sizeof(calls) / sizeof(calls[0]);
