/* SPDX-License-Identifier: MIT */
/*
 * kernel_probe.c - probes: a few system calls for each rule, that show whether the kernel follows
 * it.
 *
 * They run in a child process that has a copy of the address space, so that nothing here changes.
 * It is a copy of one thread of perhaps many, so it may use neither malloc() nor stdio.
 */
#include "kernel_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>

#include "probe_child.h"
#include "probe_place.h"

#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL */

#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
static char *at(const struct place *p, unsigned long n)
{
	return p->start + n * p->page;
}

static char *map(const struct place *p, unsigned long n, unsigned long pages, int prot, int flags)
{
	char *addr = mmap(at(p, n), pages * p->page, prot, flags | MAP_FIXED, -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

static void touch(const struct place *p, unsigned long n)
{
	*(volatile char *)at(p, n) = 1;
}

/* Move `pages` pages from page `from` to page `to`. */
static bool move(const struct place *p, unsigned long from, unsigned long pages,
		 unsigned long new_pages, unsigned long to, int flags)
{
	return mremap(at(p, from), pages * p->page, new_pages * p->page,
		      MREMAP_MAYMOVE | MREMAP_FIXED | flags, at(p, to)) == at(p, to);
}

static enum probe_answer answer(bool yes)
{
	return yes ? PROBE_YES : PROBE_NO;
}

/*
 * Whether a call was done is an answer only if it was refused with the error that says so. Else
 * something else has refused it: seccomp, a limit, want of memory.
 */
static enum probe_answer takes(bool done, int refusal)
{
	return done ? PROBE_YES : errno == refusal ? PROBE_NO : PROBE_UNKNOWN;
}

/* The same of a call that is refused in any case, with one error or another. */
static enum probe_answer said(int yes, int no)
{
	return errno == yes ? PROBE_YES : errno == no ? PROBE_NO : PROBE_UNKNOWN;
}

/* The same of rules by which it is refused. */
static enum probe_answer refuses(bool done, int refusal)
{
	return done ? PROBE_NO : errno == refusal ? PROBE_YES : PROBE_UNKNOWN;
}

static enum probe_answer count_is(const struct place *p, unsigned int areas)
{
	struct seen seen;

	return place_see(p, &seen) ? answer(seen.areas == areas) : PROBE_UNKNOWN;
}

static enum probe_answer has_flag(const struct place *p, const char *flag)
{
	char flags[LINE_BYTES];

	return place_see_flags(p, flags) ? answer(strstr(flags, flag)) : PROBE_UNKNOWN;
}

/*
 * Is memory that is mapped not locked, and so not filled at once? To be asked before more is mapped
 * than there is.
 */
static bool maps_unlocked(const struct place *p)
{
	return map(p, 0, 1, RW, ANON) && has_flag(p, " lo ") == PROBE_NO;
}

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

/* ---- advice, seals -------------------------------------------------------------------------- */

static enum probe_answer guards(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON))
		return PROBE_UNKNOWN;
	return takes(!madvise(at(p, 0), p->page, GUARD_INSTALL), EINVAL);
}

/* A file of two pages, or -1. */
static int new_file(const struct place *p)
{
	int fd = memfd_create("probe", MFD_CLOEXEC);

	return fd < 0 || ftruncate(fd, 2 * (off_t)p->page) ? -1 : fd;
}

/* Map page `first` of the file, privately. */
static bool map_file(const struct place *p, unsigned long n, int fd, unsigned long first)
{
	return mmap(at(p, n), p->page, RW, MAP_PRIVATE | MAP_FIXED, fd,
		    (off_t)(first * p->page)) == at(p, n);
}

static enum probe_answer guards_in_files(const struct place *p)
{
	if (!map_file(p, 0, new_file(p), 0))
		return PROBE_UNKNOWN;
	return takes(!madvise(at(p, 0), p->page, GUARD_INSTALL), EINVAL);
}

/* Find the kernel's own [vdso], a special area, which cannot be cut, and how long it is. */
static char *find_vdso(const struct place *p, unsigned long *size)
{
	char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);
	struct seen seen;

	if (!vdso || !place_see(&(struct place){ vdso, p->page }, &seen) ||
	    !strstr(seen.line, "[vdso]"))
		return NULL;
	*size = strtoul(strchr(seen.line, '-') + 1, NULL, 16) - (unsigned long)vdso;
	return vdso;
}

static enum probe_answer dofork_not_special(const struct place *p)
{
	unsigned long size;
	char *vdso = find_vdso(p, &size);

	return vdso ? refuses(!madvise(vdso, size, MADV_DOFORK), EINVAL) : PROBE_UNKNOWN;
}

static enum probe_answer guard_flag(const struct place *p)
{
	enum probe_answer exist = guards(p);

	return exist == PROBE_YES ? has_flag(p, " gu ") : exist;
}

/* The first area lies behind a hole, and may not be populated: is it looked at? */
static enum probe_answer populate_stops(const struct place *p)
{
	if (!map(p, 1, 1, PROT_NONE, ANON) ||
	    !madvise(at(p, 0), 2 * p->page, MADV_POPULATE_READ))
		return PROBE_UNKNOWN;
	if (errno == ENOMEM)
		return PROBE_YES;
	/* Linux 5.10 has no such advice. */
	return map(p, 0, 1, PROT_READ, ANON) && !madvise(at(p, 0), p->page, MADV_POPULATE_READ) ?
		       PROBE_NO : PROBE_UNKNOWN;
}

static enum probe_answer advise_self(const struct place *p)
{
	struct iovec range = { at(p, 0), p->page };
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	long done;

	if (fd < 0 || !map(p, 0, 1, RW, ANON))
		return PROBE_UNKNOWN;
	done = syscall(SYS_process_madvise, fd, &range, 1UL, (long)MADV_DONTDUMP, 0UL);
	close(fd);
	return takes(done == (long)p->page, EINVAL);
}

static enum probe_answer mseal_exists(const struct place *p)
{
	(void)p;
	return takes(!syscall(SYS_mseal, 0L, 0L, 0L), ENOSYS);
}

/*
 * A mapping is refused because its place is not one; who allocated the first key? Without a key
 * that is free nothing can be said.
 */
static enum probe_answer key_before_place(const struct place *p)
{
	long key = syscall(SYS_pkey_alloc, 0L, 0L);

	if (key < 0 || syscall(SYS_pkey_free, key))
		return PROBE_UNKNOWN;
	if (mmap(p->start, ~0UL - 2 * p->page, PROT_EXEC, ANON, -1, 0) != MAP_FAILED ||
	    errno != ENOMEM)
		return PROBE_UNKNOWN;
	return answer(syscall(SYS_pkey_alloc, 0L, 0L) != key);
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
	if (mmap(start, p->page, RW, ANON | MAP_FIXED, -1, 0) != start)
		return PROBE_UNKNOWN;
	return takes(mremap(start, size, p->page, MREMAP_MAYMOVE | MREMAP_FIXED, at(p, 0)) ==
			     at(p, 0),
		     ENOMEM);
}

static enum probe_answer remap_area_first(const struct place *p)
{
	/* Nothing is moved to the middle of a page. */
	if (mremap(at(p, 0), p->page, p->page, MREMAP_MAYMOVE | MREMAP_FIXED, at(p, 8) + 1) !=
	    MAP_FAILED)
		return PROBE_UNKNOWN;
	return said(EFAULT, EINVAL);
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

/* ---- userfaultfd ---------------------------------------------------------------------------- */

/* A userfaultfd, or -1: this process may have none, or not with such features. */
static int new_uffd_with(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0) /* Linux 5.10 does not know the flag */
		fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	return fd < 0 || ioctl(fd, UFFDIO_API, &api) ? -1 : fd;
}

static int new_uffd(void)
{
	return new_uffd_with(0);
}

static bool uffd_register_with(int fd, const char *start, const char *end, uint64_t mode)
{
	struct uffdio_register asked = {
		.range = { (unsigned long)start, (unsigned long)end - (unsigned long)start },
		.mode = mode,
	};

	return !ioctl(fd, UFFDIO_REGISTER, &asked);
}

static bool uffd_register(int fd, const char *start, const char *end)
{
	return uffd_register_with(fd, start, end, UFFDIO_REGISTER_MODE_MISSING);
}

static enum probe_answer uffd_low(const struct place *p)
{
	const struct place low = { (char *)65536, p->page };
	int fd = new_uffd();

	if (fd < 0 || mmap(at(&low, 0), p->page, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) !=
			      at(&low, 0) ||
	    !uffd_register(fd, at(&low, 0), at(&low, 1)))
		return PROBE_UNKNOWN;
	return takes(uffd_register(fd, NULL, at(&low, 1)), EINVAL);
}

static enum probe_answer uffd_own_only(const struct place *p)
{
	struct uffdio_range range = { (unsigned long)at(p, 0), p->page };
	int one = new_uffd(), two = new_uffd();

	if (one < 0 || two < 0 || !map(p, 0, 1, RW, ANON) ||
	    !uffd_register(one, at(p, 0), at(p, 1)))
		return PROBE_UNKNOWN;
	return refuses(!ioctl(two, UFFDIO_UNREGISTER, &range), EINVAL);
}

static enum probe_answer uffd_no_droppable(const struct place *p)
{
	int fd = new_uffd();

	if (fd < 0 || !map(p, 0, 1, RW, MAP_ANONYMOUS | MAP_DROPPABLE))
		return PROBE_UNKNOWN;
	return refuses(uffd_register(fd, at(p, 0), at(p, 1)), EINVAL);
}

static enum probe_answer uffd_moves_alone(const struct place *p)
{
	int fd = new_uffd();

	if (fd < 0 || !map(p, 0, 1, RW, ANON) || !map(p, 8, 1, RW, ANON) ||
	    !uffd_register(fd, at(p, 0), at(p, 9)) || !move(p, 0, 1, 1, 9, 0))
		return PROBE_UNKNOWN;
	return count_is(p, 2);
}

static enum probe_answer uffd_keeps_wp(const struct place *p)
{
	int fd = new_uffd();

	if (fd < 0 || !map(p, 0, 1, RW, ANON) ||
	    !uffd_register_with(fd, at(p, 0), at(p, 1),
				UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP))
		return PROBE_UNKNOWN;
	return refuses(uffd_register(fd, at(p, 0), at(p, 1)), EBUSY);
}

static enum probe_answer uffd_takes_special(const struct place *p)
{
	int fd = new_uffd_with(UFFD_FEATURE_WP_ASYNC);
	unsigned long size;
	char *vdso = find_vdso(p, &size);

	if (!vdso || fd < 0)
		return PROBE_UNKNOWN;
	return takes(uffd_register_with(fd, vdso, vdso + size, UFFDIO_REGISTER_MODE_WP), EINVAL);
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
	[RULE_GUARDS] = guards,
	[RULE_GUARDS_IN_FILES] = guards_in_files,
	[RULE_GUARD_FLAG] = guard_flag,
	[RULE_ADVISE_SELF] = advise_self,
	[RULE_REMAP_MANY] = remap_many,
	[RULE_REMAP_CHECKS_FIRST] = remap_checks_first,
	[RULE_REMAP_GROW_MERGES] = remap_grow_merges,
	[RULE_DONTUNMAP_PART] = dontunmap_part,
	[RULE_DONTUNMAP_UNCHARGES] = dontunmap_uncharges,
	[RULE_UFFD_LOW] = uffd_low,
	[RULE_UFFD_OWN_ONLY] = uffd_own_only,
	[RULE_UFFD_NO_DROPPABLE] = uffd_no_droppable,
	[RULE_MSEAL] = mseal_exists,
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
	[RULE_POPULATE_STOPS] = populate_stops,
	[RULE_KEY_BEFORE_PLACE] = key_before_place,
	[RULE_FILE_ANON_OFFSET] = file_anon_offset,
	[RULE_UFFD_MOVES_ALONE] = uffd_moves_alone,
	[RULE_UFFD_KEEPS_WP] = uffd_keeps_wp,
	[RULE_UFFD_TAKES_SPECIAL] = uffd_takes_special,
	[RULE_REMAP_CUT_FREE] = remap_cut_free,
	[RULE_LOCK_COUNTS_WIDE] = lock_counts_wide,
	[RULE_DOFORK_NOT_SPECIAL] = dofork_not_special,
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
