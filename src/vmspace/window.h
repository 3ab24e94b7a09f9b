/* SPDX-License-Identifier: MIT */
/*
 * window.h - what page tables ask a window beyond struct vmspace_memory. A memory that is no window
 * (its functions are the user's) answers false, or 0, to all of it.
 */
#ifndef VMSPACE_WINDOW_H
#define VMSPACE_WINDOW_H

#include <mapletree/vmspace_memfd.h>

/* The size of the pages that it maps. */
size_t window_page_size(const struct vmspace_memory *memory);
/* The size of the host's pages where those are larger, or 0. */
size_t window_unit_size(const struct vmspace_memory *memory);

/*
 * A frame for a page at `addr`, as memory->alloc(); in a window if possible beside the frames of the
 * pages about it, so that the system can join their mappings; `after`: the frame of the page below,
 * if that is not mapped yet, or 0. Zeroed, if `zero`. Takes no lock of pages.
 */
uint64_t window_alloc_at(const struct vmspace_memory *memory, unsigned long addr, uint64_t after,
		      bool zero);
/* As memory->alloc(), for a frame that stays full of zeros. */
uint64_t window_alloc_zeros(const struct vmspace_memory *memory);
/* As memory->file_page(), for a page that is going to be mapped at `addr`. */
int window_file_page_at(const struct vmspace_memory *memory, const struct vma_backing *backing,
			uint64_t index, unsigned long addr, uint64_t *frame);
/*
 * MADV_REMOVE of [addr, addr + size), where pages from `index` on of what is mapped are: see memfd.h. Called
 * as memory->file_page(), the second when nothing of that is translated any more.
 */
int window_prepare_hole(const struct vmspace_memory *memory, const struct vma_backing *backing,
			uint64_t index, unsigned long addr, unsigned long size);
int window_make_hole(const struct vmspace_memory *memory, const struct vma_backing *backing,
		     uint64_t index, unsigned long size);
/*
 * As memory->map(); a window may prepare the mappings of pages about it in [start, end) that have
 * none. The range is part of one area, whose lock is held, and so is that of the page's table.
 */
int window_map_in(const struct vmspace_memory *memory, unsigned long addr, uint64_t frame,
		  unsigned int access, unsigned long start, unsigned long end);

/*
 * Is `addr` mapped to `frame` for such accesses already, so that map() would change nothing? It may
 * be unmapped at any moment, as any translation may. Takes no lock.
 */
bool window_shows(const struct vmspace_memory *memory, unsigned long addr, uint64_t frame,
		  unsigned int access);

/*
 * A page that the window shows in the sense of window_shows(): is the page of the host that it lies in, where
 * that is larger, not mapped for such an access, though faults at the other pages in it may change that?
 * Then, after these were made, window_tried_to_open() is called, with the same arguments and *tried; if
 * they did not help the answer is no, for this access, until a page of these or an area changes.
 * areas: a number that is another one after each change of areas. May be called by any thread at any time.
 */
bool window_may_open(const struct vmspace_memory *memory, unsigned long addr, unsigned int access,
		     unsigned long areas, uint64_t *tried);
void window_tried_to_open(const struct vmspace_memory *memory, unsigned long addr, unsigned int access,
			  unsigned long areas, uint64_t tried);

/*
 * Take the right to write from all translations of [start, end), and leave them otherwise. False:
 * unmap() has to be called. Called as unmap() is.
 */
bool window_write_protect(const struct vmspace_memory *memory, unsigned long start,
			  unsigned long end);

/*
 * A window shows the pages of one space. Let that be `space`: false, it is another's. To be given back
 * when all translations of the space have ended; nothing happens if it is not the space's.
 */
bool window_take(const struct vmspace_memory *memory, const struct vmspace *space);
void window_give_back(const struct vmspace_memory *memory, const struct vmspace *space);
bool window_is_taken(const struct vmspace_memory *memory);

/* For tests: do with or without guards. False: the system has none. Nobody else uses the window. */
bool window_set_guards(const struct vmspace_memory *memory, bool guards);

/* The memfd that the frames of a window's space are in; NULL: it is no window. */
struct vmspace_memfd *window_memfd(const struct vmspace_memory *memory);

/* Of the windows of a memfd, the one after this; NULL: it is the last. */
struct vmspace_window *window_next(const struct vmspace_window *window);
/* End all translations, in a child of fork() with one thread. Nobody else uses the window. */
void window_close(struct vmspace_window *window);

#endif
