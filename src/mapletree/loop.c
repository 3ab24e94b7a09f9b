/* SPDX-License-Identifier: MIT */
/*
 * loop.c - what mt_for_each() does where it does not go on from leaf to leaf (loop_find(), batch.c):
 * a search from the root.
 */
#include "finger.h"
#include "loop.h"
#include "rcu.h"

static_assert(MT_LOOP_NEXT < MAS_BATCH_LAST - 1, "before the word for the end of what is before");

unsigned long loop_without_zeros(const unsigned long *batch, unsigned long left)
{
	for (unsigned long rest = left; rest; rest &= rest - 1)
		if (xa_is_zero((void *)batch[MAS_BATCH_ENTRY + __builtin_ctzl(rest)]))
			left &= ~(rest & -rest);
	return left;
}

/*
 * Whether a write may be in progress that has raised the stamp, which was loaded before, but not
 * yet stored all that it will: nobody would be told of the rest.
 */
static bool may_be_writing(const struct maple_tree *mt)
{
	return mt_in_rcu(mt) && (mt_external_lock(mt) ||
				 __atomic_load_n(&mt->ma_lock.word, __ATOMIC_ACQUIRE) &
					 MT_MUTEX_LOCKED);
}

/* The way to the leaf behind the cursor's, which was read as a whole. */
static void remember_way(unsigned long *batch, const struct ma_state *mas)
{
	unsigned int offset = (mas->parent_offset + 1u) & UCHAR_MAX;

	if (mas->batch != batch || !mas->parent || offset > mas->parent_end)
		return;
	batch[MT_LOOP_STEP] = step_make(enode_node(mas->parent), offset);
	batch[MT_LOOP_PARENT_MAX] = mas->parent_max;
}

/*
 * The slot at which mas_batch_find() has found something is always in the tree at that time. The
 * others are as of the stamp, and so as long as it is the same, if no write was in progress then:
 * it is loaded before they are read, and raised before anything that is stored later.
 */
unsigned long loop_find_anew(unsigned long *batch, unsigned long left, struct maple_tree *mt,
			     unsigned long index, unsigned long max)
{
	bool disturbed = left || batch[MT_LOOP_BEGUN] == MT_LOOP_ONE_BY_ONE, alone;
	unsigned long stamp;

	if ((batch[MT_LOOP_BEGUN] && !index) || index > max)
		return 0;
	do {
		MA_STATE(mas, mt, index, index);
		struct read_section section = read_enter(mt);
		unsigned long first;

		stamp = __atomic_load_n(&mt->ma_writes, __ATOMIC_ACQUIRE);
		alone = may_be_writing(mt);
		left = mas_batch_find(batch, disturbed, 0, &mas, max);
		read_leave(section);
		if (!left)
			return 0;
		index = loop_last(batch, left) + 1;
		batch[MT_LOOP_STEP] = 0;
		if (!alone && index)
			remember_way(batch, &mas);
		first = left & -left;
		left = loop_without_zeros(batch, left);
		if (left && !(left & first) &&
		    batch[MAS_BATCH_LAST + (size_t)__builtin_ctzl(left) - 1] >= max)
			return 0;
	} while (!left && index && index <= max);
	batch[MT_LOOP_BEGUN] = alone ? MT_LOOP_ONE_BY_ONE : 1;
	batch[MT_LOOP_STAMP] = stamp;
	batch[MT_LOOP_TREE] = (unsigned long)mt;
	batch[MT_LOOP_NEXT] = left ? loop_last(batch, left) + 1 : 0;
	return alone ? left & -left : left;
}
