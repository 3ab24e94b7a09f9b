/* SPDX-License-Identifier: MIT */
/*
 * ops.h - one function per request, which does what the system call does to the areas.
 *
 * Each checks its arguments in Linux's order, changes the areas through edit.h, and returns what
 * the system call returns. request.c calls them, with space->out set.
 */
#ifndef VMSPACE_OPS_H
#define VMSPACE_OPS_H

#include "find.h"

long map_call(struct vmspace *space, struct vmspace_request *req);
void map_gather(struct vmspace *space, const struct vmspace_mmap *args);
/* Where the mapping would be placed, and its length in bytes; or -errno. */
long map_where(struct vmspace *space, const struct vmspace_mmap *args, unsigned long *length);
long unmap_call(struct vmspace *space, struct vmspace_request *req);
long protect_call(struct vmspace *space, struct vmspace_request *req);
long remap_call(struct vmspace *space, struct vmspace_request *req);
/* Can a kernel have left the area at `at`? It is at req->mremap.addr now. */
bool remap_may_be_at(const struct vmspace *space, const struct vmspace_mremap *m,
		     unsigned long at);
void remap_gather(struct vmspace *space, const struct vmspace_mremap *args);
long brk_call(struct vmspace *space, struct vmspace_request *req);
long advise_call(struct vmspace *space, struct vmspace_request *req);
long lock_call(struct vmspace *space, struct vmspace_request *req);
long unlock_call(struct vmspace *space, struct vmspace_request *req);
long lock_all_call(struct vmspace *space, struct vmspace_request *req);
long unlock_all_call(struct vmspace *space, struct vmspace_request *req);
long name_call(struct vmspace *space, struct vmspace_request *req);
long shm_attach_call(struct vmspace *space, struct vmspace_request *req);
long shm_detach_call(struct vmspace *space, struct vmspace_request *req);
long remap_pages_call(struct vmspace *space, struct vmspace_request *req);
long seal_call(struct vmspace *space, struct vmspace_request *req);
long sync_call(struct vmspace *space, struct vmspace_request *req);
long incore_call(struct vmspace *space, struct vmspace_request *req);
long bind_call(struct vmspace *space, struct vmspace_request *req);
long home_node_call(struct vmspace *space, struct vmspace_request *req);
long process_advise_call(struct vmspace *space, struct vmspace_request *req);
long uffd_register_call(struct vmspace *space, struct vmspace_request *req);
long uffd_unregister_call(struct vmspace *space, struct vmspace_request *req);
long uffd_release_call(struct vmspace *space, struct vmspace_request *req);
long pkey_alloc_call(struct vmspace *space, struct vmspace_request *req);
long pkey_free_call(struct vmspace *space, struct vmspace_request *req);
long fork_call(struct vmspace *space, struct vmspace_request *req);

/* The first of the areas that vmspace_exec() refuses, and *why in words; `count`: none. */
size_t exec_first_bad(const struct vmspace *space, const struct vmspace_area *areas, size_t count,
		      const char **why);

/* ---- shared between the calls ---- */

/* PROT_* as area flags. */
vma_flags_t protect_flags(const struct vmspace *space, int prot);
/* Do the VMA_MAY* flags allow the access flags? */
bool protect_allowed(vma_flags_t flags);
/* Does a private mapping with these flags count as committed memory? */
bool map_accountable(vma_flags_t flags);
/*
 * A file_id for a mapping that is a file of its own. Where pages are kept it is unique among all
 * spaces: after a fork, memory that parent and child map anew is not shared.
 */
uint64_t map_new_file_id(struct vmspace *space);
/* Is any area in [start, end) sealed? */
bool seal_covers(const struct vmspace *space, unsigned long start, unsigned long end);
/*
 * munmap() with its checks, for calls that unmap something as one of their steps. unmap_areas()
 * does not check the arguments: start < end, both page aligned and inside the address space.
 */
long unmap_areas(struct vmspace *space, unsigned long start, unsigned long end);
long unmap_range(struct vmspace *space, unsigned long start, unsigned long length);
/* What unmap_areas() would answer, as far as it depends on the areas. Changes nothing. */
long unmap_check(struct vmspace *space, unsigned long start, unsigned long end);
/*
 * What Linux does before it checks whether there is room for a mapping in the place of what is at
 * [start, end): as unmap_areas(), but cut only, at both ends. Makes two stores and two areas.
 */
long unmap_cut(struct vmspace *space, unsigned long start, unsigned long end);
/*
 * The number of mapped pages in [start, end). *committed: those of areas with VMA_ACCOUNT. *areas:
 * the number of areas they belong to.
 */
unsigned long unmap_count(const struct vmspace *space, unsigned long start, unsigned long end,
			  unsigned long *committed, unsigned long *areas);
/* Populate [start, end) as mlock and MAP_POPULATE do. 0, or -ENOMEM at a hole. */
long lock_populate(struct vmspace *space, unsigned long start, unsigned long end);
/*
 * Before a call changes anything: reserve what lock_populate() of [start, end) in vma is going to
 * need once the area has the flags `flags`. Other parameters and results as touch_reserve().
 */
long lock_reserve(struct vmspace *space, struct vma *vma, vma_flags_t flags, unsigned long start,
		  unsigned long end, unsigned long delta, bool fresh);
/*
 * After a move to `at`: the area there loses its userfaultfd registration, unless the userfaultfd
 * asked for remap events. As in Linux, all of the area loses it, what it merged with included.
 */
long uffd_moved(struct vmspace *space, unsigned long at); /* 0 or -ENOMEM */
/* A mapping whose place has been decided. */
struct map_plan {
	unsigned long at, length;
	vma_flags_t flags;
	unsigned int pkey;
	uint64_t pgoff;
	struct backing *backing;     /* borrowed; NULL: anonymous */
	struct hole hole;            /* the place and its neighbours, if known; see find.h */
	bool populate;
	bool new_shared;             /* creates a shared memory object, which is committed */
	long refusal;                /* what the file answers once room was made; 0: it agrees */
	bool no_merge;               /* do not merge it with neighbours */
	uint64_t word;               /* the user's */
};

/* Can a kernel have placed the mapping at `at`? Huge pages are whole ones. */
bool map_may_be_at(const struct vmspace *space, const struct vmspace_mmap *m, unsigned long at);
/* Can a mapping of the file begin at that page? Offsets, in bytes, are signed for most files. */
bool map_offset_fits(const struct vmspace *space, const struct vma_backing *backing, uint64_t pgoff,
		     unsigned long length);
/* May there be one more mapping? 0 or -ENOMEM. */
long map_check_count(struct vmspace *space);
/* RLIMIT_MEMLOCK, for a mapping with these flags. `asked`: with MAP_LOCKED. 0 or -errno. */
long map_check_lock(struct vmspace *space, vma_flags_t flags, unsigned long length, bool asked);
/*
 * The last part of mmap: make the mapping. Returns plan->at or -errno. As in Linux, a refusal (by a
 * limit, by the file, by the host) may come when what is mapped there has been cut or unmapped.
 */
long map_region(struct vmspace *space, struct map_plan *plan);

#endif
