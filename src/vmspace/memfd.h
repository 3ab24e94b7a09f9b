/* SPDX-License-Identifier: MIT */
/*
 * memfd.h - frames that are pages of one memfd, and the pages of files among them.
 *
 * Frame n is the page of the memfd at (n - 1) * page_size. All of it is mapped once at `view`, where
 * the library itself reads and writes frames.
 */
#ifndef VMSPACE_MEMFD_H
#define VMSPACE_MEMFD_H

#include <pthread.h>
#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_memfd.h>

/* A file, or other object, that has pages here. */
struct memfd_file {
	struct vma_backing is;       /* .name belongs to this object */
	struct maple_tree pages;     /* index -> frame (a value entry); mapped or not */
	struct memfd_file *next;
};

struct memfd_slot {
	uint32_t uses;               /* a file's page: mappings of it, and ORPHAN */
	uint32_t next_free;          /* free: the next frame that is, or 0 */
};

/*
 * frames <= capacity <= limit, all in pages: ever given out; in the memfd; at most.
 * used == frames - length of the free list.   lock covers all but what create sets.
 */
struct vmspace_memfd {
	struct vmspace_memfd_config config;
	size_t page_size;
	unsigned int page_shift;
	int fd;
	char *view;
	struct memfd_slot *slots;    /* slots[frame - 1] */
	pthread_mutex_t lock;
	uint32_t limit, capacity, frames, used;
	uint32_t free;               /* the first free frame, or 0 */
	struct memfd_file *files;
};

/* What a window puts into its struct vmspace_memory; ctx is the memfd here. */
uint64_t memfd_alloc(struct vmspace_memfd *memfd);
void memfd_free(struct vmspace_memfd *memfd, uint64_t frame);
int memfd_file_page(struct vmspace_memfd *memfd, const struct vma_backing *backing, uint64_t index,
		    uint64_t *frame);
void memfd_file_release(struct vmspace_memfd *memfd, uint64_t frame);

static inline off_t memfd_offset(const struct vmspace_memfd *memfd, uint64_t frame)
{
	return (off_t)((frame - 1) << memfd->page_shift);
}

#endif
