/* SPDX-License-Identifier: MIT */
/*
 * mtree.c - the normal API: calls that take the lock or the read side themselves.
 */
#include <errno.h>

#include "dead.h"
#include "lock.h"
#include "rcu.h"
#include "publish.h"
#include "trace.h"
#include "walk.h"
#include "write.h"

void maple_tree_init(void)
{
}

void mt_init_flags(struct maple_tree *mt, unsigned int flags)
{
	mt->ma_root = NULL;
	mt->ma_flags = flags & ~(MT_FLAGS_HEIGHT_MASK | TREE_STAMPED);
	mt->ma_alloc = NULL;
	mt->ma_rcu = NULL;
	mt->ma_entry_ops = NULL;
	mt->ma_retired = NULL;
	mt->ma_writes = 0;
	mt->ma_retrying = 0;
	mt->ma_lock = (struct mt_mutex)MT_MUTEX_INIT;
	finger_forget(mt);
}

/*
 * Nodes retired earlier still go to the previous allocator, after a grace period of the previous
 * flavour.
 */
int mt_set_allocator(struct maple_tree *mt, const struct mt_allocator *alloc)
{
	if (root_is_node(mt->ma_root))
		return -EBUSY;
	retire_hand_over(mt);
	mt->ma_alloc = alloc;
	return 0;
}

int mt_set_rcu_flavour(struct maple_tree *mt, const struct mt_rcu *flavour)
{
	if (root_is_node(mt->ma_root))
		return -EBUSY;
	retire_hand_over(mt);
	mt->ma_rcu = flavour;
	return 0;
}

int mt_set_entry_ops(struct maple_tree *mt, const struct mt_entry_ops *ops)
{
	if (mt->ma_root)
		return -EBUSY;
	if (ops && (!ops->get || !ops->put))
		return -EINVAL;
	retire_hand_over(mt);
	mt->ma_entry_ops = ops;
	if (ops)
		__atomic_fetch_or(&mt->ma_retrying, TREE_COUNTED, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&mt->ma_retrying, ~TREE_COUNTED, __ATOMIC_RELAXED);
	return 0;
}

static void change_flags(struct maple_tree *mt, unsigned int set, unsigned int clear)
{
	assert(!(set & clear));
	__atomic_store_n(&mt->ma_flags, (mt->ma_flags & ~clear) | set, __ATOMIC_RELEASE);
}

int mt_set_in_rcu(struct maple_tree *mt)
{
	if (!rcu_prepare(mt->ma_rcu))
		return -ENOMEM;
	tree_lock(mt);
	change_flags(mt, MT_FLAGS_USE_RCU, 0);
	tree_unlock(mt);
	return 0;
}

/*
 * No reader is left, so the count of retrying readers is reset: a reader that ended without
 * subtracting itself, maybe in another process, must not make writers copy for ever.
 */
void mt_clear_in_rcu(struct maple_tree *mt)
{
	tree_lock(mt);
	change_flags(mt, 0, MT_FLAGS_USE_RCU);
	__atomic_fetch_and(&mt->ma_retrying, TREE_SHARED | TREE_COUNTED, __ATOMIC_RELAXED);
	retire_hand_over(mt); /* no later write would add to the batch */
	tree_unlock(mt);
}

static void *hide_zero(void *entry)
{
	return xa_is_zero(entry) ? NULL : entry;
}

int mtree_store_range(struct maple_tree *mt, unsigned long first, unsigned long last,
		      void *entry, gfp_t gfp)
{
	int error;

	if (first > last || entry_reserved(entry))
		return -EINVAL;
	tree_lock_to_write(mt, gfp);
	error = write_range(mt, first, last, entry, gfp & __GFP_DIRECT_RECLAIM);
	tree_unlock(mt);
	return error;
}

int mtree_store(struct maple_tree *mt, unsigned long index, void *entry, gfp_t gfp)
{
	return mtree_store_range(mt, index, index, entry, gfp);
}

int mtree_insert_range(struct maple_tree *mt, unsigned long first, unsigned long last,
		       void *entry, gfp_t gfp)
{
	int error;

	if (first > last || entry_reserved(entry))
		return -EINVAL;
	tree_lock_to_write(mt, gfp);
	error = write_insert(mt, first, last, entry, gfp & __GFP_DIRECT_RECLAIM);
	tree_unlock(mt);
	return error;
}

int mtree_insert(struct maple_tree *mt, unsigned long index, void *entry, gfp_t gfp)
{
	return mtree_insert_range(mt, index, index, entry, gfp);
}

void *mtree_erase(struct maple_tree *mt, unsigned long index)
{
	void *entry;
	int error;

	tree_lock_to_write(mt, GFP_KERNEL);
	error = write_erase(mt, index, &entry);
	tree_unlock(mt);
	return error ? NULL : hide_zero(entry);
}

int mtree_alloc_area(struct maple_tree *mt, struct mt_area *area, void *entry, gfp_t gfp)
{
	MA_STATE(mas, mt, 0, 0);
	int error;

	tree_lock_to_write(mt, gfp);
	error = mas_alloc_area(&mas, area, entry, gfp);
	tree_unlock(mt);
	return error;
}

static int alloc_range(struct maple_tree *mt, unsigned long *startp, void *entry,
		       struct mt_area area, gfp_t gfp)
{
	int error = mtree_alloc_area(mt, &area, entry, gfp);

	if (!error)
		*startp = area.start;
	return error;
}

int mtree_alloc_range(struct maple_tree *mt, unsigned long *startp, void *entry,
		      unsigned long size, unsigned long min, unsigned long max, gfp_t gfp)
{
	struct mt_area area = { .min = min, .max = max, .size = size, .fit = MT_FIT_LOWEST };

	return alloc_range(mt, startp, entry, area, gfp);
}

int mtree_alloc_rrange(struct maple_tree *mt, unsigned long *startp, void *entry,
		       unsigned long size, unsigned long min, unsigned long max, gfp_t gfp)
{
	struct mt_area area = { .min = min, .max = max, .size = size, .fit = MT_FIT_HIGHEST };

	return alloc_range(mt, startp, entry, area, gfp);
}

void *mtree_load_range(struct maple_tree *mt, unsigned long index, unsigned long *first,
		       unsigned long *last)
{
	struct read_section section = read_enter(mt);
	void *entry = lookup_range(mt, index, first, last);

	read_leave(section);
	return hide_zero(entry);
}

bool mtree_gap_around(struct maple_tree *mt, unsigned long index, unsigned long *first,
		      unsigned long *last)
{
	struct read_section section = read_enter(mt);
	unsigned long from, to;
	void *entry = lookup_range(mt, index, &from, &to);

	read_leave(section);
	if (entry)
		return false;
	*first = from;
	*last = to;
	return true;
}

int mtree_fill_gap(struct maple_tree *mt, unsigned long index, void *entry,
		   unsigned long *first, unsigned long *last, gfp_t gfp)
{
	MA_STATE(mas, mt, index, index);
	int error = -EEXIST;

	if (!entry || entry_reserved(entry))
		return -EINVAL;
	tree_lock_to_write(mt, gfp);
	if (!mas_walk(&mas))
		error = mas_store_gfp(&mas, entry, gfp);
	tree_unlock(mt);
	if (error)
		return error;
	assert(mas.index <= index && index <= mas.last);
	*first = mas.index;
	*last = mas.last;
	return 0;
}

int mtree_alloc_cyclic(struct maple_tree *mt, unsigned long *startp, void *entry,
		       unsigned long range_lo, unsigned long range_hi, unsigned long *next,
		       gfp_t gfp)
{
	MA_STATE(mas, mt, 0, 0);
	int result;

	tree_lock_to_write(mt, gfp);
	result = mas_alloc_cyclic(&mas, startp, entry, range_lo, range_hi, next, gfp);
	tree_unlock(mt);
	return result;
}

void __mt_destroy(struct maple_tree *mt)
{
	void *root = mt->ma_root;

	TRACE_WHOLE(mt, TRACE_DESTROY);
	tree_begin_change(mt);
	if (root_is_node(root) && mt_in_rcu(mt))
		dead_mark_below(mt, root);
	publish_root(mt, NULL, 0);
	retire_whole(mt, root);
	tree_end_change(mt);
	/* a reader that has loaded the root still has to find out how to watch what is below it */
	if (!mt_in_rcu(mt) || !tree_is_stamped(mt)) {
		change_flags(mt, 0, TREE_STAMPED);
		__atomic_fetch_and(&mt->ma_retrying, ~TREE_SHARED, __ATOMIC_RELAXED);
	}
	assert(!mt->ma_root && !mt_height(mt) && !mt->ma_retired);
}

void mtree_destroy(struct maple_tree *mt)
{
	tree_lock(mt);
	__mt_destroy(mt);
	tree_unlock(mt);
}

void *mt_find(struct maple_tree *mt, unsigned long *index, unsigned long max)
{
	MA_STATE(mas, mt, *index, *index);
	struct read_section section;
	void *entry;

	if (*index > max)
		return NULL;
	section = read_enter(mt);
	do {
		entry = mas_find(&mas, max);
	} while (xa_is_zero(entry));
	read_leave(section);
	if (entry)
		*index = mas.last + 1;
	return entry;
}

void *mt_find_after(struct maple_tree *mt, unsigned long *index, unsigned long max)
{
	return *index ? mt_find(mt, index, max) : NULL;
}

static void *neighbour(struct maple_tree *mt, unsigned long index, unsigned long limit,
		       void *(*step)(struct ma_state *, unsigned long))
{
	MA_STATE(mas, mt, index, index);
	struct read_section section = read_enter(mt);
	void *entry;

	do {
		entry = step(&mas, limit);
	} while (xa_is_zero(entry));
	read_leave(section);
	return entry;
}

void *mt_next(struct maple_tree *mt, unsigned long index, unsigned long max)
{
	return neighbour(mt, index, max, mas_next);
}

void *mt_prev(struct maple_tree *mt, unsigned long index, unsigned long min)
{
	return neighbour(mt, index, min, mas_prev);
}
