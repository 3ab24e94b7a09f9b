/* SPDX-License-Identifier: MIT */
/* past.c - areas that left the tree, until their readers have, too, and snapshots are closed. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "past.h"

int past_create(struct past **out)
{
	struct past *past = calloc(1, sizeof(*past));

	*out = past;
	if (!past)
		return -ENOMEM;
	past->users = 1;
	pthread_mutex_init(&past->lock, NULL);
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
	assert((!past->under_way || past->over) && !past->newest);
	free_all(&past->vmas, &past->waiting);
	free_all(&past->vmas, &past->dying);
	free_all(&past->vmas, &past->closed);
	vma_store_clear(&past->vmas);
	if (past->next)
		past_release(past->next);
	pthread_mutex_destroy(&past->lock);
	free(past);
}

void past_release(struct past *past)
{
	if (!__atomic_sub_fetch(&past->users, 1, __ATOMIC_ACQ_REL))
		destroy(past);
}

/* ---- snapshots ------------------------------------------------------------------------------ */

/*
 * Does the open snapshot show the area? It was in the tree from its birth until now, or until it was
 * kept for a newer one, without a break.
 */
static bool shows(const struct snapshot *snapshot, const struct vma *vma)
{
	return vma->born < snapshot->space.number;
}

static void set_newest(struct past *past, struct snapshot *snapshot)
{
	__atomic_store_n(&past->newest, snapshot, __ATOMIC_RELAXED);
	/* Release: what was looked at in one that is closed may be changed. */
	__atomic_store_n(&past->newest_number, snapshot ? snapshot->space.number : 0,
			 __ATOMIC_RELEASE);
}

/*
 * The area has left the tree: if a snapshot shows it, keep it for the newest one. Was it in the tree
 * when an older one was taken, it still was when this one was.
 */
static bool keep_for_snapshot(struct past *past, struct vma *vma)
{
	bool kept;

	if (!past_shows(past, vma))
		return false;
	pthread_mutex_lock(&past->lock);
	kept = past->newest && shows(past->newest, vma);
	if (kept)
		push(&past->newest->kept, vma);
	pthread_mutex_unlock(&past->lock);
	return kept;
}

void past_open(struct past *past, struct snapshot *snapshot)
{
	__atomic_add_fetch(&past->users, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&past->lock);
	snapshot->kept = NULL;
	snapshot->newer = NULL;
	snapshot->older = past->newest;
	if (past->newest)
		past->newest->newer = snapshot;
	set_newest(past, snapshot);
	pthread_mutex_unlock(&past->lock);
}

void past_relate(struct past *past)
{
	pthread_mutex_lock(&past->lock);
	past->related = true;
	pthread_mutex_unlock(&past->lock);
}

/* Give an area back that no snapshot shows any more. `lock` is held. */
static void give_back(struct past *past, struct vma *vma)
{
	if (past->alone) {
		vma_free(&past->vmas, vma);
		return;
	}
	vma->list_next = past->closed;
	__atomic_store_n(&past->closed, vma, __ATOMIC_RELAXED);
}

bool past_close(struct past *past, struct snapshot *snapshot)
{
	struct snapshot *older, *newer;
	struct vma *vma;
	bool alone;

	pthread_mutex_lock(&past->lock);
	older = snapshot->older;
	newer = snapshot->newer;
	if (older)
		older->newer = newer;
	if (newer)
		newer->older = older;
	else
		set_newest(past, older);
	while ((vma = pop(&snapshot->kept))) {
		if (older && shows(older, vma))
			push(&older->kept, vma);
		else
			give_back(past, vma);
	}
	alone = past->alone;
	pthread_mutex_unlock(&past->lock);
	return alone;
}

/* What snapshots have given back; readers without a lock may have found it when it left the tree. */
static void take_closed(struct past *past)
{
	struct vma *list, *vma;

	if (!__atomic_load_n(&past->closed, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&past->lock);
	list = past->closed;
	past->closed = NULL;
	pthread_mutex_unlock(&past->lock);
	while ((vma = pop(&list))) {
		push(&past->dying, vma);
		past->count++;
	}
}

/* ---- readers -------------------------------------------------------------------------------- */

void past_retire_slow(struct vmspace *space, struct vma *vma)
{
	if (is_inherited(space, vma))
		return;
	if (!space->past) {
		vma_free(&space->vmas, vma);
		return;
	}
	/*
	 * A fault that has found it in the tree, and is about to lock it, must find that it is out.
	 * Nobody else changes the word: the area is write-locked. Release: as in sync_attach().
	 */
	__atomic_store_n(&vma->lock, vma->lock | VMA_LOCK_DETACHED, __ATOMIC_RELEASE);
	if (keep_for_snapshot(space->past, vma))
		return;
	push(&space->past->dying, vma);
	space->past->count++;
}

static void grace_over(struct rcu_head *rcu)
{
	struct past *past = (struct past *)((char *)rcu - offsetof(struct past, rcu));

	/* Release: what readers did before happens before their areas are used again. */
	__atomic_store_n(&past->over, true, __ATOMIC_RELEASE);
	past_release(past);
}

/* In a space of one thread all readers are those of snapshots: without any it is private again. */
static void poll_alone(struct vmspace *space)
{
	struct past *past = space->past;

	free_all(&space->vmas, &past->dying);
	past->count = 0;
	if (__atomic_load_n(&past->newest_number, __ATOMIC_RELAXED))
		return;
	/* Acquire, by the lock: who closed the last one has given back what it showed. */
	pthread_mutex_lock(&past->lock);
	if (!past->newest && !past->closed) {
		space->past = NULL;
		space->related |= past->related;
	}
	pthread_mutex_unlock(&past->lock);
	if (space->past)
		return;
	past_release(past);
	if (space->origin) /* the tree goes on sharing nodes */
		return;
	/* Areas change in place again, which takes no node: what was reserved for copies is too much. */
	reserve_clear(&space->reserve);
	space->reserve.shared = false;
	vma_unreserve(&space->vmas, RESERVE_KEEP);
}

void past_poll_slow(struct vmspace *space)
{
	struct past *past = space->past;

	take_closed(past);
	if (!space->sync) {
		poll_alone(space);
		return;
	}
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

/* ---- the end -------------------------------------------------------------------------------- */

void past_bury(struct vmspace *space, struct vma *vma)
{
	assert(!is_inherited(space, vma));
	if (!space->past || !keep_for_snapshot(space->past, vma))
		vma_free(&space->vmas, vma);
}

void past_empty(struct vmspace *space)
{
	struct past *past = space->past;

	if (!past)
		return;
	take_closed(past);
	free_all(&space->vmas, &past->dying);
	free_all(&space->vmas, &past->waiting);
	past->count = 0;
}

/* Open snapshots get the memory of the space's areas. False: there are none. */
static bool give_to_snapshots(struct vmspace *space, struct past *past)
{
	pthread_mutex_lock(&past->lock);
	past->alone = past->newest;
	if (past->alone) {
		past->vmas = space->vmas;
		space->vmas = (struct vma_store){ .locks = past->vmas.locks };
	}
	pthread_mutex_unlock(&past->lock);
	return past->alone;
}

void past_end_areas(struct vmspace *space)
{
	struct past *past = space->past;

	past_empty(space);
	if (past && give_to_snapshots(space, past)) {
		space->past = past->next;
		past->next = NULL;
		past_release(past);
		return;
	}
	past_empty(space); /* the last snapshot may have been closed in between */
	vma_store_clear(&space->vmas);
}

void past_leave(struct vmspace *space)
{
	struct past *past = space->past;

	if (!past)
		return;
	past->vmas = space->vmas;
	space->vmas = (struct vma_store){ .locks = past->vmas.locks };
	space->past = NULL;
	past_release(past);
}
