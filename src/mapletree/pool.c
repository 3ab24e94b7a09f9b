/* SPDX-License-Identifier: MIT */
/*
 * pool.c - nodes from a tree's allocator, and the lists of reserved ones.
 */
#include "pool.h"

#include "slab.h"

struct mt_node *pool_alloc(const struct mt_allocator *alloc)
{
	struct mt_node *node;

	if (!alloc)
		return slab_alloc();
	node = alloc->alloc(alloc->ctx, NODE_BYTES, NODE_BYTES);
	assert(!((uintptr_t)node & (NODE_BYTES - 1)) && "the allocator must align as asked");
	return node;
}

void pool_free(const struct mt_allocator *alloc, void *block)
{
	if (alloc)
		alloc->free(alloc->ctx, block, NODE_BYTES);
	else
		slab_free(block);
}

bool pool_grow(const struct mt_allocator *alloc, struct pool_list *list, unsigned int count)
{
	unsigned int before = list->count;

	while (list->count < count) {
		struct mt_node *node = pool_alloc(alloc);

		if (!node) {
			while (list->count > before)
				pool_free(alloc, pool_take(list));
			return false;
		}
		node->next = list->head;
		list->head = node;
		list->count++;
	}
	return true;
}

void pool_release(const struct mt_allocator *alloc, struct pool_list *list)
{
	while (list->count)
		pool_free(alloc, pool_take(list));
}

void mt_cache_shrink(void)
{
	slab_shrink();
}
