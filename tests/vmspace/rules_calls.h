/* SPDX-License-Identifier: MIT */
/* rules_calls.h - what the cases of rules_cases.h are made of, and those of userfaultfd. */
#ifndef RULES_CALLS_H
#define RULES_CALLS_H

#include <string.h>
#include <sys/mman.h>

#include "rules_cases.h"

#define PAGE 4096UL
#define AT(page) (0x10000000000UL + (page) * PAGE)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define FIXED (ANON | MAP_FIXED)
#define DROPPABLE 8 /* MAP_DROPPABLE */
#define STAYS 4     /* MREMAP_DONTUNMAP */
#define DONTNEED_LOCKED 24 /* MADV_DONTNEED_LOCKED */
#define COLLAPSE 25 /* MADV_COLLAPSE */
#define ABOVE4G 0x80 /* MAP_ABOVE4G */
#define GUARD 102   /* MADV_GUARD_INSTALL */
#define PREFERRED_MANY 5 /* MPOL_PREFERRED_MANY */
#define WEIGHTED_INTERLEAVE 6 /* MPOL_WEIGHTED_INTERLEAVE */
#define MANY_BALANCING (5 | 1 << 13) /* MPOL_PREFERRED_MANY, MPOL_F_NUMA_BALANCING */
#define BIND_BALANCING (2 | 1 << 13) /* MPOL_BIND, MPOL_F_NUMA_BALANCING */
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif

/* What the case acts on, which runs. */
extern struct rules_world *w;

static inline long call(enum vmspace_op op, struct vmspace_request req)
{
	req.op = op;
	return w->call(&req);
}

#define CALL(op, member, ...) call(op, (struct vmspace_request){ .member = { __VA_ARGS__ } })

static inline long map(unsigned long addr, unsigned long pages, int prot, int flags)
{
	return CALL(VMSPACE_MMAP, mmap, .addr = addr, .length = pages * PAGE, .prot = prot,
		    .flags = flags);
}

static inline long protect(unsigned long addr, unsigned long pages, int prot)
{
	return CALL(VMSPACE_MPROTECT, mprotect, addr, pages * PAGE, prot, -1);
}

static inline long remap(unsigned long addr, unsigned long pages, unsigned long new_pages,
			 int flags, unsigned long to)
{
	return CALL(VMSPACE_MREMAP, mremap, addr, pages * PAGE, new_pages * PAGE, flags, to);
}

static inline long move(unsigned long addr, unsigned long pages, unsigned long to)
{
	return remap(addr, pages, pages, MREMAP_MAYMOVE | MREMAP_FIXED, to);
}

static inline long advise(unsigned long addr, unsigned long pages, int advice)
{
	return CALL(VMSPACE_MADVISE, madvise, addr, pages * PAGE, advice);
}

static inline long lock(unsigned long addr, unsigned long pages)
{
	return CALL(VMSPACE_MLOCK, mlock, addr, pages * PAGE, 0, false);
}

static inline void unmap(unsigned long addr, unsigned long pages)
{
	CALL(VMSPACE_MUNMAP, munmap, addr, pages * PAGE);
}

/* From the memory's page `first` on. */
static inline void map_memory(unsigned long addr, unsigned long first, int flags)
{
	CALL(VMSPACE_MMAP, mmap, .addr = addr, .length = 4 * PAGE, .prot = RW,
	     .flags = flags | MAP_FIXED, .offset = first * PAGE, .backing = w->memory);
}

static inline void touch(unsigned long addr)
{
	CALL(VMSPACE_FAULT, fault, addr, VMSPACE_ACCESS_WRITE);
}

static inline long areas(unsigned long from, unsigned long to)
{
	struct vma_info info;
	long n = 0;

	for (; vmspace_next(w->space, from, &info) && info.start < to; from = info.end)
		n++;
	return n;
}

static inline bool has(unsigned long addr, vma_flags_t flag)
{
	struct vma_info info;

	return vmspace_lookup(w->space, addr, &info) && info.flags & flag;
}

/* rules_uffd_cases.c */
long userfaultfd_from_zero(void);
long userfaultfds_unregister_their_own(void);
long droppable_memory_and_userfaultfd(void);
long the_upper_part_of_an_area_is_registered(void);
long userfaultfd_above_all_areas(void);
long minor_faults_of_shared_memory(void);
long write_protected_shared_memory(void);
long a_registered_area_moves(void);
long write_protection_is_not_taken_away(void);
long the_kernels_own_pages_are_cut(void);
long a_sealed_vdso_is_discarded(void);
long the_kernels_own_pages_and_userfaultfd(void);

#endif
