/* SPDX-License-Identifier: MIT */
/*
 * pages.h - the software page table of a space: which frame is at which address.
 *
 * A radix tree like the hardware's: tables of page_size / 8 entries, as many levels as task_size
 * needs (4 for 48 bits of address, 5 for 57). An entry of the lowest level is empty, or a frame,
 * or the zero page, or a guard marker.
 *
 * Who may call what, where "the area" is the one that holds the addresses:
 *
 *	pages_fault, pages_lookup,		the area's lock, for reading or writing
 *	pages_release
 *	pages_zap, pages_protect, pages_guard,	the area's lock for writing (so no fault is under way
 *	pages_unguard				there; others go on)
 *	pages_unmap, pages_prepare_move,	the same, and the space's lock: no area may appear, grow
 *	pages_move, pages_copy,			or go in the meantime
 *	pages_reclaim, pages_stock*,
 *	pages_populate, pages_end_stock
 *	the rest				nobody else uses the space
 *
 * Tables appear by compare-and-swap, and go only when no area reaches into what they cover, or (by
 * pages_reclaim) one that holds all of it and is locked for writing.
 */
#ifndef VMSPACE_PAGES_H
#define VMSPACE_PAGES_H

#include "vma.h"

struct pages;
struct frame;

/*
 * An empty page table for addresses below task_size. `memory` must outlive it. 0 or -ENOMEM, or
 * -EINVAL: a function is missing in `memory`.
 */
int pages_create(struct pages **out, const struct vmspace_memory *memory,
		 unsigned long page_size, unsigned long task_size);
/* Drop all pages and tables; the page table is empty then, and uses no memory but its own. */
void pages_clear(struct pages *pages);
/* The same, and the page table itself. NULL is ignored. */
void pages_destroy(struct pages *pages);

/*
 * Access to addr, which lies in vma: make the page present as the area's flags say, and translate
 * it (memory->map). *page is filled if the result is VMSPACE_FAULT_OK; it is true as long as the
 * area's lock is held, though another thread's fault may meanwhile exchange a page that is not
 * writable. The caller sees to vma's anon_vma before a write to private memory.
 */
enum vmspace_fault_result pages_fault(struct pages *pages, const struct vma *vma,
				      unsigned long addr, unsigned int access,
				      struct vmspace_page *page);
/*
 * The page at addr in vma as it is now, without a fault: kind NONE if there is none. A page that is
 * not writable may be exchanged by another thread's fault while the area's lock is held for reading
 * only; so the frame is held: it keeps its content until pages_release() of what is returned (NULL
 * is none, and ignored), which must come before the area's lock is released.
 */
struct frame *pages_lookup(struct pages *pages, const struct vma *vma, unsigned long addr,
			   struct vmspace_page *page);
void pages_release(struct pages *pages, struct frame *frame);

/*
 * Put by what pages_populate() of all pages of [start, end), which lie in vma, will need, so that it
 * cannot fail: tables, where the pages will be, `by` bytes further (modulo the word), and frames.
 * `fresh`: nothing will be there; else what is there now, which stays until then: vma is locked for
 * writing. Parts come upwards. 0; -ENOMEM; or 1: so far as a page that cannot be had (a guard, the end
 * of the file), where pages_populate() will stop. pages_end_stock() ends it, by the same thread. The
 * space's lock.
 */
int pages_stock(struct pages *pages, const struct vma *vma, unsigned long start,
		unsigned long end, bool write, unsigned long by, bool fresh);
/* Only the tables, for pages_guard() and pages_prepare_move(). 0 or -ENOMEM. */
int pages_stock_tables(struct pages *pages, unsigned long start, unsigned long end);
/* ... of what a move of [from, from + length) to `to` makes. */
int pages_stock_move(struct pages *pages, unsigned long from, unsigned long to,
		     unsigned long length);
/* As pages_fault(), with what is in stock; a translation that cannot be had is left for later. */
enum vmspace_fault_result pages_populate(struct pages *pages, const struct vma *vma,
					 unsigned long addr, unsigned int access,
					 struct vmspace_page *page);
/* Give back what is left. */
void pages_end_stock(struct pages *pages);

/* Drop the pages of [start, end), but not guard markers (MADV_DONTNEED, MADV_FREE). */
void pages_zap(struct pages *pages, unsigned long start, unsigned long end);
/*
 * Give back the lowest tables that lie wholly in [start, end), a part of one area, and are empty (no
 * guard marker in them either). Higher ones stay, as in Linux.
 */
void pages_reclaim(struct pages *pages, unsigned long start, unsigned long end);
/*
 * Drop all that is in [start, end), then the tables, level by level, that lie wholly in
 * [floor, ceiling): the end of the area below, 0 if there is none; and the start of the area above,
 * 0 if there is none. Areas of [start, end) itself do not count.
 */
void pages_unmap(struct pages *pages, unsigned long start, unsigned long end,
		 unsigned long floor, unsigned long ceiling);
/* The access of the areas in [start, end) changes from the flags `from` to the flags `to`. */
void pages_protect(struct pages *pages, unsigned long start, unsigned long end, vma_flags_t from,
		   vma_flags_t to);
/*
 * Replace what is in [start, end) by guard markers. 0, or -ENOMEM: a part has them; not after
 * pages_stock_tables().
 */
int pages_guard(struct pages *pages, unsigned long start, unsigned long end);
/* Remove the guard markers of [start, end); pages stay. */
void pages_unguard(struct pages *pages, unsigned long start, unsigned long end);

/*
 * Move what is in [from, from + length) to [to, to + length), which holds nothing and does not
 * overlap. First prepare, which makes the tables needed: 0 or -ENOMEM. After that the move cannot
 * fail, as long as no page is added in between. Whoever does not go on after prepare (that it
 * failed included) gives its tables back with pages_unmap() of the target. The tables of the source
 * go with pages_unmap() of the source, too.
 */
int pages_prepare_move(struct pages *pages, unsigned long from, unsigned long to,
		       unsigned long length);
/* While on, the tables that this thread frees serve those that it makes. */
void pages_keep_tables(bool on);
void pages_move(struct pages *pages, unsigned long from, unsigned long to, unsigned long length);

/*
 * fork: what `vma`, an area of the parent, has in pages is in the child, too; private frames are
 * shared until written. Copies what Linux copies: nothing of areas that the child can fill by
 * itself (without anon_vma and guards). Not to be called for areas that are not inherited, or
 * wiped. 0; or -ENOMEM: a part is copied, which pages_destroy() of the child undoes.
 * The parent's space lock and the area's lock for writing; nobody else uses the child.
 */
int pages_copy(struct pages *child, struct pages *parent, const struct vma *vma);

/* What there is, in pages, and bytes of tables (VmPTE). Exact when nobody changes anything. */
struct pages_count {
	unsigned long anon, file, shmem; /* RssAnon, RssFile, RssShmem */
	unsigned long zero, guards;
	unsigned long table_bytes;       /* of the three lowest levels, as VmPTE; not the root */
	unsigned long all_table_bytes;
};
void pages_count(const struct pages *pages, struct pages_count *count);
/* Counters equal to what is there; no writable page is shared. True, or false and why. */
bool pages_check(const struct pages *pages, const char **reason);

#endif
