/* SPDX-License-Identifier: MIT */
/*
 * maple.h - the engine over the maple tree's interface, ours or the kernel's: both offer the same
 * names, so both are driven by the same code.
 *
 * The including file has included the interface and defines
 *	MAPLE_NEW(flags), MAPLE_DELETE(tree)  make and free an empty struct maple_tree
 *	MAPLE_READ_LOCK(), MAPLE_READ_UNLOCK() the read side for loops over a cursor
 *	MAPLE_NO_BULK                         if the interface has no mas_expected_entries()
 *	MAPLE_SNAPSHOTS                       if it has mtree_snapshot()
 *	MAPLE_ONE_CALL                        if a write of one call is quicker without a cursor
 *	MAPLE_STORE_MERGE                     if it has mtree_store_merge() and mtree_load_range()
 * Every tree is one whose user brings the lock (MT_FLAGS_LOCK_EXTERN): works of one thread take
 * none, as no other engine does; works of several threads lock around every change.
 */
#include "../loops.h"

/* No reader is left, which the kernel says first when it ends an address space, too. */
static void maple_destroy(void *map)
{
	if (mt_in_rcu((struct maple_tree *)map))
		mt_clear_in_rcu((struct maple_tree *)map);
	__mt_destroy((struct maple_tree *)map);
	MAPLE_DELETE(map);
}

static void *maple_load(void *map, unsigned long index)
{
	return mtree_load((struct maple_tree *)map, index);
}

static inline bool maple_put(void *map, unsigned long first, unsigned long last, void *entry)
{
#ifdef MAPLE_ONE_CALL
	return mtree_store_range((struct maple_tree *)map, first, last, entry, GFP_KERNEL) == 0;
#else
	MA_STATE(mas, (struct maple_tree *)map, first, last);

	return mas_store_gfp(&mas, entry, GFP_KERNEL) == 0;
#endif
}

static bool maple_store(void *map, const struct range *range)
{
	return maple_put(map, range->first, range->last, range->entry);
}

static bool maple_insert(void *map, const struct range *range)
{
#ifdef MAPLE_ONE_CALL
	return mtree_insert_range((struct maple_tree *)map, range->first, range->last, range->entry,
				  GFP_KERNEL) == 0;
#else
	return maple_store(map, range);
#endif
}

static bool maple_erase(void *map, const struct range *range)
{
#ifdef MAPLE_ONE_CALL
	return mtree_erase((struct maple_tree *)map, range->first) != NULL;
#else
	return maple_put(map, range->first, range->last, NULL);
#endif
}

static bool maple_resize(void *map, const struct range *range, unsigned long last)
{
	return last > range->last ? maple_put(map, range->first, last, range->entry) :
				    maple_put(map, last + 1, range->last, NULL);
}

/* One walk where the interface has it. */
static bool maple_join(void *map, const struct range *range)
{
#ifdef MAPLE_STORE_MERGE
	return mtree_store_merge((struct maple_tree *)map, range->first, range->last, range->entry, NULL,
				 GFP_KERNEL) == 0;
#else
	unsigned long first = range->first, last = range->last;
	MA_STATE(mas, (struct maple_tree *)map, first, last);

	if (first) {
		mas_set(&mas, first - 1);
		if (mas_walk(&mas) == range->entry)
			first = mas.index;
	}
	if (last != ULONG_MAX) {
		mas_set(&mas, last + 1);
		if (mas_walk(&mas) == range->entry)
			last = mas.last;
	}
	mas_set_range(&mas, first, last);
	return mas_store_gfp(&mas, range->entry, GFP_KERNEL) == 0;
#endif
}

static bool maple_clear(void *map, const struct range *range)
{
	return mtree_store_range((struct maple_tree *)map, range->first, range->last, NULL,
				 GFP_KERNEL) == 0;
}

static unsigned long maple_end(void *map, unsigned long index)
{
#ifdef MAPLE_STORE_MERGE
	unsigned long first, last;

	mtree_load_range((struct maple_tree *)map, index, &first, &last);
	return last;
#else
	MA_STATE(mas, (struct maple_tree *)map, index, index);
	bool readers = mt_in_rcu((struct maple_tree *)map);

	if (readers)
		MAPLE_READ_LOCK();
	mas_walk(&mas);
	if (readers)
		MAPLE_READ_UNLOCK();
	return mas.last;
#endif
}

static inline bool maple_find_gap(void *map, const struct gap *gap, unsigned long *start)
{
	MA_STATE(mas, (struct maple_tree *)map, 0, 0);

	if (mas_empty_area_rev(&mas, gap->min, gap->max, gap->size))
		return false;
	*start = mas.last + 1 - gap->size;
	return true;
}

/* The cursor that found the place is the one that stores there. */
static inline bool maple_alloc(void *map, const struct gap *gap, void *entry, unsigned long *start)
{
	MA_STATE(mas, (struct maple_tree *)map, 0, 0);

	if (mas_empty_area_rev(&mas, gap->min, gap->max, gap->size))
		return false;
	*start = mas.last + 1 - gap->size;
	mas.index = *start;
	mas.last = *start + gap->size - 1;
	return mas_store_gfp(&mas, entry, GFP_KERNEL) == 0;
}

static unsigned long maple_sum(void *map, bool backward)
{
	MA_STATE(mas, (struct maple_tree *)map, backward ? ULONG_MAX : 0, backward ? ULONG_MAX : 0);
	unsigned long sum = 0;
	void *entry;

	MAPLE_READ_LOCK();
	if (backward) {
		mas_for_each_rev(&mas, entry, 0)
			sum += mas.last + (unsigned long)entry;
	} else {
		mas_for_each(&mas, entry, ULONG_MAX)
			sum += mas.last + (unsigned long)entry;
	}
	MAPLE_READ_UNLOCK();
	return sum;
}

/* The index that the loop goes on from is the one behind the range. */
static unsigned long maple_sum_each(void *map)
{
	unsigned long sum = 0, index = 0;
	void *entry;

	mt_for_each((struct maple_tree *)map, entry, index, ULONG_MAX)
		sum += index - 1 + (unsigned long)entry;
	return sum;
}

static size_t maple_list(void *map, bool backward, struct range *out, size_t max)
{
	MA_STATE(mas, (struct maple_tree *)map, backward ? ULONG_MAX : 0, backward ? ULONG_MAX : 0);
	size_t count = 0;
	void *entry;

	MAPLE_READ_LOCK();
	while ((entry = backward ? mas_find_rev(&mas, 0) : mas_find(&mas, ULONG_MAX))) {
		if (count < max)
			out[count] = (struct range){ mas.index, mas.last, entry };
		count++;
	}
	MAPLE_READ_UNLOCK();
	return count;
}

static void *maple_dup(void *map)
{
	struct maple_tree *old = (struct maple_tree *)map;
	struct maple_tree *copy =
		MAPLE_NEW(old->ma_flags & (MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU));

	if (__mt_dup(old, copy, GFP_KERNEL)) {
		MAPLE_DELETE(copy);
		return NULL;
	}
	return copy;
}

#ifdef MAPLE_SNAPSHOTS
static void *maple_snapshot(void *map)
{
	struct maple_tree *old = (struct maple_tree *)map;
	struct maple_tree *snap =
		MAPLE_NEW(old->ma_flags & (MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU));

	if (mtree_snapshot(old, snap, GFP_KERNEL)) {
		MAPLE_DELETE(snap);
		return NULL;
	}
	return snap;
}
#else
#define maple_snapshot NULL
#endif

#ifdef MAPLE_NO_BULK
#define MAPLE_BUILD(symbol, tree_flags)
#define MAPLE_BUILT(symbol) NULL
#else
/* Bulk mode: nodes for all of it, gaps included, are reserved first; no readers yet. */
static struct maple_tree *maple_fill(unsigned int flags, const struct range *ranges, size_t count)
{
	struct maple_tree *tree = MAPLE_NEW(flags & ~MT_FLAGS_USE_RCU);
	MA_STATE(mas, tree, 0, 0);
	size_t gaps = 1;

	for (size_t i = 1; i < count; i++)
		gaps += ranges[i].first != ranges[i - 1].last + 1;
	if (mas_expected_entries(&mas, count + gaps))
		goto fail;
	for (size_t i = 0; i < count; i++) {
		mas.index = ranges[i].first;
		mas.last = ranges[i].last;
		mas_store(&mas, ranges[i].entry);
		if (mas_is_err(&mas))
			goto fail;
	}
	mas_destroy(&mas);
	if (flags & MT_FLAGS_USE_RCU)
		mt_set_in_rcu(tree);
	return tree;
fail:
	mas_destroy(&mas);
	maple_destroy(tree);
	return NULL;
}

#define MAPLE_BUILD(symbol, tree_flags) \
	static void *build_##symbol(const struct range *ranges, size_t count) \
	{ \
		return maple_fill(tree_flags, ranges, count); \
	}
#define MAPLE_BUILT(symbol) build_##symbol
#endif

LOOPS_READ(maple_load)
LOOPS_WRITE(maple_insert, maple_erase, maple_resize)
LOOPS_GAP(maple_find_gap, maple_alloc, maple_erase)

/* One mode; a further argument list sets what only one of the two trees has. */
#define MAPLE_ENGINE(symbol, label, tree_flags, is_extra, ...) \
	static void *create_##symbol(void) \
	{ \
		return MAPLE_NEW(tree_flags); \
	} \
	MAPLE_BUILD(symbol, tree_flags) \
	const struct engine symbol = { \
		.name = label, \
		.sharing = (tree_flags) & MT_FLAGS_USE_RCU ? SHARING_READ_FREE : SHARING_LOCK, \
		.extra = is_extra, \
		.create = create_##symbol, \
		.destroy = maple_destroy, \
		.load = maple_load, \
		.insert = maple_insert, \
		.store = maple_store, \
		.erase = maple_erase, \
		.resize = maple_resize, \
		.join = maple_join, \
		.clear = maple_clear, \
		.end = maple_end, \
		.find_gap = (tree_flags) & MT_FLAGS_ALLOC_RANGE ? maple_find_gap : NULL, \
		.alloc = (tree_flags) & MT_FLAGS_ALLOC_RANGE ? maple_alloc : NULL, \
		.sum = maple_sum, \
		.sum_each = maple_sum_each, \
		.list = maple_list, \
		.dup = maple_dup, \
		.snapshot = maple_snapshot, \
		.build = MAPLE_BUILT(symbol), \
		.independent = loop_independent, \
		.chained = loop_chained, \
		.brk1 = loop_brk1, \
		.brk2 = loop_brk2, \
		.malloc1 = (tree_flags) & MT_FLAGS_ALLOC_RANGE ? loop_malloc1 : NULL, \
		.gaps = (tree_flags) & MT_FLAGS_ALLOC_RANGE ? loop_gaps : NULL, \
		__VA_ARGS__ \
	}
