/* SPDX-License-Identifier: MIT */
/*
 * search.h - find the slot of a node that covers an index.
 *
 * The offset is the number of pivots below the index. Pivots past the end are ULONG_MAX, so all
 * of them can be counted: no branch depends on the data, and the count never passes the end as
 * long as the index lies inside the node.
 */
#ifndef MT_SEARCH_H
#define MT_SEARCH_H

#include "node.h"

/* Two sums, so that the additions do not wait for each other. */
static inline unsigned int count_below(const unsigned long *pivot, unsigned int count,
				       unsigned long index)
{
	unsigned int even = 0;
	unsigned int odd = 0;
	unsigned int i;

#pragma GCC unroll 16
	for (i = 0; i + 1 < count; i += 2) {
		even += __atomic_load_n(&pivot[i], __ATOMIC_RELAXED) < index;
		odd += __atomic_load_n(&pivot[i + 1], __ATOMIC_RELAXED) < index;
	}
	if (count & 1)
		even += __atomic_load_n(&pivot[count - 1], __ATOMIC_RELAXED) < index;
	return even + odd;
}

static inline unsigned int node_search(const struct mt_node *node, enum node_kind kind,
				       unsigned long index)
{
	if (kind == KIND_GAPS)
		return count_below(node->gaps.pivot, GAPS_SLOTS - 1, index);
	return count_below(node->wide.pivot, WIDE_SLOTS - 1, index);
}

#endif
