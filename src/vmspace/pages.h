/* SPDX-License-Identifier: MIT */
/*
 * pages.h - a space's page table in software: which frame is mapped at which address.
 *
 * A radix tree like the hardware's: tables of page_size / 8 entries, and as many levels as
 * task_size needs (4 for 48 bits of address, 5 for 57). An entry of the lowest level is empty, a
 * frame, the zero page, or a guard marker.
 *
 * Locking, where "the area" is the one that covers the addresses:
 *
 *	pages_fault, pages_fault_around,	the area's lock, for reading or writing
 *	pages_open_around,
 *	pages_glance, pages_peek,
 *	pages_pin, pages_lookup,
 *	pages_release
 *	pages_zap, pages_protect, pages_guard,	the area's lock for writing: no fault is in progress
 *	pages_unguard, pages_watch_code		there, but elsewhere
 *	pages_unmap, pages_move,		the same, and the space's lock: no area may
 *	pages_copy,				appear, grow or disappear meanwhile
 *	pages_reclaim, pages_reserve*,
 *	pages_populate, pages_end_reserve
 *	pages_collect				as it says
 *	the others				nobody else uses the space
 *
 * Tables are installed by compare-and-swap. They are removed only when no area overlaps them, or
 * (by pages_reclaim) if the one area that covers all of such a table is write-locked.
 */
#ifndef VMSPACE_PAGES_H
#define VMSPACE_PAGES_H

#include "vma.h"

struct pages;
struct frame;
struct slot;
struct slots;

/*
 * An empty page table for addresses below task_size. `memory` must outlive it. 0 or -ENOMEM, or
 * -EINVAL: `memory` lacks a function.
 */
int pages_create(struct pages **out, const struct vmspace_memory *memory,
		 unsigned long page_size, unsigned long task_size);
/*
 * Pages of areas with the key *pkey, if that is not 0, can only be executed. It outlives the page
 * table, and may be stored to while pages are faulted in; see pkey.h.
 */
void pages_set_execute_only(struct pages *pages, const uint8_t *pkey);
/* Where threads say which frames they look at, for pages_glance(). Outlives the page table, too. */
void pages_set_slots(struct pages *pages, struct slots *slots);
/* Drop all pages and free all tables. */
void pages_clear(struct pages *pages);
/* The same, and free the page table itself. NULL is ignored. */
void pages_destroy(struct pages *pages);

/*
 * Handle a fault at addr, which lies in vma: make the page present as the area's flags demand, and
 * translate it (memory->map). *page is filled if the result is VMSPACE_FAULT_OK. It holds as long
 * as the area is locked, though another thread's fault may replace a page that is not writable.
 * Before a write to private memory the caller makes sure that vma has an anon_vma.
 */
enum vmspace_fault_result pages_fault(struct pages *pages, const struct vma *vma,
				      unsigned long addr, unsigned int access,
				      struct vmspace_page *page);
/*
 * After that: the same for the other pages of vma in the page of the host that addr lies in, if that is
 * larger, as far as is possible; as the host can only map all of them or none. Called as pages_fault().
 */
void pages_fault_around(struct pages *pages, const struct vma *vma, unsigned long addr,
			unsigned int access);
/*
 * After pages_glance() instead: the same where the window does not show the host's page for such an access,
 * unless that was tried since something of it, or an area, changed. areas: as for window_may_open().
 */
void pages_open_around(struct pages *pages, const struct vma *vma, unsigned long addr,
		       unsigned int access, unsigned long areas);
/*
 * As pages_fault() if the page is present, serves the access, which the area permits, and needs no
 * translation: there is no memory->map, or the window shows the page. Then nothing is written but
 * *page and `slot`, which the caller owns (or NULL: it has none). False: pages_fault() has to be
 * called.
 */
bool pages_glance(struct pages *pages, const struct vma *vma, unsigned long addr,
		  unsigned int access, struct slot *slot, struct vmspace_page *page);
/*
 * The page at addr in vma as it is now, without a fault; kind NONE if there is none. A page that is
 * not writable may be replaced by another thread's fault while the area is only read-locked;
 * therefore the frame is referenced, and keeps its content, until pages_release() of the return
 * value (which may be NULL). That must come before the area is unlocked.
 */
struct frame *pages_lookup(struct pages *pages, const struct vma *vma, unsigned long addr,
			   struct vmspace_page *page);
void pages_release(struct pages *pages, struct frame *frame);

/*
 * The same without the reference: *page was so while the area was locked. `slot`, which the caller
 * owns, saves taking the table's lock; or NULL.
 */
void pages_peek(struct pages *pages, const struct vma *vma, unsigned long addr, struct slot *slot,
		struct vmspace_page *page);

/*
 * Pin the page at addr, which a fault for such an access has just made present, the area being locked
 * since. Ended by pages_unpin() at any time, without locks. What a pin to write means for forks and
 * marks: see pages_copy() and pages_collect().
 */
struct frame *pages_pin(struct pages *pages, unsigned long addr, bool write);
void pages_unpin(const struct vmspace_memory *memory, struct frame *frame, bool write);

/*
 * Watch the page at addr, which has been translated as code: until it is, or may be, written, loses
 * the right to be executed, moves or goes. Then pages_code_generation() is raised, and what
 * pages_set_code_hook() has set is called, before that can be seen; and it is watched no more. Those who
 * are told have the area's lock, or the space's too. VMSPACE_FAULT_OK; _MAPERR: the page is not present;
 * _PINNED: it is pinned to be written, and not watched; page->access has VMSPACE_ACCESS_WRITE then alone.
 */
enum vmspace_fault_result pages_watch_code(struct pages *pages, const struct vma *vma,
					   unsigned long addr, struct vmspace_page *page);
/* With all areas locked for writing. NULL: none. */
void pages_set_code_hook(struct pages *pages,
			 void (*changed)(void *ctx, unsigned long start, unsigned long end),
			 void *ctx);
unsigned long pages_code_generation(const struct pages *pages);

/*
 * Call `found` (NULL: nobody) for the pages of [start, end) in ascending order, as many as are looked
 * at together, with marks[i] for the page at addr + i * page size: VMSPACE_MARK_*, or 0 if it has none of `which`.
 * clear: those in `which` are cleared first, so that the next access, or write, of a guest faults. Then
 * the areas are locked for writing, else for reading or by the space's lock.
 */
typedef void pages_found(void *ctx, unsigned long addr, const unsigned char *marks, unsigned int count);
void pages_collect(struct pages *pages, unsigned long start, unsigned long end, unsigned int which,
		   bool clear, pages_found *found, void *ctx);

/*
 * Reserve what pages_populate() of all pages of [start, end) will need, so that it cannot fail:
 * page tables and frames. The range lies in vma, or if `fresh` in what vma will grow by; the pages
 * will be populated `delta` bytes higher (modulo the word). fresh: nothing is mapped there by then.
 * Otherwise what is mapped now stays until then, and vma is write-locked.
 * 0; -ENOMEM; or 1: reserved up to a page that cannot be had (a guard, the end of the file), where
 * pages_populate() is going to stop. pages_end_reserve() must follow, by the same thread.
 */
int pages_reserve(struct pages *pages, const struct vma *vma, unsigned long start,
		  unsigned long end, bool write, unsigned long delta, bool fresh);
/* Reserve the tables alone, for pages_guard(). 0 or -ENOMEM. */
int pages_reserve_tables(struct pages *pages, unsigned long start, unsigned long end);
/*
 * Reserve the tables that pages_move() needs; what is there from now on until then may be unmapped,
 * but the source gets no more pages. 0 or -ENOMEM.
 */
int pages_reserve_move(struct pages *pages, unsigned long from, unsigned long to,
		       unsigned long length);
/*
 * As pages_fault(), from the reserve; if the page cannot be translated, the next access will try.
 */
enum vmspace_fault_result pages_populate(struct pages *pages, const struct vma *vma,
					 unsigned long addr, unsigned int access,
					 struct vmspace_page *page);
/* Free what is left of the reserve. */
void pages_end_reserve(struct pages *pages);

/* Drop the pages of [start, end), but not guard markers (MADV_DONTNEED, MADV_FREE). */
void pages_zap(struct pages *pages, unsigned long start, unsigned long end);
/*
 * Free the lowest tables that lie wholly in [start, end), a part of one area, and are empty, of
 * guard markers too. Higher ones stay, as in Linux.
 */
void pages_reclaim(struct pages *pages, unsigned long start, unsigned long end);
/*
 * Drop all that is mapped in [start, end), then free the tables, level by level, that lie wholly in
 * [floor, ceiling): the end of the area below (0: there is none) and the start of the area above
 * (0: there is none). Areas in [start, end) itself do not count.
 */
void pages_unmap(struct pages *pages, unsigned long start, unsigned long end,
		 unsigned long floor, unsigned long ceiling);
/* The areas in [start, end) change their access rights from the flags `from` to the flags `to`. */
void pages_protect(struct pages *pages, unsigned long start, unsigned long end, vma_flags_t from,
		   vma_flags_t to);
/* There is no translation of [start, end) any more. For the other parts of the page table. */
void pages_end_translations(const struct pages *pages, unsigned long start, unsigned long end);
/* None allows writing any more; they may be gone. Likewise. */
void pages_write_protect(const struct pages *pages, unsigned long start, unsigned long end);
/*
 * Replace what is mapped in [start, end) by guard markers. 0; or -ENOMEM: only a part has them.
 * Cannot fail after pages_reserve_tables().
 */
int pages_guard(struct pages *pages, unsigned long start, unsigned long end);
/* Remove the guard markers of [start, end); pages stay. */
void pages_unguard(struct pages *pages, unsigned long start, unsigned long end);

/*
 * Move what is mapped in [from, from + length) to [to, to + length), which is empty and does not
 * overlap. Cannot fail after pages_reserve_move(). The tables of the source are freed by
 * pages_unmap() of the source.
 */
void pages_move(struct pages *pages, unsigned long from, unsigned long to, unsigned long length);

/*
 * fork: copy to the child what is mapped in `vma`, an area of the parent; private frames are shared
 * until written (copy on write). As in Linux, areas that the child can fill by faults are not
 * copied: pages_inherited(). 0; or -ENOMEM: a part is copied, which pages_destroy() of the child
 * undoes. The parent's space lock is held and the area write-locked; nobody else uses the child.
 */
int pages_copy(struct pages *child, struct pages *parent, const struct vma *vma);
/* Are they? Not if the area is not inherited, or wiped; nor without an anon_vma and guards. */
bool pages_inherited(const struct vma *vma);

/* Pages by kind, and bytes of tables (VmPTE). Exact while nobody changes anything. */
struct pages_count {
	unsigned long anon, file, shmem; /* RssAnon, RssFile, RssShmem */
	unsigned long zero, guards;
	unsigned long table_bytes;       /* as VmPTE: of the three lowest levels, not the root */
	unsigned long all_table_bytes;
};
void pages_count(const struct pages *pages, struct pages_count *count);
/* Are counters equal to what is mapped, and no writable page shared? If not, *reason says why. */
bool pages_check(const struct pages *pages, const char **reason);

#endif
