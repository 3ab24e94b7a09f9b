/* SPDX-License-Identifier: MIT */
/* space_check.c - checks every invariant of a space, and says which one is violated. */
#include "accounting.h"
#include "inherited.h"
#include "space_check.h"
#include "pages.h"
#include "sync.h"

struct sums {
	unsigned long areas, grow_areas, fork_areas, total, locked, data, stack, exec, committed;
};

static bool fail(const char **reason, const char *why)
{
	if (reason)
		*reason = why;
	return false;
}

static bool check_area(const struct vmspace *space, const struct vma *vma, const char **reason)
{
	uint64_t anon_id = shown_anon_id(space, vma);

	if (vma->start >= vma->end)
		return fail(reason, "an area is empty or reversed");
	if (!space_aligned(space, vma->start) || !space_aligned(space, vma->end))
		return fail(reason, "an area is not page aligned");
	if (vma->end > space->config.task_size)
		return fail(reason, "an area lies above the address space");
	if (vma->end - vma->start > space->largest_area)
		return fail(reason, "an area is larger than the largest");
	if (shown_anon_shared(space, vma) && !anon_id)
		return fail(reason, "an area without an anon_vma inherited one");
	if (anon_id && (vma->flags & VMA_HUGETLB))
		return fail(reason, "an area of huge pages has an anon_vma");
	/* A snapshot shows corrections that were made later. */
	if (anon_id >= space->next_anon_id && !space_is_snapshot(space))
		return fail(reason, "an anon_vma that was never handed out");
	if (vma->backing && !vma_refs(&vma->backing->refs))
		return fail(reason, "a backing without references is in use");
	if (vma->flags & VMA_FORK_FLAGS &&
	    (vma->start >= space->fork_to || vma->end <= space->fork_from))
		return fail(reason, "an area that fork treats by its flags is not where they are");
	if (vma->birth > space->vmas.generation + 1u)
		return fail(reason, "an area of a descendant");
	if (vma->tags.uffd && !(vma->flags & VMA_UFFD_FLAGS))
		return fail(reason, "an area of a userfaultfd has no mode");
	if ((vma->tags.uffd_moves || vma->tags.uffd_forks) && !vma->tags.uffd)
		return fail(reason, "registered with no userfaultfd, but to be kept");
	if ((vma->flags & VMA_LOCKONFAULT) && !(vma->flags & VMA_LOCKED))
		return fail(reason, "locked on fault, but not locked");
	return true;
}

static void add(struct sums *sums, const struct vmspace *space, const struct vma *vma)
{
	struct vmspace one = { .config = { .page_size = space->config.page_size } };

	account_pages(&one, vma->flags, space_pages(space, vma->end - vma->start), 1);
	sums->areas++;
	sums->grow_areas += vma->flags & VMA_GROWSDOWN ? 1 : 0;
	sums->fork_areas += vma->flags & VMA_FORK_FLAGS ? 1 : 0;
	sums->total += one.total_vm;
	sums->locked += one.locked_vm;
	sums->data += one.data_vm;
	sums->stack += one.stack_vm;
	sums->exec += one.exec_vm;
	sums->committed += one.committed_vm;
}

static bool check_areas(const struct vmspace *space, const char **reason)
{
	struct maple_tree *tree = (struct maple_tree *)&space->tree;
	MA_STATE(mas, tree, 0, 0);
	bool recent = !space->recent;
	struct sums sums = { 0 };
	const struct vma *vma;
	const char *why;

	if (!mt_check(tree, &why))
		return fail(reason, why);
	mas_for_each(&mas, vma, ULONG_MAX) {
		if (mas.index != vma->start || mas.last != vma->end - 1)
			return fail(reason, "the tree holds an area at another range than its own");
		if (!check_area(space, vma, reason))
			return false;
		add(&sums, space, vma);
		recent |= vma == space->recent;
	}
	if (!recent)
		return fail(reason, "the area that was changed last is not in the tree");
	if (sums.areas != space->areas || sums.grow_areas != space->grow_areas ||
	    sums.fork_areas != space->fork_areas)
		return fail(reason, "the number of areas is wrong");
	if (sums.total != space->total_vm ||
	    sums.locked + space->locked_leak != space->locked_vm)
		return fail(reason, "total_vm or locked_vm is not the sum of its areas");
	if (sums.data != space->data_vm || sums.stack != space->stack_vm ||
	    sums.exec != space->exec_vm)
		return fail(reason, "data_vm, stack_vm or exec_vm is not the sum of its areas");
	if (sums.committed != space->committed_vm)
		return fail(reason, "committed_vm is not the sum of its areas");
	if (space->image.brk < space->image.start_brk)
		return fail(reason, "the break is below its start");
	return true;
}

static bool check_reserve(const struct vmspace *space, const char **reason)
{
	const struct reserve *r = &space->reserve;

	if (!r->active && (r->guaranteed || r->covers_call || r->pages))
		return fail(reason, "a call has ended, and what it reserved has not been freed");
	return true;
}

bool space_check(const struct vmspace *space, const char **reason)
{
	if (space->pages) /* faults in progress end, and none begins */
		sync_write_lock_all((struct vmspace *)space);
	return check_areas(space, reason) && check_reserve(space, reason) &&
	       (!space->pages || pages_check(space->pages, reason));
}

bool vmspace_check(const struct vmspace *space, const char **reason)
{
	bool good;

	sync_enter(space);
	good = space_check(space, reason);
	sync_leave(space);
	return good;
}
