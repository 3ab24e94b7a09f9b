/* SPDX-License-Identifier: MIT */
/*
 * vmspace_area.h - the attributes of areas: flags, and what they map.
 *
 * Part of vmspace_guest.h and of vmspace.h, which include it.
 */
#ifndef MAPLETREE_VMSPACE_AREA_H
#define MAPLETREE_VMSPACE_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VMSPACE_PUBLIC
#if defined(__GNUC__)
#define VMSPACE_PUBLIC __attribute__((visibility("default")))
#else
#define VMSPACE_PUBLIC
#endif
#endif

/* Flags of an area. The comments give the two letters of VmFlags in /proc/PID/smaps. */
typedef uint64_t vma_flags_t;
#define VMA_READ        ((vma_flags_t)1 << 0)  /* rd */
#define VMA_WRITE       ((vma_flags_t)1 << 1)  /* wr */
#define VMA_EXEC        ((vma_flags_t)1 << 2)  /* ex */
#define VMA_SHARED      ((vma_flags_t)1 << 3)  /* sh (s in maps: MAYSHARE) */
#define VMA_MAYREAD     ((vma_flags_t)1 << 4)  /* mr */
#define VMA_MAYWRITE    ((vma_flags_t)1 << 5)  /* mw */
#define VMA_MAYEXEC     ((vma_flags_t)1 << 6)  /* me */
#define VMA_MAYSHARE    ((vma_flags_t)1 << 7)  /* ms */
#define VMA_GROWSDOWN   ((vma_flags_t)1 << 8)  /* gd */
#define VMA_PFNMAP      ((vma_flags_t)1 << 9)  /* pf */
#define VMA_LOCKED      ((vma_flags_t)1 << 10) /* lo */
#define VMA_IO          ((vma_flags_t)1 << 11) /* io */
#define VMA_SEQ_READ    ((vma_flags_t)1 << 12) /* sr */
#define VMA_RAND_READ   ((vma_flags_t)1 << 13) /* rr */
#define VMA_DONTCOPY    ((vma_flags_t)1 << 14) /* dc */
#define VMA_DONTEXPAND  ((vma_flags_t)1 << 15) /* de */
#define VMA_LOCKONFAULT ((vma_flags_t)1 << 16) /* lf */
#define VMA_ACCOUNT     ((vma_flags_t)1 << 17) /* ac */
#define VMA_NORESERVE   ((vma_flags_t)1 << 18) /* nr */
#define VMA_HUGETLB     ((vma_flags_t)1 << 19) /* ht */
#define VMA_SYNC        ((vma_flags_t)1 << 20) /* sf */
#define VMA_ARCH_1      ((vma_flags_t)1 << 21) /* ar */
#define VMA_WIPEONFORK  ((vma_flags_t)1 << 22) /* wf */
#define VMA_DONTDUMP    ((vma_flags_t)1 << 23) /* dd */
#define VMA_SOFTDIRTY   ((vma_flags_t)1 << 24) /* sd */
#define VMA_MIXEDMAP    ((vma_flags_t)1 << 25) /* mm */
#define VMA_HUGEPAGE    ((vma_flags_t)1 << 26) /* hg */
#define VMA_NOHUGEPAGE  ((vma_flags_t)1 << 27) /* nh */
#define VMA_MERGEABLE   ((vma_flags_t)1 << 28) /* mg */
#define VMA_UFFD_MISSING ((vma_flags_t)1 << 29) /* um */
#define VMA_UFFD_WP     ((vma_flags_t)1 << 30) /* uw */
#define VMA_UFFD_MINOR  ((vma_flags_t)1 << 31) /* ui */
#define VMA_SHADOW_STACK ((vma_flags_t)1 << 32) /* ss */
#define VMA_SEALED      ((vma_flags_t)1 << 33) /* sl */
#define VMA_DROPPABLE   ((vma_flags_t)1 << 34) /* dp */

#define VMA_MAYBE_GUARD ((vma_flags_t)1 << 35) /* gu: MADV_GUARD_INSTALL was used in it */

#define VMA_BTI         ((vma_flags_t)1 << 36) /* bt: PROT_BTI of arm64 */
/* Linux never shows it; where mmap_apart is configured. After an attach it is a guess. */
#define VMA_BY_MMAP     ((vma_flags_t)1 << 37) /* bm: private memory of mmap's MAP_ANONYMOUS */

#define VMA_ACCESS_FLAGS (VMA_READ | VMA_WRITE | VMA_EXEC)

/* Flags as in smaps: "rd wr mr mw me ac " (each followed by a blank). As snprintf. */
VMSPACE_PUBLIC size_t vma_flags_text(vma_flags_t flags, char *buf, size_t size);
/* The reverse; unknown letter pairs are skipped and, if `unknown` is not NULL, counted there. */
VMSPACE_PUBLIC vma_flags_t vma_flags_parse(const char *text, unsigned int *unknown);

/* What an area maps. */
enum vma_backing_kind {
	VMA_BACKING_ANON,    /* private anonymous memory: no file */
	VMA_BACKING_FILE,    /* a file, also a memfd or a device */
	VMA_BACKING_SHMEM,   /* shared anonymous memory: "/dev/zero (deleted)" */
	VMA_BACKING_SYSV,    /* System V shared memory: "/SYSV00000000 (deleted)" */
	VMA_BACKING_HUGETLB, /* huge pages: MAP_HUGETLB, or a file on hugetlbfs */
	VMA_BACKING_SPECIAL, /* the kernel's own: [vdso], [vvar], [uprobes] ... */
};

/* Properties of a backing, told by the user; they affect placement and checks. */
#define VMA_BACKING_ALIGN_HUGE  1u  /* its file system aligns large mappings to huge pages */
#define VMA_BACKING_NO_WRITE    2u  /* not opened for writing: shared mappings are read-only */
#define VMA_BACKING_NO_EXEC     4u  /* on a mount without exec */
#define VMA_BACKING_NO_READ     8u  /* opened without reading: mmap fails with EACCES */
#define VMA_BACKING_SEAL_WRITE  16u /* memfd sealed against writing, now and in future */
#define VMA_BACKING_NO_MMAP     32u /* the file cannot be mapped: mmap fails with ENODEV */
#define VMA_BACKING_NO_MERGE    64u /* areas of it never merge (device memory and the like) */
#define VMA_BACKING_DAX        128u /* its storage is mapped itself, without a page cache */
#define VMA_BACKING_EXECUTABLE 256u /* the file's mode lets somebody execute it: for core dumps */
#define VMA_BACKING_MOVE_ALONE 512u /* /dev/zero: mremap of several areas fails there: EFAULT */
#define VMA_BACKING_TMPFS     1024u /* its pages are shared memory: a memfd, a file on tmpfs */
#define VMA_BACKING_MAP_ALONE 2048u /* on overlayfs: mmap merges it with no neighbour at first */
#define VMA_BACKING_SYNC      4096u /* its file system knows MAP_SYNC, and refuses it but for DAX */
#define VMA_BACKING_ANY_OFFSET 8192u /* no regular file: may be mapped from 2^63 on as well */
#define VMA_BACKING_SEAL_FUTURE 16384u /* beside SEAL_WRITE: sealed by F_SEAL_FUTURE_WRITE alone */

/*
 * Identity and name of what is mapped, as the kernel shows it. Strings are copied by every call
 * that takes a backing. Two file areas can only merge if their `file_id` are equal; Linux compares
 * the open file (one open() call, whatever was dup()ed from it), not the inode. With file_id 0,
 * (dev_major, dev_minor, inode, name) stands for the open file.
 */
struct vma_backing {
	enum vma_backing_kind kind;
	unsigned int flags;          /* VMA_BACKING_* properties */
	unsigned int dev_major, dev_minor;
	uint64_t inode;
	uint64_t file_id;            /* which open file; 0: see above */
	const char *name;            /* path (unescaped), "[vdso]" ...; NULL: none */
	unsigned long huge_size;     /* HUGETLB: bytes of a page; 0: the default huge page */
	/*
	 * SYSV: bytes of the segment. SHMEM: what was mapped first (set by mmap). FILE: bytes of
	 * the file, for spaces without memory. Behind the end there are no pages, and calls that
	 * populate stop. 0: not known, as long as needed. SPECIAL: what the kernel mapped, which
	 * moves as a whole or not at all (set by vmspace_exec() and mmap).
	 */
	uint64_t size;
};

/*
 * A copy of an area's attributes. Pointers in it are valid until the next call that changes the
 * vmspace; if other threads may change it, use vmspace_show_area() for names.
 */
struct vma_info {
	unsigned long start, end;    /* bytes; start < end; multiples of the page size */
	vma_flags_t flags;
	uint64_t offset;             /* bytes, as /proc/PID/maps shows it: 0 for anonymous areas */
	uint64_t page_offset;        /* pages; of anonymous areas too, where it decides merging */
	struct vma_backing backing;
	const char *anon_name;       /* given by PR_SET_VMA_ANON_NAME, or NULL */
	unsigned int pkey;           /* memory protection key, 0 for none */
	int policy;                  /* mode and flags of its memory policy (mbind), 0: none */
	uint64_t policy_nodes;       /* ... and the nodes in effect */
	uint64_t anon_id;            /* which anon_vma, 0: none (no anonymous page so far) */
	bool anon_shared;            /* its anon_vma was inherited: no merge with one without */
	unsigned int uffd;           /* context of its userfaultfd, 0: none or unknown */
	uint64_t word;               /* the user's: <mapletree/vmspace_words.h> */
};

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_AREA_H */
