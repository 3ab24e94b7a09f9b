/* SPDX-License-Identifier: MIT */
/*
 * probe.h - what probes are made of, and those that are in files of their own.
 *
 * They run in a child process that has a copy of the address space, so that nothing here changes.
 * It is a copy of one thread of perhaps many, so they may use neither malloc() nor stdio.
 */
#ifndef VMSPACE_PROBE_H
#define VMSPACE_PROBE_H

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "mman_names.h"
#include "probe_answer.h"
#include "probe_place.h"

#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

/* Page n of the place. */
static inline char *at(const struct place *p, unsigned long n)
{
	return p->start + n * p->page;
}

static inline char *map(const struct place *p, unsigned long n, unsigned long pages, int prot,
			int flags)
{
	char *addr = mmap(at(p, n), pages * p->page, prot, flags | MAP_FIXED, -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

static inline void touch(const struct place *p, unsigned long n)
{
	*(volatile char *)at(p, n) = 1;
}

/* Move `pages` pages from page `from` to page `to`. */
static inline bool move(const struct place *p, unsigned long from, unsigned long pages,
		 unsigned long new_pages, unsigned long to, int flags)
{
	return mremap(at(p, from), pages * p->page, new_pages * p->page,
		      MREMAP_MAYMOVE | MREMAP_FIXED | flags, at(p, to)) == at(p, to);
}

static inline enum probe_answer count_is(const struct place *p, unsigned int areas)
{
	struct seen seen;

	return place_see(p, &seen) ? answer(seen.areas == areas) : PROBE_UNKNOWN;
}

static inline enum probe_answer has_flag(const struct place *p, const char *flag)
{
	char flags[LINE_BYTES];

	return place_see_flags(p, flags) ? answer(strstr(flags, flag)) : PROBE_UNKNOWN;
}

/*
 * Is memory that is mapped not locked, and so not filled at once? To be asked before more is mapped
 * than there is.
 */
static inline bool maps_unlocked(const struct place *p)
{
	return map(p, 0, 1, RW, ANON) && has_flag(p, " lo ") == PROBE_NO;
}

/* A file of two pages, or -1. */
static inline int new_file(const struct place *p)
{
	int fd = memfd_create("probe", MFD_CLOEXEC);

	return fd < 0 || ftruncate(fd, 2 * (off_t)p->page) ? -1 : fd;
}

/* Map page `first` of the file, privately. */
static inline bool map_file(const struct place *p, unsigned long n, int fd, unsigned long first)
{
	return mmap(at(p, n), p->page, RW, MAP_PRIVATE | MAP_FIXED, fd,
		    (off_t)(first * p->page)) == at(p, n);
}

/* Find the kernel's own [vdso], a special area, which cannot be cut, and how long it is. */
static inline char *find_vdso(const struct place *p, unsigned long *size)
{
	char *vdso = (char *)getauxval(AT_SYSINFO_EHDR);
	struct seen seen;

	if (!vdso || !place_see(&(struct place){ vdso, p->page }, &seen) ||
	    !strstr(seen.line, "[vdso]"))
		return NULL;
	*size = strtoul(strchr(seen.line, '-') + 1, NULL, 16) - (unsigned long)vdso;
	return vdso;
}

/* probe_advice.c */
enum probe_answer probe_guards(const struct place *p);
enum probe_answer probe_guards_in_files(const struct place *p);
enum probe_answer probe_dofork_not_special(const struct place *p);
enum probe_answer probe_special_whole(const struct place *p);
enum probe_answer probe_onfault_readable(const struct place *p);
enum probe_answer probe_guard_flag(const struct place *p);
enum probe_answer probe_populate_stops(const struct place *p);
enum probe_answer probe_populate(const struct place *p);
enum probe_answer probe_dontneed_locked(const struct place *p);
enum probe_answer probe_collapse(const struct place *p);
enum probe_answer probe_advise_self(const struct place *p);
enum probe_answer probe_advise_willneed(const struct place *p);
enum probe_answer probe_advise_privileged(const struct place *p);
enum probe_answer probe_weighted_interleave(const struct place *p);
enum probe_answer probe_preferred_many(const struct place *p);
enum probe_answer probe_numa_balancing(const struct place *p);
enum probe_answer probe_balance_many(const struct place *p);
enum probe_answer probe_balance_asked(const struct place *p);
enum probe_answer probe_advise_checked(const struct place *p);
enum probe_answer probe_advise_unshortened(const struct place *p);
enum probe_answer probe_advise_empty(const struct place *p);
enum probe_answer probe_home_node(const struct place *p);
enum probe_answer probe_mseal_exists(const struct place *p);
enum probe_answer probe_unmergeable_drops(const struct place *p);
enum probe_answer probe_seal_special(const struct place *p);
enum probe_answer probe_key_before_place(const struct place *p);

/* probe_uffd.c */
enum probe_answer probe_uffd_low(const struct place *p);
enum probe_answer probe_uffd_own_only(const struct place *p);
enum probe_answer probe_uffd_no_droppable(const struct place *p);
enum probe_answer probe_uffd_moves_alone(const struct place *p);
enum probe_answer probe_uffd_merges_up(const struct place *p);
enum probe_answer probe_uffd_nothing_above(const struct place *p);
enum probe_answer probe_uffd_keeps_wp(const struct place *p);
enum probe_answer probe_uffd_minor(const struct place *p);
enum probe_answer probe_uffd_wp_files(const struct place *p);
enum probe_answer probe_uffd_takes_special(const struct place *p);

#endif
