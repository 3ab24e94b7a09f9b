/* SPDX-License-Identifier: MIT */
/* remap.c - mremap: shrink, grow in place, move; one area, or several at once. */
#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "accounting.h"
#include "commit.h"
#include "edit.h"
#include "find.h"
#include "host.h"
#include "inherited.h"
#include "merge.h"
#include "ops.h"
#include "outcome.h"
#include "remap.h"
#include "store.h"
#include "sync.h"
#include "words.h"

static long check_arguments(struct vmspace *space, const struct vmspace_mremap *args,
			    struct move *m)
{
	if (m->flags & ~(MREMAP_FIXED | MREMAP_MAYMOVE | MREMAP_DONTUNMAP))
		return -EINVAL;
	if (!space_aligned(space, args->addr) || !m->new_length)
		return -EINVAL;
	if (m->to_given && !(m->flags & MREMAP_MAYMOVE))
		return -EINVAL;
	if ((m->flags & MREMAP_DONTUNMAP) && args->old_length != args->new_length &&
	    (m->old_length != m->new_length || !rule_decides(space, RULE_DONTUNMAP_ROUNDS)))
		return -EINVAL;
	if (m->new_length > space->config.task_size && !m->to_given)
		return rule_decides(space, RULE_REMAP_LENGTH_FIRST) ? -EINVAL : 0;
	return 0;
}

/* May anything be moved to where it is to be moved, as long as it becomes? */
static long check_target(struct vmspace *space, const struct move *m)
{
	const struct vmspace_config *c = &space->config;

	if (!m->to_given)
		return 0;
	if (m->new_length > c->task_size || !space_aligned(space, m->new_addr) ||
	    m->new_addr > c->task_size - m->new_length)
		return -EINVAL;
	if (m->addr + m->old_length > m->new_addr && m->new_addr + m->new_length > m->addr)
		return -EINVAL;
	if (space->areas + 2 >= c->max_map_count - 3)
		return outcome_fail(space, -ENOMEM, "too near to max_map_count");
	return 0;
}

static long check_area(struct vmspace *space, const struct vma *vma, const struct move *m)
{
	unsigned long grow_pages;
	uint64_t pgoff;
	long err = 0;

	if (!m->old_length && !(vma->flags & (VMA_SHARED | VMA_MAYSHARE)))
		return -EINVAL;
	if ((m->flags & MREMAP_DONTUNMAP) && (!vma_is_anon(vma) || vma->flags & VMA_SHARED) &&
	    !rule_decides(space, RULE_DONTUNMAP_FILES))
		return -EINVAL;
	if ((m->flags & MREMAP_DONTUNMAP) && (vma->flags & (VMA_DONTEXPAND | VMA_PFNMAP)))
		return -EINVAL;
	if (m->new_length <= m->old_length) {
		if (m->to_given && m->new_length > vma->end - m->addr)
			return -EFAULT;
		return 0;
	}
	if (m->old_length > vma->end - m->addr)
		return -EFAULT;
	pgoff = vma->pgoff + space_pages(space, m->addr - vma->start);
	if (pgoff + space_pages(space, m->new_length) < pgoff)
		return -EINVAL;
	if (vma->flags & (VMA_DONTEXPAND | VMA_PFNMAP))
		return -EFAULT;
	grow_pages = space_pages(space, m->new_length - m->old_length);
	if (!account_may_lock(space, vma->flags, grow_pages))
		err = outcome_limit(space, -EAGAIN, "RLIMIT_MEMLOCK reached");
	if (!err && !account_may_expand(space, vma->flags, grow_pages))
		err = outcome_limit(space, -ENOMEM, "RLIMIT_AS or RLIMIT_DATA reached");
	return err;
}

/*
 * A move that keeps its source is charged for the whole target, any other for the growth. To a
 * given place, some versions of Linux charge for what they have cut off as well (and never give it
 * back).
 */
static long check_commit(struct vmspace *space, const struct vma *vma, const struct move *m)
{
	unsigned long more = m->flags & MREMAP_DONTUNMAP ? m->new_length
							 : m->new_length - m->old_length;

	if (m->flags & MREMAP_DONTUNMAP && rule_decides(space, RULE_DONTUNMAP_UNCHECKED))
		return 0;
	if (m->cut && !rule_decides(space, RULE_REMAP_CUT_FREE))
		more += m->cut;
	return vma->flags & VMA_ACCOUNT ? commit_check(space, space_pages(space, more)) : 0;
}

static int remove_source(struct vmspace *space, const struct move *m)
{
	MA_STATE(mas, &space->tree, m->addr, m->addr);

	return edit_remove(space, &mas, mas_find(&mas, ULONG_MAX), m->addr,
			   m->addr + m->old_length);
}

/* How many bytes of pages are moved. */
static unsigned long moved_length(const struct move *m)
{
	return m->old_length < m->new_length ? m->old_length : m->new_length;
}

/* The number of areas that overlap [start, end); for small ranges, an upper bound. */
static unsigned long count_areas(struct vmspace *space, unsigned long start, unsigned long end)
{
	unsigned long committed, areas = space_pages(space, end - start);

	if (areas > 32)
		unmap_count(space, start, end, &committed, &areas);
	return areas;
}

/*
 * Reserve for moving `moves` areas: each move unmaps the target, with two stores and an area more
 * where it is the middle of one, inserts the copy and removes the source; before the first, the
 * excess of the source is unmapped. A target or source that is unmapped by one store may consist of
 * many areas.
 */
static long reserve_moves(struct vmspace *space, const struct vma *vma, const struct move *m,
			  unsigned long moves)
{
	unsigned long removed = 1;

	if (m->old_length > vma->end - m->addr)
		removed = count_areas(space, m->addr, m->addr + m->old_length);
	if (m->flags & MREMAP_FIXED)
		removed += count_areas(space, m->new_addr, m->new_addr + m->new_length);
	/* With MREMAP_DONTUNMAP the source is not unmapped, but may be split in three. */
	return store_reserve_call(space, 4 * moves + 4 + removed / 64, 2 * moves + 3);
}

/* Lock the source and reserve page tables, so that moving its pages to `at` cannot fail. */
static long reserve_tables(struct vmspace *space, struct vma *vma, struct move *m,
			   unsigned long at)
{
	if (!space->pages || m->reserved || !moved_length(m))
		return 0;
	sync_write_lock(space, vma);
	store_reserve_pages(space);
	m->reserved = true;
	if (pages_reserve_move(space->pages, m->addr, at, moved_length(m)))
		return outcome_no_memory(space);
	return 0;
}

/* A part is moved after it has been cut off. */
static long check_ends(struct vmspace *space, const struct vma *vma, const struct move *m)
{
	unsigned long end = vma->end;

	if (m->old_length && m->old_length < end - m->addr)
		end = m->addr + m->old_length;
	if (vma_is_kernels(vma) && end - m->addr != vma->backing->is.size)
		return outcome_fail(space, -EINVAL, "the kernel's own pages move as a whole");
	return edit_check_cuts(space, vma, m->addr, end);
}

/* Anonymous pages keep their numbers when they are moved; without any, they get those of `at`. */
static void renumber_moved(struct vmspace *space, struct vma *proto, const struct move *m,
			   unsigned long at)
{
	int64_t shift = (int64_t)space_pages(space, m->addr) - (int64_t)space_pages(space, at);

	if (vma_is_anon(proto)) {
		if (!proto->anon_id)
			proto->pgoff = space_pages(space, at);
	} else if (proto->anon_id && rule_decides(space, RULE_FILE_ANON_OFFSET)) {
		proto->anon_shift += shift;
	}
}

/* Does the area leave its userfaultfd behind, and does Linux then merge it with no other? */
static bool moves_alone(struct vmspace *space, const struct vma *vma)
{
	return (vma->flags & VMA_UFFD_FLAGS) && !vma->tags.uffd_moves &&
	       rule_decides(space, RULE_UFFD_MOVES_ALONE);
}

/*
 * Copy the area's part to `at`, then remove the source. Returns at or -errno. (After
 * reserve_tables() no step can run out of memory: see reserve_moves().)
 */
static long move_area(struct vmspace *space, struct vma *vma, struct move *m, unsigned long at)
{
	struct vma proto;
	vma_flags_t flags = vma->flags;
	struct hole hole;
	bool free, alone;
	long err;

	if (space->areas >= space->config.max_map_count - 3)
		return outcome_fail(space, -ENOMEM, "too near to max_map_count");
	err = check_ends(space, vma, m);
	if (!err)
		err = reserve_tables(space, vma, m, at);
	if (err)
		return err;
	/* No fault may add page tables to those that were counted. */
	assert(!m->reserved || sync_write_locked(space, vma));
	m->inner = m->addr > vma->start && m->addr + m->old_length < vma->end;
	vma = remap_part_source(space, vma, m);
	if (!vma)
		return outcome_no_memory(space);
	shown_fill(space, &proto, vma);
	proto.start = at;
	proto.end = at + m->new_length;
	proto.pgoff += space_pages(space, m->addr - vma->start);
	renumber_moved(space, &proto, m, at);
	free = find_hole(space, proto.start, proto.end, &hole);
	assert(free);
	(void)free;
	alone = moves_alone(space, vma) || remap_stays_alone(space, vma, m, &proto);
	remap_ignore_source(space, vma, m, &hole);
	words_move(space, &proto, m->addr);
	err = edit_insert(space, &proto, alone ? NULL : &hole, NULL);
	if (err)
		return err;
	if (m->reserved)
		pages_move(space->pages, m->addr, at, moved_length(m));
	outcome_event(space, VMSPACE_EVENT_MOVE, at, at + m->new_length, m->addr);
	err = uffd_moved(space, at);
	if (err)
		return err;
	if (m->flags & MREMAP_DONTUNMAP)
		err = remap_leave_source(space, m, at);
	else if (m->old_length)
		err = remove_source(space, m);
	if (err)
		return err;
	if ((flags & VMA_LOCK_FLAGS) == VMA_LOCKED && m->new_length > m->old_length)
		lock_populate(space, at, at + m->new_length);
	return (long)at;
}

static bool too_low(const struct vmspace *space, unsigned long addr)
{
	return addr < space->config.mmap_min_addr && !space->config.low_privileged;
}

static long place(struct vmspace *space, const struct vma *vma, const struct move *m)
{
	struct find_place want = { .addr = m->new_addr, .length = m->new_length, .exact = true };
	struct hole hole;
	long at;

	if (m->new_length > space->config.task_size)
		return -ENOMEM;
	if (m->flags & MREMAP_FIXED)
		want.flags |= MAP_FIXED;
	else if (!(m->flags & MREMAP_DONTUNMAP))
		want.addr = 0;
	if (vma->backing) {
		want.backing = &vma->backing->is;
		want.offset = (vma->pgoff + space_pages(space, m->addr - vma->start)) *
			      space->config.page_size;
	}
	at = find_place(space, &want, &hole);
	return at >= 0 && too_low(space, (unsigned long)at) ? -EPERM : at;
}

/* The address chosen by libvmspace; or else the host's, where this unmaps what is in the way. */
static long follow(struct vmspace *space, const struct move *m, long at)
{
	long err;

	if (m->host <= 0 || m->host == at)
		return at;
	if ((unsigned long)m->host == m->addr)
		return outcome_fail(space, -ENOMEM, "the host grew it over another area");
	if (at < 0 || !find_correct_base(space, (unsigned long)at, (unsigned long)m->host,
					 m->new_length)) {
		space->out->differs = true;
		space->out->why = "placed elsewhere than libvmspace would";
	}
	err = unmap_range(space, (unsigned long)m->host, m->new_length);
	return err ? err : m->host;
}

/* Does what MREMAP_FIXED unmaps hold pages that would be moved? Only if the length wraps around. */
static bool target_holds_source(const struct move *m)
{
	return m->addr - m->new_addr < m->new_length ||
	       m->new_addr - m->addr < moved_length(m);
}

/*
 * MREMAP_FIXED unmaps what is in the way. Page tables are reserved before, while the call can still
 * fail without having changed anything.
 */
static long clear_target(struct vmspace *space, struct move *m)
{
	struct vma *vma = space->pages ? find_at(space, m->addr) : NULL;
	long err = 0;

	if (vma && m->addr + moved_length(m) <= vma->end && !target_holds_source(m) &&
	    !seal_covers(space, m->new_addr, m->new_addr + m->new_length))
		err = reserve_tables(space, vma, m, m->new_addr);
	return err ? err : unmap_range(space, m->new_addr, m->new_length);
}

/*
 * Reserve pages for a locked area that grows as it moves to `at`: its present ones, and new ones.
 */
static long reserve_pages(struct vmspace *space, struct vma *vma, const struct move *m,
			  unsigned long at)
{
	unsigned long old_end = m->addr + m->old_length, delta = at - m->addr;
	unsigned long new_end = m->addr + m->new_length;
	long err = 0;

	if (!space->pages || (vma->flags & VMA_LOCK_FLAGS) != VMA_LOCKED ||
	    m->new_length <= m->old_length || old_end > vma->end)
		return 0;
	if (delta)
		err = lock_reserve(space, vma, vma->flags, m->addr, old_end, delta, false);
	if (!err)
		err = lock_reserve(space, vma, vma->flags, old_end, new_end, delta, true);
	return err < 0 ? err : 0;
}

/* The result that is reported if the area was moved to `followed`; libvmspace would choose `at`. */
static long predicted(const struct vmspace *space, long followed, long at)
{
	return followed < 0 || space->out->base_learned ? followed : at;
}

static long move_to_given(struct vmspace *space, struct move *m)
{
	struct vma *vma = NULL;
	long at, followed, err = 0;

	if (space->pages && m->new_length > m->old_length)
		vma = find_at(space, m->addr);
	if (vma)
		err = reserve_pages(space, vma, m, m->new_addr);
	if (err)
		return err;
	if (m->flags & MREMAP_FIXED) {
		err = clear_target(space, m);
		if (err)
			return err;
		/* A source whose length wraps around may have been there. */
		if (!find_at(space, m->addr) && rule_decides(space, RULE_REMAP_LOST_SOURCE))
			return -EFAULT;
	}
	if (m->old_length > m->new_length) {
		err = unmap_range(space, m->addr + m->new_length, m->old_length - m->new_length);
		if (err)
			return err;
		m->cut = m->old_length - m->new_length;
		m->old_length = m->new_length;
	}
	vma = find_at(space, m->addr);
	if (vma && !rule_decides(space, RULE_REMAP_CHECKS_FIRST))
		err = check_area(space, vma, m);
	if (err)
		return err;
	if (!vma || m->old_length > vma->end - m->addr)
		return -EFAULT;
	if ((m->flags & MREMAP_DONTUNMAP) &&
	    !account_may_expand(space, vma->flags, space_pages(space, m->old_length)) &&
	    outcome_limit(space, -ENOMEM, "RLIMIT_AS or RLIMIT_DATA reached"))
		return -ENOMEM;
	err = check_commit(space, vma, m);
	if (err)
		return err;
	if (m->refused)
		return outcome_fail(space, space->host_error, "refused by the host");
	at = place(space, vma, m);
	if (at < 0)
		return at;
	followed = follow(space, m, at);
	if (followed >= 0)
		followed = move_area(space, find_at(space, m->addr), m, (unsigned long)followed);
	return predicted(space, followed, at);
}

static bool can_grow_in_place(const struct vmspace *space, const struct vma *vma,
			      const struct move *m)
{
	unsigned long end = m->addr + m->new_length;
	const struct vma *next = find_first(space, vma->end);

	return vma->end - m->addr == m->old_length && end > vma->end &&
	       end <= space->config.task_size && (!next || next->start >= end);
}

static long grow(struct vmspace *space, struct vma *vma, struct move *m)
{
	vma_flags_t flags = vma->flags;
	long at, followed, err = check_commit(space, vma, m);

	if (err)
		return err;
	if (can_grow_in_place(space, vma, m)) {
		err = reserve_pages(space, vma, m, m->addr);
		if (err)
			return err;
		err = edit_grow_up(space, vma, m->addr + m->new_length,
				   rule_decides(space, RULE_REMAP_GROW_MERGES));
		if (!err && (flags & VMA_LOCK_FLAGS) == VMA_LOCKED)
			lock_populate(space, m->addr + m->old_length, m->addr + m->new_length);
		return err ? err : (long)m->addr;
	}
	if (!(m->flags & MREMAP_MAYMOVE))
		return outcome_fail(space, -ENOMEM, "cannot grow in place");
	at = place(space, vma, m);
	if (at < 0)
		return at;
	err = reserve_moves(space, vma, m, 1);
	if (!err)
		err = reserve_pages(space, vma, m, m->host > 0 ? (unsigned long)m->host
							     : (unsigned long)at);
	if (err)
		return err;
	followed = follow(space, m, at);
	/* The host's place may have been in the way, as a part of the same area. */
	if (followed >= 0)
		followed = move_area(space, find_at(space, m->addr), m, (unsigned long)followed);
	return predicted(space, followed, at);
}

/* Areas of a userfaultfd, or whose file places its mappings itself, are only moved alone. */
static bool may_be_one_of_many(const struct vma *vma)
{
	if (vma->flags & VMA_UFFD_FLAGS)
		return false;
	return !vma->backing || (vma->backing->is.kind != VMA_BACKING_SYSV &&
				 !(vma->backing->is.flags & VMA_BACKING_MOVE_ALONE));
}

/* Huge pages are moved as whole ones, and never grow. 0 or -EINVAL. */
static long round_to_huge(const struct vmspace *space, const struct vma *vma, struct move *m)
{
	unsigned long mask = vma_huge_size(vma->backing, space->config.pmd_size) - 1;

	m->old_length = (m->old_length + mask) & ~mask;
	m->new_length = (m->new_length + mask) & ~mask;
	/* As Linux, look at new_addr even where it does not count. */
	return ((m->addr | m->new_addr) & mask) || m->new_length > m->old_length ? -EINVAL : 0;
}

bool remap_may_be_at(const struct vmspace *space, const struct vmspace_mremap *m,
		     unsigned long at)
{
	const struct vma *vma = find_at(space, m->addr);
	struct move whole = { .addr = m->addr,
			      .old_length = space_ceil(space, m->old_length),
			      .new_length = space_ceil(space, m->new_length) };
	unsigned long size = space->config.task_size;

	/* Where nothing grows or moves, the range may reach beyond the address space. */
	if (at == m->addr && whole.new_length <= whole.old_length)
		return true;
	if (vma && (vma->flags & VMA_HUGETLB)) {
		whole.new_addr = at;
		if (round_to_huge(space, vma, &whole))
			return false;
	}
	return space_aligned(space, at) && whole.new_length && whole.new_length <= size &&
	       at <= size - whole.new_length &&
	       (at == m->addr || at + whole.new_length <= m->addr ||
		at >= m->addr + whole.old_length);
}

/* The tables for all areas of the range, which are locked. */
static long reserve_all_tables(struct vmspace *space, const struct move *all)
{
	unsigned long end = all->addr + all->old_length, at = all->addr;
	struct vma *vma;

	if (!space->pages)
		return 0;
	while (at < end && (vma = find_first(space, at)) && vma->start < end) {
		sync_write_lock(space, vma);
		at = vma->end;
	}
	store_reserve_pages(space);
	if (pages_reserve_move(space->pages, all->addr, all->new_addr, all->old_length))
		return outcome_no_memory(space);
	return 0;
}

/*
 * MREMAP_FIXED with equal lengths moves all areas of the range; holes stay holes. For each area
 * Linux checks first whether it may be moved together with others, then whether it is sealed, then
 * whether what is in its way may be unmapped.
 */
static long move_many(struct vmspace *space, const struct move *all)
{
	unsigned long at = all->addr, end = all->addr + all->old_length;
	struct vma *vma = find_at(space, at);
	long result = reserve_moves(space, vma, all, count_areas(space, at, end));

	if (result)
		return result;
	result = reserve_all_tables(space, all);
	if (result)
		return result;
	while (at < end && (vma = find_first(space, at)) && vma->start < end) {
		struct move one = *all;

		one.addr = vma->start > at ? vma->start : at;
		at = vma->end < end ? vma->end : end;
		one.old_length = one.new_length = at - one.addr;
		one.new_addr = all->new_addr + (one.addr - all->addr);
		one.host = 0;
		one.reserved = space->pages;
		if (!may_be_one_of_many(vma))
			return -EFAULT;
		if ((vma->flags & VMA_HUGETLB) && round_to_huge(space, vma, &one))
			return -EINVAL;
		if (one.new_length > space->config.task_size - one.new_addr)
			return -EINVAL;
		if (vma->flags & VMA_SEALED)
			return outcome_fail(space, -EPERM, "the area is sealed");
		result = check_area(space, vma, &one);
		if (!result)
			result = move_to_given(space, &one);
		if (result < 0)
			return result;
	}
	return (long)all->new_addr;
}

static bool moves_many(const struct vmspace *space, const struct vma *vma, const struct move *m)
{
	return (m->flags & MREMAP_FIXED) && m->old_length == m->new_length &&
	       m->old_length > vma->end - m->addr && rule_decides(space, RULE_REMAP_MANY);
}

/* What unmapping would answer. */
static long unmap_error(struct vmspace *space, unsigned long start, unsigned long length)
{
	unsigned long size = space->config.task_size;

	if (start > size || length > size - start)
		return -EINVAL;
	return unmap_check(space, start, start + length);
}

/* Will libvmspace run into the host's error as well, and stop at the same place? */
static bool expected_error(struct vmspace *space, const struct vma *vma, const struct move *m)
{
	long err = space->host_error;
	bool many = moves_many(space, vma, m);

	if ((m->flags & MREMAP_FIXED) && unmap_error(space, m->new_addr, m->new_length) == err)
		return true;
	if (m->new_length < m->old_length &&
	    unmap_error(space, m->addr + m->new_length, m->old_length - m->new_length) == err)
		return true;
	/* Too low a place is refused when what is in the way has been unmapped. */
	if ((m->flags & MREMAP_FIXED) && err == -EPERM && too_low(space, m->new_addr))
		return true;
	/* It may come after some of them: an area that cannot be moved with others, or a limit. */
	if (many)
		return err == -EFAULT || err == -ENOMEM || err == -EINVAL ||
		       unmap_error(space, m->addr, m->old_length) == err;
	if (m->to_given && check_ends(space, vma, m) == err)
		return true;
	/* Over its own source (a copy, or a length that wraps around), which is unmapped first. */
	return err == -EFAULT && (m->flags & MREMAP_FIXED) &&
	       m->addr - m->new_addr < m->new_length;
}

/*
 * What its decisions need to know of: the source and what it may grow up to, and where it is moved
 * to, given or found.
 */
void remap_gather(struct vmspace *space, const struct vmspace_mremap *args)
{
	const struct move m = {
		.addr = args->addr, .flags = args->flags, .new_addr = args->new_addr,
		.new_length = space_ceil(space, args->new_length),
	};
	unsigned long reach = args->old_length > args->new_length ? args->old_length
								  : args->new_length;
	const struct vma *vma = find_at(space, m.addr);
	long at;

	host_query_anon(space, m.addr, m.addr + reach < m.addr ? ULONG_MAX : m.addr + reach);
	if (!vma || !(m.flags & MREMAP_MAYMOVE) || !m.new_length)
		return;
	at = m.flags & MREMAP_FIXED ? (long)m.new_addr : place(space, vma, &m);
	if (at > 0)
		host_query_anon(space, (unsigned long)at,
				(unsigned long)at + m.new_length < (unsigned long)at ?
					ULONG_MAX : (unsigned long)at + m.new_length);
}

/* What it is to become shorter by, which may be more than the area. */
static long cut_off(struct vmspace *space, const struct move *m)
{
	if (m->new_length >= m->old_length)
		return 0;
	return unmap_range(space, m->addr + m->new_length, m->old_length - m->new_length);
}

/* In place. */
static long shrink(struct vmspace *space, const struct move *m)
{
	long err = cut_off(space, m);

	return err ? err : (long)m->addr;
}

/* There is no area that could be moved; some versions notice that late. Returns @error. */
static long refuse_area(struct vmspace *space, const struct move *m, long error)
{
	long err;

	if (!m->to_given || !rule_decides(space, RULE_REMAP_AREA_LATE))
		return error;
	err = m->flags & MREMAP_FIXED ? unmap_range(space, m->new_addr, m->new_length) : 0;
	if (!err)
		err = cut_off(space, m);
	return err ? err : error;
}

/* Is the area looked at first, where nothing can be moved to the given place? */
static bool looks_first(struct vmspace *space, const struct move *m)
{
	if (!space_aligned(space, m->new_addr))
		return !rule_decides(space, RULE_REMAP_ALIGNED_FIRST);
	return rule_decides(space, RULE_REMAP_AREA_FIRST);
}

/*
 * Checks a single area; *@late: whether Linux unmaps what is in the way before it checks, so that
 * an error is none yet. See move_to_given().
 */
static long check_single(struct vmspace *space, const struct vma *vma, const struct move *m,
			 bool *late)
{
	long err;

	*late = m->to_given && !rule_decides(space, RULE_REMAP_CHECKS_FIRST);
	if (*late && space->host_succeeded)
		return 0;
	err = check_area(space, vma, m);
	if (*late && space->out)
		space->out->why = NULL;
	return err;
}

long remap_call(struct vmspace *space, struct vmspace_request *req)
{
	const struct vmspace_mremap *args = &req->mremap;
	struct move m = {
		.addr = args->addr, .flags = args->flags, .new_addr = args->new_addr,
		.old_length = space_ceil(space, args->old_length),
		.new_length = space_ceil(space, args->new_length),
		.to_given = args->flags & (MREMAP_FIXED | MREMAP_DONTUNMAP),
		.host = space->host_succeeded ? req->host.result : 0,
	};
	long err = check_arguments(space, args, &m);
	long nowhere = err ? 0 : check_target(space, &m);
	bool many, late = false;
	struct vma *vma;

	if (err)
		return err;
	if (nowhere && !looks_first(space, &m))
		return nowhere;
	vma = find_at(space, m.addr);
	if (!m.to_given && m.new_length <= m.old_length &&
	    rule_decides(space, RULE_REMAP_AREA_LATE))
		return shrink(space, &m);
	if (!vma)
		return refuse_area(space, &m, -EFAULT);
	if ((vma->flags & VMA_SEALED) && !moves_many(space, vma, &m))
		return outcome_fail(space, -EPERM, "the area is sealed");
	if ((vma->flags & VMA_HUGETLB) &&
	    (!rule_decides(space, RULE_REMAP_HUGE) || round_to_huge(space, vma, &m)))
		return refuse_area(space, &m, -EINVAL);
	many = moves_many(space, vma, &m);
	/* By now the lengths are those of whole huge pages. */
	if (nowhere || (vma->flags & VMA_HUGETLB && rule_decides(space, RULE_REMAP_AREA_FIRST)))
		nowhere = check_target(space, &m);
	if (nowhere)
		return nowhere;
	if (!many)
		err = check_single(space, vma, &m, &late);
	if (err && !late)
		return err;
	if (space->host_error && err != space->host_error && !expected_error(space, vma, &m)) {
		m.refused = m.to_given && space->host_unmapped;
		if (!m.refused)
			return outcome_fail(space, space->host_error, "refused by the host");
	}
	if (many)
		return move_many(space, &m);
	if (m.to_given) {
		err = reserve_moves(space, vma, &m, 1);
		return err ? err : move_to_given(space, &m);
	}
	if (m.new_length > m.old_length)
		return grow(space, vma, &m);
	return shrink(space, &m);
}
