/* SPDX-License-Identifier: MIT */
/*
 * _ffi.c - trees whose entries stand for Python's objects. Part of the extension module that cffi
 * makes: build_ffi.py puts it in front of what cffi writes.
 *
 * No Python object is touched here: cffi releases the GIL around every call. An object has a number
 * ("slot") in a dict of Python's, which holds the one reference to it. Its entry in the trees is a
 * block that counts the ranges, of all trees that share nodes, that have it. A block that no range
 * has any more waits in a list of the thread whose call dropped it; after the call Python takes the
 * numbers from the list, with the GIL held, and drops its references. So an object's destructor
 * never runs under a tree's lock, and may use any map.
 *
 * Every call takes the tree's lock, those that read too: Python's threads share maps.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <mapletree/maple_tree.h>
#include <mapletree/vmspace.h>
#include <mapletree/vmspace_proc.h>

struct py_range {
	unsigned long first;
	unsigned long last;
	uint64_t slot;
};

struct py_object {
	uint64_t slot;
	bool is_number;
	int64_t number;
};

struct py_area {
	unsigned long first;
	unsigned long last;
	unsigned long size;
	unsigned long align;
	bool highest;
};

struct block {
	atomic_size_t users;
	struct py_object object;
	struct block *next; /* in the list of those that nobody has */
};

static _Thread_local struct block *dropped;

static void block_get(void *entry)
{
	struct block *block = entry;

	atomic_fetch_add_explicit(&block->users, 1, memory_order_relaxed);
}

static void block_put(void *entry)
{
	struct block *block = entry;

	if (atomic_fetch_sub_explicit(&block->users, 1, memory_order_acq_rel) != 1)
		return;
	block->next = dropped;
	dropped = block;
}

static const struct mt_entry_ops blocks = { block_get, block_put };

/* py_next_dropped - the number of an object that no tree has any more, or 0 for no further one. */
static uint64_t py_next_dropped(void)
{
	struct block *block = dropped;
	uint64_t slot = 0;

	if (block) {
		slot = block->object.slot;
		dropped = block->next;
		free(block);
	}
	return slot;
}

static uint64_t slot_of(const void *entry)
{
	return entry ? ((const struct block *)entry)->object.slot : 0;
}

/* ---- trees --------------------------------------------------------------------------------- */

static struct maple_tree *py_tree_new(void)
{
	struct maple_tree *mt = mt_new(MT_FLAGS_ALLOC_RANGE);

	if (mt)
		(void)mt_set_entry_ops(mt, &blocks); /* cannot fail: the tree is empty */
	return mt;
}

static struct maple_tree *py_tree_snapshot(struct maple_tree *mt)
{
	struct maple_tree *copy = py_tree_new();

	if (copy && mtree_snapshot(mt, copy, GFP_KERNEL)) {
		mt_free(copy);
		return NULL;
	}
	return copy;
}

static void py_tree_free(struct maple_tree *mt)
{
	mt_free(mt);
}

/* ---- changes -------------------------------------------------------------------------------- */

/* A block with one user, the caller, or NULL. */
static struct block *block_new(const struct py_object *object)
{
	struct block *block = malloc(sizeof(*block));

	if (block) {
		atomic_init(&block->users, 1);
		block->object = *object;
	}
	return block;
}

/* Returns 0, -EEXIST or -ENOMEM. If it fails, @object is among the dropped ones, or nowhere. */
static int py_store(struct maple_tree *mt, unsigned long first, unsigned long last,
		    struct py_object *object, bool only_if_free)
{
	struct block *block = block_new(object);
	int error;

	if (!block)
		return -ENOMEM;
	if (only_if_free)
		error = mtree_insert_range(mt, first, last, block, GFP_KERNEL);
	else
		error = mtree_store_range(mt, first, last, block, GFP_KERNEL);
	block_put(block);
	return error;
}

static void count_one(void *old, unsigned long first, unsigned long last, void *ctx)
{
	(void)old;
	(void)first;
	(void)last;
	++*(unsigned long *)ctx;
}

static int py_erase(struct maple_tree *mt, unsigned long first, unsigned long last,
		    unsigned long *count)
{
	*count = 0;
	return mtree_erase_range(mt, first, last, count_one, count, GFP_KERNEL);
}

static struct mt_area area_of(const struct py_area *area)
{
	return (struct mt_area){ area->first, area->last, area->size, area->align,
				 area->highest ? MT_FIT_HIGHEST : MT_FIT_LOWEST, 0 };
}

/* Returns 0, -EBUSY or -EINVAL (no such place), -ENOMEM. The object: as py_store(). */
static int py_allocate(struct maple_tree *mt, const struct py_area *area, struct py_object *object,
		       unsigned long *start)
{
	struct mt_area wanted = area_of(area);
	struct block *block = block_new(object);
	int error;

	if (!block)
		return -ENOMEM;
	error = mtree_alloc_area(mt, &wanted, block, GFP_KERNEL);
	*start = wanted.start;
	block_put(block);
	return error;
}

static int py_find_gap(struct maple_tree *mt, const struct py_area *area, unsigned long *start)
{
	struct mt_area wanted = area_of(area);
	MA_STATE(mas, mt, 0, 0);
	int error;

	mtree_lock(mt);
	error = mas_find_area(&mas, &wanted);
	mtree_unlock(mt);
	*start = wanted.start;
	return error;
}

/* ---- reading -------------------------------------------------------------------------------- */

static uint64_t py_load(struct maple_tree *mt, unsigned long index)
{
	uint64_t slot;

	mtree_lock(mt);
	slot = slot_of(mtree_load(mt, index));
	mtree_unlock(mt);
	return slot;
}

#define AT_ONCE 256

static void py_load_many(struct maple_tree *mt, const unsigned long *keys, uint64_t *slots,
			 size_t count)
{
	void *entries[AT_ONCE];

	mtree_lock(mt);
	for (size_t some; count; count -= some, keys += some, slots += some) {
		some = count < AT_ONCE ? count : AT_ONCE;
		mtree_load_many(mt, keys, entries, some);
		for (size_t i = 0; i < some; i++)
			slots[i] = slot_of(entries[i]);
	}
	mtree_unlock(mt);
}

/* Returns @count, or the place of the first key whose object is no number. */
static size_t py_load_numbers(struct maple_tree *mt, const unsigned long *keys, int64_t *numbers,
			      int64_t missing, size_t count)
{
	void *entries[AT_ONCE];
	size_t done = 0;

	mtree_lock(mt);
	for (size_t some; done < count; done += some) {
		some = count - done < AT_ONCE ? count - done : AT_ONCE;
		mtree_load_many(mt, keys + done, entries, some);
		for (size_t i = 0; i < some; i++) {
			const struct block *block = entries[i];

			if (block && !block->object.is_number) {
				mtree_unlock(mt);
				return done + i;
			}
			numbers[done + i] = block ? block->object.number : missing;
		}
	}
	mtree_unlock(mt);
	return count;
}

/* The first @count ranges that have an index in [@first, @last], whole; returns how many. */
static size_t py_read(struct maple_tree *mt, unsigned long first, unsigned long last,
		      struct py_range *ranges, size_t count)
{
	MA_STATE(mas, mt, first, first);
	size_t found = 0;
	void *entry;

	mtree_lock(mt);
	while (found < count && (entry = mas_find(&mas, last)) != NULL)
		ranges[found++] = (struct py_range){ mas.index, mas.last, slot_of(entry) };
	mtree_unlock(mt);
	return found;
}

/* The last @count, downwards. */
static size_t py_read_back(struct maple_tree *mt, unsigned long first, unsigned long last,
			   struct py_range *ranges, size_t count)
{
	MA_STATE(mas, mt, last, last);
	size_t found = 0;
	void *entry;

	mtree_lock(mt);
	while (found < count && (entry = mas_find_rev(&mas, first)) != NULL)
		ranges[found++] = (struct py_range){ mas.index, mas.last, slot_of(entry) };
	mtree_unlock(mt);
	return found;
}

/* The first @count gaps inside [@first, @last], cut to it. */
static size_t py_read_gaps(struct maple_tree *mt, unsigned long first, unsigned long last,
			   struct py_range *ranges, size_t count)
{
	MA_STATE(mas, mt, first, first);
	size_t found = 0;
	void *entry;

	mtree_lock(mt);
	for (entry = mas_walk(&mas); found < count; entry = mas_next_range(&mas, ULONG_MAX)) {
		if (!entry)
			ranges[found++] = (struct py_range){ mas.index < first ? first : mas.index,
							     mas.last > last ? last : mas.last, 0 };
		if (mas.last >= last)
			break;
	}
	mtree_unlock(mt);
	return found;
}

static unsigned long py_count(struct maple_tree *mt)
{
	struct mt_statistics statistics;

	mtree_lock(mt);
	mt_get_statistics(mt, &statistics);
	mtree_unlock(mt);
	return statistics.entries;
}

static bool py_check(struct maple_tree *mt)
{
	bool sound;

	mtree_lock(mt);
	sound = mt_check(mt, NULL);
	mtree_unlock(mt);
	return sound;
}
