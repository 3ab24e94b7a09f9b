/* SPDX-License-Identifier: MIT */
/*
 * vma.h - one area ("VMA"), what backs it, and what it is called.
 *
 * Uses nothing of libvmspace but the public header.
 */
#ifndef VMSPACE_VMA_H
#define VMSPACE_VMA_H

#include <assert.h>
#include <mapletree/vmspace.h>
#include <stddef.h>
#include <string.h>

/* What is mapped; shared by the areas of one space that map it. Owned through references. */
struct backing {
	unsigned long refs;
	struct vma_backing is;   /* .name belongs to this object */
	struct backing *copy;    /* while a space is being copied: the copy */
	struct backing *next;    /* ... and the next one that has a copy */
};

/* A name given by PR_SET_VMA_ANON_NAME. */
struct anon_name {
	unsigned long refs;
	struct anon_name *copy;  /* while a space is being copied: the copy */
	struct anon_name *next;  /* ... and the next one that has a copy */
	char text[];
};

/* A memory policy of areas, as mbind() gives it. Immutable; spaces share it. */
struct policy {
	unsigned long refs;      /* atomic */
	int mode;                /* with MPOL_F_* */
	int home_node;           /* -1: none */
	uint64_t nodes;          /* in effect */
	uint64_t asked;          /* what the caller gave, if flags of the mode let that count */
};

/*
 * An area. In the tree it stands at [start, end - 1].
 *
 * Invariants: start < end, both page aligned.
 *   backing == NULL  <=>  private anonymous memory.
 *   anon_id == 0 if VMA_MAYSHARE.   anon_shared => anon_id != 0.
 *   uffd != 0  =>  flags & VMA_UFFD_FLAGS (not the other way: an area that was taken over).
 *   uffd_moves or uffd_forks  =>  uffd != 0.
 */
struct vma {
	unsigned long start, end;
	vma_flags_t flags;
	uint64_t pgoff;              /* pages: in the file, or start / page size when anonymous */
	struct backing *backing;
	struct anon_name *name;
	struct policy *policy;       /* NULL: none of its own */
	uint64_t anon_id;            /* 0: no anonymous page yet */
	uint64_t asked : 39;         /* space->era in which the host was asked about it; 0: never */
	uint64_t pkey : 5;
	uint64_t uffd : 16;          /* context of its userfaultfd; 0: none, or not known */
	bool uffd_moves : 1;         /* the registration goes along with mremap */
	bool uffd_forks : 1;         /* ... and is inherited through fork */
	bool anon_shared : 1;        /* anon_vma inherited through fork */
	bool may_have_anon : 1;      /* took pages of its own since the host was asked */
	struct vma *next_gone;       /* while several are unmapped: the next of them */
	unsigned long lock;          /* of a space that several threads use: see sync.h */
};

#define VMA_LOCK_GONE 0x1000ul /* in `lock`: the area is in no tree, nobody can lock it */

/* Flags that keep Linux from ever merging or growing an area. */
#define VMA_SPECIAL_FLAGS (VMA_IO | VMA_DONTEXPAND | VMA_PFNMAP | VMA_MIXEDMAP)
/* Flags that never keep areas apart: what one of them has, the merged one has. */
#define VMA_STICKY_FLAGS (VMA_SOFTDIRTY | VMA_MAYBE_GUARD)
#define VMA_LOCK_FLAGS (VMA_LOCKED | VMA_LOCKONFAULT)
#define VMA_UFFD_FLAGS (VMA_UFFD_MISSING | VMA_UFFD_WP | VMA_UFFD_MINOR)

/* The highest protection key that an area can hold; no processor has more. */
#define VMA_PKEY_MAX 31

struct backing *backing_new(const struct vma_backing *is);
struct backing *backing_get(struct backing *backing);
void backing_put(struct backing *backing);
/* Another device, inode and name (which passes to the backing). */
void backing_rename(struct backing *backing, const struct vma_backing *is, char *name);
bool backing_same_file(const struct backing *a, const struct backing *b);
/* The file's driver wants to hear of every area that goes: such areas are never swallowed. */
bool backing_has_close(const struct backing *backing);

struct anon_name *anon_name_new(const char *text);
struct anon_name *anon_name_get(struct anon_name *name);
void anon_name_put(struct anon_name *name);
bool anon_name_same(const struct anon_name *a, const struct anon_name *b);

/* policy.c; NULL is no policy. */
struct policy *policy_get(struct policy *policy);
void policy_put(struct policy *policy);
bool policy_same(const struct policy *a, const struct policy *b);

/*
 * Where the areas of one space live: in blocks, each filled from its start, so that areas made one
 * after the other lie one after the other. One thread at a time. All zero: empty.
 *   typed: the space has readers that look at the `lock` of areas that are gone: their memory holds
 *   nothing but areas until the store is cleared.
 *   spare: areas kept for when there is no memory; spares: their number.
 *   free: areas given back, linked through their first word; next .. end: of the newest block,
 *   never used yet; made: places in all blocks; expected: so many more areas will be made soon,
 *   which the size of the next blocks follows.
 */
struct vma_store {
	struct vma_block *blocks;
	union vma_place *free, *next, *end;
	size_t made;
	size_t expected;
	struct vma *spare;           /* linked through next_gone */
	unsigned long spares;
	bool typed;
};

/*
 * An area of unspecified content, or NULL: no memory. In a typed store its `lock` says that it is
 * gone; vma_fill() leaves that alone.
 */
struct vma *vma_alloc(struct vma_store *store);
/* Give back an area that holds no references. */
void vma_release(struct vma_store *store, struct vma *vma);
/* Have so many spare areas, which vma_new() takes when there is no memory. False: there is none. */
bool vma_reserve(struct vma_store *store, unsigned long count);
/* Keep no more than so many. */
void vma_unreserve(struct vma_store *store, unsigned long count);
/* Give all memory back; no area is left in use. Stays typed. */
void vma_store_clear(struct vma_store *store);

/* All of `like` but its lock. */
static inline void vma_fill(struct vma *vma, const struct vma *like)
{
	memcpy(vma, like, offsetof(struct vma, lock));
}
/* A new area like `like`, holding references of its own. NULL: no memory. */
struct vma *vma_new(struct vma_store *store, const struct vma *like);
/* Drop the references an area holds, and the area. */
void vma_free(struct vma_store *store, struct vma *vma);
bool vma_is_anon(const struct vma *vma);
/*
 * Does the area's protection allow the access (VMSPACE_ACCESS_*, one or several)? As on x86, what
 * may be accessed at all may be read.
 */
static inline bool vma_permits(const struct vma *vma, unsigned int access)
{
	if ((access & VMSPACE_ACCESS_WRITE) && !(vma->flags & VMA_WRITE))
		return false;
	if ((access & VMSPACE_ACCESS_EXEC) && !(vma->flags & VMA_EXEC))
		return false;
	return vma->flags & VMA_ACCESS_FLAGS;
}
bool vma_may_have_anon_vma(const struct vma *vma);
/*
 * Does a private area with these flags take pages of its own? Those that are written to, and those
 * that a userfaultfd puts there whatever the program may do.
 */
static inline bool vma_takes_anon(vma_flags_t flags)
{
	return flags & (VMA_WRITE | VMA_UFFD_FLAGS);
}

#endif
