/* SPDX-License-Identifier: MIT */
/*
 * gap_select.c - bind the search for gaps to the variant for this processor as a program starts.
 */
#include "gap.h"
#include "variants.h"

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
