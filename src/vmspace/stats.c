/* SPDX-License-Identifier: MIT */
/* stats.c - the counters of a space for its user; pages pinned by drivers. */
#include <errno.h>

#include "commit.h"
#include "past.h"
#include "sync.h"

int vmspace_pin(struct vmspace *space, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;
	int err = -ENOMEM;

	if (space_is_snapshot(space))
		return -EROFS;
	sync_enter(space);
	if (space->pinned_vm + pages >= pages &&
	    (c->lock_privileged || c->rlimit_memlock == VMSPACE_NO_LIMIT ||
	     space->pinned_vm + pages <= space_pages(space, c->rlimit_memlock))) {
		space->pinned_vm += pages;
		err = 0;
	}
	sync_leave(space);
	return err;
}

int vmspace_unpin(struct vmspace *space, unsigned long pages)
{
	int err = -EINVAL;

	if (space_is_snapshot(space))
		return -EROFS;
	sync_enter(space);
	if (pages <= space->pinned_vm) {
		space->pinned_vm -= pages;
		err = 0;
	}
	sync_leave(space);
	return err;
}

/* Pages of the program's text, as VmExe counts them. */
static unsigned long text_pages(const struct vmspace *space)
{
	const struct vmspace_image *i = &space->image;
	unsigned long pages = space_pages(space, space_ceil(space, i->end_code) -
						 space_floor(space, i->start_code));

	return pages < space->exec_vm ? pages : space->exec_vm;
}

/* Of a snapshot: what the space does not tell. */
static void past_stats(const struct vmspace *space, struct vmspace_stats *stats)
{
	const struct vmspace_stats *then = &((const struct snapshot *)space)->stats;

	stats->anon_pages = then->anon_pages;
	stats->file_pages = then->file_pages;
	stats->shmem_pages = then->shmem_pages;
	stats->zero_pages = then->zero_pages;
	stats->table_bytes = then->table_bytes;
	stats->faults = then->faults;
	stats->faults_locked = then->faults_locked;
}

static void page_stats(const struct vmspace *space, struct vmspace_stats *stats)
{
	struct pages_count count;

	if (!space->pages)
		return;
	pages_count(space->pages, &count);
	stats->anon_pages = count.anon;
	stats->file_pages = count.file;
	stats->shmem_pages = count.shmem;
	stats->zero_pages = count.zero;
	stats->table_bytes = count.table_bytes;
}

void vmspace_stats(const struct vmspace *space, struct vmspace_stats *stats)
{
	struct mt_statistics tree;

	sync_enter(space);
	mt_get_statistics((struct maple_tree *)&space->tree, &tree);
	*stats = (struct vmspace_stats){
		.areas = space->areas,
		.areas_peak = space->areas_peak,
		.total_vm = space->total_vm,
		.locked_vm = space->locked_vm,
		.data_vm = space->data_vm,
		.stack_vm = space->stack_vm,
		.exec_vm = space->exec_vm,
		.text_vm = text_pages(space),
		.lib_vm = space->exec_vm - text_pages(space),
		.pinned_vm = space->pinned_vm,
		.committed_vm = space->committed_vm,
		.commit_total = commit_total(space),
		.commit_limit = commit_limit(space),
		.brk = space->image.brk,
		.start_brk = space->image.start_brk,
		.mmap_base = space->mmap_base,
		.merges = space->merges,
		.splits = space->splits,
		.host_questions = space->host_questions,
		.tree_nodes = tree.nodes,
		.tree_bytes = tree.bytes,
		.tree_height = tree.height,
	};
	for (int op = 0; op < VMSPACE_OP_COUNT; op++)
		stats->requests[op] = space->requests[op];
	if (space_is_snapshot(space)) {
		past_stats(space, stats);
	} else {
		page_stats(space, stats);
		sync_sum(space, &stats->faults, &stats->faults_locked);
	}
	stats->requests[VMSPACE_FAULT] += stats->faults;
	sync_leave(space);
}

unsigned long vmspace_count_areas(const struct vmspace *space)
{
	unsigned long areas;

	sync_enter(space);
	areas = space->areas;
	sync_leave(space);
	return areas;
}
