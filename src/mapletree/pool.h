/* SPDX-License-Identifier: MIT */
/*
 * pool.h - where nodes come from and go to: the only place that calls an allocator.
 *
 * Every block is NODE_BYTES large and aligned to NODE_BYTES.
 */
#ifndef MT_POOL_H
#define MT_POOL_H

#include "slab.h"

/* A list of unused blocks, linked through mt_node.next. @count is the length of the list. */
struct pool_list {
	struct mt_node *head;
	unsigned int count;
};

/* pool_alloc - allocate a block of unspecified content, or return NULL. */
static inline struct mt_node *pool_alloc(const struct mt_allocator *alloc)
{
	struct mt_node *node;

	if (!alloc)
		return slab_alloc();
	node = alloc->alloc(alloc->ctx, NODE_BYTES, NODE_BYTES);
	assert(!((uintptr_t)node & (NODE_BYTES - 1)) && "the allocator must align as asked");
	return node;
}

/* pool_free - give one block back. */
static inline void pool_free(const struct mt_allocator *alloc, void *block)
{
	if (alloc)
		alloc->free(alloc->ctx, block, NODE_BYTES);
	else
		slab_free(block);
}

/*
 * pool_grow - bring @list to at least @count blocks. Returns false, with the list unchanged, if
 * there is not enough memory.
 */
bool pool_grow(const struct mt_allocator *alloc, struct pool_list *list, unsigned int count);

/* pool_release - give all blocks of @list back. */
void pool_release(const struct mt_allocator *alloc, struct pool_list *list);

/* pool_take - take the first block of a list that is known not to be empty. */
static inline struct mt_node *pool_take(struct pool_list *list)
{
	struct mt_node *node = list->head;

	assert(list->count && node);
	list->head = node->next;
	list->count--;
	return node;
}

#endif
