/* SPDX-License-Identifier: MIT */
/* accounting.c - counters of pages and areas by kind, as in /proc/PID/status; limits. */
#include <assert.h>

#include "accounting.h"
#include "commit.h"
#include "outcome.h"

static bool is_exec(vma_flags_t flags)
{
	return (flags & (VMA_EXEC | VMA_WRITE | VMA_GROWSDOWN)) == VMA_EXEC;
}

static bool is_stack(vma_flags_t flags)
{
	return flags & (VMA_GROWSDOWN | VMA_SHADOW_STACK);
}

bool account_valid(const struct vmspace *space)
{
	unsigned long most = space_pages(space, space->config.task_size);

	/* Each page is counted in one of data, stack and exec at most. */
	return space->total_vm <= most && space->committed_vm <= space->total_vm &&
	       space->data_vm <= space->total_vm && space->stack_vm <= space->total_vm &&
	       space->exec_vm <= space->total_vm &&
	       space->data_vm + space->stack_vm + space->exec_vm <= space->total_vm &&
	       space->locked_vm - space->locked_leak <= space->total_vm &&
	       space->grow_areas <= space->areas && space->areas <= space->areas_peak &&
	       space->areas <= space->total_vm && !space->areas == !space->total_vm;
}

/* Add to the counter of the kind that pages with these flags are, if they are of any. */
static inline void count_kind(struct vmspace *space, vma_flags_t flags, unsigned long delta)
{
	if (is_exec(flags))
		space->exec_vm += delta;
	else if (is_stack(flags))
		space->stack_vm += delta;
	else if (account_is_data(flags))
		space->data_vm += delta;
}

void account_change(struct vmspace *space, vma_flags_t from, vma_flags_t to, unsigned long pages)
{
	vma_flags_t differ = from ^ to;

	count_kind(space, from, -pages);
	count_kind(space, to, pages);
	if (differ & VMA_LOCKED)
		space->locked_vm += to & VMA_LOCKED ? pages : -pages;
	if (differ & VMA_ACCOUNT)
		commit_charge(space, pages, to & VMA_ACCOUNT ? 1 : -1);
}

void account_pages(struct vmspace *space, vma_flags_t flags, unsigned long pages, int sign)
{
	unsigned long delta = sign < 0 ? -pages : pages;

	assert(sign > 0 || pages <= space->total_vm);
	space->total_vm += delta;
	count_kind(space, flags, delta);
	if (flags & VMA_LOCKED)
		space->locked_vm += delta;
	if (flags & VMA_ACCOUNT)
		commit_charge(space, pages, sign);
}

void account_relocked(struct vmspace *space, unsigned long pages, int sign)
{
	unsigned long delta = sign < 0 ? -pages : pages;
	unsigned long leak = (unsigned long)(int32_t)(uint32_t)delta - delta;

	if (!leak || rule_decides(space, RULE_LOCK_COUNTS_WIDE))
		return;
	space->locked_vm += leak;
	space->locked_leak += leak;
}

/* When there is none, none is anywhere. */
static void count_fork_areas(struct vmspace *space, unsigned long delta)
{
	space->fork_areas += delta;
	if (!space->fork_areas)
		space->fork_from = space->fork_to = 0;
}

void account_area(struct vmspace *space, const struct vma *vma, int sign)
{
	unsigned long delta = sign < 0 ? -1UL : 1;

	assert(sign > 0 || space->areas);
	space->areas += delta;
	if (vma->flags & VMA_GROWSDOWN)
		space->grow_areas += delta;
	if (vma->flags & VMA_FORK_FLAGS)
		count_fork_areas(space, delta);
	if (space->areas > space->areas_peak)
		space->areas_peak = space->areas;
	assert(space->grow_areas <= space->areas && space->fork_areas <= space->areas);
}

void account_place(struct vmspace *space, const struct vma *vma, unsigned long start,
		   unsigned long end)
{
	if (!(vma->flags & VMA_FORK_FLAGS))
		return;
	if (!space->fork_to || start < space->fork_from)
		space->fork_from = start;
	if (end > space->fork_to)
		space->fork_to = end;
}

void account_area_flags(struct vmspace *space, const struct vma *vma, vma_flags_t from)
{
	vma_flags_t to = vma->flags;

	if ((from ^ to) & VMA_GROWSDOWN)
		space->grow_areas += to & VMA_GROWSDOWN ? 1UL : -1UL;
	if (!(from & VMA_FORK_FLAGS) != !(to & VMA_FORK_FLAGS)) {
		count_fork_areas(space, to & VMA_FORK_FLAGS ? 1UL : -1UL);
		account_place(space, vma, vma->start, vma->end);
	}
}

bool account_may_expand(const struct vmspace *space, vma_flags_t flags, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;

	if (c->rlimit_as != VMSPACE_NO_LIMIT &&
	    space->total_vm + pages > space_pages(space, c->rlimit_as))
		return false;
	return account_may_hold_data(space, flags, pages);
}

bool account_may_hold_data(const struct vmspace *space, vma_flags_t flags, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;
	unsigned long limit = c->rlimit_data ? c->rlimit_data : c->rlimit_data_max;

	return !account_is_data(flags) || limit == VMSPACE_NO_LIMIT ||
	       space->data_vm + pages <= space_pages(space, limit);
}

bool account_may_lock(const struct vmspace *space, vma_flags_t flags, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;

	if (!(flags & VMA_LOCKED) || c->lock_privileged || c->rlimit_memlock == VMSPACE_NO_LIMIT)
		return true;
	return space->locked_vm + pages <= space_pages(space, c->rlimit_memlock);
}
