/* SPDX-License-Identifier: MIT */
/*
 * arena.c - an own node allocator: nodes from one block set aside at start, so that a control
 * program knows its worst case and never asks the system for memory while it runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mapletree/maple_tree.h>

#define ARENA_BYTES 16384

/* Free blocks are linked through their first word. All are of one size. */
struct arena {
	char *memory;
	size_t used;
	size_t live;
	void *unused;
};

static void *arena_take(void *ctx, size_t size, size_t align)
{
	struct arena *arena = ctx;
	void *block = arena->unused;

	if (block) {
		memcpy(&arena->unused, block, sizeof(void *));
	} else {
		arena->used = (arena->used + align - 1) & ~(align - 1);
		if (size > ARENA_BYTES - arena->used)
			return NULL;
		block = arena->memory + arena->used;
		arena->used += size;
	}
	arena->live++;
	return block;
}

static void arena_give(void *ctx, void *block, size_t size)
{
	struct arena *arena = ctx;

	(void)size;
	memcpy(block, &arena->unused, sizeof(void *));
	arena->unused = block;
	arena->live--;
}

int main(void)
{
	struct arena arena = { aligned_alloc(4096, ARENA_BYTES), 0, 0, NULL };
	const struct mt_allocator allocator = { arena_take, arena_give, &arena };
	struct maple_tree zones = MTREE_INIT(zones, MT_FLAGS_ALLOC_RANGE);
	struct mt_statistics statistics;
	unsigned long stored = 0, kept = 0;
	int error;

	if (!arena.memory)
		return 1;
	mtree_lock(&zones);
	error = mt_set_allocator(&zones, &allocator);
	mtree_unlock(&zones);

	/* Until the arena is full. */
	while (!error) {
		error = mtree_insert(&zones, 10 * stored, xa_mk_value(stored), GFP_KERNEL);
		stored += !error;
	}
	printf("stopped by: %s\n", strerror(-error));
	for (unsigned long i = 0; i < stored; i++)
		kept += mtree_load(&zones, 10 * i) == xa_mk_value(i);
	printf("all entries before it are there: %s\n", kept == stored ? "yes" : "no");

	mtree_lock(&zones);
	mt_get_statistics(&zones, &statistics);
	printf("the tree is sound: %s\n", mt_check(&zones, NULL) ? "yes" : "no");
	mtree_unlock(&zones);
	printf("the arena holds its nodes and no others: %s\n",
	       arena.live == statistics.nodes && statistics.bytes <= ARENA_BYTES ? "yes" : "no");

	mtree_destroy(&zones);
	printf("blocks not given back: %zu\n", arena.live);
	free(arena.memory);
	return 0;
}
