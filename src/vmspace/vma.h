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

/* What is mapped, for all areas that map it: of one space, or of those that fork made of it. */
struct backing {
	unsigned long refs;      /* atomic */
	struct vma_backing is;   /* .name belongs to this object */
};

/* A name given by PR_SET_VMA_ANON_NAME. Shared between spaces, too. */
struct anon_name {
	unsigned long refs;      /* atomic */
	char text[];
};

/* A memory policy, as set by mbind(). Immutable; shared between spaces. */
struct policy {
	unsigned long refs;      /* atomic */
	int mode;                /* with MPOL_F_* */
	int home_node;           /* -1: none */
	uint64_t nodes;          /* in effect */
	uint64_t asked;          /* as the caller gave them, where the mode's flags keep that */
};

/* What an area has beside its flags, and a change of its attributes sets: one word, copied as one. */
struct vma_tags {
	uint32_t pkey : 5;
	uint32_t uffd : 16;  /* context of its userfaultfd; 0: none, or not known */
	bool uffd_moves : 1; /* mremap keeps the registration */
	bool uffd_forks : 1; /* fork passes it on */
};

/* As they are without the userfaultfd. */
static inline struct vma_tags vma_tags_unregistered(struct vma_tags tags)
{
	return (struct vma_tags){ .pkey = tags.pkey };
}

/*
 * An area. The tree holds it at [start, end - 1].
 *
 * Invariants: start < end, both page aligned.
 *   backing == NULL  <=>  private anonymous memory.
 *   anon_id == 0 if VMA_MAYSHARE.   anon_shared => anon_id != 0.
 *   anon_shift != 0  =>  backing != NULL and anon_id != 0.
 *   uffd != 0  =>  flags & VMA_UFFD_FLAGS. (Not the converse: of an area that was taken over from a
 *   live process the userfaultfd is not known.)
 *   uffd_moves or uffd_forks  =>  uffd != 0.
 *   What a snapshot may show (all up to birth) is as it was when the area got into the tree,
 *   as long as there are others who look (past.h), but for anon_id, which has a stamp: anon_since.
 *   Of what refers to it, `backing->is`, `name->text` and `*policy` do not change either.
 */
struct vma {
	unsigned long start, end;
	vma_flags_t flags;
	uint64_t pgoff;              /* pages: in the file, or start / page size when anonymous */
	/*
	 * Of a file's private mapping: its anonymous pages are numbered from start / page size +
	 * anon_shift on. Not 0 only if mremap() moved them: RULE_FILE_ANON_OFFSET.
	 */
	int64_t anon_shift;
	struct backing *backing;
	struct anon_name *name;
	struct policy *policy;       /* NULL: none of its own */
	uint64_t anon_id;            /* 0: no anonymous page yet. Atomic: vma_set_anon_id() */
	uint64_t word;               /* the user's: words.h */
	struct vma_tags tags;
	bool anon_shared;            /* anon_vma inherited through fork */
	uint8_t birth;               /* in which generation: inherited.h; 0: in no tree yet */
	/* Looked at by calls alone, of the space and of its children: changed in copies, too. */
	bool may_have_anon : 1;      /* may have got anonymous pages since the host was asked */
	bool dropped : 1;            /* some of a driver's pages (mm): io_uring gives no others */
	/* From here on the space's calls alone look, and change it in place (and faults, at `lock`). */
	/*
	 * space->snapshots when anon_id was set in place: a snapshot with this number or a lower one
	 * shows the area as it was before, without. Atomic; also read by readers of snapshots.
	 */
	uint32_t anon_since;
	/*
	 * space->snapshots when the area was made: snapshots with a higher number show it, as it is
	 * in the tree until it is no longer.
	 */
	uint32_t born;
	uint64_t asked;              /* space->request_seq when the host was last asked; 0: never */
	struct vma *list_next;       /* links areas being unmapped, spare ones, those of past.h */
	unsigned long lock;          /* the area's lock, in a space with pages: see sync.h */
};

/* In `lock`: the area is in no tree, and cannot be locked. */
#define VMA_LOCK_DETACHED 0x1000ul

/* Linux never merges or expands areas with these flags. */
#define VMA_SPECIAL_FLAGS (VMA_IO | VMA_DONTEXPAND | VMA_PFNMAP | VMA_MIXEDMAP)
/* Differences in these flags do not prevent a merge; the merged area has the flags of both. */
#define VMA_STICKY_FLAGS (VMA_SOFTDIRTY | VMA_MAYBE_GUARD)
#define VMA_LOCK_FLAGS (VMA_LOCKED | VMA_LOCKONFAULT)
#define VMA_UFFD_FLAGS (VMA_UFFD_MISSING | VMA_UFFD_WP | VMA_UFFD_MINOR)
/* A child has no area with these flags, or another one. */
#define VMA_FORK_FLAGS (VMA_DONTCOPY | VMA_WIPEONFORK | VMA_LOCK_FLAGS | VMA_UFFD_FLAGS)

/* The highest protection key an area can have; no processor supports more. */
#define VMA_PKEY_MAX 31

/* References to a backing or a name. */
static inline unsigned long vma_refs(const unsigned long *refs)
{
	return __atomic_load_n(refs, __ATOMIC_RELAXED);
}

struct backing *backing_new(const struct vma_backing *is);
struct backing *backing_get(struct backing *backing);
void backing_put(struct backing *backing);
/* Set another device and inode, and another name (ownership passes to the backing). */
void backing_rename(struct backing *backing, const struct vma_backing *is, char *name);
bool backing_same_file(const struct backing *a, const struct backing *b);
/* Does the driver have a close() hook? Linux does not merge such an area into another. */
static inline bool backing_has_close(const struct backing *backing)
{
	if (!backing)
		return false;
	return backing->is.kind == VMA_BACKING_SYSV || backing->is.kind == VMA_BACKING_HUGETLB ||
	       (backing->is.flags & VMA_BACKING_NO_MERGE);
}

struct anon_name *anon_name_new(const char *text);
struct anon_name *anon_name_get(struct anon_name *name);
void anon_name_put(struct anon_name *name);
bool anon_name_same(const struct anon_name *a, const struct anon_name *b);

/* NULL is no policy. */
struct policy *policy_get(struct policy *policy);
void policy_put(struct policy *policy);
bool policy_same(const struct policy *a, const struct policy *b);

/* Copy everything but the lock. */
static inline void vma_fill(struct vma *vma, const struct vma *like)
{
	memcpy(vma, like, offsetof(struct vma, lock));
}
/* Set the area's anon_vma beside readers without a lock. For corrections: it was so before. */
static inline void vma_set_anon_id(struct vma *vma, uint64_t anon_id)
{
	__atomic_store_n(&vma->anon_id, anon_id, __ATOMIC_RELAXED);
}
/* The area gets an anon_vma, which snapshots up to the one of this number do not show. */
static inline void vma_give_anon_id(struct vma *vma, uint64_t anon_id, uint32_t snapshots)
{
	__atomic_store_n(&vma->anon_since, snapshots, __ATOMIC_RELAXED);
	/* Release: who reads it finds the stamp as well. */
	__atomic_store_n(&vma->anon_id, anon_id, __ATOMIC_RELEASE);
}
/* The anon_vma that a space shows: a snapshot (number, from 1 on) or a live one (0). */
static inline uint64_t vma_anon_id_shown(const struct vma *vma, uint32_t number)
{
	uint64_t anon_id = __atomic_load_n(&vma->anon_id, __ATOMIC_ACQUIRE);

	if (number && anon_id && __atomic_load_n(&vma->anon_since, __ATOMIC_RELAXED) >= number)
		return 0;
	return anon_id;
}
/* For assertions, O(1): the invariants of struct vma; page_size is a power of two. */
bool vma_is_valid(const struct vma *vma, unsigned long page_size);

bool vma_is_anon(const struct vma *vma);
/*
 * Does the area's protection allow the access (VMSPACE_ACCESS_*, one or several)? As on x86, any
 * right includes reading. (The area's key may deny more: see fault_permitted().)
 */
static inline bool vma_permits(const struct vma *vma, unsigned int access)
{
	if ((access & VMSPACE_ACCESS_WRITE) && !(vma->flags & VMA_WRITE))
		return false;
	if ((access & VMSPACE_ACCESS_EXEC) && !(vma->flags & VMA_EXEC))
		return false;
	return vma->flags & VMA_ACCESS_FLAGS;
}
/*
 * Does the area's key deny reading and writing? *execute_only is the key of areas that can only be
 * executed, or 0. Under the area's lock or the space's: an area gets the key after it is known to be
 * that one.
 */
static inline bool vma_is_opaque(const struct vma *vma, const uint8_t *execute_only)
{
	return vma->tags.pkey && vma->tags.pkey == __atomic_load_n(execute_only, __ATOMIC_RELAXED);
}
bool vma_may_have_anon_vma(const struct vma *vma);
/*
 * Does the area, up to `end`, reach beyond the end of its file, as far as that is known; or to pages
 * that its driver gives no more? Touching those is SIGBUS.
 */
bool vma_passes_file(const struct vma *vma, unsigned long end, unsigned long page_size);
/* Bytes of a huge page of an area that has VMA_HUGETLB. pmd_size: the default, or 0. */
unsigned long vma_huge_size(const struct backing *backing, unsigned long pmd_size);
/* Is it a mapping of the kernel's own, like [vdso]? */
bool vma_is_kernels(const struct vma *vma);
/*
 * May the area be cut in two at `at`, inside it? Not what the kernel has mapped itself ([vdso]);
 * huge pages only between two of them. pmd_size: as above.
 */
bool vma_may_be_cut(const struct vma *vma, unsigned long at, unsigned long pmd_size);
/*
 * Can a private area with these flags get anonymous pages? By writes, or from a userfaultfd, which
 * may fill areas that the program cannot write.
 */
static inline bool vma_takes_anon(vma_flags_t flags)
{
	return flags & (VMA_WRITE | VMA_UFFD_FLAGS);
}

#endif
