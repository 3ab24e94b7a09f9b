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
 *  - an emulator or sandbox decides by itself. It needs no more than <mapletree/vmspace_guest.h>: a
 *    function for each call, and vmspace_touch() for page faults. Where it wants to know why a call
 *    failed, or what it did to the areas, it fills in a request and calls vmspace_call().
 *  - a mirror follows a real process: it calls vmspace_gather() when the process has entered the
 *    system call (nothing has changed yet), and after its return vmspace_complete() with the
 *    kernel's result in req.host (or vmspace_abort() if the call never happened). A mirror does not
 *    see page faults; gather asks `struct vmspace_host` for what it needs to know.
 *
 * Conventions: addresses and lengths are bytes; areas are half-open [start, end) and page aligned;
 * counters are pages. Arguments of requests are those of the system call, unchecked; constants are
 * those of <sys/mman.h>. Errors are negative errno values.
 *
 * Threads: different vmspaces (also parent and child of a fork) are independent. Calls on one
 * vmspace are serialised by the caller; or, in a space with memory (vmspace_config.memory) or made
 * for several threads (vmspace_config.threads), by the space's own lock: then any thread may make any
 * call, except that vmspace_exec(), vmspace_exit() and vmspace_destroy() need exclusive use of the
 * space. vmspace_touch() does not wait for calls that change other areas. vmspace_lookup(),
 * vmspace_next(), vmspace_prev() and iterators wait for nobody, and may be used in signal handlers.
 * No call starts threads, uses signals or global state, but for vmspace_config_init(): what it finds
 * out about the kernel is kept for good; and such a space uses liburcu-bp, without its thread: calls
 * that change areas free what readers may have looked at (mt_rcu_polled()), and may wait for
 * threads inside mt_read_lock(). Hold no lock for which one of these waits. Several requests may
 * be gathered at the same time; each complete applies to the areas as they are then,
 * so requests must be completed in the order in which the kernel performed the calls.
 *
 * Out of memory: if libvmspace runs out of memory, or the user's memory does where a call populates
 * pages (mlock, MAP_POPULATE, MADV_POPULATE_*, locked areas that grow), the call returns -ENOMEM
 * with req.out.out_of_memory set (brk: the old break, as brk does) and has changed nothing: neither
 * areas, however many it was about, nor pages, page tables, limits or counters; no hook was called.
 * To that end a call reserves what it may need before its first change, and frees the rest when it
 * ends. Calls about one area rarely have to reserve anything. A call that may merge many areas
 * reserves 4 to 7 KiB for each pair that could be merged, and three times that for each area that
 * one mremap moves.
 *
 *  - Where Linux itself stops half-way (a hole, a seal, EACCES at the third area, max_map_count),
 *    so do these calls: that is a result, not lack of memory. A mapping at a given address that is
 *    refused by a limit leaves what was in its way cut; by its file, unmapped.
 *  - Populated pages may lack a translation (if memory->map() failed); the next access asks for it.
 *  - A page fault that runs out of memory fails with VMSPACE_FAULT_NOMEM, see vmspace_touch().
 */
#ifndef MAPLETREE_VMSPACE_H
#define MAPLETREE_VMSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mapletree/vmspace_create.h>
#include <mapletree/vmspace_snapshot.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what mirrors need of a space ----------------------------------------------------------- */

/*
 * An exact copy of a space, to try a request on: areas, break, counters, configuration, and what
 * was learned from the host. Not a fork: every area stays what it is. *out is independent of
 * `space`; the caller ends it with vmspace_destroy(). Strings and anon_ids are copied, but the host
 * callbacks and their ctx are the same; the copy has no pages and no hooks. A request gathered on
 * `space` may be completed on either, or on both (each with its own copy of the request); gathered
 * again on the copy, it asks the host again. No other thread may use `space` meanwhile, as it is
 * temporarily modified.
 *
 * Of a snapshot it makes the space as it was then, which can be changed; without a host until
 * vmspace_configure() gives it one, and without hooks for words. Any number of threads may do so at
 * once, beside whatever happens to the space that the snapshot was taken of, whose lock is not
 * taken.
 *
 * Returns 0, or -ENOMEM (*out is NULL; `space` is unchanged). O(areas).
 */
VMSPACE_PUBLIC int vmspace_clone(struct vmspace **out, const struct vmspace *space);

/*
 * A driver pins `pages` of the space (for device access: RDMA, io_uring ...), or unpins them; no
 * request does. They count against RLIMIT_MEMLOCK, but not as locked pages, and are not inherited
 * by fork. Returns 0; pin: -ENOMEM (the limit); unpin: -EINVAL (not so many pinned).
 */
VMSPACE_PUBLIC int vmspace_pin(struct vmspace *space, unsigned long pages);
VMSPACE_PUBLIC int vmspace_unpin(struct vmspace *space, unsigned long pages);

/* ---- requests ------------------------------------------------------------------------------ */

struct vmspace_mmap {
	unsigned long addr, length;
	int prot;                    /* PROT_* */
	int flags;                   /* MAP_* */
	uint64_t offset;             /* bytes */
	struct vma_backing backing;  /* shared anonymous: dev, inode, or later vmspace_identify() */
	bool bad_fd;                 /* the descriptor is not open: EBADF */
	vma_flags_t driver_flags;    /* of io pf mm de dd dc ar hg nh: what the file's driver adds */
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
	/* dev, inode, name "/SYSV%08x (deleted)"; file_id and size are ignored. */
	struct vma_backing backing;
};
struct vmspace_shmdt { unsigned long addr; };
struct vmspace_remap_file_pages {
	unsigned long addr, size;
	int prot;                    /* must be 0 */
	unsigned long page_offset;   /* pages */
	int flags;                   /* MAP_NONBLOCK or 0 */
	/* VMA_BACKING_SEAL_WRITE, _NO_EXEC: what the file may have got since it was mapped. */
	unsigned int file_flags;
};
struct vmspace_mseal { unsigned long addr, length; unsigned long flags; };
struct vmspace_msync { unsigned long addr, length; int flags; }; /* MS_* */
struct vmspace_mincore {
	unsigned long addr, length;
	bool bad_vec;                /* the vector cannot be written: EFAULT */
	/*
	 * NULL, or the vector: a byte per page, of which the lowest bit says whether the page is
	 * present (of a file, too: not whether it is cached), up to the first hole.
	 */
	unsigned char *vec;
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
struct vmspace_process_madvise { /* of the process itself; result: bytes advised, or -errno */
	const struct vmspace_range *ranges; /* the caller's, until complete returns */
	size_t count;
	int advice;
	unsigned int flags;          /* must be 0 */
};

/*
 * userfaultfd: ioctl(UFFDIO_REGISTER), ioctl(UFFDIO_UNREGISTER), and RELEASE: the last descriptor
 * of a userfaultfd is closed, and none of its areas is registered any more. Result: 0 or -errno.
 * Faults are not passed to the user: pages of registered areas are populated as though the handler
 * always provided them at once.
 *
 * `context` is a number chosen by the caller that identifies a userfaultfd while it exists. A moved
 * area stays registered only with UFFD_FEATURE_EVENT_REMAP; a child of fork inherits the
 * registration only with UFFD_FEATURE_EVENT_FORK, and in the child the context stands for the new
 * userfaultfd that the event carries.
 */
#define VMSPACE_UFFD_CONTEXT_MAX 65535u
struct vmspace_uffd {
	unsigned long addr, length;  /* not of RELEASE */
	uint64_t mode;               /* REGISTER: UFFDIO_REGISTER_MODE_* */
	uint64_t features;           /* UFFD_FEATURE_* that UFFDIO_API enabled; not of RELEASE */
	unsigned int context;        /* 1 .. VMSPACE_UFFD_CONTEXT_MAX */
};

/*
 * Memory protection keys (x86: 16, if config.pkeys). Result: the key, or -errno. The rights that a
 * key gives are each thread's own affair, and not modelled: nothing is refused because of them.
 * What is: areas mapped with PROT_EXEC alone get a key that denies reading (and mlock() and
 * MADV_POPULATE_READ), as long as one is free.
 */
struct vmspace_pkey_alloc {
	unsigned long flags;         /* must be 0 */
	unsigned long rights;        /* PKEY_DISABLE_* */
};
struct vmspace_pkey_free { int pkey; };

/*
 * A page is touched: 0, -EFAULT (no area), -EACCES (forbidden), -ENXIO (beyond the end of a file
 * whose size is known: SIGBUS).
 */
struct vmspace_fault {
	unsigned long addr;
	unsigned int access;         /* VMSPACE_ACCESS_* */
};
/*
 * A large space that one thread uses (no memory, no threads, no hooks about words) is forked in the
 * time of a small one: parent and child share the areas, and each copies those that it changes. As
 * long as there is such a child, calls on the parent take memory and time as beside a snapshot
 * (vmspace_snapshot()), and what the child has of the parent stays in memory, also if that goes.
 */
struct vmspace_fork {            /* fork, clone without CLONE_VM */
	struct vmspace *child;       /* out: the new space, the caller's; NULL on error */
	const struct vmspace_host *child_host; /* host callbacks of the child; NULL: none */
	/*
	 * The child's memory. NULL: the parent's, which must not have map() then (-EINVAL), as that
	 * is about addresses of the parent. Parent and child share frames: either memory's free()
	 * may be called for them. A window has to be on the memfd of the parent's (-EINVAL, also
	 * for pages of another size), and no space may use it, nor the parent (-EBUSY).
	 */
	const struct vmspace_memory *child_memory;
	const struct vmspace_hooks *child_hooks; /* NULL: none */
};

/*
 * The host's result of the real call, for mirrors. Without `valid`, libvmspace decides alone.
 *
 * With it, complete follows the host: if `result` is an error that libvmspace does not predict (a
 * file system refused, a limit of the host), it applies the effects that such a failure leaves; it
 * places a mapping where the host did. out.result is nevertheless what libvmspace predicts, so that
 * out.differs reports a wrong prediction.
 */
struct vmspace_host_result {
	bool valid;
	long result;                 /* of the raw system call: value or -errno */
	/*
	 * An error of mmap, shmat, mremap or remap_file_pages, at an address that was given: what
	 * had been mapped there is unmapped nevertheless, as when the file refused (mremap: and so
	 * is the part by which the source was to shrink).
	 */
	bool unmapped;
};

/* Why two neighbours were merged or not. */
enum vma_verdict {
	VMA_MERGE_NONE = 0,          /* there is no neighbour */
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
	VMA_NOT_TRIED,               /* Linux does not try (brk, stack growth: one side only) */
	VMA_ANON_VMA_NOT_TAKEN,      /* one has none, and takes none before Linux 6.16 */
	VMA_KEPT_APART,              /* Linux would merge them; their words, or the user, forbid it */
	VMA_VERDICT_COUNT,
};

/* A sentence for each, e.g. "different anon_vma". Never NULL; static. */
VMSPACE_PUBLIC const char *vma_verdict_text(enum vma_verdict verdict);

/* Why two areas are not merged; see vmspace_explain(). */
struct vma_explanation {
	enum vma_verdict verdict;
	vma_flags_t differ;          /* VMA_DIFFERENT_FLAGS, _UFFD: flags in which they differ */
	unsigned long low, high;     /* where the two areas begin; equal if they are one */
	char text[320];              /* a sentence with the particulars; cut if it is longer */
};

/*
 * Why are the areas that contain `a` and `b`, in either order, not merged? Gives the first reason
 * in Linux's order. VMA_MERGED: they are the same area. VMA_NOT_TRIED: they could be merged, but
 * Linux did not try (or the space is an attached mirror, which does not know everything). Does not
 * ask the host. Returns 0, or -ENOENT: there is no area at one of the addresses; text says at
 * which. O(log areas).
 */
VMSPACE_PUBLIC int vmspace_explain(const struct vmspace *space, unsigned long a, unsigned long b,
				   struct vma_explanation *out);

enum vmspace_event_kind {
	VMSPACE_EVENT_MAP,           /* [start, end) newly mapped */
	VMSPACE_EVENT_UNMAP,         /* [start, end) unmapped */
	VMSPACE_EVENT_SPLIT,         /* the area [start, end) was split at `at` */
	VMSPACE_EVENT_MERGE,         /* neighbours became the area [start, end), joined at `at` */
	VMSPACE_EVENT_NO_MERGE,      /* neighbours meeting at `at` were not merged: see verdict */
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
 * Callbacks for every event, including those that a request's outcome has no room for. Members may
 * be NULL. None may call back into a vmspace. The table must not change while a space uses it.
 */
struct vmspace_hooks {
	void *ctx;
	/*
	 * Areas changed; *event is valid during the call. Called in the thread that makes the
	 * request, with the space's lock held: one at a time, in order. An event is one step of a
	 * request, after which more may follow.
	 */
	void (*event)(void *ctx, const struct vmspace_event *event);
	/*
	 * A page fault was resolved. Called in the faulting thread with the area's lock held; by
	 * several threads at once, and concurrently with event() for other areas.
	 */
	void (*fault)(void *ctx, const struct vmspace_page *page);
};

/* What a request did. */
struct vmspace_outcome {
	long result;                 /* what Linux returns, as libvmspace computes it */
	bool differs;                /* host said something else: req.host.result */
	bool base_learned;           /* the host's placement showed where mmap_base is */
	bool placed_at_random;       /* Linux chooses such addresses at random (MAP_32BIT) */
	bool out_of_memory;          /* libvmspace has no memory: nothing has changed */
	const char *why;             /* explains an error or a difference; static; NULL: none */
	/* Bit n: rule n, in which versions of Linux differ, has decided something. */
	uint64_t rules[VMSPACE_RULE_WORDS];
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
		struct vmspace_uffd uffd;            /* UFFD_* */
		struct vmspace_pkey_alloc pkey_alloc;
		struct vmspace_pkey_free pkey_free;
	};
	struct vmspace_host_result host;     /* to be set before complete */
	struct vmspace_outcome out;          /* set by complete */
	bool gathered;                       /* not used */
	uint64_t word;                       /* of the new area, if the space uses words */
};

/*
 * Gather: before the call happens, ask the host for what the call's decisions will depend on, and
 * for what cannot be found out after it. Changes no area except that stacks are grown as the host
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
 * For mirrors attached to a live process, which cannot see at once which areas share an anon_vma
 * (`anon_id`), have one without having pages, or inherited theirs through fork, but find out when
 * areas merge or do not. These calls correct the anon_vmas. They neither merge nor split areas, do
 * not ask the host, allocate nothing and cannot fail; they take effect with the next request.
 * join: two anon_vmas are the same: areas with anon_id `gone` now have `keep`. Ignored if either
 *   is 0 (no anon_vma), or if no area has `gone`. O(areas).
 * part: the area that contains `addr`, and no other, has an anon_vma of its own: it gets a new
 *   anon_id, even if it had none (so it once had pages). Ignored if there is no area, or one that
 *   cannot have an anon_vma (shared, huge pages, special). O(log areas).
 * inherit: the anon_vma of the area that contains `addr`, for all areas that have it, was inherited
 *   through fork (`inherited`: they do not merge with areas that have none), or was not. Ignored if
 *   there is no area, or one without an anon_vma. O(areas).
 * drop: the area that contains `addr`, and no other, has no anon_vma; private anonymous memory then
 *   has the page offsets of its address. Ignored if there is no area with one. O(log areas).
 * place: the area that contains `addr`, and no other, was moved by mremap(): its page there has
 *   `page_offset`, in pages. Ignored if there is no area of private anonymous memory. O(log areas).
 */
VMSPACE_PUBLIC void vmspace_join_anon(struct vmspace *space, uint64_t keep, uint64_t gone);
VMSPACE_PUBLIC void vmspace_part_anon(struct vmspace *space, unsigned long addr);
VMSPACE_PUBLIC void vmspace_inherit_anon(struct vmspace *space, unsigned long addr, bool inherited);
VMSPACE_PUBLIC void vmspace_drop_anon(struct vmspace *space, unsigned long addr);
VMSPACE_PUBLIC void vmspace_place_anon(struct vmspace *space, unsigned long addr,
				       uint64_t page_offset);

#ifdef __cplusplus
}
#endif

#include <mapletree/vmspace_reading.h>
#include <mapletree/vmspace_pages.h>
#include <mapletree/vmspace_code.h>

#endif /* MAPLETREE_VMSPACE_H */
