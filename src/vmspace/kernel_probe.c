/* SPDX-License-Identifier: MIT */
/*
 * kernel_probe.c - probes: a few system calls for each rule, that show whether the kernel follows
 * it. Here are those of mappings and mremap, and the table of all. What they may do: probe.h.
 */
#include "kernel_probe.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "mman_names.h"
#include "probe.h"
#include "probe_child.h"

/* ---- mappings ------------------------------------------------------------------------------- */

static enum probe_answer stack_nohugepage(const struct place *p)
{
	return map(p, 0, 1, RW, ANON | MAP_STACK) ? has_flag(p, " nh ") : PROBE_UNKNOWN;
}

/* Are two mappings of that size, one after the other and a page apart, both aligned? */
static enum probe_answer places_aligned(const struct place *p, unsigned long size)
{
	unsigned long huge = p->page * (p->page / sizeof(void *)), crooked = 0;
	size_t sizes[3] = { size, p->page, size };
	bool failed = false;
	void *addr[3];

	for (int i = 0; i < 3; i++) {
		addr[i] = mmap(NULL, sizes[i], PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
		failed |= addr[i] == MAP_FAILED;
		crooked |= i == 1 ? 0 : (unsigned long)addr[i] & (huge - 1);
	}
	for (int i = 0; i < 3; i++)
		munmap(addr[i], sizes[i]);
	return failed ? PROBE_UNKNOWN : answer(!crooked);
}

/*
 * Below an area that grows down are a hole smaller than its guard gap, another area and a hole as
 * large, in which the gap ends: is that one used up to its end? This shows only where the kernel
 * places from above: a second mapping lies below the first.
 */
static enum probe_answer guard_own_hole(const struct place *p)
{
	const unsigned long hole = 200, all = hole + 1 + hole + 1;
	char *low = mmap(NULL, all * p->page, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	char *next = mmap(NULL, all * p->page, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	const struct place top = { low + (all - 1) * p->page, p->page };
	enum probe_answer result = PROBE_UNKNOWN;
	char *found;

	if (low == MAP_FAILED)
		return PROBE_UNKNOWN;
	if (next != MAP_FAILED && !munmap(next, all * p->page) && next < low &&
	    map(&top, 0, 1, PROT_NONE, ANON | MAP_GROWSDOWN) &&
	    !munmap(low + (hole + 1) * p->page, hole * p->page) &&
	    !munmap(low, hole * p->page)) {
		found = mmap(NULL, hole * p->page, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
		if (found != MAP_FAILED && found <= low)
			result = answer(found == low);
		if (found != MAP_FAILED)
			munmap(found, hole * p->page);
	}
	munmap(low, all * p->page);
	return result;
}

static enum probe_answer anon_aligned(const struct place *p)
{
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
		return PROBE_UNKNOWN;
	return places_aligned(p, p->page * (p->page / sizeof(void *)));
}

static enum probe_answer anon_aligned_whole(const struct place *p)
{
	unsigned long crooked = p->page * (p->page / sizeof(void *) + 1);
	enum probe_answer all;

	if (anon_aligned(p) != PROBE_YES)
		return PROBE_UNKNOWN;
	all = places_aligned(p, crooked);
	return all == PROBE_UNKNOWN ? all : answer(all == PROBE_NO);
}

static enum probe_answer heap_name_inside(const struct place *p)
{
	unsigned long end = ((unsigned long)syscall(SYS_brk, 0) + p->page - 1) & ~(p->page - 1);
	struct place behind = { (char *)end, p->page };
	struct seen seen;

	if ((unsigned long)syscall(SYS_brk, end) != end ||
	    mmap(behind.start, p->page, PROT_NONE, ANON | MAP_FIXED_NOREPLACE, -1, 0) !=
		    behind.start || !place_see(&behind, &seen))
		return PROBE_UNKNOWN;
	return answer(!strstr(seen.line, "[heap]"));
}

static enum probe_answer protect_uncharges(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON) || mprotect(at(p, 0), p->page, PROT_READ))
		return PROBE_UNKNOWN;
	switch (has_flag(p, " ac ")) {
	case PROBE_YES: return PROBE_NO;
	case PROBE_NO: return PROBE_YES;
	default: return PROBE_UNKNOWN;
	}
}

static enum probe_answer anon_vma_taken(const struct place *p)
{
	if (!map(p, 0, 2, RW, ANON) || madvise(at(p, 1), p->page, MADV_DONTDUMP))
		return PROBE_UNKNOWN;
	touch(p, 1);
	return madvise(at(p, 1), p->page, MADV_DODUMP) ? PROBE_UNKNOWN : count_is(p, 1);
}

static enum probe_answer mmap_upper_first(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON) || !map(p, 2, 1, RW, ANON))
		return PROBE_UNKNOWN;
	touch(p, 0);
	touch(p, 2);
	if (!map(p, 1, 1, RW, ANON) || count_is(p, 2) != PROBE_YES || munmap(at(p, 2), p->page))
		return PROBE_UNKNOWN;
	/* What is left of the upper one begins at the new page. */
	return count_is(p, 2);
}

static enum probe_answer droppable(const struct place *p)
{
	return takes(map(p, 0, 1, RW, MAP_ANONYMOUS | MAP_DROPPABLE), EINVAL);
}

static enum probe_answer droppable_locked(const struct place *p)
{
	enum probe_answer result = PROBE_UNKNOWN;

	/* Locks nothing if munlockall() is refused: what other probes map must not be locked. */
	if (!maps_unlocked(p) || munlockall() || mlockall(MCL_FUTURE))
		return PROBE_UNKNOWN;
	if (map(p, 0, 1, RW, MAP_ANONYMOUS | MAP_DROPPABLE))
		result = has_flag(p, " lo ");
	if (munlockall() || !maps_unlocked(p))
		probe_child_end();
	return result;
}

/* The number behind `key` in /proc/self/status, or -1. */
static long status_number(const char *key)
{
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[4096];
	const char *found;
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	found = strstr(text, key);
	return found ? strtol(found + strlen(key), NULL, 10) : -1;
}

static enum probe_answer lockonfault_shown(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON) || syscall(SYS_mlock2, at(p, 0), p->page, 1L) ||
	    has_flag(p, " lo ") != PROBE_YES)
		return PROBE_UNKNOWN;
	return has_flag(p, " lf ");
}

/* 2^31 pages. */
static enum probe_answer lock_counts_wide(const struct place *p)
{
	unsigned long size;
	char *start;
	long locked;

	/* Linux 5.10 takes hours to unlock that much, page by page. */
	if (lockonfault_shown(p) != PROBE_YES || munlock(at(p, 0), p->page) ||
	    __builtin_mul_overflow(1UL << 31, p->page, &size))
		return PROBE_UNKNOWN;
	start = mmap(NULL, size, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	if (start == MAP_FAILED || syscall(SYS_mlock2, start, size, 1L))
		return PROBE_UNKNOWN;
	locked = status_number("\nVmLck:");
	munmap(start, size);
	return locked < 0 ? PROBE_UNKNOWN : answer(locked == (long)(size / 1024));
}

/* A mapping that grows beyond the limit is refused; how many areas is what it would replace? */
static enum probe_answer map_cuts_first(const struct place *p)
{
	struct rlimit limit, none;
	bool refused;

	if (!map(p, 0, 2, RW, ANON) || getrlimit(RLIMIT_AS, &limit))
		return PROBE_UNKNOWN;
	none = (struct rlimit){ 0, limit.rlim_max };
	if (setrlimit(RLIMIT_AS, &none))
		return PROBE_UNKNOWN;
	refused = !map(p, 1, 8, RW, ANON) && errno == ENOMEM;
	if (setrlimit(RLIMIT_AS, &limit))
		probe_child_end();
	return refused ? count_is(p, 2) : PROBE_UNKNOWN;
}

static enum probe_answer map_above4g(const struct place *p)
{
	int fd = new_file(p);
	void *addr = mmap(at(p, 0), p->page, PROT_READ,
			  MAP_SHARED_VALIDATE | MAP_FIXED | 0x80 /* MAP_ABOVE4G */, fd, 0);
	enum probe_answer result = fd < 0 ? PROBE_UNKNOWN : takes(addr == at(p, 0), EOPNOTSUPP);

	close(fd);
	return result;
}

/* Is what is in the way of a sealed file still there when it has refused? */
static enum probe_answer map_seals_first(const struct place *p)
{
	int fd = memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	enum probe_answer result = PROBE_UNKNOWN;

	if (fd >= 0 && !ftruncate(fd, (off_t)p->page) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) && map(p, 0, 3, RW, ANON) &&
	    mmap(at(p, 1), p->page, RW, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED &&
	    errno == EPERM)
		result = count_is(p, 1);
	if (fd >= 0)
		close(fd);
	return result;
}

/* [vdso] cannot be cut; a single page could be replaced. */
static enum probe_answer map_unmap_error(const struct place *p)
{
	char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);

	/* ENOMEM is an answer only if no limit refuses a page more. */
	if (!vdso || !map(p, 0, 1, PROT_NONE, ANON) || munmap(at(p, 0), p->page) ||
	    mmap(vdso, p->page, PROT_NONE, ANON | MAP_FIXED, -1, 0) != MAP_FAILED)
		return PROBE_UNKNOWN;
	return said(EINVAL, ENOMEM);
}

/* A hint in the middle of a huge page, all around which is free. */
static enum probe_answer huge_hint_up(const struct place *p)
{
	unsigned long huge = p->page * (p->page / sizeof(void *));
	char *room = mmap(NULL, 4 * huge, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	char *first = (char *)(((unsigned long)room + huge - 1) & ~(huge - 1)), *addr;

	if (room == MAP_FAILED || munmap(room, 4 * huge))
		return PROBE_UNKNOWN;
	addr = mmap(first + p->page, huge, PROT_NONE, ANON | MAP_NORESERVE | MAP_HUGETLB, -1, 0);
	if (addr == MAP_FAILED)
		return PROBE_UNKNOWN;
	munmap(addr, huge);
	return addr == first ? PROBE_NO : addr == first + huge ? PROBE_YES : PROBE_UNKNOWN;
}

static enum probe_answer dontneed_huge(const struct place *p)
{
	unsigned long huge = p->page * (p->page / sizeof(void *));
	char *at = mmap(NULL, huge, PROT_NONE, ANON | MAP_NORESERVE | MAP_HUGETLB, -1, 0);
	enum probe_answer result;

	if (at == MAP_FAILED)
		return PROBE_UNKNOWN;
	result = takes(!madvise(at, huge, MADV_DONTNEED), EINVAL);
	munmap(at, huge);
	return result;
}

static enum probe_answer brk_over_holes(const struct place *p)
{
	unsigned long brk = (unsigned long)syscall(SYS_brk, 0UL);
	unsigned long low = (brk + p->page - 1) & -p->page, high = low + p->page, now;

	if ((unsigned long)syscall(SYS_brk, high) != high || munmap((void *)low, p->page))
		return PROBE_UNKNOWN;
	now = (unsigned long)syscall(SYS_brk, low);
	if (now == low)
		return PROBE_YES;
	/* With something to unmap the break goes back to where it was. */
	if (mmap((void *)low, p->page, RW, ANON | MAP_FIXED, -1, 0) != (void *)low ||
	    (unsigned long)syscall(SYS_brk, low) != low)
		return PROBE_UNKNOWN;
	return now == high ? PROBE_NO : PROBE_UNKNOWN;
}

/* A page of a segment is mapped anew, as it was. */
static enum probe_answer segments_merge(const struct place *p)
{
	int id = shmget(IPC_PRIVATE, 2 * p->page, 0600);
	enum probe_answer result = PROBE_UNKNOWN;

	if (id >= 0 && shmat(id, at(p, 0), 0) == at(p, 0) &&
	    !syscall(SYS_remap_file_pages, at(p, 1), p->page, 0UL, 1UL, 0UL))
		result = count_is(p, 1);
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return result;
}

/* ---- mremap --------------------------------------------------------------------------------- */

static enum probe_answer dontunmap_files(const struct place *p)
{
	return map(p, 0, 1, RW, MAP_SHARED | MAP_ANONYMOUS) ?
		       takes(move(p, 0, 1, 1, 8, MREMAP_DONTUNMAP), EINVAL) : PROBE_UNKNOWN;
}

/* Do areas on either side of the source belong together, because both take its anon_vma? */
static enum probe_answer dontunmap_keeps_anon(const struct place *p)
{
	if (!map(p, 4, 3, RW, ANON))
		return PROBE_UNKNOWN;
	touch(p, 4);
	if (!move(p, 4, 3, 3, 16, MREMAP_DONTUNMAP))
		return PROBE_UNKNOWN;
	for (unsigned long beside = 2; beside < 8; beside += 5) {
		if (!map(p, beside, 2, RW | PROT_EXEC, ANON))
			return PROBE_UNKNOWN;
		touch(p, beside);
	}
	if (mprotect(at(p, 2), 2 * p->page, RW) || mprotect(at(p, 7), 2 * p->page, RW))
		return PROBE_UNKNOWN;
	return count_is(p, 2);
}

/* What becomes of an area that a part is moved out of; and what of the one behind it. */
static enum probe_answer dontunmap_charges_next(const struct place *p)
{
	if (!map(p, 0, 3, RW, ANON) || !map(p, 4, 1, PROT_READ, ANON) ||
	    !move(p, 1, 1, 1, 8, MREMAP_DONTUNMAP))
		return PROBE_UNKNOWN;
	return has_flag(&(struct place){ at(p, 4), p->page }, " ac ");
}

static enum probe_answer remap_many(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON) || !map(p, 1, 1, PROT_NONE, ANON))
		return PROBE_UNKNOWN;
	return takes(move(p, 0, 2, 2, 8, 0), EFAULT);
}

static enum probe_answer remap_checks_first(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON) || !map(p, 8, 3, RW, ANON) || move(p, 0, 2, 3, 8, 0) ||
	    errno != EFAULT)
		return PROBE_UNKNOWN;
	return count_is(p, 2);
}

static enum probe_answer remap_grow_merges(const struct place *p)
{
	if (!map(p, 0, 3, RW, ANON) || munmap(at(p, 1), p->page) ||
	    mremap(at(p, 0), p->page, 2 * p->page, 0) != at(p, 0))
		return PROBE_UNKNOWN;
	return count_is(p, 1);
}

static enum probe_answer dontunmap_part(const struct place *p)
{
	if (!map(p, 0, 2, RW, ANON) || mlock(at(p, 0), 2 * p->page) ||
	    !move(p, 0, 1, 1, 8, MREMAP_DONTUNMAP))
		return PROBE_UNKNOWN;
	return count_is(p, 3);
}

static enum probe_answer dontunmap_rounds(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON))
		return PROBE_UNKNOWN;
	return takes(mremap(at(p, 0), p->page - 1, p->page,
			    MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, at(p, 8)) ==
			     at(p, 8),
		     EINVAL);
}

static enum probe_answer dontunmap_alone(const struct place *p)
{
	if (!map(p, 0, 6, RW, ANON) || !map(p, 10, 4, RW, ANON) ||
	    !move(p, 0, 4, 4, 6, MREMAP_DONTUNMAP))
		return PROBE_UNKNOWN;
	return count_is(p, 3);
}

static enum probe_answer dontunmap_uncharges(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON) || has_flag(p, " ac ") != PROBE_YES ||
	    !move(p, 0, 1, 1, 8, MREMAP_DONTUNMAP))
		return PROBE_UNKNOWN;
	return answer(has_flag(p, " ac ") == PROBE_NO);
}

static enum probe_answer file_anon_offset(const struct place *p)
{
	int fd = new_file(p);

	if (!map_file(p, 0, fd, 0))
		return PROBE_UNKNOWN;
	touch(p, 0);
	if (!move(p, 0, 1, 1, 8, 0) || !map_file(p, 9, fd, 1))
		return PROBE_UNKNOWN;
	return count_is(p, 2);
}

/* Can private memory of that size be mapped? Then it is unmapped, and *found is its place. */
static bool can_map(unsigned long size, int flags, char **found)
{
	*found = mmap(NULL, size, RW, ANON | flags, -1, 0);
	return *found != MAP_FAILED && !munmap(*found, size);
}

/* More than there is is cut off, of which only the first page is mapped. */
static enum probe_answer remap_cut_free(const struct place *p)
{
	struct sysinfo info;
	unsigned long size;
	char *start, *none;

	if (sysinfo(&info) || !maps_unlocked(p))
		return PROBE_UNKNOWN;
	size = ((info.totalram + info.totalswap) * info.mem_unit / p->page + 2) * p->page;
	/* Only if it is commit accounting that refuses it; there is room for one page more. */
	if (can_map(size, 0, &none) || errno != ENOMEM ||
	    !can_map(size + 2 * p->page, MAP_NORESERVE, &start))
		return PROBE_UNKNOWN;
	/* Nor is it somebody who forbids mremap with that error. */
	if (mmap(start, p->page, RW, ANON | MAP_FIXED, -1, 0) != start ||
	    !map(p, 4, 1, RW, ANON) || !move(p, 4, 1, 1, 6, 0))
		return PROBE_UNKNOWN;
	return takes(mremap(start, size, p->page, MREMAP_MAYMOVE | MREMAP_FIXED, at(p, 0)) ==
			     at(p, 0),
		     ENOMEM);
}

/* Two areas that become one, of more than there is, move where the same was mapped uncharged. */
static enum probe_answer dontunmap_unchecked(const struct place *p)
{
	struct sysinfo info;
	enum probe_answer result = PROBE_UNKNOWN;
	unsigned long half, size;
	char *start, *to, *none;

	if (sysinfo(&info) || !maps_unlocked(p))
		return PROBE_UNKNOWN;
	half = (info.totalram + info.totalswap) * info.mem_unit / p->page / 10 * 6 * p->page;
	size = 2 * half;
	if (can_map(size, 0, &none) || errno != ENOMEM)
		return PROBE_UNKNOWN;
	start = mmap(NULL, size, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	to = mmap(NULL, size, RW, ANON | MAP_NORESERVE, -1, 0);
	if (start != MAP_FAILED && to != MAP_FAILED &&
	    mmap(start, half, RW, ANON | MAP_FIXED, -1, 0) == start &&
	    mmap(start + half, half, RW, ANON | MAP_FIXED, -1, 0) == start + half)
		result = takes(mremap(start, size, size,
				      MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) == to,
			       ENOMEM);
	if (start != MAP_FAILED)
		munmap(start, size);
	if (to != MAP_FAILED)
		munmap(to, size);
	return result;
}

static enum probe_answer remap_huge(const struct place *p)
{
	unsigned long huge = p->page * (p->page / sizeof(void *));
	char *room = mmap(NULL, 4 * huge, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	char *from = (char *)(((unsigned long)room + huge - 1) & -huge), *to = from + 2 * huge;
	enum probe_answer result = PROBE_UNKNOWN;

	if (room == MAP_FAILED)
		return PROBE_UNKNOWN;
	if (mmap(from, huge, PROT_NONE, ANON | MAP_FIXED | MAP_NORESERVE | MAP_HUGETLB, -1, 0) ==
	    from)
		result = takes(mremap(from, huge, huge, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
			       EINVAL);
	munmap(room, 4 * huge);
	return result;
}

static enum probe_answer remap_area_first(const struct place *p)
{
	/* Nothing is moved to where it overlaps itself. */
	if (mremap(at(p, 0), 2 * p->page, 2 * p->page, MREMAP_MAYMOVE | MREMAP_FIXED, at(p, 1)) !=
	    MAP_FAILED)
		return PROBE_UNKNOWN;
	return said(EFAULT, EINVAL);
}

static enum probe_answer remap_aligned_first(const struct place *p)
{
	/* Nothing is moved to the middle of a page. */
	if (mremap(at(p, 0), p->page, p->page, MREMAP_MAYMOVE | MREMAP_FIXED, at(p, 8) + 1) !=
	    MAP_FAILED)
		return PROBE_UNKNOWN;
	return said(EINVAL, EFAULT);
}

static enum probe_answer remap_area_late(const struct place *p)
{
	if (!map(p, 8, 1, RW, ANON) || move(p, 0, 1, 1, 8, 0) || errno != EFAULT)
		return PROBE_UNKNOWN;
	return answer(mincore(at(p, 8), p->page, (unsigned char[1]){ 0 }) && errno == ENOMEM);
}

static enum probe_answer remap_length_first(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON))
		return PROBE_UNKNOWN;
	return refuses(mremap(at(p, 0), -p->page, -p->page, 0) == at(p, 0), EINVAL);
}

/* The length wraps around, so that source and destination seem to be apart. */
static enum probe_answer remap_lost_source(const struct place *p)
{
	unsigned long length = 3 * p->page - (unsigned long)at(p, 0);

	if (!map(p, 0, 2, RW, ANON) ||
	    mremap(at(p, 0), length, p->page, MREMAP_MAYMOVE | MREMAP_FIXED, at(p, 0)) !=
		    MAP_FAILED)
		return PROBE_UNKNOWN;
	return said(EFAULT, EINVAL);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static enum probe_answer (*const probes[RULE_COUNT])(const struct place *p) = {
	[RULE_STACK_NOHUGEPAGE] = stack_nohugepage,
	[RULE_ANON_ALIGNED] = anon_aligned,
	[RULE_ANON_ALIGNED_WHOLE] = anon_aligned_whole,
	[RULE_HEAP_NAME_INSIDE] = heap_name_inside,
	[RULE_PROTECT_UNCHARGES] = protect_uncharges,
	[RULE_ANON_VMA_TAKEN] = anon_vma_taken,
	[RULE_MMAP_UPPER_FIRST] = mmap_upper_first,
	[RULE_DROPPABLE] = droppable,
	[RULE_DROPPABLE_LOCKED] = droppable_locked,
	[RULE_GUARDS] = probe_guards,
	[RULE_GUARDS_IN_FILES] = probe_guards_in_files,
	[RULE_GUARD_FLAG] = probe_guard_flag,
	[RULE_ADVISE_SELF] = probe_advise_self,
	[RULE_REMAP_MANY] = remap_many,
	[RULE_REMAP_CHECKS_FIRST] = remap_checks_first,
	[RULE_REMAP_GROW_MERGES] = remap_grow_merges,
	[RULE_DONTUNMAP_PART] = dontunmap_part,
	[RULE_DONTUNMAP_UNCHARGES] = dontunmap_uncharges,
	[RULE_UFFD_LOW] = probe_uffd_low,
	[RULE_UFFD_OWN_ONLY] = probe_uffd_own_only,
	[RULE_UFFD_NO_DROPPABLE] = probe_uffd_no_droppable,
	[RULE_MSEAL] = probe_mseal_exists,
	[RULE_LOCKONFAULT_SHOWN] = lockonfault_shown,
	[RULE_MAP_CUTS_FIRST] = map_cuts_first,
	[RULE_MAP_UNMAP_ERROR] = map_unmap_error,
	[RULE_REMAP_AREA_FIRST] = remap_area_first,
	[RULE_REMAP_LENGTH_FIRST] = remap_length_first,
	[RULE_REMAP_LOST_SOURCE] = remap_lost_source,
	[RULE_HUGE_HINT_UP] = huge_hint_up,
	[RULE_MAP_SEALS_FIRST] = map_seals_first,
	[RULE_SEGMENTS_MERGE] = segments_merge,
	[RULE_DONTUNMAP_ALONE] = dontunmap_alone,
	[RULE_DONTUNMAP_ROUNDS] = dontunmap_rounds,
	[RULE_POPULATE_STOPS] = probe_populate_stops,
	[RULE_KEY_BEFORE_PLACE] = probe_key_before_place,
	[RULE_FILE_ANON_OFFSET] = file_anon_offset,
	[RULE_UFFD_MOVES_ALONE] = probe_uffd_moves_alone,
	[RULE_UFFD_KEEPS_WP] = probe_uffd_keeps_wp,
	[RULE_UFFD_MERGES_UP] = probe_uffd_merges_up,
	[RULE_UFFD_NOTHING_ABOVE] = probe_uffd_nothing_above,
	[RULE_ONFAULT_READABLE] = probe_onfault_readable,
	[RULE_REMAP_AREA_LATE] = remap_area_late,
	[RULE_SPECIAL_WHOLE] = probe_special_whole,
	[RULE_POPULATE] = probe_populate,
	[RULE_DONTNEED_LOCKED] = probe_dontneed_locked,
	[RULE_COLLAPSE] = probe_collapse,
	[RULE_UFFD_MINOR] = probe_uffd_minor,
	[RULE_UFFD_WP_FILES] = probe_uffd_wp_files,
	[RULE_DONTUNMAP_FILES] = dontunmap_files,
	[RULE_ADVISE_WILLNEED] = probe_advise_willneed,
	[RULE_DONTUNMAP_CHARGES_NEXT] = dontunmap_charges_next,
	[RULE_GUARD_OWN_HOLE] = guard_own_hole,
	[RULE_PREFERRED_MANY] = probe_preferred_many,
	[RULE_NUMA_BALANCING] = probe_numa_balancing,
	[RULE_BALANCE_MANY] = probe_balance_many,
	[RULE_BALANCE_ASKED] = probe_balance_asked,
	[RULE_MAP_ABOVE4G] = map_above4g,
	[RULE_REMAP_ALIGNED_FIRST] = remap_aligned_first,
	[RULE_ADVISE_CHECKED] = probe_advise_checked,
	[RULE_ADVISE_UNSHORTENED] = probe_advise_unshortened,
	[RULE_ADVISE_EMPTY] = probe_advise_empty,
	[RULE_DONTNEED_HUGE] = dontneed_huge,
	[RULE_DONTUNMAP_UNCHECKED] = dontunmap_unchecked,
	[RULE_REMAP_HUGE] = remap_huge,
	[RULE_HOME_NODE] = probe_home_node,
	[RULE_BRK_OVER_HOLES] = brk_over_holes,
	[RULE_DONTUNMAP_KEEPS_ANON] = dontunmap_keeps_anon,
	[RULE_UNMERGEABLE_DROPS] = probe_unmergeable_drops,
	[RULE_SEAL_SPECIAL] = probe_seal_special,
	[RULE_WEIGHTED_INTERLEAVE] = probe_weighted_interleave,
	[RULE_ADVISE_PRIVILEGED] = probe_advise_privileged,
	[RULE_UFFD_TAKES_SPECIAL] = probe_uffd_takes_special,
	[RULE_REMAP_CUT_FREE] = remap_cut_free,
	[RULE_LOCK_COUNTS_WIDE] = lock_counts_wide,
	[RULE_DOFORK_NOT_SPECIAL] = probe_dofork_not_special,
};

static void run_probes(volatile unsigned char *answers)
{
	struct place place;

	if (!place_find(&place))
		return;
	for (unsigned int i = 0; i < RULE_COUNT; i++) {
		if (!probes[i])
			continue;
		answers[i] = (unsigned char)probes[i](&place);
		if (munmap(place.start, PLACE_PAGES * place.page))
			return;
	}
}

void kernel_probe(enum probe_answer answers[RULE_COUNT])
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *shared = mmap(NULL, size, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	memset(answers, 0, RULE_COUNT * sizeof(*answers));
	if (shared == MAP_FAILED)
		return;
	probe_child_run(run_probes, shared);
	for (unsigned int i = 0; i < RULE_COUNT; i++)
		answers[i] = (enum probe_answer)shared[i];
	munmap(shared, size);
}
