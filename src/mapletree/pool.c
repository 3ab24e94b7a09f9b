/* SPDX-License-Identifier: MIT */
/* pool.c - nodes from a tree's allocator, and lists of reserved nodes. */
#include "pool.h"

#include "rcu.h"

/* Prefetches a node that is filled soon; in RCU mode it comes back from its grace period cold. */
static void prefetch_to_fill(struct mt_node *node)
{
	unsigned int i;

	for (i = 0; i < NODE_BYTES; i += 64)
		__builtin_prefetch(&node->bytes[i], 1);
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
		prefetch_to_fill(node);
		node->next = list->head;
		list->head = node;
		list->count++;
	}
	assert((list->count > 0) == (list->head != NULL));
	return true;
}

void pool_release(const struct mt_allocator *alloc, struct pool_list *list)
{
	while (list->count)
		pool_free(alloc, pool_take(list));
	assert(!list->head);
}

void mt_cache_shrink(void)
{
	rcu_retry();
	slab_shrink();
}
