/* SPDX-License-Identifier: MIT */
/*
 * dirty.c - the cursor: a cache keeps its dirty bytes as few, joined ranges, and writes them
 * back in order, dropping the lock while it writes.
 */
#include <stdio.h>

#include <mapletree/maple_tree.h>

#define DIRTY xa_mk_value(1)

/* mark - make first .. last dirty, joined with the dirty ranges it overlaps or touches. */
static int mark(struct maple_tree *cache, unsigned long first, unsigned long last)
{
	MA_STATE(mas, cache, first, first);
	int error;

	mas_lock(&mas);
	if (first > 0) {
		mas_set(&mas, first - 1);
		if (mas_walk(&mas))
			first = mas.index;
	}
	if (last < ULONG_MAX) {
		mas_set(&mas, last + 1);
		if (mas_walk(&mas))
			last = mas.last;
	}
	mas_set_range(&mas, first, last);
	error = mas_store_gfp(&mas, DIRTY, GFP_KERNEL);
	mas_unlock(&mas);
	return error;
}

static void show(struct maple_tree *cache)
{
	MA_STATE(mas, cache, 0, 0);

	printf("dirty:");
	mas_lock(&mas);
	while (mas_find(&mas, ULONG_MAX))
		printf(" %lu-%lu", mas.index, mas.last);
	mas_unlock(&mas);
	printf("\n");
}

/* The lock is free during each write: others may mark more meanwhile. */
static int write_back(struct maple_tree *cache)
{
	MA_STATE(mas, cache, 0, 0);
	int ranges = 0;
	void *entry;

	mas_lock(&mas);
	mas_for_each(&mas, entry, ULONG_MAX) {
		unsigned long first = mas.index, last = mas.last;

		if (mas_store_gfp(&mas, NULL, GFP_KERNEL))
			break;
		mas_set(&mas, last);
		mas_pause(&mas);
		mas_unlock(&mas);
		printf("writing %lu bytes at %lu\n", last - first + 1, first);
		ranges++;
		mas_lock(&mas);
	}
	mas_unlock(&mas);
	return ranges;
}

int main(void)
{
	DEFINE_MTREE(cache);

	if (mark(&cache, 0, 511) || mark(&cache, 4096, 8191) || mark(&cache, 512, 1023) ||
	    mark(&cache, 8000, 9000) || mark(&cache, 20000, 20000))
		return 1;
	show(&cache);
	if (mark(&cache, 1000, 4095))
		return 1;
	show(&cache);
	printf("%d ranges written\n", write_back(&cache));
	printf("%s\n", mtree_empty(&cache) ? "clean" : "still dirty");
	mtree_destroy(&cache);
	return 0;
}
