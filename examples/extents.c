/* SPDX-License-Identifier: MIT */
/*
 * extents.c - ranges and iteration: the files on a disk, the free runs between them, and
 * what lies before and after a block.
 */
#include <stdio.h>

#include <mapletree/maple_tree.h>

#define DISK_LAST 999 /* its last block */

/* Blocks first .. last hold @file. */
static struct extent {
	const char *file;
	unsigned long first, last;
} extents[] = {
	{ "superblock", 0, 0 },
	{ "journal", 1, 128 },
	{ "kernel", 200, 291 },
	{ "log", 300, 310 },
	{ "database", 400, 899 },
};

static void print_map(struct maple_tree *disk)
{
	unsigned long block = 0, first, last;
	struct extent *extent;
	void *entry;

	mt_for_each(disk, entry, block, DISK_LAST) {
		extent = entry;
		printf("%4lu-%-4lu %s\n", extent->first, extent->last, extent->file);
		/* mt_for_each() left block one past the extent: is that free? */
		if (mtree_gap_around(disk, block, &first, &last))
			printf("%4lu-%-4lu (free)\n", first, last < DISK_LAST ? last : DISK_LAST);
	}
}

int main(void)
{
	DEFINE_MTREE(disk);
	struct extent *before, *after;
	unsigned long block;

	for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++)
		if (mtree_insert_range(&disk, extents[i].first, extents[i].last, &extents[i],
				       GFP_KERNEL))
			return 1;
	print_map(&disk);

	before = mt_prev(&disk, 295, 0);
	after = mt_next(&disk, 295, DISK_LAST);
	if (before && after)
		printf("block 295 lies between %s and %s\n", before->file, after->file);

	block = 150;
	after = mt_find(&disk, &block, 250);
	printf("first file that reaches into 150-250: %s\n", after ? after->file : "none");
	after = mt_find_after(&disk, &block, 295);
	printf("next one up to 295: %s\n", after ? after->file : "none");

	/* A store of NULL cuts a hole, whatever it meets. */
	mtree_store_range(&disk, 250, 499, NULL, GFP_KERNEL);
	printf("after a bad head: block 249 %s, block 250 %s, block 500 %s\n",
	       mtree_load(&disk, 249) ? "used" : "free", mtree_load(&disk, 250) ? "used" : "free",
	       mtree_load(&disk, 500) ? "used" : "free");
	mtree_destroy(&disk);
	return 0;
}
