/* SPDX-License-Identifier: MIT */
/* past.c - areas that left the tree, until their readers have, too. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "past.h"

int past_create(struct vmspace *space)
{
	space->past = calloc(1, sizeof(*space->past));
	if (!space->past)
		return -ENOMEM;
	space->past->users = 1;
	return 0;
}

static void push(struct vma **list, struct vma *vma)
{
	vma->list_next = *list;
	*list = vma;
}

static struct vma *pop(struct vma **list)
{
	struct vma *vma = *list;

	if (vma)
		*list = vma->list_next;
	return vma;
}

static void free_all(struct vma_store *vmas, struct vma **list)
{
	struct vma *vma;

	while ((vma = pop(list)))
		vma_free(vmas, vma);
}

/* Nobody uses it any more. */
static void destroy(struct past *past)
{
	assert(!past->under_way || past->over);
	free_all(&past->vmas, &past->waiting);
	free_all(&past->vmas, &past->dying);
	vma_store_clear(&past->vmas);
	free(past);
}

static void release(struct past *past)
{
	if (!__atomic_sub_fetch(&past->users, 1, __ATOMIC_ACQ_REL))
		destroy(past);
}

void past_retire_slow(struct vmspace *space, struct vma *vma)
{
	/*
	 * A fault that has found it in the tree, and is about to lock it, must find that it is out.
	 * Nobody else changes the word: the area is write-locked. Release: as in sync_attach().
	 */
	__atomic_store_n(&vma->lock, vma->lock | VMA_LOCK_DETACHED, __ATOMIC_RELEASE);
	push(&space->past->dying, vma);
	space->past->count++;
}

static void grace_over(struct rcu_head *rcu)
{
	struct past *past = (struct past *)((char *)rcu - offsetof(struct past, rcu));

	/* Release: what readers did before happens before their areas are used again. */
	__atomic_store_n(&past->over, true, __ATOMIC_RELEASE);
	release(past);
}

void past_poll_slow(struct vmspace *space)
{
	struct past *past = space->past;

	if (past->under_way && __atomic_load_n(&past->over, __ATOMIC_ACQUIRE)) {
		past->under_way = past->over = false;
		free_all(&space->vmas, &past->waiting);
	}
	if (past->under_way || !past->dying)
		return;
	past->waiting = past->dying;
	past->dying = NULL;
	past->count = 0;
	past->under_way = true;
	__atomic_add_fetch(&past->users, 1, __ATOMIC_RELAXED);
	mt_rcu_polled()->call(&past->rcu, grace_over);
}

void past_empty(struct vmspace *space)
{
	struct past *past = space->past;

	if (!past)
		return;
	free_all(&space->vmas, &past->dying);
	free_all(&space->vmas, &past->waiting);
	past->count = 0;
}

void past_leave(struct vmspace *space)
{
	struct past *past = space->past;

	if (!past)
		return;
	past->vmas = space->vmas;
	space->vmas = (struct vma_store){ .locks = past->vmas.locks };
	space->past = NULL;
	release(past);
}
