/* SPDX-License-Identifier: MIT */
/*
 * space.h - the address space: its tree of areas, break, limits and counters.
 *
 * Invariants: for every area v, tree[v.start .. v.end - 1] == v, and nothing else is in the tree.
 *   areas == number of entries;  total_vm == sum of pages;  locked_vm == locked_leak + sum of
 *   pages with VMA_LOCKED; likewise data_vm, stack_vm, exec_vm,
 *   committed_vm by kind.  start_brk <= brk.  The pool that spaces share holds the sum of theirs.
 */
#ifndef VMSPACE_SPACE_H
#define VMSPACE_SPACE_H

#include <mapletree/maple_tree.h>

#include "pages.h"

struct sync;

struct vmspace {
	/* What page faults read, up to the tree's root, shares no cache line with what calls write. */
	struct sync *sync;            /* locks and counters of faults; NULL: one thread at a time */
	struct pages *pages;          /* NULL: config.memory is NULL */
	struct vmspace_config config;
	unsigned int page_shift;      /* 1 << page_shift == config.page_size */
	struct maple_tree tree;
	struct vma_store vmas;        /* the memory of the areas in the tree */
	struct ma_state spare;        /* holds nodes for when there is no memory: space_reserve() */
	unsigned long stores;         /* into the tree, so far */
	unsigned long reserved;       /* stores that `spare` has nodes for; 0: look again */
	unsigned long reserved_until; /* ... as long as `stores` is below */
	unsigned long promised;       /* stores of the present call that cannot fail any more */
	bool put_by;                  /* something is, for the present call */
	bool whole;                   /* all that the present call may need is in reserve */
	bool stocked;                 /* ... and so are frames and page tables: pages_stock() */
	struct vmspace_image image;
	unsigned long mmap_base;      /* 0: not known */
	bool base_guessed;            /* mmap_base may still be corrected upwards */
	vma_flags_t default_flags;    /* mlockall(MCL_FUTURE): VMA_LOCKED, VMA_LOCKONFAULT */
	unsigned long areas, areas_peak;
	unsigned long total_vm, locked_vm, data_vm, stack_vm, exec_vm; /* pages */
	unsigned long committed_vm;   /* pages of areas with VMA_ACCOUNT */
	unsigned long largest;        /* bytes; no area is, or was, larger */
	unsigned long pinned_vm;      /* pages that drivers hold; see vmspace_pin() */
	unsigned long locked_leak;    /* pages that MREMAP_DONTUNMAP unlocked without counting them */
	unsigned long grow_areas;     /* areas with VMA_GROWSDOWN */
	uint64_t next_anon_id;
	uint64_t next_file_id;        /* for mappings that are a file of their own */
	unsigned long era;            /* counts completed requests */
	unsigned long requests[VMSPACE_OP_COUNT];
	unsigned long merges, splits, host_questions;
	struct vmspace_outcome *out;  /* of the request being completed, or NULL */
	bool host_succeeded;          /* ... which the host says succeeded */
	long host_error;              /* ... or with which error it failed; 0: no */
};

static inline unsigned long space_pages(const struct vmspace *space, unsigned long bytes)
{
	return bytes >> space->page_shift;
}

/* Round down, round up (0 if that overflows) to the page size. */
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

/*
 * Put vma (NULL: nothing) into the tree at [start, end). 0, or -ENOMEM: nothing has changed.
 * Where vma replaces one entry that stands at exactly [start, end), it cannot fail. In a space that
 * several threads use, the area comes into the tree write-locked.
 */
int space_store(struct vmspace *space, unsigned long start, unsigned long end, struct vma *vma);

/*
 * See to it that the call's next `stores` calls of space_store() and so many new areas cannot fail,
 * so that a call which begins ends. A store over many areas counts as one more for each 64 of them.
 * What there is in reserve already counts. 0, or -ENOMEM: nothing has changed.
 */
int space_reserve(struct vmspace *space, unsigned long stores, unsigned long areas);
/* A call ends: what was put by for it alone is given back. */
void space_end_reserve(struct vmspace *space);
static inline void space_end_call(struct vmspace *space)
{
	if (space->put_by)
		space_end_reserve(space);
}
/*
 * In a space with pages every call begins with so much; and so much stays in reserve of what any
 * call asked for: what most calls need that take several steps.
 */
#define SPACE_STEPS 8

/* Add (sign 1) or take away (sign -1) `pages` of an area with `flags` to and from the counters. */
void space_account(struct vmspace *space, vma_flags_t flags, unsigned long pages, int sign);
/*
 * A file_id for a mapping that is a file of its own. Where pages are kept, no other space has it:
 * after a fork, memory that both make is not one.
 */
uint64_t space_new_file_id(struct vmspace *space);
/* One more (sign 1) or one less area object in the tree. */
void space_count_area(struct vmspace *space, const struct vma *vma, int sign);
/* May `pages` more with `flags` exist, by RLIMIT_AS and RLIMIT_DATA? */
bool space_may_expand(const struct vmspace *space, vma_flags_t flags, unsigned long pages);
/* The part of it that is about RLIMIT_DATA: a soft limit of 0 stands for the hard one. */
bool space_may_hold_data(const struct vmspace *space, vma_flags_t flags, unsigned long pages);
/* May `pages` more be locked if `flags` has VMA_LOCKED, by RLIMIT_MEMLOCK? */
bool space_may_lock(const struct vmspace *space, vma_flags_t flags, unsigned long pages);
static inline bool space_is_data(vma_flags_t flags)
{
	return (flags & (VMA_WRITE | VMA_SHARED | VMA_GROWSDOWN)) == VMA_WRITE;
}

/* libvmspace itself has no memory: marks the outcome, returns -ENOMEM. */
long space_no_memory(struct vmspace *space);
/* Sets the outcome's sentence, returns err. */
long space_fail(struct vmspace *space, long err, const char *why);

/*
 * A limit refuses the request with `err`. Returns err; or 0 if the host let it pass (its limit
 * differs from ours), which is noted as a difference.
 */
long space_limit(struct vmspace *space, long err, const char *why);

/* Note an event for the request being completed. */
void space_event(struct vmspace *space, enum vmspace_event_kind kind, unsigned long start,
		 unsigned long end, unsigned long at);
void space_merge_event(struct vmspace *space, enum vma_verdict verdict, unsigned long start,
		       unsigned long end, unsigned long at, vma_flags_t differ);

/* Tell the user's hooks of a page fault that was resolved. The area's lock. */
void space_fault_event(const struct vmspace *space, const struct vmspace_page *page);

/* Drop all areas and reset counters. */
void space_clear(struct vmspace *space);

#endif
