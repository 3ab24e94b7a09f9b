/* SPDX-License-Identifier: MIT */
/*
 * mas.c - the cursor's writes and searches for free ranges.
 */
#include <errno.h>
#include <time.h>

#include "cursor.h"
#include "gap.h"
#include "pool.h"
#include "retire.h"
#include "trace.h"
#include "walk.h"
#include "write.h"

static bool may_allocate(gfp_t gfp)
{
	return gfp & __GFP_DIRECT_RECLAIM;
}

void mas_destroy(struct ma_state *mas)
{
	struct pool_list list = take_reserve(mas);

	pool_release(mas->tree->ma_alloc, &list);
}

void *mas_store(struct ma_state *mas, void *entry)
{
	void *old = NULL;

	TRACE_WRITE(mas, entry);
	return write_store(mas, entry, true, &old) ? NULL : old;
}

int mas_store_gfp(struct ma_state *mas, void *entry, gfp_t gfp)
{
	TRACE_WRITE(mas, entry);
	return write_store(mas, entry, may_allocate(gfp), NULL);
}

int mas_preallocate(struct ma_state *mas, void *entry, gfp_t gfp)
{
	struct pool_list reserve;
	unsigned int blocks;
	bool enough;

	if (mas->index > mas->last)
		return fail(mas, -EINVAL);
	blocks = write_blocks(mas->tree, &mas->index, &mas->last, entry);
	reserve = take_reserve(mas);
	enough = reserve.count >= blocks ||
		 (may_allocate(gfp) && retire_reserve(mas->tree, &reserve, blocks));
	if (!enough) {
		pool_release(mas->tree->ma_alloc, &reserve);
		mas->reserve_wanted = blocks;
		return fail(mas, -ENOMEM);
	}
	keep_reserve(mas, &reserve);
	return 0;
}

/*
 * Blocks that were reserved for another store, or in another mode of the tree, may be too few. Then
 * the store may allocate, rather than be lost.
 */
void mas_store_prealloc(struct ma_state *mas, void *entry)
{
	TRACE_WRITE(mas, entry);
	if (write_store(mas, entry, false, NULL) == -ENOMEM) {
		mas_reset(mas);
		write_store(mas, entry, true, NULL);
	}
	mas_destroy(mas);
	assert(!mas->reserve && !mas->reserve_count);
}

/*
 * Returns the entry at index and sets index and last to its range. If there is none, walks to
 * index.
 */
static void *entry_at(struct ma_state *mas)
{
	const struct mt_finger *finger = &mas->tree->ma_finger;
	unsigned long step = finger_to(mas->tree, mas->index);
	unsigned int offset = step_offset(step);
	struct mt_node *leaf = step_node(step);

	if (!step || !leaf->wide.slot[offset])
		return walk_to(mas, mas->index);
	mas->index = slot_first(leaf, offset, finger->min);
	mas->last = slot_last(leaf, KIND_LEAF, offset, finger->max);
	return leaf->wide.slot[offset];
}

void *mas_erase(struct ma_state *mas)
{
	unsigned long first, last;
	void *old = entry_at(mas);

	if (!old)
		return NULL;
	first = mas->index;
	last = mas->last;
	assert(first <= last);
	old = mas_store(mas, NULL);
	mas->index = first; /* which may be only a part of the gap */
	mas->last = last;
	mas->gap_written = true;
	return old;
}

/* Whether the last store failed for want of memory. */
static bool lacks_memory(const struct ma_state *mas)
{
	return mas->status == ma_error && mas->node == MA_ERROR(-ENOMEM);
}

bool mas_nomem(struct ma_state *mas, gfp_t gfp)
{
	struct pool_list reserve;
	bool unlock = may_allocate(gfp) && !mt_external_lock(mas->tree);
	bool grown;

	if (!lacks_memory(mas)) {
		mas_destroy(mas);
		return false;
	}
	if (!may_allocate(gfp))
		return false;
	reserve = take_reserve(mas);
	if (unlock)
		mtree_unlock(mas->tree);
	grown = retire_reserve(mas->tree, &reserve, mas->reserve_wanted);
	if (unlock)
		mtree_lock(mas->tree);
	keep_reserve(mas, &reserve);
	if (grown)
		mas_reset(mas);
	return grown;
}

/*
 * Others get the lock while this one sleeps, unless it is an external one, and may free what they
 * have; so may the thread that frees what readers have left.
 */
bool mas_nomem_nofail(struct ma_state *mas, unsigned long index, unsigned long last)
{
	const struct timespec moment = { 0, 1000000 };
	bool unlock = !mt_external_lock(mas->tree);

	if (!lacks_memory(mas)) {
		mas_destroy(mas);
		return false;
	}
	while (!mas_nomem(mas, GFP_KERNEL)) {
		if (unlock)
			mtree_unlock(mas->tree);
		nanosleep(&moment, NULL);
		if (unlock)
			mtree_lock(mas->tree);
	}
	mas_set_range(mas, index, last);
	return true;
}

/*
 * n ascending stores make at most 2n + 1 ranges; appended, they fill leaves completely, but for two
 * slots at most. A store that splits takes at most one more node than it keeps per level, given
 * back only afterwards; in RCU mode it is not given back, so each split of a node takes three: the
 * two, and a copy of the node above, if that is not split itself. What it replaces is put into
 * batches. Stores that do not split take nothing. As if inner nodes were left half full.
 */
static unsigned long nodes_expected(const struct maple_tree *mt, unsigned long count)
{
	unsigned int slots = WIDE_SLOTS - 2;
	unsigned long ranges = count > ULONG_MAX / 4 ? ULONG_MAX / 2 : 2 * count + 1;
	unsigned long nodes = 0, splits;

	if (!mt_in_rcu(mt))
		slots = WIDE_SLOTS;
	do {
		ranges = (ranges + slots - 1) / slots;
		nodes += ranges;
		slots = kind_slots(inner_kind(mt));
		if (mt_in_rcu(mt))
			slots /= 2;
	} while (ranges > 1);
	splits = nodes;
	nodes = 2 * nodes + 3 * MAPLE_HEIGHT_MAX;
	if (mt_in_rcu(mt))
		nodes += splits + splits / 8 + 1;
	return nodes;
}

int mas_expected_entries(struct ma_state *mas, unsigned long count)
{
	struct pool_list reserve = take_reserve(mas);
	unsigned long nodes = nodes_expected(mas->tree, count);

	if (nodes > UINT_MAX ||
	    !retire_reserve(mas->tree, &reserve, (unsigned int)nodes)) {
		keep_reserve(mas, &reserve);
		return fail(mas, -ENOMEM);
	}
	keep_reserve(mas, &reserve);
	return 0;
}

/*
 * The number of levels that the tree may reach when @more ranges are added. The first level can be
 * added at once, if all nodes on the path are full. The next one takes as many splits below as a
 * root has free slots. Then every node has been split recently, so each further level takes that
 * many times half a node's slots.
 */
static unsigned int levels_with(const struct maple_tree *mt, unsigned long more)
{
	unsigned int slots = kind_slots(inner_kind(mt));
	unsigned int again = slots > 6 ? slots / 2 - 1 : 2;
	const struct maple_enode *enode = mt->ma_root;
	unsigned int levels = 1;

	if (root_is_node(mt->ma_root)) {
		for (levels = 2; enode_kind(enode) != KIND_LEAF; levels++)
			enode = slot_child(enode_node(enode), enode_kind(enode), 0);
	}
	for (more /= slots - 3; more; more /= again)
		levels++;
	return levels < MAPLE_HEIGHT_MAX ? levels : MAPLE_HEIGHT_MAX;
}

/*
 * A store builds at most LAYOUT_NODES nodes in each level and a root above them. What it replaces,
 * three nodes of a level and all that lies between them, goes into a batch that may be full, and
 * one more. If they may belong to other trees, too, it copies them before.
 */
int mas_reserve(struct ma_state *mas, unsigned long stores, unsigned long more)
{
	unsigned long each = LAYOUT_NODES * levels_with(mas->tree, more) + 3;
	struct pool_list reserve = take_reserve(mas);
	bool enough;

	if (tree_is_shared(mas->tree))
		each += LAYOUT_NODES * levels_with(mas->tree, more) + 3;
	if (tree_is_counted(mas->tree))
		each += 3; /* batches of references to the entries of two leaves */
	enough = stores <= UINT_MAX / each;
	if (enough && reserve.count < stores * each)
		enough = retire_reserve(mas->tree, &reserve, (unsigned int)(stores * each));
	keep_reserve(mas, &reserve);
	assert(!enough || mas->reserve_count >= stores * each);
	return enough ? 0 : fail(mas, -ENOMEM);
}

static bool search_is_valid(const struct ma_state *mas, unsigned long min, unsigned long max,
			 unsigned long size)
{
	return tree_tracks_gaps(mas->tree) && size && min <= max && max - min >= size - 1;
}

/* Puts the cursor on the area of @size indexes that was found. */
static int set_to_area(struct ma_state *mas, struct mt_place_found place, unsigned long size)
{
	if (!place.found)
		return -EBUSY;
	assert(place.start <= ULONG_MAX - (size - 1));
	mas_set_range(mas, place.start, place.start + size - 1);
	return 0;
}

int mas_find_area(struct ma_state *mas, struct mt_area *area)
{
	int error;

	if (area->align & (area->align - 1) ||
	    !search_is_valid(mas, area->min, area->max, area->size))
		return -EINVAL;
	error = set_to_area(mas, gap_find(mas->tree, area), area->size);
	if (!error)
		area->start = mas->index;
	return error;
}

int mas_alloc_area(struct ma_state *mas, struct mt_area *area, void *entry, gfp_t gfp)
{
	unsigned long index = mas->index, last = mas->last;
	int error = -EINVAL;

	if (!entry_reserved(entry) && !xa_is_zero(entry))
		error = mas_find_area(mas, area);
	if (error)
		return error;
	error = mas_store_gfp(mas, entry, gfp);
	if (error) {
		mas->index = index;
		mas->last = last;
	}
	return error;
}

int mas_empty_area(struct ma_state *mas, unsigned long min, unsigned long max,
		   unsigned long size)
{
	if (!search_is_valid(mas, min, max, size))
		return -EINVAL;
	return set_to_area(mas, gap_find_lowest(mas->tree, min, max, size), size);
}

int mas_empty_area_rev(struct ma_state *mas, unsigned long min, unsigned long max,
		       unsigned long size)
{
	if (!search_is_valid(mas, min, max, size))
		return -EINVAL;
	return set_to_area(mas, gap_find_highest(mas->tree, min, max, size), size);
}

int mas_alloc_cyclic(struct ma_state *mas, unsigned long *startp, void *entry,
		     unsigned long range_lo, unsigned long range_hi, unsigned long *next,
		     gfp_t gfp)
{
	unsigned long from = *next > range_lo ? *next : range_lo, start;
	int error, wrapped = 0;

	if (!tree_tracks_gaps(mas->tree) || range_lo > range_hi || entry_reserved(entry) ||
	    xa_is_zero(entry))
		return -EINVAL;
	error = from > range_hi ? -EBUSY : mas_empty_area(mas, from, range_hi, 1);
	if (error == -EBUSY && from > range_lo) {
		error = mas_empty_area(mas, range_lo, range_hi, 1);
		wrapped = 1;
	}
	if (error)
		return error;
	start = mas->index; /* a store of NULL moves it */
	error = mas_store_gfp(mas, entry, gfp);
	if (error)
		return error;
	assert(range_lo <= start && start <= range_hi);
	*startp = start;
	*next = start + 1;
	if (tree_flags(mas->tree) & MT_FLAGS_ALLOC_WRAPPED) {
		__atomic_and_fetch(&mas->tree->ma_flags, ~MT_FLAGS_ALLOC_WRAPPED, __ATOMIC_RELAXED);
		wrapped = 1;
	}
	if (*next == 0)
		__atomic_or_fetch(&mas->tree->ma_flags, MT_FLAGS_ALLOC_WRAPPED, __ATOMIC_RELAXED);
	return wrapped;
}
