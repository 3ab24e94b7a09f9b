/* SPDX-License-Identifier: MIT */
/*
 * gap_select.c - bind the search for gaps to the variant for this processor as a program starts.
 */
#include "gap.h"
#include "variants.h"

VARIANTS(bool, gap_find, (const struct maple_tree *mt, const struct mt_area *want,
			  unsigned long *start))

bool gap_find(const struct maple_tree *mt, const struct mt_area *want, unsigned long *start)
	__attribute__((ifunc("select_gap_find")));
