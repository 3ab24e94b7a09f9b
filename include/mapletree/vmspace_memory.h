/* SPDX-License-Identifier: MIT */
/*
 * vmspace_memory.h - what a user provides for a vmspace to have pages, and what a page fault tells.
 *
 * Part of vmspace.h, which includes it.
 */
#ifndef MAPLETREE_VMSPACE_MEMORY_H
#define MAPLETREE_VMSPACE_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vma_backing;

/*
 * Memory of the user's that stands behind the areas: what libvmspace needs to keep a page table.
 * A space without one (vmspace_config.memory is NULL) keeps no pages and pays nothing for them.
 *
 * A *frame* is a page's worth of the user's memory, named by a number of the user's choice that is
 * not 0. libvmspace counts in how many places a frame is mapped, in a space and its relatives by
 * fork, and gives it back when the last one is gone. A *translation* is what lets the guest reach a
 * frame at an address; like an entry of a TLB it may be dropped at any time: the next access faults
 * and gets it again.
 *
 * Context: every function is called with the lock of the area held that it is about (for map() and
 * unmap(): `start` and `addr` lie in it), by any thread that makes a call on the space; by several
 * at once for different pages, and alloc(), free(), copy(), file_page() and file_release() also for
 * the same. None may call back into a vmspace. The table itself must stay as it is as long as any
 * space has it. ctx is passed to each.
 */
struct vmspace_memory {
	void *ctx;
	/* A frame full of zeros, which is libvmspace's until free(). 0: no memory left. */
	uint64_t (*alloc)(void *ctx);
	/* A frame from alloc() that is mapped nowhere any more. */
	void (*free)(void *ctx, uint64_t frame);
	/*
	 * Copy a page from `from`, which others may read at the same time, to `to`, new from
	 * alloc().
	 */
	void (*copy)(void *ctx, uint64_t to, uint64_t from);
	/*
	 * *frame becomes the frame of page `index` of what is mapped; the same one for the same
	 * page each time, for it is what makes memory shared (between spaces, too). `backing` tells
	 * what is mapped, also shared anonymous memory (whose file_id no other has in any space
	 * that keeps pages); valid during the call. The frame stays the user's.
	 * Returns 0; -ENOMEM; any other negative errno: there is no such page (the file ends before
	 * it, or cannot be read), SIGBUS. NULL: all backed areas answer with SIGBUS.
	 */
	int (*file_page)(void *ctx, const struct vma_backing *backing, uint64_t index,
			 uint64_t *frame);
	/*
	 * Once for each file_page() that returned 0: that use of the frame is over. NULL: not
	 * wanted.
	 */
	void (*file_release)(void *ctx, uint64_t frame);
	/*
	 * The page at `addr` is `frame` now, and may be accessed as `access` (VMSPACE_ACCESS_*)
	 * says. Replaces what was translated there; when it returns, no thread reaches a former
	 * frame through this address any more. Calls for one address come one at a time and in
	 * order. Returns 0; or -ENOMEM: then there is no translation at addr. NULL: not wanted.
	 */
	int (*map)(void *ctx, unsigned long addr, uint64_t frame, unsigned int access);
	/*
	 * No page of [start, end) is translated any more; when it returns, no thread reaches a
	 * frame through it. (A TLB shootdown.) May be called for pages that are not translated.
	 * Cannot fail. NULL: not wanted; only if map is NULL, too.
	 */
	void (*unmap)(void *ctx, unsigned long start, unsigned long end);
};

#define VMSPACE_ACCESS_READ  1u
#define VMSPACE_ACCESS_WRITE 2u
#define VMSPACE_ACCESS_EXEC  4u

enum vmspace_page_kind {
	VMSPACE_PAGE_NONE,           /* no page there */
	VMSPACE_PAGE_ZERO,           /* anonymous, read but never written: a frame of zeros for all */
	VMSPACE_PAGE_ANON,           /* private to the space, or shared with relatives until written */
	VMSPACE_PAGE_FILE,           /* a page of a file */
	VMSPACE_PAGE_SHMEM,          /* a page of shared anonymous or System V memory */
	VMSPACE_PAGE_GUARD,          /* MADV_GUARD_INSTALL: no page, every access is refused */
};

/* How a fault came by its page. */
enum vmspace_page_source {
	VMSPACE_PAGE_PRESENT,        /* it was there, with that access: translated again */
	VMSPACE_PAGE_NEW,            /* there was none */
	VMSPACE_PAGE_COPIED,         /* written while shared, or while of a file or zero: copied */
	VMSPACE_PAGE_REUSED,         /* shared once, written when no longer: made writable */
};

struct vmspace_page {
	unsigned long addr;          /* of the page */
	uint64_t frame;              /* 0: NONE, GUARD */
	unsigned int access;         /* VMSPACE_ACCESS_* that need no further fault */
	enum vmspace_page_kind kind;
	enum vmspace_page_source source;
};

/* What a page fault ends with. */
enum vmspace_fault_result {
	VMSPACE_FAULT_OK,            /* the access may be repeated */
	VMSPACE_FAULT_MAPERR,        /* SIGSEGV, SEGV_MAPERR: no area, or a guard page */
	VMSPACE_FAULT_ACCERR,        /* SIGSEGV, SEGV_ACCERR: the area forbids it */
	VMSPACE_FAULT_BUS,           /* SIGBUS, BUS_ADRERR: beyond the end of what is mapped */
	VMSPACE_FAULT_NOMEM,         /* no memory: of the user's, or for the page table */
};

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_MEMORY_H */
