/* SPDX-License-Identifier: MIT */
/* first.c - the ten lines of the README. */
#include <stdio.h>
#include <mapletree/maple_tree.h>

static DEFINE_MTREE(tree);
static char code[] = "code", data[] = "data";

int main(void)
{
	mtree_store_range(&tree, 0x1000, 0x4fff, code, GFP_KERNEL);
	mtree_store_range(&tree, 0x3000, 0x8fff, data, GFP_KERNEL); /* whatever was there */
	puts(mtree_load(&tree, 0x2345));
	puts(mtree_load(&tree, 0x3456));
	mtree_destroy(&tree);
	return 0;
}
