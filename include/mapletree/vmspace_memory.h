/* SPDX-License-Identifier: MIT */
/*
 * vmspace_memory.h - memory that a user provides for a vmspace with pages; page faults in it.
 *
 * Part of vmspace_guest.h and of vmspace.h, which include it.
 */
#ifndef MAPLETREE_VMSPACE_MEMORY_H
#define MAPLETREE_VMSPACE_MEMORY_H

#include <stdint.h>

#include <mapletree/vmspace_area.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vmspace;

/*
 * The user's memory behind the areas, from which libvmspace builds a page table. A space without
 * one (vmspace_config.memory is NULL) keeps no pages, and that costs it nothing.
 *
 * A *frame* is a page's worth of the user's memory, named by a number chosen by the user that is
 * not 0. libvmspace counts how often a frame is mapped, in a space and its relatives by fork, and
 * gives it back after the last unmapping. A *translation* lets the guest access a frame at an
 * address. Like a TLB entry it may be dropped at any time: the next access faults, and it is made
 * again.
 *
 * Locking: every function is called with the lock held of the area it is about (for map() and
 * unmap(): the area that contains `addr` or `start`), by any thread that makes a call on the space;
 * by several at once for different pages, and alloc(), free(), copy(), file_page() and
 * file_release() also for the same. None may call back into a vmspace. The table must not change
 * while a space uses it. ctx is passed to each function.
 */
struct vmspace_memory {
	void *ctx;
	/* A frame full of zeros; it belongs to libvmspace until free(). 0: out of memory. */
	uint64_t (*alloc)(void *ctx);
	/* A frame from alloc() is no longer mapped anywhere. */
	void (*free)(void *ctx, uint64_t frame);
	/* Copy a page from `from`, which may be read concurrently, to `to`, new from alloc(). */
	void (*copy)(void *ctx, uint64_t to, uint64_t from);
	/*
	 * Set *frame to the frame of page `index` of what is mapped: always the same frame for the
	 * same page, as that is what makes memory shared (between spaces, too). `backing`, valid
	 * during the call, tells what is mapped; shared anonymous memory has a file_id that is
	 * unique among all spaces with pages. The frame stays the user's.
	 * MADV_REMOVE drops pages from the space alone: that they are zeros is up to the user, when it
	 * has succeeded.
	 * Returns 0; -ENOMEM; any other negative errno: there is no such page (the file ends before
	 * it, or cannot be read), SIGBUS. NULL: accesses to areas with a backing end in SIGBUS.
	 */
	int (*file_page)(void *ctx, const struct vma_backing *backing, uint64_t index,
			 uint64_t *frame);
	/* Called once for each file_page() that returned 0, when that use ends. May be NULL. */
	void (*file_release)(void *ctx, uint64_t frame);
	/*
	 * Translate `addr` to `frame`, for accesses of the kind `access` (VMSPACE_ACCESS_*).
	 * Replaces the previous translation: on return no thread may reach another frame through
	 * this address. Calls for one address come one at a time and in order. Returns 0; or
	 * -ENOMEM: there is no translation at addr then. May be NULL.
	 */
	int (*map)(void *ctx, unsigned long addr, uint64_t frame, unsigned int access);
	/*
	 * Drop all translations of [start, end): on return no thread may reach a frame through them
	 * (a TLB shootdown). There may be none. Cannot fail. May be NULL if map is.
	 */
	void (*unmap)(void *ctx, unsigned long start, unsigned long end);
};

#define VMSPACE_ACCESS_READ  1u
#define VMSPACE_ACCESS_WRITE 2u
#define VMSPACE_ACCESS_EXEC  4u

enum vmspace_page_kind {
	VMSPACE_PAGE_NONE,           /* no page there */
	VMSPACE_PAGE_ZERO,           /* anonymous, never written: the one frame of zeros */
	VMSPACE_PAGE_ANON,           /* private, or shared with relatives until written */
	VMSPACE_PAGE_FILE,           /* a page of a file */
	VMSPACE_PAGE_SHMEM,          /* a page of shared anonymous or System V memory */
	VMSPACE_PAGE_GUARD,          /* MADV_GUARD_INSTALL: no page, every access fails */
};

/* Where a fault got its page from. */
enum vmspace_page_source {
	VMSPACE_PAGE_PRESENT,        /* it was present, and only translated again */
	VMSPACE_PAGE_NEW,            /* there was none */
	VMSPACE_PAGE_COPIED,         /* copy on write: it was shared, of a file, or zero */
	VMSPACE_PAGE_REUSED,         /* once shared, but no longer: made writable */
};

struct vmspace_page {
	unsigned long addr;          /* of the page */
	uint64_t frame;              /* 0: NONE, GUARD */
	unsigned int access;         /* VMSPACE_ACCESS_* that do not fault */
	enum vmspace_page_kind kind;
	enum vmspace_page_source source;
};

/* The result of a page fault. */
enum vmspace_fault_result {
	VMSPACE_FAULT_OK,            /* the access may be repeated */
	VMSPACE_FAULT_MAPERR,        /* SIGSEGV, SEGV_MAPERR: no area, or a guard page */
	VMSPACE_FAULT_ACCERR,        /* SIGSEGV, SEGV_ACCERR: the area forbids it */
	VMSPACE_FAULT_BUS,           /* SIGBUS, BUS_ADRERR: beyond the end of what is mapped */
	VMSPACE_FAULT_NOMEM,         /* out of memory: the user's, or for the page table */
	VMSPACE_FAULT_PINNED,        /* of vmspace_watch_code() alone: no fault, but nothing is watched */
};

/*
 * A thread accesses the page at `addr` (any byte of it): do what a page fault does. In a space with
 * memory the page is made present as the area's protection allows, and *page (may be NULL)
 * describes it; if the result is not VMSPACE_FAULT_OK, its contents are unspecified.
 *
 * In a space with memory any thread may call it at any time, concurrently with any other call but
 * vmspace_exec(), vmspace_exit() and vmspace_destroy(). It takes the lock of the one area that
 * contains addr. It takes the space's lock only if there is no area, a call is changing that very
 * area, a stack has to grow, or it is the first anonymous page of the area; so it never waits for
 * calls that change other areas (docs/concurrency.md). *page was true while the area's lock was
 * held: another thread's call may have unmapped the page since.
 * access: VMSPACE_ACCESS_*; 0: the area need only have some right, and it is as for a read.
 * VMSPACE_FAULT_NOMEM: out of memory; areas and the contents of memory
 * have not changed (a page that was present may have lost its translation, if map() failed).
 * In a space without memory: as a VMSPACE_FAULT request; page->kind is VMSPACE_PAGE_NONE. A snapshot has
 * no pages: VMSPACE_FAULT_BUS.
 */
VMSPACE_PUBLIC enum vmspace_fault_result vmspace_touch(struct vmspace *space, unsigned long addr,
						       unsigned int access,
						       struct vmspace_page *page);

/*
 * The same, and use the page while it is certain to be the one at `addr`: if the result is
 * VMSPACE_FAULT_OK, `use` was called once, in this thread, with the area's lock held, so that the
 * page was not dropped, moved, protected or copied for a fork meanwhile. (Unless `access` includes
 * writing, a write by another thread may replace the page by a copy, but the frame stays valid.)
 * `use` must not call back into a vmspace; threads that want to change the area wait for it.
 */
VMSPACE_PUBLIC enum vmspace_fault_result
vmspace_access(struct vmspace *space, unsigned long addr, unsigned int access,
	       void (*use)(void *ctx, const struct vmspace_page *page), void *ctx);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_MEMORY_H */
