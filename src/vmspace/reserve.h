/* SPDX-License-Identifier: MIT */
/*
 * reserve.h - tree nodes and areas allocated before a call changes anything, so that a call which
 * has begun to change areas cannot run out of memory half-way.
 *
 * Protected by the space's lock.
 */
#ifndef VMSPACE_RESERVE_H
#define VMSPACE_RESERVE_H

#include <errno.h>

#include <mapletree/maple_tree.h>

#include "vma_store.h"

/*
 * Invariants, where vmas is the store of the space's areas:
 *   While stores < valid_until, `nodes` holds enough nodes for the next node_stores stores, if these
 *   make no more than node_areas areas.
 *   guaranteed > 0  =>  active, and none of the next `guaranteed` stores of this call fails.
 *   covers_call or pages  =>  active.
 *   shared  =>  `nodes` also holds enough for `owed` stores that replace one area by its copy.
 *   Between calls: !active, !guaranteed, !covers_call, !pages, and no more than RESERVE_KEEP areas
 *   (where they are copied RESERVE_KEEP_COPIED, if shared RESERVE_KEEP_SHARED) are spare.
 */
struct reserve {
	struct ma_state nodes;       /* a cursor of the tree that holds the reserved nodes */
	unsigned long stores;        /* stores into the tree so far */
	unsigned long node_stores;   /* stores that the nodes suffice for; 0: not known */
	unsigned long node_areas;    /* ... with so many new areas */
	unsigned long valid_until;   /* ... as long as `stores` is below this */
	unsigned long guaranteed;    /* stores of the present call that must not fail any more */
	unsigned long owed;          /* areas that are being changed in copies; see reserve_copies() */
	bool shared;                 /* the tree shares nodes with snapshots: all stores take some */
	bool active;                 /* the present call has reserved something */
	bool covers_call;            /* ... and that is all nodes and areas it may need */
	bool pages;                  /* ... and it has reserved frames and page tables as well */
};

/* Spare areas and nodes for so many stores stay reserved from one call to the next. */
#define RESERVE_KEEP VMA_SPARES_KEPT
/* With each store go copies of up to two areas beside it that change, and with a call a few more. */
#define RESERVE_COPIES(stores) (2 * (stores) + 4)
/* So many areas are reserved at the beginning of each call, where they are copied to be changed, */
#define RESERVE_KEEP_COPIED (RESERVE_KEEP + RESERVE_COPIES(RESERVE_KEEP))
/* ... and for so many stores, where nodes are shared as well. */
#define RESERVE_KEEP_SHARED (RESERVE_KEEP + RESERVE_KEEP_COPIED)

void reserve_init(struct reserve *reserve, struct maple_tree *tree);
/* Free the reserved nodes. */
void reserve_clear(struct reserve *reserve);

/*
 * Make sure that the call's next `stores` stores and `areas` allocations of areas succeed, and as
 * many stores of copies in their areas' places. What is reserved already counts. 0, or -ENOMEM:
 * nothing is guaranteed.
 */
int reserve_prepare(struct reserve *reserve, struct vma_store *vmas, unsigned long stores,
		    unsigned long areas);
/* Does a store that replaces so many areas count as guaranteed, too? It takes more nodes. */
static inline bool reserve_covers(const struct reserve *reserve, unsigned long areas)
{
	return reserve->covers_call || (reserve->stores < reserve->valid_until &&
					reserve->node_stores > 1 + areas / 64);
}

/*
 * The tree has begun to share nodes: what is reserved does not suffice any more. Between calls.
 */
void reserve_share(struct reserve *reserve);
/*
 * Make sure that the next `copies` stores of copies in their areas' places succeed; to be called for
 * each, too, as long as it is owed. 0, or -ENOMEM. Cannot fail if that was reserved before.
 */
int reserve_copies(struct reserve *reserve, unsigned long copies);
/* A guaranteed store that the allocator had no nodes for: again, with the reserved ones. */
int reserve_store_again(struct reserve *reserve, unsigned long start, unsigned long end,
			struct vma *vma);
/*
 * Store vma (NULL: nothing) at [start, end) of the tree. 0, or -ENOMEM: nothing has changed, and
 * the store was not a guaranteed one.
 */
static inline int reserve_store(struct reserve *reserve, struct maple_tree *tree,
				unsigned long start, unsigned long end, struct vma *vma)
{
	bool guaranteed = reserve->guaranteed;

	assert(start < end);
	assert(!guaranteed || reserve->active);
	reserve->stores++;
	reserve->guaranteed -= guaranteed;
	if (__builtin_expect(!mtree_store_range(tree, start, end - 1, vma, GFP_KERNEL), 1))
		return 0;
	return guaranteed ? reserve_store_again(reserve, start, end, vma) : -ENOMEM;
}
/*
 * Store vma over an entry that stands at exactly its range: that takes no node, or one that was
 * reserved.
 */
static inline void reserve_store_same(struct reserve *reserve, struct maple_tree *tree,
				      struct vma *vma)
{
	int err = mtree_store_range(tree, vma->start, vma->end - 1, vma, GFP_KERNEL);

	if (__builtin_expect(err && reserve->shared, 0))
		err = reserve_store_again(reserve, vma->start, vma->end, vma);
	assert(!err);
	(void)err;
}
/* The call ends: give back what exceeds RESERVE_KEEP. */
void reserve_end_call(struct reserve *reserve, struct vma_store *vmas);

#endif
