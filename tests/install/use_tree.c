/* SPDX-License-Identifier: MIT */
/*
 * use_tree.c - a user's program: compiles as C and as C++ against the installed header alone.
 */
#include <mapletree/maple_tree.h>

#include <stdio.h>
#include <stdlib.h>

static DEFINE_MTREE(areas);

static void expect(int good, const char *what)
{
	if (!good) {
		fprintf(stderr, "use_tree: %s\n", what);
		exit(1);
	}
}

int main(void)
{
	static char one, two;
	unsigned long index = 0;
	unsigned int count = 0;
	const char *reason = NULL;
	void *entry;
	MA_STATE(mas, &areas, 0, 0);

	expect(mtree_store_range(&areas, 0x1000, 0x1fff, &one, GFP_KERNEL) == 0, "store");
	expect(mtree_insert_range(&areas, 0x1800, 0x27ff, &two, GFP_KERNEL) < 0, "insert");
	expect(mtree_insert(&areas, 0x3000, xa_mk_value(7), GFP_KERNEL) == 0, "insert one");
	expect(mtree_load(&areas, 0x1234) == &one, "load");
	mt_for_each(&areas, entry, index, ULONG_MAX)
		count++;
	expect(count == 2, "mt_for_each");

	mas_lock(&mas);
	mas_set(&mas, 0x2000);
	expect(mas_find(&mas, ULONG_MAX) == xa_mk_value(7), "mas_find");
	expect(mas.index == 0x3000 && mas.last == 0x3000, "index and last");
	expect(mt_check(&areas, &reason), "mt_check");
	mas_unlock(&mas);

	mtree_destroy(&areas);
	expect(mtree_empty(&areas), "mtree_destroy");
	return 0;
}
