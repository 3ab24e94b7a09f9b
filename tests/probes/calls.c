/* SPDX-License-Identifier: MIT */
/*
 * calls.c - calls of libmapletree that hit its static probes, as often as this prints: a line
 * "PROBE COUNT" each, and "op KIND COUNT" of the kinds whose number a caller knows (trace.h).
 */
#include <stdio.h>

#include <mapletree/maple_tree.h>

enum { STORES = 40, INSERTS = 30, ERASES = 20, BY_CURSOR = 25, LOADS = 70, WALKS = 15, COPIES = 3 };

static struct maple_tree tree = MTREE_INIT(tree, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);
static struct maple_tree copies[COPIES], snapshot;

/* Returns how many calls failed. */
static int change(void)
{
	MA_STATE(mas, &tree, 0, 0);
	int failed = 0;

	for (unsigned long i = 0; i < STORES; i++)
		failed += mtree_store_range(&tree, i * 10, i * 10 + 5, &tree, GFP_KERNEL) != 0;
	for (unsigned long i = 0; i < INSERTS; i++)
		failed += mtree_insert(&tree, i * 10 + 7, &mas, GFP_KERNEL) != 0;
	for (unsigned long i = 0; i < ERASES; i++)
		failed += mtree_erase(&tree, i * 10) != &tree;
	mtree_lock(&tree);
	for (unsigned long i = 0; i < BY_CURSOR; i++) {
		mas_set_range(&mas, i * 7, i * 7 + 20);
		failed += mas_store_gfp(&mas, &failed, GFP_KERNEL) != 0;
	}
	mtree_unlock(&tree);
	return failed;
}

static int look(void)
{
	int failed = 0;

	for (unsigned long i = 0; i < LOADS; i++)
		failed += mtree_load(&tree, 100) == NULL;
	for (unsigned long i = 0; i < WALKS; i++) {
		MA_STATE(mas, &tree, 100, 100);

		mtree_lock(&tree);
		failed += mas_walk(&mas) == NULL;
		mtree_unlock(&tree);
	}
	return failed;
}

int main(void)
{
	int failed = change() + look();

	mt_init_flags(&snapshot, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);
	failed += mtree_snapshot(&tree, &snapshot, GFP_KERNEL) != 0;
	for (int i = 0; i < COPIES; i++) {
		mt_init_flags(&copies[i], MT_FLAGS_ALLOC_RANGE | MT_FLAGS_USE_RCU);
		failed += mtree_dup(&tree, &copies[i], GFP_KERNEL) != 0;
		mtree_destroy(&copies[i]);
	}
	mtree_destroy(&snapshot);
	mtree_destroy(&tree);
	printf("read %d\nwrite %d\nop 7 %d\nop 8 1\nop 9 %d\n", LOADS + WALKS,
	       STORES + INSERTS + ERASES + BY_CURSOR, COPIES, COPIES + 2);
	return failed != 0;
}
