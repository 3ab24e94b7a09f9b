/* SPDX-License-Identifier: MIT */
/* snapshot.c - takes and closes snapshots of a space. */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "begin.h"
#include "commit.h"
#include "past.h"
#include "sync.h"

/* As numbers of snapshots are compared, they must ascend. */
#define LAST_NUMBER UINT32_MAX

/* All numbers have been used: no area may keep a stamp that means something. */
static int number_anew(struct vmspace *space)
{
	MA_STATE(mas, &space->tree, 0, 0);
	struct vma *vma;

	if (space->past && __atomic_load_n(&space->past->newest, __ATOMIC_RELAXED))
		return -EOVERFLOW;
	mas_for_each(&mas, vma, ULONG_MAX)
		if (!is_inherited(space, vma)) {
			__atomic_store_n(&vma->anon_since, 0, __ATOMIC_RELAXED);
			vma->born = 0;
		}
	space->snapshots = space->last_child = 0;
	return 0;
}

/* What it takes to have snapshots. */
static int prepare(struct vmspace *space)
{
	int err = 0;

	if (space->snapshots == LAST_NUMBER)
		err = number_anew(space);
	if (!err && !space->past)
		err = past_create(&space->past);
	if (!err && space->sync && !space->past->next)
		err = past_create(&space->past->next);
	return err;
}

static int share_tree(struct vmspace *space, struct maple_tree *tree)
{
	MA_STATE(mas, &space->tree, 0, 0);
	int err;

	mt_init_flags(tree, MT_FLAGS_ALLOC_RANGE | MT_FLAGS_LOCK_EXTERN);
	err = mt_set_allocator(tree, space->tree.ma_alloc);
	if (!err && mt_in_rcu(&space->tree)) {
		err = mt_set_rcu_flavour(tree, mt_rcu_polled());
		if (!err)
			err = mt_set_in_rcu(tree);
	}
	if (!err)
		err = mas_snapshot(&mas, tree, GFP_KERNEL);
	if (err)
		return err;
	reserve_share(&space->reserve);
	err = begin_share(space);
	if (err)
		__mt_destroy(tree);
	return err;
}

/* All of `view` but its tree, in which readers of `space` count their tries meanwhile. */
static void copy_space(struct vmspace *view, const struct vmspace *space)
{
	const size_t below = offsetof(struct vmspace, tree);
	const size_t above = below + sizeof(space->tree);

	memcpy(view, space, below);
	memcpy((char *)view + above, (const char *)space + above, sizeof(*space) - above);
	view->number = space->snapshots;
	view->sync = &sync_still;
	view->pages = NULL;
	view->config.memory = NULL;
	view->config.hooks = NULL;
	view->config.host = (struct vmspace_host){ 0 };
	view->words = NULL;
	view->config.commit_pool = NULL;
	view->config.committed_elsewhere = commit_total(space) - space->committed_vm;
	view->vmas = (struct vma_store){ .generation = space->vmas.generation };
	view->recent = NULL;
	reserve_init(&view->reserve, &view->tree);
}

static int take(struct vmspace *space, struct snapshot *snapshot)
{
	struct pages_count count = { 0 };
	int err = prepare(space);

	if (err)
		return err;
	space->vmas.snapshots = ++space->snapshots;
	copy_space(&snapshot->space, space);
	err = share_tree(space, &snapshot->space.tree);
	if (err)
		return err;
	if (space->pages)
		pages_count(space->pages, &count);
	snapshot->stats = (struct vmspace_stats){
		.anon_pages = count.anon, .file_pages = count.file, .shmem_pages = count.shmem,
		.zero_pages = count.zero, .table_bytes = count.table_bytes,
	};
	origin_get(space->origin);
	sync_sum(space, &snapshot->stats.faults, &snapshot->stats.faults_locked);
	past_open(space->past, snapshot);
	return 0;
}

int vmspace_snapshot(const struct vmspace **out, struct vmspace *space)
{
	struct snapshot *snapshot;
	int err;

	*out = NULL;
	if (space_is_snapshot(space))
		return -EROFS;
	snapshot = malloc(sizeof(*snapshot));
	if (!snapshot)
		return -ENOMEM;
	sync_enter(space);
	err = take(space, snapshot);
	sync_leave(space);
	if (err)
		free(snapshot);
	else
		*out = &snapshot->space;
	return err;
}

void vmspace_snapshot_close(const struct vmspace *snapshot)
{
	struct snapshot *closed = (struct snapshot *)(uintptr_t)snapshot;
	struct past *past;
	bool poll;

	if (!snapshot)
		return;
	assert(space_is_snapshot(snapshot));
	past = closed->space.past;
	poll = past_close(past, closed) && mt_in_rcu(&closed->space.tree);
	__mt_destroy(&closed->space.tree);
	origin_put(closed->space.origin);
	if (poll)
		mt_poll(); /* no call of the space will */
	free(closed);
	past_release(past);
}

bool vmspace_is_snapshot(const struct vmspace *space)
{
	return space_is_snapshot(space);
}
