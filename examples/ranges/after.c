/* SPDX-License-Identifier: MIT */
/* after.c - ranges in a maple tree. */
#include <stdio.h>
#include <stdlib.h>
#include <mapletree/maple_tree.h>

#include "ranges.h"

static struct maple_tree tree = MTREE_INIT(tree, MT_FLAGS_ALLOC_RANGE);

/* Memory is all that a store can lack; std::map would throw. */
static void must(int error)
{
	if (error) {
		fprintf(stderr, "ranges: error %d\n", error);
		abort();
	}
}

void ranges_store(unsigned long first, unsigned long last, void *value)
{
	must(mtree_store_range(&tree, first, last, value, GFP_KERNEL));
}

void ranges_erase(unsigned long first, unsigned long last)
{
	must(mtree_store_range(&tree, first, last, NULL, GFP_KERNEL));
}

void *ranges_load(unsigned long index)
{
	return mtree_load(&tree, index);
}

unsigned long ranges_find_free(unsigned long size, unsigned long from, unsigned long end)
{
	MA_STATE(mas, &tree, 0, 0);
	int error;

	if (from >= end)
		return end;
	mas_lock(&mas);
	error = mas_empty_area(&mas, from, end - 1, size);
	mas_unlock(&mas);
	return error ? end : mas.index;
}

unsigned long ranges_sum(void)
{
	MA_STATE(mas, &tree, 0, 0);
	unsigned long sum = 0;
	void *value;

	mas_lock(&mas);
	mas_for_each(&mas, value, ULONG_MAX)
		sum += mas.last - mas.index + 1;
	mas_unlock(&mas);
	return sum;
}

void ranges_destroy(void)
{
	mtree_destroy(&tree);
}
