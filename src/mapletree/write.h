/* SPDX-License-Identifier: MIT */
/*
 * write.h - the write engine.
 *
 * Every change of a tree's content is a store of an entry, or of NULL, over a range. The tree's
 * finger leads to the leaf where it begins. If that leaf stays one leaf, it is changed where it is, or
 * beside readers maybe replaced by a changed copy (leaf_plan.h). Else nodes are laid out anew, from
 * the leaves up to where one node takes it all (layout.h).
 */
#ifndef MT_WRITE_H
#define MT_WRITE_H

#include "layout.h"

/*
 * write_store - store @entry over [mas->index, mas->last], with the cursor's reserve and, if it
 * @may, with the allocator. The cursor stands on what it wrote then: for NULL, on the whole gap; and
 * *@old (if @old is not NULL) is the entry that was at index. Returns 0, -EINVAL or -ENOMEM, and has
 * changed nothing then but the cursor's state. Lock held.
 */
int write_store(struct ma_state *mas, void *entry, bool may, void **old);

/*
 * write_blocks - how many blocks of the pool write_store() of @entry over [*@first, *@last] takes,
 * which become the whole gap if @entry is NULL. Lock held.
 */
unsigned int write_blocks(struct maple_tree *mt, unsigned long *first, unsigned long *last,
			  void *entry);

#endif
