/* SPDX-License-Identifier: MIT */
/*
 * cursors.c - the advanced API: cursors that are set, read, moved, written through and paused.
 */
#include "world.h"

#include <errno.h>

struct cursor *take_cursor(struct world *world, struct tree *tree)
{
	return &tree->cursor[input_byte(&world->in) % CURSORS];
}

void op_cursor_set(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_cursor(world, tree);
	unsigned long first, last;

	take_range(world, tree, &first, &last);
	record(world, tree, "mas_set_range", first, last, 0, NULL);
	cursor_set(cursor, first, last);
}

static void restart(struct cursor *cursor)
{
	cursor_set(cursor, cursor->place.index, cursor->place.last);
}

static void *call_read(struct ma_state *mas, enum read_kind kind, unsigned long limit)
{
	switch (kind) {
	case read_walk: return mas_walk(mas);
	case read_find: return mas_find(mas, limit);
	case read_find_range: return mas_find_range(mas, limit);
	case read_find_rev: return mas_find_rev(mas, limit);
	case read_find_range_rev: return mas_find_range_rev(mas, limit);
	case read_next: return mas_next(mas, limit);
	case read_next_range: return mas_next_range(mas, limit);
	case read_prev: return mas_prev(mas, limit);
	default: return mas_prev_range(mas, limit);
	}
}

void op_cursor_read(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_cursor(world, tree);
	enum read_kind kind = input_byte(&world->in) % read_kinds;
	bool up = kind == read_find || kind == read_find_range || kind == read_next ||
		  kind == read_next_range;
	unsigned long limit = take_limit(world, tree, cursor->place.index, up);
	struct reading expected;
	void *entry;

	if (cursor->reserved || cursor->moved ||
	    !oracle_read(&tree->oracle, &cursor->place, kind, limit, &expected)) {
		restart(cursor);
		return;
	}
	record(world, tree, read_name(kind), cursor->place.index, cursor->place.last, limit, NULL);
	mtree_lock(&tree->mt);
	entry = call_read(&cursor->mas, kind, limit);
	mtree_unlock(&tree->mt);
	expect_entry(world, entry, expected.entry);
	if (expected.place_known) {
		expect_number(world, "index", cursor->mas.index, expected.index);
		expect_number(world, "last", cursor->mas.last, expected.last);
	}
	if (expected.status_known)
		expect_number(world, "status", cursor->mas.status, expected.status);
	if (expected.usable)
		cursor->place = (struct oracle_cursor){ expected.index, expected.last,
							expected.status };
	else
		restart(cursor);
}

/* Narrows or moves an active cursor, as a caller does before a store: __mas_set_range(). */
void op_cursor_move(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_cursor(world, tree);
	unsigned long width = cursor->place.last - cursor->place.index;
	unsigned long first = cursor->place.index + input_byte(&world->in) / 8 % (width | 1);
	unsigned long last = take_last(world, tree, first);

	if (cursor->place.status != ma_active || cursor->reserved || cursor->moved)
		restart(cursor);
	if (last < first)
		last = first;
	record(world, tree, "__mas_set_range", first, last, 0, NULL);
	__mas_set_range(&cursor->mas, first, last);
	cursor->place.index = first;
	cursor->place.last = last;
	cursor->moved = true;
}

/* A cursor from which a store is allowed. */
static struct cursor *take_writer(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_cursor(world, tree);
	enum maple_status status = cursor->place.status;

	if (cursor->reserved ||
	    (status != ma_start && status != ma_pause && status != ma_active))
		restart(cursor);
	return cursor;
}

/* Advanced stores take zero entries too; what is reserved stays out, as the API asks. */
static void *take_stored(struct world *world, const struct tree *tree)
{
	void *entry = take_entry(world, tree);

	return oracle_reserved(entry, false) ? XA_ZERO_ENTRY : entry;
}

/* A cursor that stores NULL, or prepares to, comes to stand on the whole gap that there will be. */
static void widen_place(const struct tree *tree, struct cursor *cursor)
{
	const struct oracle *oracle = &tree->oracle;
	size_t low = oracle_at(oracle, cursor->place.index);
	size_t high = oracle_at(oracle, cursor->place.last);
	const struct oracle_range *ranges = oracle->ranges;

	if (ranges[low].entry && ranges[low].first == cursor->place.index && low &&
	    !ranges[low - 1].entry)
		low--;
	if (!ranges[low].entry)
		cursor->place.index = ranges[low].first;
	if (ranges[high].entry && ranges[high].last == cursor->place.last &&
	    high + 1 < oracle->count && !ranges[high + 1].entry)
		high++;
	if (!ranges[high].entry)
		cursor->place.last = ranges[high].last;
}

/* After a store of @entry over the cursor's range. */
static void stored(struct world *world, struct tree *tree, struct cursor *cursor, void *entry)
{
	bool was_empty = oracle_empty(&tree->oracle);

	if (!entry)
		widen_place(tree, cursor);
	expect_number(world, "index", cursor->mas.index, cursor->place.index);
	expect_number(world, "last", cursor->mas.last, cursor->place.last);
	oracle_store(&tree->oracle, cursor->place.index, cursor->place.last, entry);
	cursor->place.status = ma_active;
	cursor->moved = false;
	tree_changed(world, tree, cursor);
	if (was_empty || tree->oracle.lone != lone_no || tree->oracle.count == 1)
		restart(cursor);
}

static int error_of(const struct cursor *cursor)
{
	return mas_is_err(&cursor->mas) ? xa_err(cursor->mas.node) : 0;
}

void op_cursor_store(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_writer(world, tree);
	unsigned long last = cursor->place.last;
	const struct oracle_range old =
		tree->oracle.ranges[oracle_at(&tree->oracle, cursor->place.index)];
	void *entry = take_stored(world, tree);
	gfp_t gfp = take_gfp(world);
	void *returned = NULL;
	bool plain = input_byte(&world->in) & 1;
	int got;

	record(world, tree, plain ? "mas_store" : "mas_store_gfp", cursor->place.index, last, gfp,
	       entry);
	mtree_lock(&tree->mt);
	if (plain) {
		gfp = GFP_KERNEL;
		returned = mas_store(&cursor->mas, entry);
		got = error_of(cursor);
	} else {
		got = mas_store_gfp(&cursor->mas, entry, gfp);
		expect_number(world, "error", (unsigned long)error_of(cursor), (unsigned long)got);
	}
	mtree_unlock(&tree->mt);
	if (refused(world, got, 0, gfp)) {
		tree_changed(world, tree, NULL);
		return;
	}
	if (plain && last <= old.last)
		expect_entry(world, returned, old.entry);
	stored(world, tree, cursor, entry);
}

/* A store that runs out of memory, mas_nomem(), and the store again, which then cannot fail. */
void op_cursor_nomem(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_writer(world, tree);
	void *entry = take_stored(world, tree);
	bool again;

	record(world, tree, "mas_store, mas_nomem", cursor->place.index, cursor->place.last, 0,
	       entry);
	heap_deny(&world->heap);
	mtree_lock(&tree->mt);
	mas_store(&cursor->mas, entry);
	again = mas_is_err(&cursor->mas);
	if (again && world->heap.allocs == 0)
		fail(world, "mas_store failed with memory to be had");
	heap_allow(&world->heap);
	expect_number(world, "mas_nomem without waiting", again && mas_nomem(&cursor->mas, GFP_NOWAIT),
		      false);
	expect_number(world, "mas_nomem", mas_nomem(&cursor->mas, GFP_KERNEL), again);
	heap_deny(&world->heap);
	if (again)
		mas_store(&cursor->mas, entry);
	if (mas_is_err(&cursor->mas))
		fail(world, "mas_store failed after mas_nomem");
	mas_destroy(&cursor->mas);
	mtree_unlock(&tree->mt);
	heap_allow(&world->heap);
	stored(world, tree, cursor, entry);
}

void op_cursor_preallocate(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_writer(world, tree);
	int got;

	cursor->entry = take_stored(world, tree);
	record(world, tree, "mas_preallocate", cursor->place.index, cursor->place.last, 0,
	       cursor->entry);
	mtree_lock(&tree->mt);
	got = mas_preallocate(&cursor->mas, cursor->entry, GFP_KERNEL);
	mtree_unlock(&tree->mt);
	if (refused(world, got, 0, GFP_KERNEL)) {
		expect_number(world, "reserved", cursor->mas.reserve_count, 0);
		tree_changed(world, tree, NULL);
		return;
	}
	cursor->reserved = true;
	if (!cursor->entry)
		widen_place(tree, cursor);
	expect_number(world, "index", cursor->mas.index, cursor->place.index);
	expect_number(world, "last", cursor->mas.last, cursor->place.last);
}

/* Cannot fail, even if there is no memory at all. */
void op_cursor_store_prealloc(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_cursor(world, tree);

	if (!cursor->reserved)
		return;
	record(world, tree, "mas_store_prealloc", cursor->place.index, cursor->place.last, 0,
	       cursor->entry);
	heap_deny(&world->heap);
	mtree_lock(&tree->mt);
	mas_store_prealloc(&cursor->mas, cursor->entry);
	mtree_unlock(&tree->mt);
	heap_allow(&world->heap);
	expect_number(world, "reserved", cursor->mas.reserve_count, 0);
	cursor->reserved = false;
	stored(world, tree, cursor, cursor->entry);
}

void op_cursor_erase(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_writer(world, tree);
	const struct oracle_range range =
		tree->oracle.ranges[oracle_at(&tree->oracle, cursor->place.index)];
	void *got;

	record(world, tree, "mas_erase", cursor->place.index, cursor->place.last, 0, NULL);
	mtree_lock(&tree->mt);
	got = mas_erase(&cursor->mas);
	mtree_unlock(&tree->mt);
	if (memory_failed(world)) {
		expect_entry(world, got, NULL);
		expect_number(world, "error", (unsigned long)error_of(cursor),
			      (unsigned long)-ENOMEM);
		tree_changed(world, tree, NULL);
		return;
	}
	expect_entry(world, got, range.entry);
	if (!range.entry) {
		restart(cursor);
		return;
	}
	expect_number(world, "index", cursor->mas.index, range.first);
	expect_number(world, "last", cursor->mas.last, range.last);
	oracle_erase(&tree->oracle, range.first);
	cursor->place = (struct oracle_cursor){ range.first, range.last, ma_active };
	cursor->moved = false;
	tree_changed(world, tree, cursor);
	if (tree->oracle.lone != lone_no || tree->oracle.count == 1)
		restart(cursor);
}

void op_cursor_cyclic(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_writer(world, tree);
	void *entry = take_plain_entry(world);
	unsigned long low = take_index(world, tree);
	unsigned long high = take_limit(world, tree, low, true);
	unsigned long start = 0, expected_start = 0, next = tree->cyclic_next;
	struct oracle before = { 0 };
	bool wrapped = tree->cyclic_wrapped;
	int got, expected;

	record(world, tree, "mas_alloc_cyclic", low, high, next, entry);
	oracle_copy(&before, &tree->oracle);
	expected = oracle_alloc_cyclic(&tree->oracle, &expected_start, entry, low, high,
				       &tree->cyclic_next, &tree->cyclic_wrapped);
	mtree_lock(&tree->mt);
	got = mas_alloc_cyclic(&cursor->mas, &start, entry, low, high, &next, GFP_KERNEL);
	mtree_unlock(&tree->mt);
	if (refused(world, got, expected, GFP_KERNEL)) {
		oracle_copy(&tree->oracle, &before);
		tree->cyclic_next = next;
		tree->cyclic_wrapped = wrapped;
	} else if (expected >= 0) {
		expect_number(world, "start", start, expected_start);
		expect_number(world, "next", next, tree->cyclic_next);
	}
	oracle_free(&before);
	tree_changed(world, tree, NULL);
}

void op_cursor_pause(struct world *world, struct tree *tree)
{
	struct cursor *cursor = take_cursor(world, tree);

	if (cursor->reserved || cursor->moved || cursor->place.status != ma_active ||
	    tree->oracle.lone != lone_no) {
		record(world, tree, "mas_reset", cursor->place.index, cursor->place.last, 0, NULL);
		restart(cursor);
		return;
	}
	record(world, tree, "mas_pause", cursor->place.index, cursor->place.last, 0, NULL);
	mas_pause(&cursor->mas);
	cursor->place.status = ma_pause;
}
