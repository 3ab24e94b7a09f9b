/* SPDX-License-Identifier: MIT */
/*
 * write.h - the write engine.
 *
 * Every change of a tree's content is a store of an entry, or of NULL, over a range. The tree's
 * finger leads to the leaf where the range begins. If that leaf stays one leaf, it is changed in
 * place or, beside readers, possibly replaced by a changed copy (leaf_plan.h). Otherwise nodes are
 * laid out anew, from the leaves up to the level where one node holds all that changes (layout.h).
 */
#ifndef MT_WRITE_H
#define MT_WRITE_H

#include "layout.h"

/*
 * write_store - store @entry over [mas->index, mas->last], with the cursor's reserve and, if it
 * @may, with blocks from the allocator. Afterwards the cursor stands on what it wrote, for NULL on
 * the whole gap; and *@old (if @old is not NULL) is the entry that was at index. Returns 0, -EINVAL
 * or -ENOMEM; an error changes nothing but the cursor's state. Lock held.
 */
int write_store(struct ma_state *mas, void *entry, bool may, void **old);

/*
 * write_merge - write_store() of @entry, which is not NULL, joined with the ranges beside it that
 * hold the same, if all of that lies in one leaf. Returns whether it does; then *@error is the
 * result. Lock held.
 */
bool write_merge(struct ma_state *mas, void *entry, mt_same_fn *same, bool may, int *error);

/*
 * write_range - write_store() over [@first, @last], first <= last, without a cursor. Returns 0, or
 * -ENOMEM, having changed nothing. Lock held.
 */
int write_range(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry,
		bool may);

/* write_merge_range - the same without a cursor. */
bool write_merge_range(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry,
		       mt_same_fn *same, bool may, int *error);

/* write_insert - write_range() if no index of the range has an entry; else returns -EEXIST. */
int write_insert(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry,
		 bool may);

/*
 * write_erase - remove the entry at @index, all of it, which becomes *@old; NULL if there is none.
 * Returns 0, or -ENOMEM, having changed nothing. Lock held.
 */
int write_erase(struct maple_tree *mt, unsigned long index, void **old);

/*
 * write_blocks - how many blocks write_store() of @entry over [*@first, *@last] needs. If @entry is
 * NULL, the range is widened to the whole gap. Lock held.
 */
unsigned int write_blocks(struct maple_tree *mt, unsigned long *first, unsigned long *last,
			  void *entry);

#endif
