/* SPDX-License-Identifier: MIT */
/*
 * vmspace_memfd.h - guest memory in a memfd, mapped for real.
 *
 * A ready `struct vmspace_memory`, for emulators and the like that run guests in their own process:
 * frames are pages of one memfd, and every translation is a real mapping of its frame, so that a
 * thread reaches guest memory by a load or store at vmspace_window_host(window, address). What is
 * not translated is inaccessible there: SIGSEGV, whose handler makes the page fault and returns.
 *
 * One struct vmspace_memfd holds the frames of a space and its relatives by fork (or of several
 * spaces that share memory); each space has one struct vmspace_window. The guest's pages must be as
 * large as the host's. Guest code is never mapped executable: an access to execute is one to read.
 * Every function may be called by several threads at once, but for create and destroy.
 */
#ifndef MAPLETREE_VMSPACE_MEMFD_H
#define MAPLETREE_VMSPACE_MEMFD_H

#include <mapletree/vmspace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vmspace_memfd;
struct vmspace_window;

struct vmspace_memfd_config {
	/*
	 * Bytes that frames may take at most. As many are reserved, not used, of the host's
	 * addresses.
	 */
	size_t limit;
	void *ctx;
	/*
	 * Fill `page`, which is full of zeros, with page `index` of the file. Returns 0; -ENOMEM;
	 * any
	 * other negative errno: there is no such page, SIGBUS. Called once for each page that is
	 * kept, with an area's lock held; sometimes again by another thread, whose result is not
	 * used. NULL: files have no pages. Not called for shared anonymous and System V memory:
	 * that begins with zeros.
	 */
	int (*read_page)(void *ctx, const struct vma_backing *file, uint64_t index, void *page);
};

/*
 * Returns 0 and *out, ended by vmspace_memfd_destroy() after all its windows; or -EINVAL (limit is
 * less than a page), -ENOMEM, or what memfd_create() refused with. `config` is copied.
 */
VMSPACE_PUBLIC int vmspace_memfd_create(struct vmspace_memfd **out,
					const struct vmspace_memfd_config *config);
VMSPACE_PUBLIC void vmspace_memfd_destroy(struct vmspace_memfd *memfd);

/*
 * Pages of files and of shared memory are kept when they are mapped no longer, as the next mapping
 * must find what was written; until this says that the object is gone (closed and removed, or its
 * last area unmapped, if it is anonymous). Pages that are still mapped go when they no longer are.
 * What counts as one object: of shared anonymous memory what has one file_id; else what has the
 * same device and inode; without inode, the same name; without name, the same file_id.
 */
VMSPACE_PUBLIC void vmspace_memfd_forget(struct vmspace_memfd *memfd,
					 const struct vma_backing *backing);

/* A frame's memory, for as long as the frame lives: to read a guest's page without its window. */
VMSPACE_PUBLIC void *vmspace_memfd_frame(const struct vmspace_memfd *memfd, uint64_t frame);
/* Bytes in frames that are in use, pages of files included. */
VMSPACE_PUBLIC size_t vmspace_memfd_used(const struct vmspace_memfd *memfd);

/*
 * Reserve `size` bytes of the host's addresses, to map guest addresses [start, start + size) in,
 * all multiples of the page size. Pages elsewhere get no mapping: their faults succeed, but nothing
 * changes in the window. Returns 0 and *out, or -EINVAL, -ENOMEM.
 */
VMSPACE_PUBLIC int vmspace_window_create(struct vmspace_window **out, struct vmspace_memfd *memfd,
					 unsigned long start, size_t size);
/* After the space whose memory it is has been destroyed. */
VMSPACE_PUBLIC void vmspace_window_destroy(struct vmspace_window *window);
/* For vmspace_config.memory or vmspace_fork.child_memory; as long as the window. */
VMSPACE_PUBLIC const struct vmspace_memory *vmspace_window_memory(
	const struct vmspace_window *window);

/*
 * Where guest address `addr` is in the host, NULL if not in the window; and the reverse: is `host`
 * in the window (*addr is set then)? Both may be called in a signal handler.
 */
VMSPACE_PUBLIC void *vmspace_window_host(const struct vmspace_window *window, unsigned long addr);
VMSPACE_PUBLIC bool vmspace_window_guest(const struct vmspace_window *window, const void *host,
					 unsigned long *addr);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_MEMFD_H */
