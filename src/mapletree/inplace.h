/* SPDX-License-Identifier: MIT */
/*
 * inplace.h - the stores that change a live leaf in place: part of write.c.
 *
 * Beside readers a leaf changes word by word. The version is raised before each word. So a reader
 * that found the same version before and after saw the leaf either before or after one single word,
 * never a mixture of several; and each single word leads from one meaningful leaf to another. A
 * reader that has to retry does so because a writer made progress: it never waits for a writer.
 * After the last word the version is raised once more. This is for cursors that keep what they read
 * as long as the version stays: such a cursor may have read before the word that its version
 * announced. Until then META_WRITING tells it to keep nothing.
 *
 * To make this possible, each word is one of the following:
 *   - A slot that covers nothing (its pivot equals the one before it or, past the end, both are the
 *     maximum) may take any value: no index leads to it.
 *   - A pivot between two slots of the same value may move anywhere between its neighbours,
 *     inclusive: no index changes what it holds. So an entry moves as a whole from its slot to one
 *     that covered nothing, and is never seen in two parts. Gaps may be.
 *   - One word of the whole write, a slot or a pivot, changes what indexes hold.
 * Slot 0 always covers something, since its start is not a word of the leaf.
 */
#ifndef MT_INPLACE_H
#define MT_INPLACE_H

#include "leaf_plan.h"
#include "leaf_slots.h"

/* A leaf that is being changed beside readers. @meta is the leaf's meta word. */
struct leaf_writer {
	struct mt_node *leaf;
	unsigned long meta;
};

/* @slots: how many slots the leaf gains, or less than 0. */
static inline struct leaf_writer leaf_writer_begin(struct mt_node *leaf, long slots)
{
	WORK(WRITE_IN_PLACE);
	assert(!(leaf->wide.meta & META_UNSETTLED));
	return (struct leaf_writer){ leaf, leaf->wide.meta + META_WRITING + (unsigned long)slots };
}

/* Called after the last word: what is read under the new version stays valid as long as it does. */
static inline void leaf_writer_end(struct leaf_writer *writer)
{
	writer->meta += META_VERSION_ONE - META_WRITING;
	__atomic_store_n(&writer->leaf->wide.meta, writer->meta, __ATOMIC_RELEASE);
}

static inline void raise_version(struct leaf_writer *writer)
{
	writer->meta += META_VERSION_ONE;
	__atomic_store_n(&writer->leaf->wide.meta, writer->meta, __ATOMIC_RELEASE);
}

static inline void put_slot(struct leaf_writer *writer, size_t i, void *value)
{
	raise_version(writer);
	slot_publish(writer->leaf, KIND_LEAF, i, value);
}

static inline void put_pivot(struct leaf_writer *writer, size_t i, unsigned long pivot)
{
	raise_version(writer);
	pivot_publish(writer->leaf, i, pivot);
}

/*
 * Makes slot @at > 0 cover nothing, by moving the slots @at .. @end up by one. The slot above the
 * one being moved covers nothing: it takes the same value, and then the pivot hands the range over.
 */
static inline void open_slot(struct leaf_writer *writer, size_t at, size_t end)
{
	struct mt_node *leaf = writer->leaf;
	size_t i;

	for (i = end + 1; i-- > at;) {
		put_slot(writer, i + 1, leaf->wide.slot[i]);
		put_pivot(writer, i, leaf->pivot[i - 1]);
	}
}

/* The reverse: slot @at covers nothing, and the slots above it, up to @end, move down by one. */
static inline void close_slot(struct leaf_writer *writer, size_t at, size_t end)
{
	struct mt_node *leaf = writer->leaf;
	size_t i;

	for (i = at; i + 1 < end; i++) {
		put_slot(writer, i, leaf->wide.slot[i + 1]);
		put_pivot(writer, i, leaf->pivot[i + 1]);
	}
	if (i < end) { /* the last slot, whose pivot is the maximum */
		put_slot(writer, i, leaf->wide.slot[end]);
		put_pivot(writer, i, ULONG_MAX);
	}
	writer->meta--; /* lowers the end in the meta word */
	put_slot(writer, end, NULL);
}

/* Adds an entry in a gap, which is divided first: readers may see a gap in parts. */
static inline void fill(const struct mt_leaf_plan *p)
{
	bool both = p->left & p->right;
	struct leaf_writer writer = leaf_writer_begin(p->leaf, 1 + both);
	unsigned int i;

	open_slot(&writer, p->low + 1, p->end);
	if (both)
		open_slot(&writer, p->low + 2, p->end + 1);
	for (i = p->low + 1; i <= p->low + 1 + both; i++)
		if (p->leaf->wide.slot[i])
			put_slot(&writer, i, NULL);
	put_pivot(&writer, p->low, p->left ? p->first - 1 : p->last);
	if (both)
		put_pivot(&writer, p->low + 1, p->last);
	put_slot(&writer, plan_at(p), p->entry);
	leaf_writer_end(&writer);
}

/*
 * Removes the entry among the slots @low .. @high, which are two or three and of which the others
 * are gaps, and joins them to one gap.
 */
static __attribute__((noinline)) void clear(struct mt_node *leaf, size_t low, size_t high,
					    size_t end)
{
	struct leaf_writer writer = leaf_writer_begin(leaf, 0);
	unsigned long last = pivot_of(leaf, (unsigned int)high);

	assert(high - low == 1 || high - low == 2);
	put_slot(&writer, leaf->wide.slot[low] ? low : low + 1, NULL);
	put_pivot(&writer, high - 1, last);
	if (high - low == 2)
		put_pivot(&writer, low, last);
	close_slot(&writer, high, end);
	if (high - low == 2)
		close_slot(&writer, high - 1, end - 1);
	leaf_writer_end(&writer);
}

/* An entry loses one end to the new range, whose slot is filled before the boundary moves. */
static inline void cut(const struct mt_leaf_plan *p)
{
	struct leaf_writer writer = leaf_writer_begin(p->leaf, 1);

	open_slot(&writer, plan_at(p), p->end);
	put_slot(&writer, plan_at(p), p->entry);
	put_pivot(&writer, p->low, p->left ? p->first - 1 : p->last);
	leaf_writer_end(&writer);
}

/* An entry takes over all of the neighbouring range. */
static inline void absorb(const struct mt_leaf_plan *p)
{
	struct leaf_writer writer = leaf_writer_begin(p->leaf, 0);
	bool up = p->leaf->wide.slot[p->low] == p->entry;

	put_pivot(&writer, p->low, up ? pivot_of(p->leaf, p->high) : p->below);
	close_slot(&writer, up ? p->high : p->low, p->end);
	leaf_writer_end(&writer);
}

/* Changes the leaf at once; nobody may be reading it. */
static ALWAYS_INLINE void splice(const struct mt_leaf_plan *p)
{
	struct mt_node *leaf = p->leaf;
	unsigned int at = plan_at(p), tail = p->high + 1 - p->right;

	if (tail <= p->end && at + 1 > tail)
		slots_up(leaf, tail, p->end, at + 1 - tail);
	else if (tail <= p->end && at + 1 < tail)
		slots_copy(leaf, at + 1, leaf, tail, p->end + 1 - tail);
	if (p->left)
		leaf->pivot[p->low] = p->first - 1;
	leaf->wide.slot[at] = p->entry;
	if (at < p->new_end)
		leaf->pivot[at] = p->last;
	if (p->new_end < p->end)
		slots_pad(leaf, p->new_end, p->end);
	node_set_end(leaf, KIND_LEAF, p->new_end);
}

/* The kinds that move slots beside readers, except WRITE_CLEAR. */
static __attribute__((noinline)) void shift(const struct mt_leaf_plan *p)
{
	if (p->kind == WRITE_FILL)
		fill(p);
	else if (p->kind == WRITE_CUT)
		cut(p);
	else
		absorb(p);
}

/* inplace_write - carry out @p, whose kind is one that changes a leaf in place. Lock held. */
static inline void inplace_write(const struct mt_leaf_plan *p)
{
	struct mt_leaf_plan copy; /* so that *p itself may stay in registers */
	struct leaf_writer writer;

	assert(p->kind < WRITE_COPY);
	if (p->kind == WRITE_PIVOT) {
		writer = leaf_writer_begin(p->leaf, 0);
		put_pivot(&writer, p->low, p->left ? p->first - 1 : p->last);
		leaf_writer_end(&writer);
	} else if (p->kind == WRITE_SLOT) {
		writer = leaf_writer_begin(p->leaf, 0);
		put_slot(&writer, p->low, p->entry);
		leaf_writer_end(&writer);
	} else if (p->kind == WRITE_CLEAR) {
		clear(p->leaf, p->low, p->high, p->end);
	} else if (p->kind == WRITE_SPLICE) {
		WORK(WRITE_IN_PLACE);
		splice(p);
	} else if (p->kind != WRITE_NOTHING) {
		copy = *p;
		shift(&copy);
	}
}

#endif
