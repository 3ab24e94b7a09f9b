/* SPDX-License-Identifier: MIT */
/*
 * maple_tree_range.h - a tree as a map of intervals: stores that join what is equal, updates and
 * erasures of a stretch. Each is one way down the tree, where a loop of steps and stores would take
 * several. Not part of the kernel's interface. Included by maple_tree.h, where the terms are
 * explained.
 *
 * The mtree_ forms take the lock; the mas_ forms expect it held and are about [mas->index,
 * mas->last]. All return 0; -EINVAL: first > last, or an entry that is reserved; -ENOMEM. After an
 * error the tree is as it was, and a cursor has the range that it had. Readers beside them see each
 * range that is stored whole, as after mtree_store_range().
 */
#ifndef MAPLETREE_MAPLE_TREE_RANGE_H
#define MAPLETREE_MAPLE_TREE_RANGE_H

#include <mapletree/maple_tree.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * mt_same_fn - whether two entries that are not the same pointer are equal, so that neighbouring
 * ranges of them may be one. Neither is NULL or a zero entry. Called with the lock held: it must
 * not use the tree. In the place of one NULL may be given: only the same pointer is equal.
 */
typedef bool mt_same_fn(const void *a, const void *b);

/*
 * mtree_store_merge, mas_store_merge - store @entry over [@first, @last] and over the ranges that
 * end directly before it and begin directly behind it, as far as their entries are equal to @entry;
 * of what is cut, too. So the result is one range, of which @entry itself is the entry. @entry NULL
 * erases. Afterwards the cursor stands on the whole range.
 */
MT_PUBLIC int mtree_store_merge(struct maple_tree *mt, unsigned long first, unsigned long last,
				void *entry, mt_same_fn *same, gfp_t gfp);
MT_PUBLIC int mas_store_merge(struct ma_state *mas, void *entry, mt_same_fn *same, gfp_t gfp);

/*
 * mt_update_fn - what is to be over [@first, @last] in the place of @old, which may be NULL, as the
 * result may. Called with the lock held: it must not use the tree.
 */
typedef void *mt_update_fn(void *old, unsigned long first, unsigned long last, void *ctx);

/*
 * mtree_update_range, mas_update_range - let every piece of [@first, @last] have what @fn returns
 * for it. A piece is what one range, or gap, has in common with [@first, @last]. @fn is called once
 * for each, in ascending order, before anything changes, with @ctx handed through. Pieces with
 * equal results become one range, with the entry that was returned first; ranges directly outside
 * whose entries are equal to it become part of it, and lose their own. What remains as it is is not
 * written. All pieces are changed, or none: it may fail after the calls of @fn, or between two,
 * above all with GFP_NOWAIT. If more than a leaf changes, memory is needed in proportion to the
 * pieces while it runs. Afterwards the cursor is at [@first, @last], as after mas_set_range().
 */
MT_PUBLIC int mtree_update_range(struct maple_tree *mt, unsigned long first, unsigned long last,
				 mt_update_fn *fn, void *ctx, mt_same_fn *same, gfp_t gfp);
MT_PUBLIC int mas_update_range(struct ma_state *mas, mt_update_fn *fn, void *ctx, mt_same_fn *same,
			       gfp_t gfp);

/* mt_erased_fn - @old was over [@first, @last], and is no longer there. */
typedef void mt_erased_fn(void *old, unsigned long first, unsigned long last, void *ctx);

/*
 * mtree_erase_range, mas_erase_range - remove everything in [@first, @last]; of entries that reach
 * out, the rest stays. Then call @erased, if it is not NULL, for each piece that held an entry (in
 * the first form: not a zero entry), in ascending order, with @ctx handed through.
 * mtree_erase_range() calls it without the lock; it may do anything. Under mas_erase_range() the
 * lock is held. In RCU mode readers may still have the entries until a grace period has passed. In
 * a tree with mt_set_entry_ops() the tree's references to them are dropped already: see there.
 * Afterwards the cursor stands on the whole gap.
 */
MT_PUBLIC int mtree_erase_range(struct maple_tree *mt, unsigned long first, unsigned long last,
				mt_erased_fn *erased, void *ctx, gfp_t gfp);
MT_PUBLIC int mas_erase_range(struct ma_state *mas, mt_erased_fn *erased, void *ctx, gfp_t gfp);

/*
 * mas_alloc_area - mtree_alloc_area() through a cursor: find a place and store @entry there.
 * Returns as that; afterwards the cursor stands on the range written. Lock held.
 */
MT_PUBLIC int mas_alloc_area(struct ma_state *mas, struct mt_area *area, void *entry, gfp_t gfp);

#ifdef __cplusplus
}
#endif

#endif
