/* SPDX-License-Identifier: MIT */
/*
 * vmspace_files.h - guests that map files whose bytes the program provides: what they write reaches the
 * file, and what is written to the file reaches them.
 *
 * It is about pages that read_page of struct vmspace_memfd_config made. Files with a descriptor
 * (vmspace_memfd_use_files()) need nothing of this: their pages are the file's own.
 *
 * The protocol, for a program that emulates a guest's system calls:
 * - msync and fsync: vmspace_write_back() of the range, or vmspace_memfd_write_back() of the file.
 * - munmap, exit, exec, and whatever else takes pages from a guest, needs nothing at the time: that they were
 *   written is kept with the file, for vmspace_memfd_write_back(), at the latest before
 *   vmspace_memfd_forget(), which drops what is left.
 * - MADV_REMOVE of a guest (vmspace_madvise()) needs nothing either: it writes zeros, as the guest could. All
 *   pages of the range are in the memfd then, also those that nobody had touched: -ENOMEM, and nothing has
 *   changed, if its limit does not reach.
 * - read() and its like: write the range back first, if the bytes are taken from elsewhere.
 * - write() and its like: when the bytes are written, vmspace_memfd_written().
 * - ftruncate(), or others have written to the file: write back first, by vmspace_write_back() in each space
 *   that maps it (what a guest wrote and nobody wrote back stays, and later hides what others wrote there;
 *   so does a page that a guest may write unseen), then vmspace_memfd_invalidate().
 * Programs with several threads hold a lock of their own for the file over the write and
 * vmspace_memfd_written(), and take it in write_page, too: else an older page overwrites what was written.
 * What guests store in the midst of such a call comes before or after it, byte by byte.
 */
#ifndef MAPLETREE_VMSPACE_FILES_H
#define MAPLETREE_VMSPACE_FILES_H

#include <mapletree/vmspace_memfd.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Write a page of the file, one that read_page has made, where it belongs; of the last page what the file
 * has. Guests may store to `page` meanwhile; then they dirty it again. Returns 0 or a negative errno. Called
 * without a lock of a space, but must not call back into one, nor into the memfd.
 */
typedef int vmspace_write_page(void *ctx, const struct vma_backing *file, uint64_t index,
			       const void *page);

/*
 * Write the pages back that guests have written since that was last done, of those that [start, end) of
 * `space` maps shared: whoever wrote them, through whatever mapping, space or pin. Their marks
 * VMSPACE_MARK_DIRTY in this range are cleared as by vmspace_collect(): so who collects marks as well has to
 * take note of what is written here. Marks elsewhere stay: a page that another mapping of it, or a pin, may
 * write unseen is written each time, until that has its mark cleared, or ends.
 *
 * Returns 0; or the first error of `write`: that page is dirty still, all others have been tried; -EINVAL:
 * the range is not page aligned, the memory is no window's, or the space is a snapshot; -ENOMEM: a part may
 * have been written. Any thread; takes the space's lock for each area of the range.
 */
VMSPACE_PUBLIC int vmspace_write_back(struct vmspace *space, unsigned long start, unsigned long end,
				      vmspace_write_page *write, void *ctx);

/*
 * The same of pages [first, first + pages) of a file, of which no space is known. No marks are cleared: a
 * page that is mapped, and whose mark is not cleared, is written each time. Takes no lock of a space.
 */
VMSPACE_PUBLIC int vmspace_memfd_write_back(struct vmspace_memfd *memfd, const struct vma_backing *file,
					    uint64_t first, uint64_t pages, vmspace_write_page *write,
					    void *ctx);

/*
 * `size` bytes at `offset` of the file are now `bytes`, by a write() that has just been made: pages of it
 * show them. To be called in the order of the writes. Waits for nobody but other users of the memfd.
 */
VMSPACE_PUBLIC void vmspace_memfd_written(struct vmspace_memfd *memfd, const struct vma_backing *file,
					  uint64_t offset, const void *bytes, size_t size);

/*
 * Read pages [first, first + pages) of the file again, as many as were ever made, by read_page; all who
 * map them see what that gives. Those that are to be written back, as vmspace_memfd_write_back() would, stay
 * as they are: so also those that a mapping or a pin may write unseen. Where read_page says
 * that there is no such page any more, new faults get VMSPACE_FAULT_BUS; where it is mapped it stays
 * until that is unmapped or discarded (an MADV_DONTNEED request of the guest's areas does so), and nothing of
 * it is written back. Returns 0, or -ENOMEM: pages from some one on have not been read again.
 */
VMSPACE_PUBLIC int vmspace_memfd_invalidate(struct vmspace_memfd *memfd, const struct vma_backing *file,
					    uint64_t first, uint64_t pages);

#ifdef __cplusplus
}
#endif
#endif /* MAPLETREE_VMSPACE_FILES_H */
