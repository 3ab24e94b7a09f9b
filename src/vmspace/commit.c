/* SPDX-License-Identifier: MIT */
/*
 * commit.c - commit accounting: the three modes of vm.overcommit_memory.
 *
 * Source: Documentation/mm/overcommit-accounting.rst and Documentation/admin-guide/sysctl/vm.rst of
 * Linux 6.12. Areas with VMA_ACCOUNT are charged (account_pages()). Mode 0 refuses what is larger
 * than all memory and swap by itself; mode 1 nothing; mode 2 keeps the sum of all that is committed
 * below a limit, of which a reserve is kept from processes without privilege, and another from
 * large ones.
 */
#include <assert.h>
#include <errno.h>

#include "commit.h"
#include "outcome.h"

void commit_charge(struct vmspace *space, unsigned long pages, int sign)
{
	unsigned long delta = sign < 0 ? -pages : pages;

	assert(sign > 0 || pages <= space->committed_vm);
	space->committed_vm += delta;
	if (space->config.commit_pool)
		__atomic_add_fetch(space->config.commit_pool, delta, __ATOMIC_RELAXED);
}

unsigned long commit_total(const struct vmspace *space)
{
	const struct vmspace_config *c = &space->config;

	if (c->commit_pool)
		return __atomic_load_n(c->commit_pool, __ATOMIC_RELAXED);
	return c->committed_elsewhere + space->committed_vm;
}

static unsigned long kbytes(const struct vmspace *space, unsigned long kb)
{
	return kb >> (space->page_shift - 10);
}

unsigned long commit_limit(const struct vmspace *space)
{
	const struct vmspace_config *c = &space->config;
	unsigned long ram;

	if (c->overcommit_kbytes)
		return kbytes(space, c->overcommit_kbytes) + c->swap_pages;
	ram = c->ram_pages - c->huge_pages;
	return ram / 100 * c->overcommit_ratio + ram % 100 * c->overcommit_ratio / 100 +
	       c->swap_pages;
}

/* The limit less the reserves for the administrator, and for recovering from a large process. */
static unsigned long limit_of_process(const struct vmspace *space)
{
	const struct vmspace_config *c = &space->config;
	unsigned long limit = commit_limit(space), large = space->total_vm / 32, reserve = 0;

	if (!c->admin)
		reserve = kbytes(space, c->admin_reserve_kbytes);
	reserve += large < kbytes(space, c->user_reserve_kbytes)
			   ? large : kbytes(space, c->user_reserve_kbytes);
	return limit > reserve ? limit - reserve : 0;
}

/* Mode 1, or it is not known how much memory there is. */
static bool refuses_nothing(const struct vmspace_config *c)
{
	return !c->ram_pages || c->overcommit == 1;
}

bool commit_too_large(const struct vmspace *space, unsigned long pages)
{
	const struct vmspace_config *c = &space->config;

	return c->overcommit == 0 && c->ram_pages && pages > c->ram_pages + c->swap_pages;
}

/* May the space be charged for `pages` in all, `largest` of them in one request? 0 or -ENOMEM. */
static long check(struct vmspace *space, unsigned long pages, unsigned long largest)
{
	const struct vmspace_config *c = &space->config;

	if (!pages || refuses_nothing(c))
		return 0;
	if (c->overcommit == 0) {
		if (!commit_too_large(space, largest))
			return 0;
		return outcome_limit(space, -ENOMEM,
				     "larger than all memory and swap (overcommit 0)");
	}
	/* A host has counted what others have committed; we have not. */
	if (space->host_succeeded || commit_total(space) + pages < limit_of_process(space))
		return 0;
	return outcome_limit(space, -ENOMEM,
			     "the limit of committed memory is reached (overcommit 2)");
}

long commit_check(struct vmspace *space, unsigned long pages)
{
	return check(space, pages, pages);
}

long commit_check_fork(struct vmspace *space)
{
	const struct vmspace_config *c = &space->config;
	MA_STATE(mas, &space->tree, 0, 0);
	unsigned long sum = 0, largest = 0;
	const struct vma *vma;

	/* Usually none can be refused, and the areas need not be examined one by one. */
	if (refuses_nothing(c) ||
	    (!c->overcommit && !commit_too_large(space, space_pages(space, space->largest_area))))
		return 0;
	mas_for_each(&mas, vma, ULONG_MAX) {
		unsigned long pages = space_pages(space, vma->end - vma->start);

		if ((vma->flags & (VMA_ACCOUNT | VMA_DONTCOPY)) != VMA_ACCOUNT)
			continue;
		sum += pages;
		if (pages > largest)
			largest = pages;
	}
	return check(space, sum, largest);
}
