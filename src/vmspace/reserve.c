/* SPDX-License-Identifier: MIT */
/* reserve.c - tree nodes and areas allocated in advance, and the stores that use them. */
#include <assert.h>
#include <errno.h>

#include "reserve.h"

/* A tree that grows takes more nodes for each store; a reserve allows for so many other stores. */
#define SLACK_STORES 32

void reserve_init(struct reserve *reserve, struct maple_tree *tree)
{
	*reserve = (struct reserve){ 0 };
	mas_init(&reserve->nodes, tree, 0);
}

void reserve_clear(struct reserve *reserve)
{
	mas_destroy(&reserve->nodes);
	reserve->node_stores = 0;
	reserve->owed = 0;
}

void reserve_share(struct reserve *reserve)
{
	reserve->node_stores = 0;
	reserve->guaranteed = 0;
	reserve->owed = 0;
	reserve->shared = true;
}

int reserve_copies(struct reserve *reserve, unsigned long copies)
{
	unsigned long stores = reserve->guaranteed + reserve->owed + copies;

	reserve->active = true;
	if (stores <= reserve->node_stores && reserve->stores < reserve->valid_until)
		return 0;
	mas_set(&reserve->nodes, 0);
	return mas_reserve(&reserve->nodes, stores, 2 * RESERVE_KEEP) ? -ENOMEM : 0;
}

int reserve_prepare(struct reserve *reserve, struct vma_store *vmas, unsigned long stores,
		    unsigned long areas)
{
	/* Where nodes are shared, an area that is replaced by its copy takes a store like any other. */
	unsigned long all = stores + (reserve->shared ? areas + reserve->owed : 0);

	reserve->active = true;
	if (reserve->guaranteed < stores)
		reserve->guaranteed = stores;
	/* Mostly the nodes suffice, and only the areas that calls have taken since are missing. */
	if (all <= reserve->node_stores && reserve->stores < reserve->valid_until &&
	    (areas <= vmas->spares ||
	     ((reserve->shared || areas <= reserve->node_areas) && vma_reserve(vmas, areas))))
		return 0;
	mas_set(&reserve->nodes, 0);
	/* A new area adds two ranges to the tree; a store without one adds none. */
	if (mas_reserve(&reserve->nodes, all, 2 * (areas + SLACK_STORES + RESERVE_KEEP)) ||
	    !vma_reserve(vmas, areas)) {
		reserve->guaranteed = 0;
		return -ENOMEM;
	}
	reserve->node_stores = all;
	reserve->node_areas = areas;
	reserve->valid_until = reserve->stores + SLACK_STORES;
	assert(vmas->spares >= areas && reserve->guaranteed >= stores);
	return 0;
}

int reserve_store_again(struct reserve *reserve, unsigned long start, unsigned long end,
			struct vma *vma)
{
	reserve->node_stores = 0;
	mas_set_range(&reserve->nodes, start, end - 1);
	if (!mas_store_gfp(&reserve->nodes, vma, GFP_NOWAIT))
		return 0;
	assert(!"the reserve was too small for the call");
	return -ENOMEM;
}

/* As many areas as the next call is going to reserve, so that calls do not allocate and free them. */
static unsigned long spares_kept(const struct reserve *reserve, const struct vma_store *vmas)
{
	if (reserve->shared)
		return RESERVE_KEEP_SHARED;
	return vmas->locks ? RESERVE_KEEP_COPIED : RESERVE_KEEP;
}

void reserve_end_call(struct reserve *reserve, struct vma_store *vmas)
{
	reserve->active = false;
	reserve->covers_call = false;
	reserve->guaranteed = 0;
	reserve->owed = 0;
	assert(!reserve->pages); /* store_end_call() has released them */
	if (reserve->node_stores <= (reserve->shared ? RESERVE_KEEP_SHARED : RESERVE_KEEP) &&
	    vmas->spares <= spares_kept(reserve, vmas))
		return;
	reserve_clear(reserve);
	vma_unreserve(vmas, RESERVE_KEEP);
	assert(vmas->spares <= RESERVE_KEEP);
}
