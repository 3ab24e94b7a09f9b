/* SPDX-License-Identifier: MIT */
/*
 * maple_tree_loop.h - loops over the entries of a tree: mas_for_each and mas_for_each_rev, with a
 * cursor, and mt_for_each, without. All read whole leaves. Part of maple_tree.h.
 */
#ifndef MAPLETREE_MAPLE_TREE_LOOP_H
#define MAPLETREE_MAPLE_TREE_LOOP_H

#include <mapletree/maple_tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/* @entry of the loops is a pointer to any type; in C++ no void * becomes one by itself. */
#ifdef __cplusplus
#define MT_FOR_EACH_ENTRY_(entry, found) static_cast<__typeof__(entry)>(found)
#else
#define MT_FOR_EACH_ENTRY_(entry, found) (found)
#endif

/* ---- with a cursor ---------------------------------------------------------------------- */

/*
 * mas_batch_find, mas_batch_next - private to mas_for_each(): mas_find(), from a leaf that was read
 * as a whole. Each step has the result of mas_find(): the batch is used only as long as the cursor
 * is on that leaf, where the last step left it, and no write concerned it.
 * mas_batch_find_rev, mas_batch_prev - the same for mas_for_each_rev() and mas_find_rev(); there
 * the highest bit is next, and what is compared is the cursor's index after the previous step.
 * @batch: the content of a leaf, as words, aligned to 64 bytes: slot i holds the entry
 *         [MAS_BATCH_ENTRY + i] over the indexes [MAS_BATCH_LAST + i - 1] + 1 .. [MAS_BATCH_LAST +
 *         i]. [MAS_BATCH_REST] is the number of steps to be made one by one, because the body
 *         stores.
 * @left:  a bit for each slot that is still to be visited, the lowest one next. mas_batch_find()
 *         returns it, 0 at the end.
 * @prev_last: the cursor's last after the previous step; @prev_index: its index.
 * @step:  left and prev_last (prev_index), in an array of their own so that they stay in registers.
 */
#define MAS_BATCH_SLOTS (ULONG_MAX > 0xffffffff ? 16 : 32)
#define MAS_BATCH_REST  0
#define MAS_BATCH_LAST  (64 / sizeof(long))
#define MAS_BATCH_ENTRY (MAS_BATCH_LAST + MAS_BATCH_SLOTS)
#define MAS_BATCH_WORDS (MAS_BATCH_LAST + 2 * MAS_BATCH_SLOTS)
/* The highest bit of a word that is not 0. */
#define MAS_BATCH_HIGHEST(left) (8 * sizeof(left) - 1 - (unsigned long)__builtin_clzl(left))

MT_PUBLIC unsigned long mas_batch_find(unsigned long *batch, unsigned long left,
				       unsigned long prev_last, struct ma_state *mas,
				       unsigned long max);
MT_PUBLIC unsigned long mas_batch_find_rev(unsigned long *batch, unsigned long left,
					   unsigned long prev_index, struct ma_state *mas,
					   unsigned long min);

/* mas_batch_begin - discard what an earlier loop has read. Returns 0: no slot is left to visit. */
static inline unsigned long mas_batch_begin(unsigned long *batch, struct ma_state *mas)
{
	batch[MAS_BATCH_REST] = 0;
	mas->batch = NULL;
	return 0;
}

static inline void *mas_batch_next(unsigned long *batch, unsigned long step[2],
				   struct ma_state *mas, unsigned long max)
{
	const unsigned long *last = &batch[MAS_BATCH_LAST];
	unsigned long left = step[0], slot;

	if (__builtin_expect(!left || mas->batch != batch || mas->status != ma_active ||
			     mas->last != step[1] ||
			     __atomic_load_n(mas->watch, __ATOMIC_ACQUIRE) != mas->version ||
			     (max != ULONG_MAX && last[(long)__builtin_ctzl(left) - 1] >= max),
			     0)) {
		left = mas_batch_find(batch, left, step[1], mas, max);
		if (!left)
			return NULL;
	}
	slot = (unsigned long)__builtin_ctzl(left);
	step[0] = left & (left - 1);
	step[1] = last[slot];
	mas->offset = (unsigned char)slot;
	mas->index = *(&last[slot] - 1) + 1;
	mas->last = last[slot];
	return (void *)batch[MAS_BATCH_ENTRY + slot];
}

static inline void *mas_batch_prev(unsigned long *batch, unsigned long step[2],
				   struct ma_state *mas, unsigned long min)
{
	const unsigned long *last = &batch[MAS_BATCH_LAST];
	unsigned long left = step[0], slot;

	if (__builtin_expect(!left || mas->batch != batch || mas->status != ma_active ||
			     mas->index != step[1] ||
			     __atomic_load_n(mas->watch, __ATOMIC_ACQUIRE) != mas->version ||
			     last[MAS_BATCH_HIGHEST(left)] < min,
			     0)) {
		left = mas_batch_find_rev(batch, left, step[1], mas, min);
		if (!left)
			return NULL;
	}
	slot = MAS_BATCH_HIGHEST(left);
	step[0] = left ^ 1ul << slot;
	mas->offset = (unsigned char)slot;
	mas->index = step[1] = *(&last[slot] - 1) + 1;
	mas->last = last[slot];
	return (void *)batch[MAS_BATCH_ENTRY + slot];
}

/*
 * mas_for_each, mas_for_each_rev - all entries from index up to @max (down to @min), including zero
 * entries. @entry is an lvalue, a pointer to any type, in C++ too. Each step is a mas_find()
 * (mas_find_rev()): it continues from where the cursor stands at that moment, and what it returns
 * is in the tree at that moment. So the body may store and erase, through the cursor or by any
 * other call, in this thread or another, and may move the cursor; what was erased before the loop
 * reached it is not returned. Before the body leaves the lock or the read side, it must call
 * mas_pause() (or mas_reset() and so on). @mas and @max are evaluated again for each step. Lock or
 * read side.
 */
#define mas_for_each(mas, entry, max) \
	MAS_FOR_EACH_(mas, entry, max, mas_batch_next, __COUNTER__)
#define mas_for_each_rev(mas, entry, min) \
	MAS_FOR_EACH_(mas, entry, min, mas_batch_prev, __COUNTER__)
#define MAS_FOR_EACH_(mas, entry, limit, next, number) \
	MAS_FOR_EACH__(mas, entry, limit, next, number)
#define MAS_FOR_EACH__(mas, entry, limit, next, number) \
	for (unsigned long mas_batch_##number[MAS_BATCH_WORDS] __attribute__((aligned(64))), \
	     mas_step_##number[2] = { mas_batch_begin(mas_batch_##number, mas), 0 }; \
	     ((entry) = MT_FOR_EACH_ENTRY_(entry, next(mas_batch_##number, mas_step_##number, \
						       (mas), (limit)))) != NULL;)

/* ---- without ----------------------------------------------------------------------------- */

/*
 * mt_loop_find, mt_loop_next - private to mt_for_each(): mt_find(), from a leaf that was read as a
 * whole. Each step has the result of mt_find(): what was read is used only as long as it is the
 * same tree and its stamp says that nothing was changed since.
 * @batch: as of mas_batch_find(); further words: [MT_LOOP_STAMP] is the stamp, [MT_LOOP_TREE] the
 *         tree; [MT_LOOP_BEGUN] says that a step was made, and by MT_LOOP_ONE_BY_ONE that a write
 *         was in progress then, or may have been. [MT_LOOP_STEP] is the way to the leaf behind,
 *         through the node above, whose maximum is [MT_LOOP_PARENT_MAX]; 0: not known.
 *         [MT_LOOP_NEXT] is the index from which on it is the way.
 * @step:  the slots of the batch that are left, which mt_loop_find() returns, 0 at the end; and the
 *         index from which to go on.
 */
#define MT_LOOP_STAMP 1
#define MT_LOOP_BEGUN 2
#define MT_LOOP_TREE  3
#define MT_LOOP_STEP  4
#define MT_LOOP_PARENT_MAX 5
#define MT_LOOP_NEXT  6

#define MT_LOOP_ONE_BY_ONE 2

MT_PUBLIC unsigned long mt_loop_find(unsigned long *batch, unsigned long left,
				     struct maple_tree *mt, unsigned long index,
				     unsigned long max);

static inline unsigned long mt_loop_begin(unsigned long *batch)
{
	batch[MAS_BATCH_REST] = batch[MT_LOOP_BEGUN] = 0;
	return 0;
}

static inline void *mt_loop_next(unsigned long *batch, unsigned long step[2],
				 struct maple_tree *mt, unsigned long *index, unsigned long max)
{
	const unsigned long *last = &batch[MAS_BATCH_LAST];
	unsigned long left = step[0], slot;

	if (__builtin_expect(!left || *index != step[1] ||
			     batch[MT_LOOP_TREE] != (unsigned long)mt ||
			     __atomic_load_n(&mt->ma_writes, __ATOMIC_ACQUIRE) !=
				     batch[MT_LOOP_STAMP] ||
			     (max != ULONG_MAX && last[(long)__builtin_ctzl(left) - 1] >= max),
			     0)) {
		left = mt_loop_find(batch, left, mt, *index, max);
		if (!left)
			return NULL;
	}
	slot = (unsigned long)__builtin_ctzl(left);
	step[0] = left & (left - 1);
	*index = step[1] = last[slot] + 1;
	return (void *)batch[MAS_BATCH_ENTRY + slot];
}

/*
 * mt_for_each - all entries but zero entries from @index (an lvalue) up to @max, in order. The
 * first step is an mt_find() from @index, which is then behind what it has found, each other one an
 * mt_find_after(); so the body may change the tree and @index, and ends the loop if it sets that to
 * 0. @mt and @max are evaluated again for each step; the body must not initialise the tree anew.
 * Takes the read side for each step; waits for nobody.
 */
#define mt_for_each(mt, entry, index, max) MT_FOR_EACH_(mt, entry, index, max, __COUNTER__)
#define MT_FOR_EACH_(mt, entry, index, max, number) MT_FOR_EACH__(mt, entry, index, max, number)
#define MT_FOR_EACH__(mt, entry, index, max, number) \
	for (unsigned long mt_batch_##number[MAS_BATCH_WORDS] __attribute__((aligned(64))), \
	     mt_step_##number[2] = { mt_loop_begin(mt_batch_##number), 0 }; \
	     ((entry) = MT_FOR_EACH_ENTRY_(entry, mt_loop_next(mt_batch_##number, \
							       mt_step_##number, (mt), &(index), \
							       (max)))) != NULL;)

#ifdef __cplusplus
}
#endif

#endif
