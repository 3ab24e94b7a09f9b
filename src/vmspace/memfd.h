/* SPDX-License-Identifier: MIT */
/*
 * memfd.h - frames that are pages of a memfd, those of files included.
 *
 * Frame n is the page of the memfd at (n - 1) * page_size. Where the host's pages are larger than
 * frames, those that lie in one of them are a unit. The whole memfd is mapped at `view`,
 * where the library itself reads and writes frames.
 */
#ifndef VMSPACE_MEMFD_H
#define VMSPACE_MEMFD_H

#include <pthread.h>
#include <sys/types.h>
#include <mapletree/maple_tree.h>
#include <mapletree/vmspace_memfd.h>

struct memfd_direct;

/* A file, or another object, with pages in the memfd; or a file whose pages are its own. */
struct memfd_file {
	struct vma_backing is;       /* .name belongs to this object */
	struct maple_tree pages;     /* index -> frame (a value entry); mapped or not */
	bool asked;                  /* whether there is a descriptor; direct is set if so */
	struct memfd_direct *direct; /* pages are the file's own, and `pages` is empty; or NULL */
	struct memfd_file *next;
};

struct memfd_slot {
	uint32_t uses;               /* of a file's page: its mappings, others, and ORPHAN; or ZEROS */
	uint32_t dirty : 1;          /* of a file's page: to be written back, as it was written */
	/*
	 * Of a file's page: page table entries with the mark that it was written, in all spaces, pins to
	 * write, and calls that are writing it back. While there are any it may change unseen, and is to
	 * be written back.
	 */
	uint32_t writers : 31;
};

#define CHUNK_FRAMES 64u

/* CHUNK_FRAMES frames, a bit each, the first the lowest; see memfd_frames.c. */
struct memfd_chunk {
	uint64_t used;               /* in use; or beyond the limit */
	uint64_t memory;             /* the memfd has memory for it */
	uint64_t dirty;              /* not in use, and perhaps not zero */
	uint32_t next, prev;         /* in its list: numbers plus one, or 0 */
};

/*
 * Invariants: used == the number of bits in all chunks' used & memory, and idle == that in
 *   memory & ~used.   dirty is part of memory & ~used.   used is part of memory, but for frames
 *   beyond the limit.   A chunk that is not full is in the list of its kind.
 * `lock` protects everything that is not constant.
 */
struct vmspace_memfd {
	struct vmspace_memfd_config config;
	size_t page_size;            /* of frames */
	unsigned int page_shift;
	size_t system_page;
	size_t host_page;            /* what is mapped at once: page_size; or more, a unit of frames */
	unsigned int unit_shift;     /* 1 << unit_shift frames are a unit; 0: there are none */
	/*
	 * Changes under the lock; who reads it without that is in a read-side section as long as it uses it.
	 * See memfd_descriptor.c.
	 */
	int fd;
	char *view;
	struct memfd_slot *slots;    /* slots[frame - 1] */
	pthread_mutex_t lock;
	uint32_t limit, used, idle;  /* frames */
	struct memfd_chunk *chunks;
	uint32_t chunk_count;        /* so many were ever used; chunks beyond are free */
	uint32_t lists[4], loose;    /* of chunks: numbers plus one, or 0 */
	struct memfd_file *files;
	int (*descriptor)(void *ctx, const struct vma_backing *file); /* NULL: none has one */
	struct memfd_direct **direct; /* by number; NULL: the number is free */
	uint32_t direct_count;
	unsigned long changes;       /* of files, by others: what was being read may be old */
	struct vmspace_window *windows; /* the first; see window_next() */
	/* For fork() of the host; see memfd_fork.c. */
	struct vmspace_memfd *next;  /* of all memfds of the process */
	int copy;                    /* the child's memfd, between before and after; or -1 */
	bool lost;                   /* a child, without frames: nothing can be mapped any more */
};

/* Functions for a window's struct vmspace_memory; here ctx is the memfd. */
uint64_t memfd_alloc(struct vmspace_memfd *memfd);
/* The same, if possible as is wished; not zeroed if it will be written at once. */
struct memfd_wish {
	uint64_t frame;              /* this one; 0: one with room about it, */
	unsigned int place;          /* at this place of a chunk */
	bool begins;                 /* only if nothing else of its chunk is used */
	bool whole;                  /* only if nothing else of its unit is used */
};
uint64_t memfd_alloc_near(struct vmspace_memfd *memfd, const struct memfd_wish *wish, bool zero);
void memfd_free(struct vmspace_memfd *memfd, uint64_t frame);
/* place: where it will be mapped, in pages. */
int memfd_file_page(struct vmspace_memfd *memfd, const struct vma_backing *backing, uint64_t index,
		    unsigned long place, uint64_t *frame);
/* The frame, from memfd_alloc(), stays full of zeros. Is it such a frame? */
void memfd_set_zeros(struct vmspace_memfd *memfd, uint64_t frame);
bool memfd_is_zeros(const struct vmspace_memfd *memfd, uint64_t frame);
void memfd_file_release(struct vmspace_memfd *memfd, uint64_t frame);

/* A new memfd, or -errno. Its descriptor is a high one. */
int memfd_open(void);
/*
 * mmap() of `size` bytes from the frame's first on, MAP_SHARED and `flags`. The frame is in use, or nothing
 * may be accessed (`prot`). The lock is not held.
 */
void *memfd_map(struct vmspace_memfd *memfd, void *at, size_t size, int prot, int flags, uint64_t frame);
/*
 * A duplicate of `fd` from MEMFD_LEAST_FD on, where that is below the process's limit, else the lowest:
 * low descriptors may have a meaning for the program, or its guest. -1: none is free.
 */
#define MEMFD_LEAST_FD 512
int memfd_duplicate(int fd);

/* A frame, or 0: no memory. *dirty: it may not be zero. wish: NULL if none. The lock is held. */
uint32_t memfd_take(struct vmspace_memfd *memfd, const struct memfd_wish *wish, bool *dirty);
/* The frame is free. The lock is held. */
void memfd_give(struct vmspace_memfd *memfd, uint32_t frame);
/* Give the memory of frames in `fd` back to the system: they are zero then. False: they are not. */
bool memfd_punch(const struct vmspace_memfd *memfd, int fd, uint32_t frame, uint32_t pages);
/* The first frame in use from *frame on, and how many are there; 0: no more. The lock is held. */
uint32_t memfd_next_used(const struct vmspace_memfd *memfd, uint32_t *frame);
/* The memfd is another one now, which has memory for the frames in use alone. */
void memfd_forget_idle(struct vmspace_memfd *memfd);

/*
 * Whether what happens in children of fork() is seen to; to be called of each memfd when it is made,
 * and when it ends. 0 or -ENOMEM.
 */
int memfd_fork_enlist(struct vmspace_memfd *memfd);
void memfd_fork_delist(struct vmspace_memfd *memfd);
/* Has any memfd of the process this descriptor? None is being moved. */
bool memfd_any_has(int fd);
/* In a child of fork(), where no other thread moves a descriptor. */
void memfd_descriptor_after_fork(void);

/*
 * A page of a file, that is no file's own, has another writer, which writes no earlier; or one less, which
 * writes no more: it is to be written back.
 */
void memfd_add_writer(struct vmspace_memfd *memfd, uint64_t frame);
void memfd_end_writer(struct vmspace_memfd *memfd, uint64_t frame);

/* The file, or NULL: it is not known. The lock is held. */
struct memfd_file *memfd_find_file(struct vmspace_memfd *memfd, const struct vma_backing *is);
/* The page, with a use of its own, is no page of the file any more. The lock is held. */
void memfd_cut_page(struct vmspace_memfd *memfd, struct memfd_file *file, unsigned long index,
		    uint32_t frame);
/* The file, made if it is not known; NULL: no memory. The lock is held. */
struct memfd_file *memfd_make_file(struct vmspace_memfd *memfd, const struct vma_backing *is);

/*
 * A hole of pages [first, first + pages) of what is mapped: zeros for all. `pages` is not 0, and what is
 * mapped has so many. Prepared first, by nothing that can be seen: 0 or -ENOMEM. `place`: where the first
 * of them is mapped, in pages.
 */
int memfd_prepare_hole(struct vmspace_memfd *memfd, const struct vma_backing *is, uint64_t first,
		       uint64_t pages, unsigned long place);
/* Then made: 0, or what the file's own fallocate() refused with. */
int memfd_make_hole(struct vmspace_memfd *memfd, const struct vma_backing *is, uint64_t first,
		    uint64_t pages);

/* Does it begin with anything but zeros? */
static inline bool memfd_has_content(const struct vma_backing *is)
{
	return is->kind != VMA_BACKING_SHMEM && is->kind != VMA_BACKING_SYSV;
}

/* The number of frames of a unit. */
static inline unsigned int memfd_unit(const struct vmspace_memfd *memfd)
{
	return 1u << memfd->unit_shift;
}

/* Does the frame lie in its unit where a page with this number lies in its own? */
static inline bool memfd_fits(const struct vmspace_memfd *memfd, uint64_t frame, unsigned long page)
{
	return !(((frame - 1) ^ page) & (memfd_unit(memfd) - 1));
}

static inline off_t memfd_offset(const struct vmspace_memfd *memfd, uint64_t frame)
{
	return (off_t)((frame - 1) << memfd->page_shift);
}

#endif
