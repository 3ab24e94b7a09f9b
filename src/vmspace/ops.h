/* SPDX-License-Identifier: MIT */
/*
 * ops.h - one function per request: what the system call does to the areas.
 *
 * Each checks its arguments in the order in which Linux does, changes the areas through edit.h, and
 * returns what the system call returns. request.c calls them, with space->out set.
 */
#ifndef VMSPACE_OPS_H
#define VMSPACE_OPS_H

#include "find.h"

long map_call(struct vmspace *space, struct vmspace_request *req);
void map_gather(struct vmspace *space, const struct vmspace_mmap *args);
long unmap_call(struct vmspace *space, struct vmspace_request *req);
long protect_call(struct vmspace *space, struct vmspace_request *req);
long remap_call(struct vmspace *space, struct vmspace_request *req);
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
long fork_call(struct vmspace *space, struct vmspace_request *req);

/* Shared between them. */

/* PROT_* as area flags; a protection as area flags must be allowed by the VMA_MAY* ones. */
vma_flags_t protect_flags(int prot);
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
 * munmap() with its checks, for calls that unmap on the way; of [start, end), start < end, both
 * page aligned and inside the address space: without the checks of the arguments.
 */
long unmap_areas(struct vmspace *space, unsigned long start, unsigned long end);
long unmap_range(struct vmspace *space, unsigned long start, unsigned long length);
/*
 * Pages of [start, end) that are mapped; *committed: of those, the ones with VMA_ACCOUNT; *areas: of
 * how many areas.
 */
unsigned long unmap_count(const struct vmspace *space, unsigned long start, unsigned long end,
			  unsigned long *committed, unsigned long *areas);
/* Pages are made present in [start, end) as mlock and MAP_POPULATE do. 0, or -ENOMEM at a hole. */
long lock_populate(struct vmspace *space, unsigned long start, unsigned long end);
/*
 * Before a call changes anything: put by what lock_populate() of [start, end) in vma will need, if the
 * area has the flags `as` then; the rest as touch_reserve(). 0, -ENOMEM, or 1.
 */
long lock_reserve(struct vmspace *space, struct vma *vma, vma_flags_t as, unsigned long start,
		unsigned long end, unsigned long by, bool fresh);
/*
 * After a move to `at`: what the area there is registered with stays behind, unless its userfaultfd
 * wants to hear of moves. As in Linux, all of that area loses it, also what it merged with.
 */
void uffd_moved(struct vmspace *space, unsigned long at);
/* mmap's last part: put a mapping at `at`. Returns at or -errno. */
struct map_plan;
long map_region(struct vmspace *space, struct map_plan *plan);

struct map_plan {
	unsigned long at, length;
	vma_flags_t flags;
	uint64_t pgoff;
	struct backing *backing;     /* borrowed; NULL: anonymous */
	struct hole hole;            /* what is known of the place; see find.h */
	bool populate;
	bool new_shared;             /* makes an object of shared memory, which is committed */
	bool alone;                  /* merges with no neighbour */
};

#endif
