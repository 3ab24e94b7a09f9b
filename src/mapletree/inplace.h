/* SPDX-License-Identifier: MIT */
/*
 * inplace.h - the stores that change a live leaf where it is; part of write.c.
 *
 * Beside readers a leaf changes word by word. Before each word its version is raised, so a reader
 * that found the same version before and after saw the leaf either before or after one single word,
 * never a mixture of several; and each word by itself leads from one meaningful leaf to another. A
 * reader that has to look again does so because a writer got on: it never waits for one. After the last
 * word the version is raised once more: a cursor that keeps what it read, to be good as long as
 * the version stays, may have read before the word that its version announced. Until then META_WRITING
 * says that nothing is to be kept.
 *
 * What a word may do, so that this is so:
 *   - A slot that covers nothing (its pivot is the one before it, or, past the end, both are the
 *     maximum) may take any value: no index leads to it.
 *   - A pivot between two slots of the same value may go anywhere between its neighbours, these
 *     included: no index changes what it holds. So an entry moves as a whole, from its slot to one
 *     that covered nothing, and is never seen in two parts; gaps may be.
 *   - One word of the whole write, a slot or a pivot, changes what indexes hold.
 * Slot 0 always covers something, since what it begins with is not a word of the leaf.
 */
#ifndef MT_INPLACE_H
#define MT_INPLACE_H

#include <string.h>

#include "leaf_plan.h"

/* A leaf that changes beside readers; meta is that of the leaf. */
struct pen {
	struct mt_node *leaf;
	unsigned long meta;
};

static inline struct pen pen_begin(struct mt_node *leaf, unsigned int end)
{
	return (struct pen){ leaf, (leaf->wide.meta & ~META_END_MASK) | META_WRITING | end };
}

/* After the last word: from here on what is read under this version stays what it is. */
static inline void pen_end(struct pen *pen)
{
	pen->meta += META_VERSION_ONE - META_WRITING;
	__atomic_store_n(&pen->leaf->wide.meta, pen->meta, __ATOMIC_RELEASE);
}

static inline void raise_version(struct pen *pen)
{
	pen->meta += META_VERSION_ONE;
	__atomic_store_n(&pen->leaf->wide.meta, pen->meta, __ATOMIC_RELEASE);
}

static inline void put_slot(struct pen *pen, unsigned int i, void *value)
{
	raise_version(pen);
	slot_publish(pen->leaf, KIND_LEAF, i, value);
}

static inline void put_pivot(struct pen *pen, unsigned int i, unsigned long pivot)
{
	raise_version(pen);
	pivot_publish(pen->leaf, i, pivot);
}

static inline unsigned long pivot_of(const struct mt_node *leaf, unsigned int i)
{
	return i < WIDE_PIVOTS ? leaf->pivot[i] : ULONG_MAX;
}

/*
 * Makes slot @at > 0 one that covers nothing; those from it to @end move up by one. The slot above
 * the one that moves covers nothing: it takes the same value, then the pivot hands the range over.
 */
static inline void open_slot(struct pen *pen, unsigned int at, unsigned int end)
{
	struct mt_node *leaf = pen->leaf;
	unsigned int i;

	for (i = end + 1; i-- > at;) {
		put_slot(pen, i + 1, leaf->wide.slot[i]);
		put_pivot(pen, i, leaf->pivot[i - 1]);
	}
}

/* The other way: slot @at covers nothing, and those above it, up to @end, move down by one. */
static inline void close_slot(struct pen *pen, unsigned int at, unsigned int end)
{
	struct mt_node *leaf = pen->leaf;
	unsigned int i;

	for (i = at; i + 1 < end; i++) {
		put_slot(pen, i, leaf->wide.slot[i + 1]);
		put_pivot(pen, i, leaf->pivot[i + 1]);
	}
	if (i < end) { /* the last one, whose pivot is the maximum */
		put_slot(pen, i, leaf->wide.slot[end]);
		put_pivot(pen, i, ULONG_MAX);
	}
	pen->meta--; /* of the end, from here on */
	put_slot(pen, end, NULL);
}

/*
 * An entry comes into a gap, which is divided first. Where parts of a gap end is nobody's promise.
 */
static inline void fill(const struct mt_leaf_plan *p)
{
	struct pen pen = pen_begin(p->leaf, p->new_end);
	bool both = p->left & p->right;
	unsigned int i;

	open_slot(&pen, p->low + 1, p->end);
	if (both)
		open_slot(&pen, p->low + 2, p->end + 1);
	for (i = p->low + 1; i <= p->low + 1 + both; i++)
		if (p->leaf->wide.slot[i])
			put_slot(&pen, i, NULL);
	put_pivot(&pen, p->low, p->left ? p->first - 1 : p->last);
	if (both)
		put_pivot(&pen, p->low + 1, p->last);
	put_slot(&pen, plan_at(p), p->entry);
	pen_end(&pen);
}

/* An entry of @low .. @high goes, and the gaps beside it, the rest of these, become one. */
static __attribute__((noinline)) void clear(struct mt_node *leaf, unsigned int low,
					    unsigned int high, unsigned int end)
{
	struct pen pen = pen_begin(leaf, end);
	unsigned long last = pivot_of(leaf, high);
	unsigned int i = low;

	while (!leaf->wide.slot[i])
		i++;
	put_slot(&pen, i, NULL);
	for (i = high; i-- > low;)
		put_pivot(&pen, i, last);
	for (i = high; i > low; i--)
		close_slot(&pen, i, end - (high - i));
	pen_end(&pen);
}

/* An entry loses one end to the new range, whose slot is ready when the boundary moves. */
static inline void cut(const struct mt_leaf_plan *p)
{
	struct pen pen = pen_begin(p->leaf, p->new_end);

	open_slot(&pen, plan_at(p), p->end);
	put_slot(&pen, plan_at(p), p->entry);
	put_pivot(&pen, p->low, p->left ? p->first - 1 : p->last);
	pen_end(&pen);
}

/* An entry takes over all of the range beside it. */
static inline void absorb(const struct mt_leaf_plan *p)
{
	struct pen pen = pen_begin(p->leaf, p->end);
	bool up = p->leaf->wide.slot[p->low] == p->entry;

	put_pivot(&pen, p->low, up ? pivot_of(p->leaf, p->high) : p->below);
	close_slot(&pen, up ? p->high : p->low, p->end);
	pen_end(&pen);
}

/* All at once; nobody may be reading. */
static __attribute__((noinline)) void splice(const struct mt_leaf_plan *p)
{
	struct mt_node *leaf = p->leaf;
	unsigned int at = plan_at(p), tail = p->high + 1 - p->right;
	unsigned int moved = p->end + 1 - tail;
	unsigned int i;

	if (moved == 1) { /* the gap at the end, most often; its pivot is the maximum */
		leaf->wide.slot[at + 1] = leaf->wide.slot[tail];
	} else if (moved && tail != at + 1) {
		memmove(&leaf->wide.slot[at + 1], &leaf->wide.slot[tail], moved * sizeof(void *));
		memmove(&leaf->pivot[at + 1], &leaf->pivot[tail], (moved - 1) * sizeof(long));
	}
	if (p->left)
		leaf->pivot[p->low] = p->first - 1;
	leaf->wide.slot[at] = p->entry;
	if (at < p->new_end)
		leaf->pivot[at] = p->last;
	for (i = p->new_end; i < p->end; i++) {
		leaf->pivot[i] = ULONG_MAX;
		leaf->wide.slot[i + 1] = NULL;
	}
	node_set_end(leaf, KIND_LEAF, p->new_end);
}

/* The kinds that move slots beside readers, but for PUBLISH_CLEAR. */
static __attribute__((noinline)) void shift(const struct mt_leaf_plan *p)
{
	if (p->publish == PUBLISH_FILL)
		fill(p);
	else if (p->publish == PUBLISH_CUT)
		cut(p);
	else
		absorb(p);
}

static inline void inplace_write(const struct mt_leaf_plan *p)
{
	struct mt_leaf_plan copy; /* so that *p need not be in memory for the others */
	struct pen pen;

	if (p->publish == PUBLISH_PIVOT) {
		pen = pen_begin(p->leaf, p->end);
		put_pivot(&pen, p->low, p->left ? p->first - 1 : p->last);
		pen_end(&pen);
	} else if (p->publish == PUBLISH_SLOT) {
		pen = pen_begin(p->leaf, p->end);
		put_slot(&pen, p->low, p->entry);
		pen_end(&pen);
	} else if (p->publish == PUBLISH_CLEAR) {
		clear(p->leaf, p->low, p->high, p->end);
	} else if (p->publish != PUBLISH_NOTHING) {
		copy = *p;
		if (p->publish == PUBLISH_SPLICE)
			splice(&copy);
		else
			shift(&copy);
	}
}

#endif
