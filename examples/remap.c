/* SPDX-License-Identifier: MIT */
/*
 * remap.c - preallocation: a driver moves a device's window. Once the device has been told there
 * is no way back, so the memory for the change of the map is reserved before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/maple_tree.h>

static char device[] = "disk controller";
static int blocks_left; /* -1: without end */

static void *take(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	if (blocks_left == 0)
		return NULL;
	if (blocks_left > 0)
		blocks_left--;
	return aligned_alloc(align, size);
}

static void give(void *ctx, void *block, size_t size)
{
	(void)ctx;
	(void)size;
	free(block);
}

static const struct mt_allocator heap = { take, give, NULL };

/* Puts the window at first .. last; all or nothing. */
static int move_window(struct maple_tree *map, unsigned long first, unsigned long last)
{
	MA_STATE(mas, map, first, last);
	int error;

	mas_lock(&mas);
	error = mas_preallocate(&mas, device, GFP_KERNEL);
	if (!error) {
		blocks_left = 0; /* from here on nothing can be had, and nothing is needed */
		printf("device: decode %#lx-%#lx\n", first, last);
		mas_store_prealloc(&mas, device);
	}
	mas_unlock(&mas);
	return error;
}

int main(void)
{
	struct maple_tree map = MTREE_INIT(map, MT_FLAGS_ALLOC_RANGE);
	int error;

	mtree_lock(&map);
	error = mt_set_allocator(&map, &heap);
	mtree_unlock(&map);
	if (error)
		return 1;

	/* Without memory a plain store fails, and a move before the device hears of it. */
	blocks_left = 0;
	error = mtree_store_range(&map, 0x8000, 0x800f, device, GFP_KERNEL);
	printf("plain store: %s\n", strerror(-error));
	error = move_window(&map, 0x8000, 0x800f);
	printf("move: %s\n", strerror(-error));
	printf("map is %s\n", mtree_empty(&map) ? "unchanged" : "changed");

	blocks_left = -1;
	for (unsigned long i = 0; i < 200; i++)
		if (mtree_store(&map, 0x100 * i, xa_mk_value(i), GFP_KERNEL))
			return 1;
	error = move_window(&map, 0x8010, 0x801f);
	printf("move: %s\n", error ? strerror(-error) : "done");
	printf("at 0x8018: %s\n", (char *)mtree_load(&map, 0x8018));
	mtree_destroy(&map);
	return 0;
}
