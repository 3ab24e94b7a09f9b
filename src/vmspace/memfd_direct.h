/* SPDX-License-Identifier: MIT */
/*
 * memfd_direct.h - frames that are pages of files themselves, not of the memfd.
 *
 * Such a frame's number has DIRECT_BIT, the file's number (DIRECT_FILE_BITS) and the index of the page
 * (DIRECT_INDEX_BITS); no frame of a memfd is as large.
 */
#ifndef VMSPACE_MEMFD_DIRECT_H
#define VMSPACE_MEMFD_DIRECT_H

#include "memfd.h"

#define DIRECT_BIT        (UINT64_C(1) << 62)
#define DIRECT_INDEX_BITS 40
#define DIRECT_FILE_BITS  21 /* bit 61 is a window's */

static inline bool memfd_is_direct(uint64_t frame)
{
	return frame & DIRECT_BIT;
}

/* Which page of its file the frame is, or of the memfd. */
static inline uint64_t memfd_index(uint64_t frame)
{
	return memfd_is_direct(frame) ? frame & ((UINT64_C(1) << DIRECT_INDEX_BITS) - 1) : frame - 1;
}

/*
 * Set *direct to a file whose descriptor the user gives. 0; 1: there is none; or -ENOMEM. The lock is
 * held, and dropped while the user is asked.
 */
int memfd_direct_find(struct vmspace_memfd *memfd, const struct vma_backing *backing,
		      struct memfd_direct **direct);
/* Make a hole in it. 0, or what was refused. The lock is held, and dropped meanwhile. */
int memfd_direct_punch(struct vmspace_memfd *memfd, struct memfd_direct *direct, uint64_t first,
		       uint64_t pages);
/*
 * As memfd_file_page(), of a file whose descriptor the user gives. 1: there is none. The lock is
 * held, and dropped while the user is asked.
 */
int memfd_direct_page(struct vmspace_memfd *memfd, const struct vma_backing *backing,
		      uint64_t index, uint64_t *frame);
/* As memfd_file_release(). The lock is held. */
void memfd_direct_release(struct vmspace_memfd *memfd, uint64_t frame);
/* The file is not found any more; it ends with the last use of its pages. The lock is held. */
void memfd_direct_forget(struct vmspace_memfd *memfd, struct memfd_direct *direct);
/* All files end. */
void memfd_direct_destroy(struct vmspace_memfd *memfd);

/* Where the page is, for mmap(). The frame is in use. */
int memfd_direct_place(struct vmspace_memfd *memfd, uint64_t frame, off_t *offset);
/*
 * Read or write bytes [offset, offset + size) of the page. What is behind the end of the file, in its
 * last page, is read as zeros, and written nowhere. Return how many: less if the file has nothing of
 * the page, or cannot be read or written.
 */
size_t memfd_direct_read(struct vmspace_memfd *memfd, uint64_t frame, size_t offset, void *to,
			 size_t size);
size_t memfd_direct_write(struct vmspace_memfd *memfd, uint64_t frame, size_t offset,
			  const void *from, size_t size);
/* Is this the descriptor of a file? The lock is held. */
bool memfd_direct_has(const struct vmspace_memfd *memfd, int fd);
/* See vmspace_memfd_frame(). */
void *memfd_direct_view(struct vmspace_memfd *memfd, uint64_t frame);

#endif
