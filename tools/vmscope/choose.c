/* SPDX-License-Identifier: MIT */
/* Random calls on an address space: which one comes next, and what it must not hit. */
#include "choose.h"

#include <string.h>
#include <sys/mman.h>

#include "chooseargs.h"

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static uint64_t draw(struct chooser *c)
{
	c->state ^= c->state >> 12;
	c->state ^= c->state << 25;
	c->state ^= c->state >> 27;
	return c->state * 0x2545f4914f6cdd1dULL;
}

unsigned long choose_below(struct chooser *c, unsigned long n)
{
	return (unsigned long)((draw(c) >> 16) % n);
}

static void keep_own_areas(struct chooser *c, const struct pair *p)
{
	struct vma_info info;
	struct vmspace_stats stats;
	unsigned long at = 0;

	c->kept_count = 0;
	vmspace_stats(p->space, &stats);
	for (; vmspace_next(p->space, at, &info); at = info.end) {
		bool heap = info.start < stats.brk && info.end > stats.start_brk;

		if (!heap && c->kept_count < KEPT_MAX)
			c->kept[c->kept_count++] = (struct span){ info.start, info.end };
	}
}

bool choose_is_kept(const struct chooser *c, unsigned long start, unsigned long length)
{
	for (int i = 0; i < c->kept_count; i++)
		if (start < c->kept[i].end && start + length > c->kept[i].start)
			return true;
	return start + length < start;
}

void choose_begin(struct chooser *c, uint64_t seed, const struct mix *mix, const struct pair *p)
{
	*c = (struct chooser){ .state = seed ? seed : 1, .mix = mix };
	c->busy_areas = choose_below(c, 4) ? 20 + choose_below(c, 30) : 90;
	keep_own_areas(c, p);
}

enum maker choose_kind(struct chooser *c, const struct pair *p)
{
	struct vmspace_stats stats;
	unsigned long total = 0, pick;
	int kind;

	vmspace_stats(p->space, &stats);
	if (stats.areas > c->busy_areas && choose_below(c, 3) == 0)
		return MAKE_MUNMAP;
	for (kind = 0; kind < MAKERS; kind++)
		total += c->mix->weight[kind];
	pick = choose_below(c, total);
	for (kind = 0; pick >= c->mix->weight[kind]; kind++)
		pick -= c->mix->weight[kind];
	return (enum maker)kind;
}

/* Shared memory that may become larger than its file: touching what is behind it fails. */
static bool outgrows_file(const struct pair *p, unsigned long addr)
{
	struct vma_info info;

	return vmspace_lookup(p->space, addr, &info) &&
	       (info.backing.kind == VMA_BACKING_SYSV || info.backing.kind == VMA_BACKING_SHMEM);
}

/*
 * Whether a first read of an area that may have huge pages gives it the huge zero page, and with it an
 * anon_vma, depends on which pages are there already: a matter of pages, of which these spaces keep
 * none. Areas without an anon_vma that may have a huge page are only written to.
 */
static bool reads_huge(const struct pair *p, unsigned long start, unsigned long end)
{
	const struct vmspace_config *config = vmspace_config(p->space);
	struct vma_info info;

	for (unsigned long at = start; vmspace_next(p->space, at, &info) && info.start < end;
	     at = info.end)
		if (info.backing.kind == VMA_BACKING_ANON && !info.anon_id &&
		    !(info.flags & VMA_NOHUGEPAGE) &&
		    ((info.flags & VMA_HUGEPAGE) || config->thp == VMSPACE_THP_ALWAYS) &&
		    info.end - info.start >= config->pmd_size)
			return true;
	return false;
}

/*
 * Where pages are guarded is a matter of pages, too: a guard stops mlock() and the like, and what lies
 * behind it stays untouched. Without a host to ask, nothing is made present across an area with guards.
 */
static bool meets_guards(const struct pair *p, unsigned long start, unsigned long end)
{
	struct vma_info info;

	if (p->way.mirror || !p->guards)
		return false;
	for (unsigned long at = start; vmspace_next(p->space, at, &info) && info.start < end;
	     at = info.end)
		if ((info.flags & VMA_MAYBE_GUARD) || !vmspace_config(p->space)->guard_flag)
			return true;
	return false;
}

/*
 * A touch below a growsdown area gives it an anon_vma even if it may not grow there. A mirror is not told
 * of touches, and without a page there is nothing to be seen.
 */
static bool wakes_stack(const struct pair *p, unsigned long addr)
{
	struct vma_info info;

	return p->way.mirror && vmspace_next(p->space, addr, &info) && info.start > addr &&
	       (info.flags & VMA_GROWSDOWN) && !info.anon_id;
}

/* Requests that make pages present in ways that only their pages can tell. */
static bool depends_on_pages(const struct pair *p, const struct vmspace_request *r)
{
	unsigned long start = 0, end = ~0UL;

	switch (r->op) {
	case VMSPACE_FAULT:
		return wakes_stack(p, r->fault.addr) ||
		       (r->fault.access == VMSPACE_ACCESS_READ &&
			reads_huge(p, r->fault.addr, r->fault.addr + 1));
	case VMSPACE_MADVISE:
		start = r->madvise.addr;
		end = start + r->madvise.length;
		if (r->madvise.advice == MADV_POPULATE_READ && reads_huge(p, start, end))
			return true;
		return (r->madvise.advice == MADV_POPULATE_READ ||
			r->madvise.advice == MADV_POPULATE_WRITE) && meets_guards(p, start, end);
	case VMSPACE_MLOCK:
		start = r->mlock.addr;
		end = start + r->mlock.length;
		return reads_huge(p, start, end) || meets_guards(p, start, end);
	case VMSPACE_MLOCKALL:
		return reads_huge(p, start, end) || meets_guards(p, start, end);
	default:
		return false;
	}
}

bool choose_harmful(const struct chooser *c, const struct pair *p,
		    const struct vmspace_request *r)
{
	if (depends_on_pages(p, r))
		return true;
	switch (r->op) {
	case VMSPACE_REMAP_FILE_PAGES:
		return outgrows_file(p, r->remap_file_pages.addr);
	case VMSPACE_MMAP:
		return (r->mmap.flags & MAP_FIXED) &&
		       choose_is_kept(c, r->mmap.addr, r->mmap.length);
	case VMSPACE_MREMAP:
		if (r->mremap.new_length > r->mremap.old_length &&
		    outgrows_file(p, r->mremap.addr & ~(CHOOSE_PAGE - 1)))
			return true;
		return choose_is_kept(c, r->mremap.addr, r->mremap.old_length) ||
		       choose_is_kept(c, r->mremap.new_addr, r->mremap.new_length);
	case VMSPACE_MUNMAP:
		return choose_is_kept(c, r->munmap.addr, r->munmap.length);
	case VMSPACE_MADVISE:
		return choose_is_kept(c, r->madvise.addr, r->madvise.length);
	case VMSPACE_PROCESS_MADVISE:
		for (size_t i = 0; i < r->process_madvise.count; i++)
			if (choose_is_kept(c, r->process_madvise.ranges[i].addr,
					   r->process_madvise.ranges[i].length))
				return true;
		return false;
	case VMSPACE_MSEAL:
		return choose_is_kept(c, r->mseal.addr, r->mseal.length);
	case VMSPACE_FAULT:
		return choose_is_kept(c, r->fault.addr, 1);
	case VMSPACE_MPROTECT:
		return choose_is_kept(c, r->mprotect.addr, r->mprotect.length + CHOOSE_PAGE);
	default:
		return false;
	}
}
