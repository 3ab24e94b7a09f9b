/* SPDX-License-Identifier: MIT */
/* probe_advice.c - probes of advice, locking, seals, memory policies and protection keys. */
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "probe.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL */

enum probe_answer probe_guards(const struct place *p)
{
	if (!map(p, 0, 1, RW, ANON))
		return PROBE_UNKNOWN;
	return takes(!madvise(at(p, 0), p->page, GUARD_INSTALL), EINVAL);
}

enum probe_answer probe_guards_in_files(const struct place *p)
{
	if (!map_file(p, 0, new_file(p), 0))
		return PROBE_UNKNOWN;
	return takes(!madvise(at(p, 0), p->page, GUARD_INSTALL), EINVAL);
}

enum probe_answer probe_dofork_not_special(const struct place *p)
{
	unsigned long size;
	char *vdso = find_vdso(p, &size);

	return vdso ? refuses(!madvise(vdso, size, MADV_DOFORK), EINVAL) : PROBE_UNKNOWN;
}

enum probe_answer probe_special_whole(const struct place *p)
{
	unsigned long size;
	char *vdso = find_vdso(p, &size);

	if (!vdso || size == p->page)
		return PROBE_UNKNOWN;
	return refuses(!madvise(vdso, p->page, MADV_DONTFORK), EINVAL);
}

/* One page at a time is locked: the limit may allow no more, and refuses with ENOMEM as well. */
enum probe_answer probe_onfault_readable(const struct place *p)
{
	if (!map(p, 0, 1, PROT_READ, ANON) || !map(p, 1, 1, PROT_NONE, ANON) ||
	    mlock2(at(p, 0), p->page, MLOCK_ONFAULT) || munlock(at(p, 0), p->page))
		return PROBE_UNKNOWN;
	return refuses(!mlock2(at(p, 1), p->page, MLOCK_ONFAULT), ENOMEM);
}

enum probe_answer probe_guard_flag(const struct place *p)
{
	enum probe_answer exist = probe_guards(p);

	return exist == PROBE_YES ? has_flag(p, " gu ") : exist;
}

/* The first area lies behind a hole, and may not be populated: is it looked at? */
enum probe_answer probe_populate_stops(const struct place *p)
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

/* Does such advice exist? Nothing is told of no pages. */
static enum probe_answer advice_exists(const struct place *p, int advice)
{
	return takes(!madvise(p->start, 0, advice), EINVAL);
}

enum probe_answer probe_populate(const struct place *p)
{
	return advice_exists(p, MADV_POPULATE_READ);
}

enum probe_answer probe_dontneed_locked(const struct place *p)
{
	return advice_exists(p, 24); /* MADV_DONTNEED_LOCKED */
}

/* Without huge pages there is no such advice in any version. */
enum probe_answer probe_collapse(const struct place *p)
{
	return advice_exists(p, MADV_HUGEPAGE) == PROBE_YES ?
		       advice_exists(p, 25) /* MADV_COLLAPSE */ : PROBE_UNKNOWN;
}

static enum probe_answer process_advise(const struct place *p, int advice)
{
	struct iovec range = { at(p, 0), p->page };
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	long done;

	if (fd < 0 || !map(p, 0, 1, RW, ANON))
		return PROBE_UNKNOWN;
	done = syscall(SYS_process_madvise, fd, &range, 1UL, (long)advice, 0UL);
	close(fd);
	return takes(done == (long)p->page, EINVAL);
}

enum probe_answer probe_advise_self(const struct place *p)
{
	return process_advise(p, MADV_DONTDUMP);
}

enum probe_answer probe_advise_checked(const struct place *p)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	enum probe_answer result;

	(void)p;
	if (fd < 0)
		return PROBE_UNKNOWN;
	result = refuses(!syscall(SYS_process_madvise, fd, NULL, 0UL, -1L, 0UL), EINVAL);
	close(fd);
	return result;
}

/* Is an empty range in the middle of a page passed by? */
enum probe_answer probe_advise_empty(const struct place *p)
{
	struct iovec ranges[] = { { at(p, 0), p->page }, { at(p, 0) + 1, 0 },
				  { at(p, 1), p->page } };
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	long done;

	if (fd < 0 || !map(p, 0, 2, RW, ANON))
		return PROBE_UNKNOWN;
	done = syscall(SYS_process_madvise, fd, ranges, 3UL, (long)MADV_COLD, 0UL);
	close(fd);
	return done > 0 ? answer(done == (long)p->page) : PROBE_UNKNOWN;
}

/* Advice that does not exist, for a range that has to be shortened to fit. */
enum probe_answer probe_advise_unshortened(const struct place *p)
{
	struct iovec range = { NULL, LONG_MAX };
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	long done;

	(void)p;
	if (fd < 0)
		return PROBE_UNKNOWN;
	done = syscall(SYS_process_madvise, fd, &range, 1UL, -1L, 0UL);
	close(fd);
	return done < 0 ? said(EFAULT, EINVAL) : PROBE_UNKNOWN;
}

enum probe_answer probe_advise_willneed(const struct place *p)
{
	return process_advise(p, MADV_WILLNEED);
}

/*
 * Without CAP_SYS_NICE, which the child of the probes may lose for the moment, and gets back. If
 * somebody else refuses the call, he refuses advice that does not exist, too.
 */
enum probe_answer probe_advise_privileged(const struct place *p)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct own[_LINUX_CAPABILITY_U32S_3], less[_LINUX_CAPABILITY_U32S_3];
	struct iovec range = { at(p, 0), p->page };
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	enum probe_answer result = PROBE_UNKNOWN;

	if (fd < 0 || !map(p, 0, 1, RW, ANON) || syscall(SYS_capget, &header, own) ||
	    syscall(SYS_process_madvise, fd, &range, 1UL, -1L, 0UL) != -1 || errno != EINVAL)
		return PROBE_UNKNOWN;
	memcpy(less, own, sizeof(less));
	less[CAP_TO_INDEX(CAP_SYS_NICE)].effective &= ~CAP_TO_MASK(CAP_SYS_NICE);
	if (!syscall(SYS_capset, &header, less)) {
		long done = syscall(SYS_process_madvise, fd, &range, 1UL, (long)MADV_COLD, 0UL);

		result = refuses(done == (long)p->page, EPERM);
		syscall(SYS_capset, &header, own);
	}
	close(fd);
	return result;
}

/* Does mbind() take a mode? */
static enum probe_answer binds(const struct place *p, unsigned long mode)
{
	const unsigned long node = 1;

	if (!map(p, 0, 1, RW, ANON))
		return PROBE_UNKNOWN;
	return takes(!syscall(SYS_mbind, at(p, 0), p->page, mode, &node, 65UL, 0UL), EINVAL);
}

enum probe_answer probe_weighted_interleave(const struct place *p)
{
	return binds(p, 6); /* MPOL_WEIGHTED_INTERLEAVE */
}

enum probe_answer probe_preferred_many(const struct place *p)
{
	return binds(p, 5); /* MPOL_PREFERRED_MANY */
}

enum probe_answer probe_numa_balancing(const struct place *p)
{
	return binds(p, 2 | 1 << 13); /* MPOL_BIND, MPOL_F_NUMA_BALANCING */
}

enum probe_answer probe_balance_many(const struct place *p)
{
	return binds(p, 5 | 1 << 13); /* MPOL_PREFERRED_MANY, MPOL_F_NUMA_BALANCING */
}

/* One node of which there is none among those asked for. */
enum probe_answer probe_balance_asked(const struct place *p)
{
	const unsigned long mode = 2 | 1 << 13; /* MPOL_BIND, MPOL_F_NUMA_BALANCING */
	const unsigned long nodes = 1 | 1UL << 63, node = 1;

	if (!map(p, 0, 2, RW, ANON) ||
	    syscall(SYS_mbind, at(p, 0), 2 * p->page, mode, &nodes, 65UL, 0UL) ||
	    syscall(SYS_mbind, at(p, 1), p->page, mode, &node, 65UL, 0UL))
		return PROBE_UNKNOWN;
	return count_is(p, 2);
}

/* An area without a policy has no use for a home: ENOENT. */
enum probe_answer probe_home_node(const struct place *p)
{
	if (binds(p, 1) != PROBE_YES || !map(p, 0, 1, RW, ANON) || /* MPOL_PREFERRED */
	    !syscall(SYS_set_mempolicy_home_node, at(p, 0), p->page, 0UL, 0UL))
		return PROBE_UNKNOWN;
	return errno == ENOENT ? PROBE_YES : errno == ENOSYS ? PROBE_NO : PROBE_UNKNOWN;
}

enum probe_answer probe_mseal_exists(const struct place *p)
{
	(void)p;
	return takes(!syscall(SYS_mseal, 0L, 0L, 0L), ENOSYS);
}

/* The page lies elsewhere: if it stays sealed, it cannot be unmapped. */
enum probe_answer probe_unmergeable_drops(const struct place *p)
{
	char *addr = mmap(NULL, p->page, RW, ANON, -1, 0);

	if (addr == MAP_FAILED || madvise(addr, p->page, MADV_MERGEABLE) ||
	    syscall(SYS_mseal, addr, p->page, 0L) || madvise(addr, p->page, MADV_UNMERGEABLE))
		return PROBE_UNKNOWN;
	return takes(!munmap(addr, p->page), EPERM);
}

/* Leaves [vdso] sealed, which no probe after this one minds. */
enum probe_answer probe_seal_special(const struct place *p)
{
	unsigned long size;
	char *vdso = find_vdso(p, &size);

	if (!vdso || syscall(SYS_mseal, vdso, size, 0L) || madvise(vdso, size, -1) != -1 ||
	    errno != EINVAL || !madvise(vdso, size, MADV_REMOVE))
		return PROBE_UNKNOWN;
	return errno == EPERM ? PROBE_YES : errno == EINVAL ? PROBE_NO : PROBE_UNKNOWN;
}

/*
 * A mapping is refused because its place is not one; who allocated the first key? Without a key
 * that is free nothing can be said.
 */
enum probe_answer probe_key_before_place(const struct place *p)
{
	long key = syscall(SYS_pkey_alloc, 0L, 0L);

	if (key < 0 || syscall(SYS_pkey_free, key))
		return PROBE_UNKNOWN;
	if (mmap(p->start, ~0UL - 2 * p->page, PROT_EXEC, ANON, -1, 0) != MAP_FAILED ||
	    errno != ENOMEM)
		return PROBE_UNKNOWN;
	return answer(syscall(SYS_pkey_alloc, 0L, 0L) != key);
}
