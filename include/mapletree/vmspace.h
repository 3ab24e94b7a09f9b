/* SPDX-License-Identifier: MIT */
/*
 * vmspace.h - a Linux-faithful address space, held in a maple tree.
 *
 * A `struct vmspace` models what Linux keeps for one address space: its areas ("VMAs"), the program
 * break, limits and counters. Calls that change an address space (mmap, munmap, mprotect, mremap,
 * brk, madvise, mlock, fork ...) are *requests*; a request returns what the system call returns and
 * changes the areas as the system call does: the same splits, the same merges, the same addresses.
 *
 * Two kinds of users:
 *
 *  - an emulator or sandbox decides by itself: it fills in a request and calls vmspace_call().
 *    It tells page faults with VMSPACE_FAULT requests.
 *  - a mirror follows a real process: it calls vmspace_gather() when the process has entered the
 *    system call (nothing has changed yet), and after it returned vmspace_complete() with the
 *    result that the kernel gave in req.host (or vmspace_abort() when the call never happened).
 *    Page faults are invisible to a mirror; gather asks `struct vmspace_host` for what it needs.
 *
 * Conventions: addresses and lengths are bytes; areas are half-open [start, end) and page aligned;
 * counters are pages. Arguments of requests are those of the system call, unchecked; constants are
 * those of <sys/mman.h>. Errors are negative errno values.
 *
 * Threads: different vmspaces (also parent and child of a fork) are independent. Calls on one
 * vmspace are serialised by the caller; or, in a space with memory (vmspace_config.memory), by a
 * lock of its
 * own: then any thread may make any call, except that vmspace_exec(), vmspace_exit() and
 * vmspace_destroy() need the space for themselves, and vmspace_touch(), vmspace_lookup(),
 * vmspace_next() and vmspace_prev() do not even wait for calls that change other areas. No call
 * starts threads of its own, uses signals or global state (a space with memory uses liburcu-bp).
 * Several requests may be gathered at the same time; each complete applies to the areas as they
 * are then, so completes must be made in the order in which the kernel performed the calls.
 *
 * Memory: if libvmspace itself runs out of memory, or the user's memory where a call makes pages
 * present itself (mlock, MAP_POPULATE, MADV_POPULATE_*, what grows locked), a call returns -ENOMEM
 * with req.out.out_of_memory set (brk: the break, as brk does), and has changed nothing: neither
 * areas, of however many it was about, nor pages, tables, limits or counters; no hook was told of
 * anything. For that, what a call may need is put by before its first change, and what it did not
 * need is given back when it ends. Calls of one area mostly need nothing put by. One that may join
 * many areas takes, for as long as it runs, some 4 to 7 KiB for each pair that could become one
 * (and for each area that one mremap moves, three times that).
 *
 *  - Where Linux itself stops half-way (a hole, a seal, EACCES at the third area, max_map_count),
 *    so do these calls: that is a result, not lack of memory.
 *  - Pages that a call makes present lack nothing but, perhaps, a translation (memory->map()
 *  refused):
 *    the next access asks for that again.
 *  - A page that cannot be had is VMSPACE_FAULT_NOMEM for that access alone, see vmspace_touch().
 */
#ifndef MAPLETREE_VMSPACE_H
#define MAPLETREE_VMSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mapletree/vmspace_memory.h>

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

struct vmspace; /* one address space; opaque */

/* ---- areas ------------------------------------------------------------------------------- */

/*
 * Flags of an area. In comments: the two letters that stand for it in VmFlags of /proc/PID/smaps.
 */
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

#define VMA_ACCESS_FLAGS (VMA_READ | VMA_WRITE | VMA_EXEC)

/* What lies under an area. */
enum vma_backing_kind {
	VMA_BACKING_ANON,    /* private anonymous memory: no file */
	VMA_BACKING_FILE,    /* a file, also a memfd or a device */
	VMA_BACKING_SHMEM,   /* shared anonymous memory: "/dev/zero (deleted)" */
	VMA_BACKING_SYSV,    /* System V shared memory: "/SYSV00000000 (deleted)" */
	VMA_BACKING_HUGETLB, /* huge pages: MAP_HUGETLB, or a file on hugetlbfs */
	VMA_BACKING_SPECIAL, /* made by the kernel: [vdso], [vvar], [uprobes] ... */
};

/* Properties of a backing that only the outside world knows; they guide placement and checks. */
#define VMA_BACKING_ALIGN_HUGE  1u  /* its file system aligns large mappings to huge pages */
#define VMA_BACKING_NO_WRITE    2u  /* not opened for writing: shared mappings are read-only */
#define VMA_BACKING_NO_EXEC     4u  /* on a mount without exec */
#define VMA_BACKING_NO_READ     8u  /* opened without reading: mmap fails with EACCES */
#define VMA_BACKING_SEAL_WRITE  16u /* memfd sealed against writing, now and in future */
#define VMA_BACKING_NO_MMAP     32u /* the file cannot be mapped: mmap fails with ENODEV */
#define VMA_BACKING_NO_MERGE    64u /* areas of it never merge (device memory and the like) */
#define VMA_BACKING_DAX        128u /* its storage is mapped itself, without a page cache */
#define VMA_BACKING_EXECUTABLE 256u /* the file's mode lets somebody execute it: for core dumps */
#define VMA_BACKING_MOVE_ALONE 512u /* /dev/zero: an mremap of several areas stops there with EFAULT */
#define VMA_BACKING_TMPFS     1024u /* its pages are shared memory: a memfd, a file on tmpfs */
#define VMA_BACKING_MAP_ALONE 2048u /* on overlayfs: what mmap maps merges with no neighbour at first */

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
};

/*
 * An area, for reading. Pointers are valid until the next call that changes the vmspace: beside
 * other threads that change it, look at the names with vmspace_show_area().
 */
struct vma_info {
	unsigned long start, end;    /* bytes; start < end; multiples of the page size */
	vma_flags_t flags;
	uint64_t offset;             /* bytes, as /proc/PID/maps shows it: 0 for anonymous areas */
	uint64_t page_offset;        /* pages; of anonymous areas too, where it decides merging */
	struct vma_backing backing;
	const char *anon_name;       /* given by PR_SET_VMA_ANON_NAME, or NULL */
	unsigned int pkey;           /* memory protection key, 0 for none */
	int policy;                  /* mode and flags of its memory policy (mbind), 0: none of its own */
	uint64_t policy_nodes;       /* ... and the nodes in effect */
	uint64_t anon_id;            /* which anon_vma, 0: none (no anonymous page so far) */
	bool anon_shared;            /* its anon_vma came through fork: no merge with one without */
	unsigned int uffd;           /* context of the userfaultfd it is registered with, 0: none or unknown */
};

/* ---- creating and ending ------------------------------------------------------------------- */

enum vmspace_thp { VMSPACE_THP_NEVER, VMSPACE_THP_MADVISE, VMSPACE_THP_ALWAYS };

#define VMSPACE_NO_LIMIT (~0UL)

/*
 * The host: what libvmspace cannot see by itself when it mirrors a live process. All members may
 * be NULL. They are called by vmspace_gather() and vmspace_refresh() only, and must not call back
 * into the same vmspace. They are asked only if a decision depends on the answer.
 */
struct vmspace_host {
	void *ctx;
	/*
	 * Has the process an anonymous page (private, written; in memory or swapped; not the zero
	 * page, not a page of the file, but the huge zero page) in [start, end)? The range lies in
	 * one private area. NULL: only VMSPACE_FAULT requests make areas have anonymous pages.
	 */
	bool (*has_anon)(void *ctx, unsigned long start, unsigned long end);
	/*
	 * Where does the growsdown area that began at `start` and ends at `end` begin now?
	 * (Its owner may have pushed below it.) Return `start` if it has not grown.
	 */
	unsigned long (*stack_start)(void *ctx, unsigned long start, unsigned long end);
};

/*
 * What an address space is created with. Fill it with vmspace_config_init() first (values of
 * the running kernel), then change what differs.
 */
struct vmspace_config {
	unsigned long page_size;       /* bytes, power of two */
	unsigned long task_size;       /* first address above user space, without mmap's 47-bit default */
	unsigned long map_window;      /* mmap without a hint above it stays below this address */
	unsigned long mmap_base;       /* placement begins below it, or above it if bottom_up; 0: unknown, learn it */
	unsigned long mmap_base_legacy; /* bottom-up placement begins here, if mmap_base is 0 (TASK_UNMAPPED_BASE) */
	bool mmap_bottom_up;           /* legacy layout: place from below */
	unsigned long mmap_min_addr;   /* vm.mmap_min_addr: below it mapping takes a privilege */
	unsigned long hint_min_addr;   /* hints below are raised to it; stacks do not grow below */
	unsigned long stack_guard_gap; /* pages kept free below growsdown areas */
	unsigned long max_map_count;   /* areas (vm.max_map_count) */
	unsigned long pmd_size;        /* bytes of a transparent huge page; 0: no support */
	enum vmspace_thp thp;          /* /sys/kernel/mm/transparent_hugepage/enabled */
	bool shmem_align_huge;         /* shared anonymous memory is placed aligned to huge pages */
	/*
	 * Commit accounting (Documentation/mm/overcommit-accounting.rst). Areas with VMA_ACCOUNT
	 * are charged. ram_pages 0: not known, nothing is refused. What is committed by all is
	 * *commit_pool, which spaces may share (also a child of fork does; all are charged there,
	 * atomically; two threads that call at the same time may go past the limit together, by one
	 * call each); it begins with what those hold that are no spaces, and must live longer than
	 * they. NULL: it is committed_elsewhere, and what this space holds. A mirror's host decides
	 * about mode 2.
	 */
	int overcommit;                /* vm.overcommit_memory: 0, 1, 2 */
	unsigned long ram_pages;       /* MemTotal */
	unsigned long swap_pages;      /* SwapTotal */
	unsigned long huge_pages;      /* of ram_pages, those in pools of huge pages (Hugetlb) */
	unsigned int overcommit_ratio; /* percent of the memory (vm.overcommit_ratio) */
	unsigned long overcommit_kbytes; /* not 0: so much instead (vm.overcommit_kbytes) */
	unsigned long admin_reserve_kbytes; /* kept from processes that are not admin */
	unsigned long user_reserve_kbytes; /* 1/32 of a process, and at most that, is kept from it */
	bool admin;                    /* CAP_SYS_ADMIN */
	unsigned long committed_elsewhere; /* pages that others have committed */
	unsigned long *commit_pool;    /* pages; or NULL */
	uint64_t memory_nodes;         /* bit n: node n has memory that may be used; 0: no NUMA calls */
	bool anon_names;               /* the kernel knows PR_SET_VMA_ANON_NAME */
	bool softdirty;                /* the kernel tracks soft-dirty pages: new areas get VmFlags sd */
	bool guard_flag;               /* the kernel marks areas with guard regions (VmFlags gu) */
	/*
	 * madvise(MADV_DONTNEED), also _LOCKED, gives back the lowest page tables (2 MiB each) that
	 * lie
	 * wholly in the range and in one area, and have become empty: CONFIG_PT_RECLAIM, x86-64
	 * since Linux 6.14. Matters to a space with memory.
	 */
	bool pt_reclaim;
	bool pkeys;                    /* the CPU has memory protection keys */
	bool ksm;                      /* the kernel knows MADV_MERGEABLE */
	bool mseal;                    /* the kernel knows mseal() */
	bool read_implies_exec;        /* personality READ_IMPLIES_EXEC */
	bool low_privileged;           /* CAP_SYS_RAWIO: mmap_min_addr does not apply */
	bool lock_privileged;          /* CAP_IPC_LOCK: RLIMIT_MEMLOCK does not apply */
	unsigned long rlimit_as;       /* bytes; VMSPACE_NO_LIMIT */
	unsigned long rlimit_data;     /* 0: rlimit_data_max counts, but for brk (as in Linux) */
	unsigned long rlimit_data_max; /* the hard limit */
	unsigned long rlimit_stack;
	unsigned long rlimit_memlock;
	struct vmspace_host host;
	const struct vmspace_memory *memory; /* stays the user's; NULL: no pages are kept */
	const struct vmspace_hooks *hooks;   /* stays the user's; NULL: none */
};

/*
 * Fill `config` with the values of the running kernel and calling process (/proc/sys/vm,
 * /sys/kernel/mm, getrlimit, and a few pages mapped for a moment to see what the kernel does);
 * what cannot be read gets Linux's default. mmap_base is 0.
 */
VMSPACE_PUBLIC void vmspace_config_init(struct vmspace_config *config);

/*
 * A new, empty address space; `config` is copied. Ended by vmspace_destroy().
 * Returns 0 or -EINVAL (a value that makes no sense), -ENOMEM.
 */
VMSPACE_PUBLIC int vmspace_create(struct vmspace **out, const struct vmspace_config *config);

/*
 * An exact copy of a space, to try a request on: areas, break, counters, configuration, and what
 * was learned so far. Not a fork: every area stays what it is. *out is the caller's, ended by
 * vmspace_destroy(), and independent of `space`; strings and anon_ids are copied, but the host
 * callbacks and their ctx are the same ones; the copy keeps no pages and has no hooks. A request
 * gathered on `space` may be completed on either, or on both (each with its own copy of the
 * request); gathered again on the copy, it asks the host anew. Not to be called while another
 * thread uses `space`: it keeps notes there.
 * Returns 0, or -ENOMEM (*out is NULL; `space` is unchanged). O(areas).
 */
VMSPACE_PUBLIC int vmspace_clone(struct vmspace **out, const struct vmspace *space);

/* Free an address space and everything in it. NULL is ignored. */
VMSPACE_PUBLIC void vmspace_destroy(struct vmspace *space);

/* The current configuration (limits as changed since); valid as long as the space. */
VMSPACE_PUBLIC const struct vmspace_config *vmspace_config(const struct vmspace *space);

/*
 * Change configuration of a live space: limits (setrlimit), sysctls, personality, host callbacks,
 * mmap_base, hooks. page_size, task_size and memory must stay. Returns 0 or -EINVAL.
 */
VMSPACE_PUBLIC int vmspace_configure(struct vmspace *space, const struct vmspace_config *config);

/*
 * A driver pins `pages` of the space (for device access: RDMA, io_uring ...), or lets them go.
 * No memory call does. They are counted apart from locked pages, against RLIMIT_MEMLOCK, and are
 * not inherited by fork. Returns 0; pin: -ENOMEM (the limit); unpin: -EINVAL (not so many pinned).
 */
VMSPACE_PUBLIC int vmspace_pin(struct vmspace *space, unsigned long pages);
VMSPACE_PUBLIC int vmspace_unpin(struct vmspace *space, unsigned long pages);

/* One area to take over; see vmspace_exec(). */
struct vmspace_area {
	unsigned long start, end;
	vma_flags_t flags;           /* all of smaps' VmFlags; see vma_flags_parse() */
	uint64_t offset;             /* bytes */
	struct vma_backing backing;
	const char *anon_name;       /* without "[anon:" "]"; NULL */
	unsigned int pkey;
	bool has_anon;               /* has anonymous pages */
	bool fork_child;             /* may have been copied by fork since its first page (attach) */
};

/* What the process itself is; from /proc/PID/stat. Zero where unknown. */
struct vmspace_image {
	unsigned long start_code, end_code, start_data, end_data;
	unsigned long start_brk, brk; /* brk 0: taken from the area named [heap], else start_brk */
	unsigned long start_stack;
	bool mlock_future, mlock_onfault; /* state of mlockall(MCL_FUTURE / MCL_ONFAULT), for attach */
	bool vsyscall;               /* show the [vsyscall] line at the end */
	bool vsyscall_read;          /* that page is readable ("r-xp") */
};

/*
 * exec, or attaching to a live process: throw away all areas and take over `count` areas in
 * ascending order. Areas named [heap] or [stack] are anonymous; give the names or not, as you like:
 * they follow from the image (and if image->start_stack or start_brk is 0, from those names).
 * An area above task_size (vsyscall) sets image->vsyscall. If mmap_base is 0, it is guessed:
 * the end of the topmost mapping below the stack; placements seen later correct the guess upwards.
 * Returns 0, -EINVAL (overlap, bad order or alignment, a key above 31) or -ENOMEM; nothing has
 * changed then.
 */
VMSPACE_PUBLIC int vmspace_exec(struct vmspace *space, const struct vmspace_area *areas,
				size_t count, const struct vmspace_image *image);

/* exit: drop all areas. The space stays usable (for vmspace_exec()). */
VMSPACE_PUBLIC void vmspace_exit(struct vmspace *space);

/* ---- requests ------------------------------------------------------------------------------ */

enum vmspace_op {
	VMSPACE_MMAP = 1, VMSPACE_MUNMAP, VMSPACE_MPROTECT, VMSPACE_MREMAP, VMSPACE_BRK,
	VMSPACE_MADVISE, VMSPACE_MLOCK, VMSPACE_MUNLOCK, VMSPACE_MLOCKALL, VMSPACE_MUNLOCKALL,
	VMSPACE_SET_ANON_NAME, VMSPACE_SHMAT, VMSPACE_SHMDT, VMSPACE_REMAP_FILE_PAGES,
	VMSPACE_MSEAL, VMSPACE_FAULT, VMSPACE_FORK, VMSPACE_MSYNC, VMSPACE_MINCORE, VMSPACE_MBIND,
	VMSPACE_SET_HOME_NODE, VMSPACE_PROCESS_MADVISE,
	VMSPACE_UFFD_REGISTER, VMSPACE_UFFD_UNREGISTER, VMSPACE_UFFD_RELEASE,
	VMSPACE_OP_COUNT,
};

struct vmspace_mmap {
	unsigned long addr, length;
	int prot;                    /* PROT_* */
	int flags;                   /* MAP_* */
	uint64_t offset;             /* bytes */
	struct vma_backing backing;  /* shared anonymous: dev, inode, or later vmspace_identify() */
	bool bad_fd;                 /* the descriptor is not open: EBADF */
	vma_flags_t driver_flags;    /* flags that the file's driver adds (io, pf, de, dd ...) */
};
struct vmspace_munmap { unsigned long addr, length; };
struct vmspace_mprotect {        /* mprotect, pkey_mprotect */
	unsigned long addr, length;
	int prot;                    /* PROT_*, PROT_GROWSDOWN */
	int pkey;                    /* -1: mprotect */
};
struct vmspace_mremap {
	unsigned long addr, old_length, new_length;
	int flags;                   /* MREMAP_* */
	unsigned long new_addr;
};
struct vmspace_brk { unsigned long brk; };       /* result: the new break, as the raw system call */
struct vmspace_madvise { unsigned long addr, length; int advice; };
struct vmspace_mlock { unsigned long addr, length; int flags; bool mlock2; }; /* also munlock */
struct vmspace_mlockall { int flags; };
struct vmspace_set_anon_name { unsigned long addr, length; const char *name; }; /* NULL: remove */
struct vmspace_shmat {           /* result: the address */
	unsigned long addr;
	int flags;                   /* SHM_RDONLY, SHM_RND, SHM_REMAP, SHM_EXEC */
	unsigned long size;          /* bytes of the segment (shm_segsz) */
	struct vma_backing backing;  /* dev, inode, name "/SYSV%08x (deleted)"; file_id is made unique */
};
struct vmspace_shmdt { unsigned long addr; };
struct vmspace_remap_file_pages {
	unsigned long addr, size;
	int prot;                    /* must be 0 */
	unsigned long page_offset;   /* pages */
	int flags;                   /* MAP_NONBLOCK or 0 */
};
struct vmspace_mseal { unsigned long addr, length; unsigned long flags; };
struct vmspace_msync { unsigned long addr, length; int flags; }; /* MS_* */
struct vmspace_mincore {
	unsigned long addr, length;
	bool bad_vec;                /* the vector cannot be written: EFAULT */
};
struct vmspace_mbind {
	unsigned long addr, length;
	int mode;                    /* MPOL_*, with MPOL_F_STATIC_NODES and the like */
	uint64_t nodes;              /* bit n: node n; nodes from 64 on are not modelled */
	unsigned int flags;          /* MPOL_MF_* */
};
struct vmspace_home_node {       /* set_mempolicy_home_node */
	unsigned long addr, length, node, flags;
};
struct vmspace_range { unsigned long addr, length; };
struct vmspace_process_madvise { /* of the space's own process; result: bytes advised, or the error */
	const struct vmspace_range *ranges; /* the caller's, until complete returns */
	size_t count;
	int advice;
	unsigned int flags;          /* must be 0 */
};

/*
 * Registration with userfaultfd: ioctl(UFFDIO_REGISTER), ioctl(UFFDIO_UNREGISTER), and the end of a
 * userfaultfd (its last descriptor is closed: all of its areas are as if they had never been
 * registered). Result: 0 or -errno. Who is to handle a fault then is the user's business: pages of
 * registered areas are touched and made present as though the handler always gave them at once.
 *
 * `context` is a number of the caller's choice for the userfaultfd: the same for the same one, and
 * another for each of those alive. A moved area keeps its registration only with
 * UFFD_FEATURE_EVENT_REMAP, that of a fork's child only with UFFD_FEATURE_EVENT_FORK; there the
 * context stands for the new userfaultfd that the event brings.
 */
#define VMSPACE_UFFD_CONTEXT_MAX 65535u
struct vmspace_uffd {
	unsigned long addr, length;  /* not of RELEASE */
	uint64_t mode;               /* REGISTER: UFFDIO_REGISTER_MODE_* */
	uint64_t features;           /* UFFD_FEATURE_* that UFFDIO_API enabled; not of RELEASE */
	unsigned int context;        /* 1 .. VMSPACE_UFFD_CONTEXT_MAX */
};

struct vmspace_fault {           /* a page is touched: 0, -EFAULT (no area), -EACCES (forbidden) */
	unsigned long addr;
	unsigned int access;         /* VMSPACE_ACCESS_* */
};
struct vmspace_fork {            /* fork, clone without CLONE_VM */
	struct vmspace *child;       /* out: the new space, the caller's; NULL on error */
	const struct vmspace_host *child_host; /* host callbacks of the child; NULL: none */
	/*
	 * The child's; NULL: the parent's, which must have no map() then (-EINVAL), as that
	 * translates addresses of the parent. It shares frames with the parent's: either may free
	 * what both used.
	 */
	const struct vmspace_memory *child_memory;
	const struct vmspace_hooks *child_hooks; /* NULL: none */
};

/*
 * What the host says about the real call, for mirrors. Without `valid`, libvmspace decides alone.
 *
 * With it, complete follows the host: if `result` is an error that libvmspace does not predict
 * (a file system refused, a limit of the host), the effects that such a failure leaves are
 * applied; a mapping is placed where the host placed it. out.result stays what libvmspace would
 * have answered, so that out.differs tells a wrong prediction.
 */
struct vmspace_host_result {
	bool valid;
	long result;                 /* of the raw system call: value or -errno */
};

/* Why two neighbours did or did not become one area. */
enum vma_verdict {
	VMA_MERGE_NONE = 0,          /* no question: no neighbour */
	VMA_MERGED,                  /* merged */
	VMA_NOT_ADJACENT,            /* a hole between them */
	VMA_DIFFERENT_FLAGS,         /* protection or flags differ: see flags_differ of the event */
	VMA_DIFFERENT_FILE,          /* another file, or another open() of the same one */
	VMA_DIFFERENT_OFFSET,        /* not contiguous in the file (or in anonymous page offsets) */
	VMA_DIFFERENT_ANON_VMA,      /* both have anonymous pages, from different anon_vmas */
	VMA_ANON_VMA_SHARED,         /* one has none; the other's was inherited through fork */
	VMA_DIFFERENT_NAME,          /* anonymous names differ */
	VMA_DIFFERENT_UFFD,          /* userfaultfd registrations differ */
	VMA_DIFFERENT_PKEY,          /* protection keys differ */
	VMA_SPECIAL,                 /* one is special (device memory, vdso, huge pages ...) */
	VMA_DIFFERENT_POLICY,        /* memory policies (mbind) differ */
	VMA_NOT_TRIED,               /* Linux does not try here (brk and stack growth look one way) */
	VMA_VERDICT_COUNT,
};

/* A sentence for each, e.g. "different anon_vma". Never NULL; static. */
VMSPACE_PUBLIC const char *vma_verdict_text(enum vma_verdict verdict);

/* Why two areas are not one; see vmspace_explain(). */
struct vma_explanation {
	enum vma_verdict verdict;
	vma_flags_t differ;          /* VMA_DIFFERENT_FLAGS, VMA_DIFFERENT_UFFD: in what they differ */
	unsigned long low, high;     /* where the two areas begin; equal if they are one */
	char text[320];              /* a sentence with the particulars; cut if it is longer */
};

/*
 * Why are the areas that hold `a` and `b`, in either order, not one? The first reason that Linux
 * meets. VMA_MERGED: they are one. VMA_NOT_TRIED: nothing keeps them apart; Linux did not try (or
 * the space belongs to a mirror that was attached, and does not know all). Asks no host.
 * Returns 0, or -ENOENT: there is no area at one of the addresses; text says at which. O(log
 * areas).
 */
VMSPACE_PUBLIC int vmspace_explain(const struct vmspace *space, unsigned long a, unsigned long b,
				   struct vma_explanation *out);

enum vmspace_event_kind {
	VMSPACE_EVENT_MAP,           /* [start, end) newly mapped */
	VMSPACE_EVENT_UNMAP,         /* [start, end) unmapped */
	VMSPACE_EVENT_SPLIT,         /* the area [start, end) was cut at `at` */
	VMSPACE_EVENT_MERGE,         /* neighbours became the area [start, end), joined at `at` */
	VMSPACE_EVENT_NO_MERGE,      /* neighbours that meet at `at` stayed two: verdict tells why */
	VMSPACE_EVENT_CHANGE,        /* [start, end) got new flags, name ... */
	VMSPACE_EVENT_MOVE,          /* `at` moved to [start, end) */
	VMSPACE_EVENT_GROW,          /* the area is now [start, end) */
};

struct vmspace_event {
	enum vmspace_event_kind kind;
	enum vma_verdict verdict;    /* MERGE, NO_MERGE */
	unsigned long start, end, at;
	vma_flags_t flags_differ;    /* VMA_DIFFERENT_FLAGS: which */
};

#define VMSPACE_EVENT_MAX 24

/*
 * What a user wants to hear of as it happens: every event, also those that a request's outcome has
 * no room for. Members may be NULL. None may call back into a vmspace. The table must stay as it is
 * as long as the space has it.
 */
struct vmspace_hooks {
	void *ctx;
	/*
	 * Areas changed; *event is valid during the call. Called in the thread that makes the
	 * request, with the space's lock held: one at a time, in order. The areas may be half-way:
	 * an event tells of one step, the request may take more.
	 */
	void (*event)(void *ctx, const struct vmspace_event *event);
	/*
	 * A page fault was resolved. Called in the thread that faults, with the lock of the area
	 * held: by several at once, beside event() of other areas.
	 */
	void (*fault)(void *ctx, const struct vmspace_page *page);
};

/* What a request did. */
struct vmspace_outcome {
	long result;                 /* what Linux returns, as libvmspace computes it */
	bool differs;                /* host said something else: req.host.result */
	bool base_learned;           /* the host's placement taught a higher mmap_base; not a difference */
	bool placed_at_random;       /* Linux chooses this address at random (MAP_32BIT): followed */
	bool out_of_memory;          /* libvmspace has no memory: nothing has changed */
	const char *why;             /* a sentence on an error or a difference; static; NULL if none */
	unsigned int event_count;    /* entries in events[] */
	unsigned int events_lost;    /* further ones that did not fit */
	struct vmspace_event events[VMSPACE_EVENT_MAX];
};

struct vmspace_request {
	enum vmspace_op op;
	union {
		struct vmspace_mmap mmap;
		struct vmspace_munmap munmap;
		struct vmspace_mprotect mprotect;
		struct vmspace_mremap mremap;
		struct vmspace_brk brk;
		struct vmspace_madvise madvise;
		struct vmspace_mlock mlock;          /* MLOCK, MUNLOCK */
		struct vmspace_mlockall mlockall;
		struct vmspace_set_anon_name set_anon_name;
		struct vmspace_shmat shmat;
		struct vmspace_shmdt shmdt;
		struct vmspace_remap_file_pages remap_file_pages;
		struct vmspace_mseal mseal;
		struct vmspace_fault fault;
		struct vmspace_fork fork;
		struct vmspace_msync msync;
		struct vmspace_mincore mincore;
		struct vmspace_mbind mbind;
		struct vmspace_home_node home_node;
		struct vmspace_process_madvise process_madvise;
		struct vmspace_uffd uffd;            /* UFFD_REGISTER, UFFD_UNREGISTER, UFFD_RELEASE */
	};
	struct vmspace_host_result host;     /* to be set before complete */
	struct vmspace_outcome out;          /* set by complete */
	bool gathered;                       /* private */
};

/*
 * Gather: before the call happens, learn from the host what the call's decisions will need and
 * what the call would make unknowable. Changes no area except that stacks are grown as the host
 * reports. Returns 0, or -EINVAL for an unknown op.
 */
VMSPACE_PUBLIC int vmspace_gather(struct vmspace *space, struct vmspace_request *req);

/*
 * Complete: the call happens (or has happened, if req->host.valid). Fills req->out and returns
 * out.result. Asks the host nothing.
 */
VMSPACE_PUBLIC long vmspace_complete(struct vmspace *space, struct vmspace_request *req);

/* The gathered call never happened (killed, interrupted before it began). Changes nothing. */
VMSPACE_PUBLIC void vmspace_abort(struct vmspace *space, struct vmspace_request *req);

/* Gather and complete in one. */
VMSPACE_PUBLIC long vmspace_call(struct vmspace *space, struct vmspace_request *req);

/* Name of an op ("mmap"), and one line that describes a request, like strace's. */
VMSPACE_PUBLIC const char *vmspace_op_name(enum vmspace_op op);
VMSPACE_PUBLIC int vmspace_request_text(const struct vmspace_request *req, char *buf, size_t size);
/* One line that describes an event. Both return the length as snprintf does. */
VMSPACE_PUBLIC int vmspace_event_text(const struct vmspace_event *event, char *buf, size_t size);

/*
 * Ask the host about all growsdown areas, and grow those that have grown (by the rules of
 * a page fault there). Returns the number that grew, or a negative errno: the stack is where
 * Linux would not have let it grow to.
 */
VMSPACE_PUBLIC int vmspace_refresh(struct vmspace *space);

/*
 * Tell what only the kernel knows about the backing of the area at `addr`: device and inode of
 * new shared anonymous memory, a changed path (renamed, "(deleted)"). Applies to all areas that
 * were split from, or merged with, the same mapping. `backing->kind` and file_id are ignored.
 * Returns 0, -ENOENT (no area, or nothing behind it), -ENOMEM.
 */
VMSPACE_PUBLIC int vmspace_identify(struct vmspace *space, unsigned long addr,
				    const struct vma_backing *backing);

/*
 * What a mirror that was attached to a live process learns when areas merge or do not: which of
 * them share an anon_vma (`anon_id`), have one without a page, or have one that a fork handed down,
 * is shown nowhere before. No call merges or splits areas, asks the host, needs memory or can fail;
 * the next request sees what was learnt.
 * join: two anon_vmas are the same one: every area that had anon_id `gone` has `keep` now. Ignored
 *   if either is 0 (no anon_vma), or if no area has `gone`. O(areas).
 * part: the area that holds `addr`, and it alone, has an anon_vma of its own after all: an anon_id
 *   that no area has had; one without an anon_vma (anon_id 0) gets one: it had pages once. Ignored
 *   if there is no area, or one that cannot have an anon_vma (shared, huge pages, special).
 *   O(log areas).
 * inherit: the anon_vma of the area that holds `addr`, for all areas that have it, came through
 *   fork (`inherited`: such an area does not merge with one that has none), or did not. Ignored if
 *   there is no area, or one without an anon_vma. O(areas).
 */
VMSPACE_PUBLIC void vmspace_join_anon(struct vmspace *space, uint64_t keep, uint64_t gone);
VMSPACE_PUBLIC void vmspace_part_anon(struct vmspace *space, unsigned long addr);
VMSPACE_PUBLIC void vmspace_inherit_anon(struct vmspace *space, unsigned long addr, bool inherited);

/* ---- faults --------------------------------------------------------------------------------- */

/*
 * A thread touches the page at `addr` (any byte of it): what the processor's page fault does. In a
 * space with memory the page is made present as the area's protection says, and *page (may be NULL)
 * tells of it; if the result is not VMSPACE_FAULT_OK, its contents are unspecified.
 *
 * In a space with memory any thread may call it at any time, beside any other call but
 * vmspace_exec(), vmspace_exit() and vmspace_destroy(). It takes the lock of the one area that
 * holds addr; the space's lock only where there is no area, where a call that changes that very
 * area is under way, where a stack must grow, and for the first anonymous page of an area. So it
 * never waits for calls that change other areas; see docs/concurrency.md. What *page says was so
 * while the area's lock was held: a call of another thread may have taken the page away since.
 * access: VMSPACE_ACCESS_*. VMSPACE_FAULT_NOMEM: no memory; no area has changed, nor
 * what is in memory (a page that was present may have lost its translation, if map() refused it).
 * In a space without memory: as a VMSPACE_FAULT request; page->kind is VMSPACE_PAGE_NONE.
 */
VMSPACE_PUBLIC enum vmspace_fault_result vmspace_touch(struct vmspace *space, unsigned long addr,
						       unsigned int access,
						       struct vmspace_page *page);

/*
 * The same, and the page is used while it is sure to be the one at `addr`: if the result is
 * VMSPACE_FAULT_OK, `use` was called once, in this thread, with the area's lock held, so that the
 * page is neither dropped, moved, protected nor copied for a fork meanwhile. (A page that `access`
 * does not let write may be replaced by a copy when another thread writes there, but its frame
 * stays.) `use` must not call back into a vmspace, and keeps those waiting that change the area.
 */
VMSPACE_PUBLIC enum vmspace_fault_result
vmspace_access(struct vmspace *space, unsigned long addr, unsigned int access,
	       void (*use)(void *ctx, const struct vmspace_page *page), void *ctx);

/* ---- reading ------------------------------------------------------------------------------- */

/* The area that holds addr. Returns false (and fills nothing) if there is none. */
VMSPACE_PUBLIC bool vmspace_lookup(const struct vmspace *space, unsigned long addr,
				   struct vma_info *info);
/* The first area that ends above addr: iterate with addr = 0, then info->end. */
VMSPACE_PUBLIC bool vmspace_next(const struct vmspace *space, unsigned long addr,
				 struct vma_info *info);
/* The last area that begins below addr. */
VMSPACE_PUBLIC bool vmspace_prev(const struct vmspace *space, unsigned long addr,
				 struct vma_info *info);

/* The first area that reaches into [start, end); the area that is exactly [start, end). */
VMSPACE_PUBLIC bool vmspace_intersection(const struct vmspace *space, unsigned long start,
					 unsigned long end, struct vma_info *info);
VMSPACE_PUBLIC bool vmspace_exact(const struct vmspace *space, unsigned long start,
				  unsigned long end, struct vma_info *info);

/*
 * A walk over the areas, in either direction. It keeps addresses and no pointer: it needs no end,
 * may be copied, and stays good when areas change between two steps. It then goes on from the
 * address that it had come to. A step costs O(log areas).
 *
 *	struct vma_iterator it;
 *
 *	vma_iter_init(&it, space, start);
 *	while (vma_iter_find(&it, end, &info))       // each area that reaches into [start, end)
 *		...
 *
 * Lock context of a step, and of the sums and regions below: that of vmspace_lookup(). Beside
 * threads
 * that change areas a walk is no snapshot: each step is of its own moment.
 */
struct vma_iterator {
	const struct vmspace *space; /* private, as are the others */
	unsigned long start, end;    /* of the area it stands on; equal: it stands between areas */
};

/*
 * init: stand at `addr`: the next area is the one that holds addr, or the first above; the previous
 *   one is the last that begins below addr.
 * next, prev: the area after (before) the one that the iterator stands on. At the end they return
 *   false, fill nothing, and the other direction begins with the last (first) area again.
 * find: next, if that area begins below `end`; else false, and the iterator stands at `end`: a
 *   further range is found from there. find_rev: prev, if that area ends above `start`; likewise.
 */
VMSPACE_PUBLIC void vma_iter_init(struct vma_iterator *it, const struct vmspace *space,
				  unsigned long addr);
VMSPACE_PUBLIC bool vma_iter_next(struct vma_iterator *it, struct vma_info *info);
VMSPACE_PUBLIC bool vma_iter_prev(struct vma_iterator *it, struct vma_info *info);
VMSPACE_PUBLIC bool vma_iter_find(struct vma_iterator *it, unsigned long end,
				  struct vma_info *info);
VMSPACE_PUBLIC bool vma_iter_find_rev(struct vma_iterator *it, unsigned long start,
				      struct vma_info *info);

/*
 * Pages of [start, end) that lie in areas which have all of `flags` (0: in any). O(log areas) per
 * area of the range.
 */
VMSPACE_PUBLIC unsigned long vmspace_count_pages(const struct vmspace *space, unsigned long start,
						 unsigned long end, vma_flags_t flags);

struct vmspace_region { unsigned long start, end; }; /* bytes, half-open */

/*
 * The regions that a monitor of memory accesses samples: all that is mapped, without the two widest
 * gaps; so they are three, mostly the heap, the mappings, the stack. (Linux's DAMON:
 * Documentation/mm/damon/design.rst.) Ascending; where there are fewer gaps, fewer.
 * Returns how many: 0 to 3.
 */
VMSPACE_PUBLIC unsigned int vmspace_three_regions(const struct vmspace *space,
						  struct vmspace_region regions[3]);

/* Bits of /proc/PID/coredump_filter; see core(5). */
#define VMSPACE_FILTER_ANON_PRIVATE 0x01u
#define VMSPACE_FILTER_ANON_SHARED  0x02u
#define VMSPACE_FILTER_FILE_PRIVATE 0x04u
#define VMSPACE_FILTER_FILE_SHARED  0x08u
#define VMSPACE_FILTER_ELF_HEADERS  0x10u
#define VMSPACE_FILTER_HUGE_PRIVATE 0x20u
#define VMSPACE_FILTER_HUGE_SHARED  0x40u
#define VMSPACE_FILTER_DAX_PRIVATE  0x80u
#define VMSPACE_FILTER_DAX_SHARED   0x100u
#define VMSPACE_FILTER_DEFAULT      0x33u

/* What of an area a core dump holds. */
enum vmspace_dump_part {
	VMSPACE_DUMP_NONE,           /* its addresses alone */
	VMSPACE_DUMP_ALL,
	VMSPACE_DUMP_HEADER,         /* its first page */
	VMSPACE_DUMP_HEADER_IF_ELF,  /* its first page, if that begins with ELF's magic number */
};

struct vmspace_dump_area {
	unsigned long start, end;
	vma_flags_t flags;
	enum vmspace_dump_part part;
};

/*
 * What a core dump of the space would hold by `filter` (VMSPACE_FILTER_*): its areas, ascending, at
 * most `capacity` of them, into `areas` (NULL if capacity is 0).
 * In a space with memory it is of one moment, under the space's lock.
 * Returns how many areas there are; more than capacity: the rest did not fit.
 */
VMSPACE_PUBLIC size_t vmspace_dump_snapshot(const struct vmspace *space, unsigned int filter,
					    struct vmspace_dump_area *areas, size_t capacity);

/*
 * Where mmap(addr, length, ..., flags, backing) would be placed; -errno if nowhere.
 * `backing` NULL: private anonymous.
 */
VMSPACE_PUBLIC long vmspace_place(struct vmspace *space, unsigned long addr, unsigned long length,
				  int flags, const struct vma_backing *backing, uint64_t offset);

/*
 * The text of /proc/PID/maps, byte for byte. Calls `emit` once per line, newline included; a
 * non-zero return stops and is returned. The line is valid during the call only. -ENOMEM: no memory
 * for a line.
 */
VMSPACE_PUBLIC int vmspace_show_lines(const struct vmspace *space,
				      int (*emit)(void *ctx, const char *line, size_t length), void *ctx);

/*
 * The same into a buffer, always NUL-terminated if size > 0. Returns the length of the whole
 * text (without NUL); if that is >= size, it was cut.
 */
VMSPACE_PUBLIC size_t vmspace_show(const struct vmspace *space, char *buf, size_t size);

/* One area's line, as in /proc/PID/maps; newline included; as snprintf. */
VMSPACE_PUBLIC size_t vmspace_show_area(const struct vmspace *space, unsigned long addr, char *buf,
					size_t size);

/* Flags as in smaps: "rd wr mr mw me ac " (each followed by a blank). As snprintf. */
VMSPACE_PUBLIC size_t vma_flags_text(vma_flags_t flags, char *buf, size_t size);
/* The reverse; unknown letter pairs are skipped and, if `unknown` is not NULL, counted there. */
VMSPACE_PUBLIC vma_flags_t vma_flags_parse(const char *text, unsigned int *unknown);

struct vmspace_stats {
	unsigned long areas, areas_peak;
	unsigned long total_vm;      /* pages: VmSize */
	unsigned long locked_vm;     /* pages: VmLck */
	unsigned long data_vm;       /* pages: VmData */
	unsigned long stack_vm;      /* pages: VmStk */
	unsigned long exec_vm;       /* pages of executable, unwritable areas */
	unsigned long text_vm;       /* pages: VmExe, of the program's own code */
	unsigned long lib_vm;        /* pages: VmLib, the rest of exec_vm */
	unsigned long pinned_vm;     /* pages: VmPin */
	unsigned long committed_vm;  /* pages of areas with VMA_ACCOUNT: its part of Committed_AS */
	unsigned long commit_total;  /* pages committed by all: Committed_AS */
	unsigned long commit_limit;  /* pages: CommitLimit, which counts in overcommit mode 2 */
	unsigned long brk, start_brk, mmap_base; /* mmap_base 0: not known yet */
	unsigned long requests[VMSPACE_OP_COUNT]; /* completed, by op */
	unsigned long faults;        /* of a space with memory: pages touched; also in requests[] */
	unsigned long faults_locked; /* of these, how many took the space's lock */
	/* Of a space with memory: pages present, a frame shared with relatives counting in each. */
	unsigned long anon_pages, file_pages, shmem_pages; /* RssAnon, RssFile, RssShmem */
	unsigned long zero_pages;    /* read and never written; part of no Rss */
	unsigned long table_bytes;   /* of page tables: VmPTE */
	unsigned long merges, splits; /* done so far */
	unsigned long host_questions; /* asked of the host */
	unsigned long tree_nodes, tree_bytes;
	unsigned int tree_height;
};
/* O(nodes of the tree), for their number. */
VMSPACE_PUBLIC void vmspace_stats(const struct vmspace *space, struct vmspace_stats *stats);

/*
 * Check every invariant: the tree, order and alignment of the areas, counters equal to sums.
 * Returns true, or false with a static sentence in *reason (reason may be NULL). O(areas).
 */
VMSPACE_PUBLIC bool vmspace_check(const struct vmspace *space, const char **reason);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_H */
