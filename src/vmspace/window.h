/* SPDX-License-Identifier: MIT */
/*
 * window.h - what page tables ask a window beyond struct vmspace_memory. A memory that is no window
 * (its functions are the user's) answers false, or 0, to all of it.
 */
#ifndef VMSPACE_WINDOW_H
#define VMSPACE_WINDOW_H

#include <mapletree/vmspace_memfd.h>

/* The size of the pages that it maps: the host's. */
size_t window_page_size(const struct vmspace_memory *memory);

/*
 * Is `addr` mapped to `frame` for such accesses already, so that map() would change nothing? It may
 * be unmapped at any moment, as any translation may. Takes no lock.
 */
bool window_shows(const struct vmspace_memory *memory, unsigned long addr, uint64_t frame,
		  unsigned int access);

/*
 * Take the right to write from all translations of [start, end), and leave them otherwise. False:
 * unmap() has to be called. Called as unmap() is.
 */
bool window_write_protect(const struct vmspace_memory *memory, unsigned long start,
			  unsigned long end);

/* The memfd that the frames of a window's space are in; NULL: it is no window. */
struct vmspace_memfd *window_memfd(const struct vmspace_memory *memory);

/* Of the windows of a memfd, the one after this; NULL: it is the last. */
struct vmspace_window *window_next(const struct vmspace_window *window);
/* End all translations, in a child of fork() with one thread. Nobody else uses the window. */
void window_close(struct vmspace_window *window);

#endif
