/* SPDX-License-Identifier: MIT */
/*
 * vma_new.c - new areas with the references they hold, and spare ones for when there is no memory.
 */
#include <assert.h>

#include "vma_store.h"

bool vma_reserve(struct vma_store *store, unsigned long count)
{
	while (store->spares < count) {
		struct vma *vma = vma_alloc(store);

		if (!vma)
			return false;
		vma->end = 0; /* not in use: vma_free_all() */
		vma->list_next = store->spare;
		store->spare = vma;
		store->spares++;
	}
	return true;
}

static struct vma *take_spare(struct vma_store *store)
{
	struct vma *vma = store->spare;

	assert(!store->spares == !vma);
	if (vma) {
		store->spare = vma->list_next;
		store->spares--;
	}
	return vma;
}

void vma_unreserve(struct vma_store *store, unsigned long count)
{
	while (store->spares > count)
		vma_release(store, take_spare(store));
}

struct vma *vma_new(struct vma_store *store, const struct vma *like)
{
	/* What a call has reserved beyond what stays is there to be used. */
	struct vma *vma = store->spares > VMA_SPARES_KEPT ? take_spare(store) : vma_alloc(store);

	if (!vma)
		vma = take_spare(store);
	if (!vma)
		return NULL;
	vma_fill(vma, like);
	vma->birth = store->generation + 1u;
	vma->born = store->snapshots;
	backing_get(vma->backing);
	anon_name_get(vma->name);
	policy_get(vma->policy);
	return vma;
}

void vma_free(struct vma_store *store, struct vma *vma)
{
	backing_put(vma->backing);
	anon_name_put(vma->name);
	policy_put(vma->policy);
	vma_release(store, vma);
}
