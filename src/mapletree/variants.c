/* SPDX-License-Identifier: MIT */
/*
 * variants.c - bind the functions that are compiled for several instruction sets to the variant for
 * this processor when a program starts: walks down the tree, the copy of a tree, the search for
 * gaps.
 */
#include "copy.h"
#include "finger.h"
#include "gap.h"
#include "variants.h"
#include "walk.h"

/* ---- walks down the tree ------------------------------------------------------------------ */

VARIANTS(void *, lookup_load, (struct maple_tree *mt, unsigned long index))
VARIANTS(void, lookup_load_many, (struct maple_tree *mt, const unsigned long *keys,
				  void **entries, size_t count))
VARIANTS(void *, walk_to, (struct ma_state *mas, unsigned long index))
VARIANTS(void, walk_ahead, (struct ma_state *mas, unsigned long index, int step, bool move))
VARIANTS(unsigned long, batch_find, (unsigned long *batch, unsigned long left,
				     unsigned long prev_last, struct ma_state *mas,
				     unsigned long max))
VARIANTS(unsigned long, batch_find_rev, (unsigned long *batch, unsigned long left,
					 unsigned long prev_index, struct ma_state *mas,
					 unsigned long min))
VARIANTS(unsigned long, loop_find, (unsigned long *batch, unsigned long left,
				    struct maple_tree *mt, unsigned long index,
				    unsigned long max))
VARIANTS(struct maple_enode *, copy_tree, (const struct mt_allocator *alloc,
					   struct maple_enode *root, bool shared))
VARIANTS(unsigned long, finger_descend, (const struct maple_tree *mt, struct mt_finger *finger,
					 unsigned long index))
VARIANTS(unsigned long, leaf_find, (unsigned long step, unsigned long index))

void *mtree_load(struct maple_tree *mt, unsigned long index)
	__attribute__((ifunc("select_lookup_load")));
void mtree_load_many(struct maple_tree *mt, const unsigned long *keys, void **entries,
		     size_t count) __attribute__((ifunc("select_lookup_load_many")));
void *walk_to(struct ma_state *mas, unsigned long index)
	__attribute__((ifunc("select_walk_to")));
void walk_ahead(struct ma_state *mas, unsigned long index, int step, bool move)
	__attribute__((ifunc("select_walk_ahead")));
unsigned long mas_batch_find(unsigned long *batch, unsigned long left, unsigned long prev_last,
			     struct ma_state *mas, unsigned long max)
	__attribute__((ifunc("select_batch_find")));
unsigned long mas_batch_find_rev(unsigned long *batch, unsigned long left,
				 unsigned long prev_index, struct ma_state *mas,
				 unsigned long min)
	__attribute__((ifunc("select_batch_find_rev")));
unsigned long mt_loop_find(unsigned long *batch, unsigned long left, struct maple_tree *mt,
			   unsigned long index, unsigned long max)
	__attribute__((ifunc("select_loop_find")));
struct maple_enode *copy_tree(const struct mt_allocator *alloc, struct maple_enode *root,
			      bool shared)
	__attribute__((ifunc("select_copy_tree")));
unsigned long finger_descend(const struct maple_tree *mt, struct mt_finger *finger,
			     unsigned long index)
	__attribute__((ifunc("select_finger_descend")));
unsigned long leaf_find(unsigned long step, unsigned long index)
	__attribute__((ifunc("select_leaf_find")));

/* ---- gaps -------------------------------------------------------------------------------- */

VARIANTS(struct mt_place_found, gap_find,
	 (struct maple_tree *mt, const struct mt_area *want))
VARIANTS(struct mt_place_found, gap_find_lowest,
	 (struct maple_tree *mt, unsigned long min, unsigned long max, unsigned long size))
VARIANTS(struct mt_place_found, gap_find_highest,
	 (struct maple_tree *mt, unsigned long min, unsigned long max, unsigned long size))

struct mt_place_found gap_find(struct maple_tree *mt, const struct mt_area *want)
	__attribute__((ifunc("select_gap_find")));
struct mt_place_found gap_find_lowest(struct maple_tree *mt, unsigned long min,
				      unsigned long max, unsigned long size)
	__attribute__((ifunc("select_gap_find_lowest")));
struct mt_place_found gap_find_highest(struct maple_tree *mt, unsigned long min,
				       unsigned long max, unsigned long size)
	__attribute__((ifunc("select_gap_find_highest")));
