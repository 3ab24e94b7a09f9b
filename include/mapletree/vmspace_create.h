/* SPDX-License-Identifier: MIT */
/*
 * vmspace_create.h - an address space is configured, created, filled by exec, and ended.
 *
 * Part of vmspace_guest.h and of vmspace.h, which include it.
 */
#ifndef MAPLETREE_VMSPACE_CREATE_H
#define MAPLETREE_VMSPACE_CREATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mapletree/vmspace_area.h>
#include <mapletree/vmspace_memory.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vmspace; /* one address space; opaque */
struct vmspace_hooks; /* vmspace.h */

enum vmspace_thp { VMSPACE_THP_NEVER, VMSPACE_THP_MADVISE, VMSPACE_THP_ALWAYS };

#define VMSPACE_NO_LIMIT (~0UL)
#define VMSPACE_RULE_WORDS 2

/*
 * The host: answers what libvmspace cannot know when it mirrors a live process. All members may be
 * NULL. They are called by vmspace_gather() and vmspace_refresh() only, if a decision depends on
 * the answer, and must not call back into the same vmspace.
 */
struct vmspace_host {
	void *ctx;
	/*
	 * Does the process have an anonymous page in [start, end), a range in one private area?
	 * That is a private page that was written, in memory or swapped out; not the zero page (but
	 * the huge zero page), nor a page of the file. NULL: areas get anonymous pages by
	 * VMSPACE_FAULT requests alone.
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
 * the running kernel), then change what differs. Not in it: where the break begins, and [vdso]. These
 * are the program's: image->start_brk of vmspace_exec(), and an area of VMA_BACKING_SPECIAL.
 */
struct vmspace_config {
	unsigned long page_size;       /* bytes, power of two */
	unsigned long task_size;       /* first address above user space */
	unsigned long map_window;      /* mmap places below, unless a hint is above (47 bits) */
	unsigned long mmap_base;       /* mmap places below (bottom-up: above); 0: not known */
	unsigned long mmap_base_legacy; /* for bottom-up if that is 0 (TASK_UNMAPPED_BASE) */
	bool mmap_bottom_up;           /* legacy layout: place from below */
	unsigned long mmap_min_addr;   /* vm.mmap_min_addr: mapping below takes a privilege */
	unsigned long hint_min_addr;   /* hints below are raised to it; stacks do not grow below */
	unsigned long stack_guard_gap; /* pages kept free below growsdown areas */
	unsigned long max_map_count;   /* areas (vm.max_map_count) */
	unsigned long pmd_size;        /* bytes of a transparent huge page; 0: no support */
	enum vmspace_thp thp;          /* /sys/kernel/mm/transparent_hugepage/enabled */
	bool shmem_align_huge;         /* shared anonymous memory is placed aligned to huge pages */
	/*
	 * Commit accounting (Documentation/mm/overcommit-accounting.rst). Areas with VMA_ACCOUNT
	 * are charged. ram_pages 0: the size of memory is not known, and nothing is refused.
	 * commit_pool: the pages committed by all spaces that share it, children of fork included.
	 * The user sets it to what is committed outside of spaces; it must outlive them. Spaces
	 * charge it atomically, but two threads that make calls at the same time may exceed the
	 * limit by one call each. NULL: the sum is committed_elsewhere, and what this space has
	 * committed. In mode 2 a mirror follows its host.
	 */
	int overcommit;                /* vm.overcommit_memory: 0, 1, 2 */
	unsigned long ram_pages;       /* MemTotal */
	unsigned long swap_pages;      /* SwapTotal */
	unsigned long huge_pages;      /* those of ram_pages in hugetlb pools (Hugetlb) */
	unsigned int overcommit_ratio; /* percent of the memory (vm.overcommit_ratio) */
	unsigned long overcommit_kbytes; /* vm.overcommit_kbytes: not 0: instead of the ratio */
	unsigned long admin_reserve_kbytes; /* reserved for processes with `admin` */
	unsigned long user_reserve_kbytes; /* reserved: 1/32 of the process, at most this */
	bool admin;                    /* CAP_SYS_ADMIN; also for MADV_HWPOISON */
	unsigned long committed_elsewhere; /* pages that others have committed */
	unsigned long *commit_pool;    /* pages; or NULL */
	uint64_t memory_nodes;         /* bit n: memory of node n is usable; 0: no NUMA calls */
	bool anon_names;               /* the kernel supports PR_SET_VMA_ANON_NAME */
	bool softdirty;                /* the kernel has soft-dirty tracking: VmFlags sd */
	/*
	 * madvise(MADV_DONTNEED), also _LOCKED, frees lowest-level page tables (2 MiB each) that
	 * lie wholly in the range and in one area and have become empty: CONFIG_PT_RECLAIM, x86-64
	 * since Linux 6.14. For spaces with memory.
	 */
	bool pt_reclaim;
	bool pkeys;                    /* the CPU has memory protection keys */
	bool key_0;                    /* without them key 0 is one all the same (arm64) */
	bool bti;                      /* PROT_BTI is known (arm64) */
	bool address_tags;             /* arm64: bits 56 to 63 of addresses do not count, but for
					* mmap, shmat, brk, remap_file_pages, process_madvise,
					* userfaultfd, where mremap moves something to, and all
					* functions that take no request */
	bool mmap_apart;               /* arm64: private memory that mmap makes with MAP_ANONYMOUS
					* never merges with other memory, as the heap's; the
					* flag VMA_BY_MMAP tells it */
	bool ksm;                      /* the kernel supports MADV_MERGEABLE */
	bool read_implies_exec;        /* personality READ_IMPLIES_EXEC */
	bool low_privileged;           /* CAP_SYS_RAWIO: mmap_min_addr does not apply */
	bool lock_privileged;          /* CAP_IPC_LOCK: RLIMIT_MEMLOCK does not apply */
	bool move_all_privileged;      /* CAP_SYS_NICE: MPOL_MF_MOVE_ALL; rule advise-privileged */
	unsigned long rlimit_as;       /* bytes; VMSPACE_NO_LIMIT */
	unsigned long rlimit_data;     /* 0: rlimit_data_max applies instead, except to brk */
	unsigned long rlimit_data_max; /* the hard limit */
	unsigned long rlimit_stack;
	unsigned long rlimit_memlock;
	/*
	 * In what versions of Linux differ; see <mapletree/vmspace_rules.h>. Bit n of the words:
	 * rule n applies. All 0: nearly those of 5.10.
	 */
	uint64_t rules[VMSPACE_RULE_WORDS];
	struct vmspace_host host;
	const struct vmspace_memory *memory; /* the user's; NULL: no pages are kept */
	const struct vmspace_hooks *hooks;   /* the user's; NULL: none */
	/*
	 * Several threads may use the space, and signal handlers look areas up in it, also where
	 * there is no memory. (With memory they always may.) Cannot be changed later.
	 */
	bool threads;
};

/*
 * Fill `config` with the values of the running kernel and calling process (/proc/sys/vm,
 * /sys/kernel/mm, getrlimit, and a few short-lived mappings to see what the kernel does); what
 * cannot be read gets Linux's default. mmap_base is 0. For a guest that is not to have the limits and
 * sysctls of this machine: vmspace_config_preset(). The first call in a process starts a child
 * process to find out which rules the kernel follows, and keeps the result for good: see
 * vmspace_running_kernel() in <mapletree/vmspace_rules.h>.
 */
VMSPACE_PUBLIC void vmspace_config_init(struct vmspace_config *config);

/*
 * Fill `config` for a guest, with nothing of the machine that the library runs on: the layout of an
 * architecture ("x86_64", "aarch64", "riscv64", as uname(2) names them), and the rules of a version
 * (NULL: VMSPACE_KERNEL_NEWEST). Pages of 4 KiB; 47, 48 and 38 (Sv39) bits of addresses; mmap_base
 * as without randomisation, 128 MiB below their end. Linux's default of the sysctls; no limits but a
 * stack of 8 MiB; no privileges; the size of memory is not known, so that nothing is refused for
 * want of it; no huge pages, nodes, and nothing that only some processors have (pkeys, key_0, bti,
 * mmap_apart). Set what your guest has otherwise. Asks the kernel nothing, and starts no process.
 * Returns 0; or -EINVAL, nothing changed: an architecture that is not known here, or does not fit
 * into an unsigned long; a version as vmspace_config_kernel() refuses it.
 */
VMSPACE_PUBLIC int vmspace_config_preset(struct vmspace_config *config, const char *architecture,
					 const char *version);

/*
 * What vmspace_create() refuses in `config`: a static sentence, or NULL. Among it: pages of another
 * size than those of its window (vmspace_window_memory()): the host's, or as its memory was created;
 * and a window that a space uses, also for the configuration of that space.
 */
VMSPACE_PUBLIC const char *vmspace_config_check(const struct vmspace_config *config);

/*
 * A new, empty address space; `config` is copied. Ended by vmspace_destroy().
 * Returns 0 or -EINVAL (vmspace_config_check() tells why); -EBUSY: config->memory is a window that
 * another space uses, and does until vmspace_destroy(); -ENOMEM.
 */
VMSPACE_PUBLIC int vmspace_create(struct vmspace **out, const struct vmspace_config *config);

/* Free an address space and everything in it. NULL is ignored. */
VMSPACE_PUBLIC void vmspace_destroy(struct vmspace *space);

/* The current configuration (limits as changed since); valid as long as the space. */
VMSPACE_PUBLIC const struct vmspace_config *vmspace_config(const struct vmspace *space);

/*
 * Change configuration of a live space: limits (setrlimit), sysctls, personality, host callbacks,
 * mmap_base, hooks. page_size, task_size and memory must stay. Returns 0 or -EINVAL.
 */
VMSPACE_PUBLIC int vmspace_configure(struct vmspace *space, const struct vmspace_config *config);

/* One area to take over; see vmspace_exec(). */
struct vmspace_area {
	unsigned long start, end;
	vma_flags_t flags;           /* all of smaps' VmFlags; see vma_flags_parse() */
	uint64_t offset;             /* bytes */
	struct vma_backing backing;
	const char *anon_name;       /* without "[anon:" "]"; NULL */
	unsigned int pkey;
	bool has_anon;               /* has anonymous pages */
	bool fork_child;             /* attach: fork may have copied it since its first page */
};

/* Properties of the process, from /proc/PID/stat. Zero where unknown. */
struct vmspace_image {
	unsigned long start_code, end_code, start_data, end_data;
	unsigned long start_brk, brk; /* brk 0: taken from the area named [heap], else start_brk */
	unsigned long start_stack;
	bool pkeys_unknown;          /* attach: keys that no area has may be allocated, too */
	bool mlock_future, mlock_onfault; /* attach: mlockall(MCL_FUTURE, MCL_ONFAULT) */
	bool vsyscall;               /* the [vsyscall] line is shown at the end */
	bool vsyscall_read;          /* that page is readable ("r-xp") */
};

/*
 * exec, or attaching to a live process: drop all areas, and take over `count` areas in ascending
 * order. Areas named [heap] or [stack] are anonymous; the names are optional: they follow from the
 * image (and if image->start_stack or start_brk is 0, that follows from the name). An area above
 * task_size (vsyscall) sets image->vsyscall. If mmap_base is 0, it is guessed: the end of the
 * topmost mapping below the stack. Placements seen later correct the guess upwards, or show it
 * where there was nothing to guess by (a static program whose [vdso] lies elsewhere).
 * Returns 0; or, with nothing changed, -ENOMEM or -EINVAL: areas overlap, are not in order or not
 * page aligned, reach across task_size, have a key above 31, or are locked on fault but not locked;
 * or a break that lies below its start.
 */
VMSPACE_PUBLIC int vmspace_exec(struct vmspace *space, const struct vmspace_area *areas,
				size_t count, const struct vmspace_image *image);

/* exit: drop all areas. The space stays usable (for vmspace_exec()). */
VMSPACE_PUBLIC void vmspace_exit(struct vmspace *space);

/* The calls on a space: what a request is, and vmspace_stats() counts. */
enum vmspace_op {
	VMSPACE_MMAP = 1, VMSPACE_MUNMAP, VMSPACE_MPROTECT, VMSPACE_MREMAP, VMSPACE_BRK,
	VMSPACE_MADVISE, VMSPACE_MLOCK, VMSPACE_MUNLOCK, VMSPACE_MLOCKALL, VMSPACE_MUNLOCKALL,
	VMSPACE_SET_ANON_NAME, VMSPACE_SHMAT, VMSPACE_SHMDT, VMSPACE_REMAP_FILE_PAGES,
	VMSPACE_MSEAL, VMSPACE_FAULT, VMSPACE_FORK, VMSPACE_MSYNC, VMSPACE_MINCORE, VMSPACE_MBIND,
	VMSPACE_SET_HOME_NODE, VMSPACE_PROCESS_MADVISE,
	VMSPACE_UFFD_REGISTER, VMSPACE_UFFD_UNREGISTER, VMSPACE_UFFD_RELEASE,
	VMSPACE_PKEY_ALLOC, VMSPACE_PKEY_FREE,
	VMSPACE_OP_COUNT,
};

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_CREATE_H */
