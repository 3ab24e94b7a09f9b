/* SPDX-License-Identifier: MIT */
/*
 * space.h - the address space: its tree of areas, program break, configuration and counters.
 *
 * Data and arithmetic alone; what changes it lies in the modules above.
 */
#ifndef VMSPACE_SPACE_H
#define VMSPACE_SPACE_H

#include <mapletree/maple_tree.h>

#include "pages.h"
#include "reserve.h"

struct origin;
struct past;
struct vmspace_word_hooks;
struct sync;

/*
 * Memory protection keys: see pkey.h. Written under the space's lock.
 * execute_only != 0  =>  its bit of `allocated` is set.
 */
struct pkeys {
	uint16_t allocated;           /* bit n: key n */
	uint8_t execute_only;         /* 0: none yet. Read by faults without the space's lock */
};

/*
 * Invariants: for every area v, tree[v.start .. v.end - 1] == v, and the tree holds nothing else.
 *   areas == number of entries of the tree;  grow_areas == those with VMA_GROWSDOWN, fork_areas ==
 *   those with VMA_FORK_FLAGS.
 *   total_vm == sum of all pages;  locked_vm == locked_leak + sum of pages with VMA_LOCKED;
 *   data_vm, stack_vm, exec_vm and committed_vm likewise, by kind (accounting.c).
 *   No area is larger than largest_area.   start_brk <= brk.
 *   sync  =>  past.   past and not sync  =>  snapshots of it are open, or were at its last call.
 *   recent  =>  the tree holds it: every store into the tree sets it anew.
 *   The tree holds areas of an ancestor  =>  origin, and reserve.shared.   origin  =>  !sync.
 *   number  =>  nothing of it changes, and it has neither pages nor a reserve; sync and past are set
 *   so that what is done to it takes the same turns as in a space that several threads use.
 *   *config.commit_pool is the sum of committed_vm of all spaces that share it, and what users of
 *   it outside of any space have added.
 */
struct vmspace {
	/*
	 * What page faults read comes first, up to the root of the tree: no cache line of it is
	 * written by calls.
	 */
	struct sync *sync;            /* locks and fault counters; NULL: the caller serialises */
	struct pages *pages;          /* page table; NULL: config.memory is NULL */
	struct vmspace_config config;
	struct pkeys pkeys;
	unsigned int page_shift;      /* 1 << page_shift == config.page_size */
	struct maple_tree tree;
	struct vma_store vmas;        /* allocates the areas of the tree */
	struct past *past;            /* areas that readers may still look at; NULL: no readers */
	struct origin *origin;        /* what it has of its parent: inherited.h; NULL: nothing */
	struct vma *recent;           /* an area that a call may want next, or NULL. The space's lock */
	struct reserve reserve;       /* tree nodes and areas for the present call */
	struct vmspace_word_hooks *words; /* the user's, about words of areas; NULL: none */
	struct vmspace_image image;
	unsigned long mmap_base;      /* 0: not known */
	bool base_guessed;            /* mmap_base may still be corrected upwards */
	bool related;                 /* other spaces may have its backings and names */
	vma_flags_t default_flags;    /* mlockall(MCL_FUTURE): VMA_LOCKED, VMA_LOCKONFAULT */
	unsigned long areas, areas_peak;
	unsigned long total_vm, locked_vm, data_vm, stack_vm, exec_vm; /* pages */
	unsigned long committed_vm;   /* pages of areas with VMA_ACCOUNT */
	unsigned long largest_area;   /* bytes; never lowered while there are areas */
	unsigned long pinned_vm;      /* pages pinned by drivers: vmspace_pin() */
	unsigned long locked_leak;    /* what Linux counts too much, or (below 0) too little */
	unsigned long grow_areas;     /* areas with VMA_GROWSDOWN */
	/* Areas with VMA_FORK_FLAGS: their number, and each has a part in [fork_from, fork_to). */
	unsigned long fork_areas, fork_from, fork_to;
	uint64_t next_anon_id;
	uint64_t next_file_id;        /* for mappings that are a file of their own */
	unsigned long request_seq;    /* sequence number of the request; see vma.asked */
	unsigned long requests[VMSPACE_OP_COUNT];
	unsigned long merges, splits, host_questions;
	unsigned long changes;        /* of areas and their names: events, and what has none */
	struct vmspace_outcome *out;  /* of the request being completed, or NULL */
	bool host_succeeded;          /* the host says that the request succeeded */
	long host_error;              /* ... or the error that it failed with; 0: neither */
	uint32_t snapshots;           /* taken of it; see vma.anon_since */
	uint32_t last_child;          /* the number of the last that a child has: inherited.h; or 0 */
	uint32_t number;              /* of a snapshot, from 1 on; 0: it is no snapshot */
	bool host_unmapped;           /* ... and what was in its way is gone */
};

/* Is it a snapshot, which must not change? */
static inline bool space_is_snapshot(const struct vmspace *space)
{
	return __builtin_expect(space->number != 0, 0);
}

static inline unsigned long space_pages(const struct vmspace *space, unsigned long bytes)
{
	return bytes >> space->page_shift;
}

/* Round down to the page size; round up (0 if that overflows). */
static inline unsigned long space_floor(const struct vmspace *space, unsigned long bytes)
{
	return bytes & ~(space->config.page_size - 1);
}

static inline unsigned long space_ceil(const struct vmspace *space, unsigned long bytes)
{
	return space_floor(space, bytes + space->config.page_size - 1);
}

static inline bool space_aligned(const struct vmspace *space, unsigned long bytes)
{
	return !(bytes & (space->config.page_size - 1));
}

#endif
