/* SPDX-License-Identifier: MIT */
/* memfd_direct.c - pages of files that are mapped from the files themselves. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memfd_direct.h"

/* Pages are viewed through mappings of so many bytes. */
#define VIEW_BYTES (1ul << 20)

/*
 * Invariants: memfd->direct[number] == this.   uses == frames of it that are in use.
 *   forgotten  =>  no struct memfd_file leads here, and uses > 0.
 * The lock of the memfd protects everything that is not constant.
 */
struct memfd_direct {
	int fd;                      /* ours */
	uint32_t number;
	uint64_t uses;
	bool writable;
	bool forgotten;
	struct maple_tree views;     /* offset / VIEW_BYTES -> a mapping of VIEW_BYTES */
};

static uint64_t frame_of(const struct memfd_direct *direct, uint64_t index)
{
	return DIRECT_BIT | (uint64_t)direct->number << DIRECT_INDEX_BITS | index;
}

static struct memfd_direct *direct_of(const struct vmspace_memfd *memfd, uint64_t frame)
{
	uint64_t number = (frame & ~DIRECT_BIT) >> DIRECT_INDEX_BITS;

	assert(number < memfd->direct_count && memfd->direct[number]);
	return memfd->direct[number];
}

static off_t offset_of(const struct vmspace_memfd *memfd, uint64_t frame)
{
	uint64_t index = memfd_index(frame);

	return (off_t)(index << memfd->page_shift);
}

static void free_direct(struct vmspace_memfd *memfd, struct memfd_direct *direct)
{
	MA_STATE(mas, &direct->views, 0, 0);
	void *view;

	mas_for_each(&mas, view, ULONG_MAX)
		munmap(view, VIEW_BYTES);
	__mt_destroy(&direct->views);
	close(direct->fd);
	memfd->direct[direct->number] = NULL;
	free(direct);
}

/* A free number; -1: no memory, or all are taken. */
static long take_number(struct vmspace_memfd *memfd)
{
	uint32_t count = memfd->direct_count, wanted = count ? count * 2 : 16;
	struct memfd_direct **larger;

	for (uint32_t i = 0; i < count; i++)
		if (!memfd->direct[i])
			return i;
	if (wanted > 1u << DIRECT_FILE_BITS)
		return -1;
	larger = realloc(memfd->direct, wanted * sizeof(struct memfd_direct *));
	if (!larger)
		return -1;
	for (uint32_t i = count; i < wanted; i++)
		larger[i] = NULL;
	memfd->direct = larger;
	memfd->direct_count = wanted;
	return count;
}

enum { NO_DESCRIPTOR = -1, NO_DUPLICATE = -2 };

/* A duplicate of a regular file's descriptor, or one of these: it is none; there can be no other. */
static int duplicate(int fd, bool *writable)
{
	struct stat is;
	int flags, own;

	if (fd < 0 || fstat(fd, &is) || !S_ISREG(is.st_mode))
		return NO_DESCRIPTOR;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY || (flags & O_PATH))
		return NO_DESCRIPTOR;
	*writable = (flags & O_ACCMODE) == O_RDWR;
	own = memfd_duplicate(fd);
	return own >= 0 ? own : NO_DUPLICATE;
}

/* The lock is held. NULL: no memory. The descriptor belongs to the object, or is closed. */
static struct memfd_direct *new_direct(struct vmspace_memfd *memfd, int fd, bool writable)
{
	struct memfd_direct *direct = calloc(1, sizeof(*direct));
	long number = direct ? take_number(memfd) : -1;

	if (number < 0) {
		free(direct);
		close(fd);
		return NULL;
	}
	direct->fd = fd;
	direct->number = (uint32_t)number;
	direct->writable = writable;
	mt_init_flags(&direct->views, MT_FLAGS_LOCK_EXTERN);
	memfd->direct[number] = direct;
	return direct;
}

/* Ask the user for the file's descriptor, once. Returns the file, or NULL: no memory. */
static struct memfd_file *ask(struct vmspace_memfd *memfd, const struct vma_backing *backing)
{
	struct memfd_file *file = memfd_make_file(memfd, backing);
	bool writable = false;
	int fd;

	if (!file || file->asked)
		return file;
	pthread_mutex_unlock(&memfd->lock);
	fd = duplicate(memfd->descriptor(memfd->config.ctx, backing), &writable);
	pthread_mutex_lock(&memfd->lock);
	/* Without a duplicate it must not pass for a file that has none: it is asked again. */
	if (fd == NO_DUPLICATE)
		return NULL;
	/* Another thread may have asked as well, and the file been forgotten. */
	file = memfd_make_file(memfd, backing);
	if (!file || file->asked) {
		if (fd >= 0)
			close(fd);
		return file;
	}
	if (fd >= 0) {
		file->direct = new_direct(memfd, fd, writable);
		if (!file->direct)
			return NULL;
	}
	file->asked = true;
	return file;
}

int memfd_direct_find(struct vmspace_memfd *memfd, const struct vma_backing *backing,
		      struct memfd_direct **direct)
{
	struct memfd_file *file;

	if (!memfd->descriptor || backing->kind != VMA_BACKING_FILE)
		return 1;
	file = ask(memfd, backing);
	if (!file)
		return -ENOMEM;
	*direct = file->direct;
	return file->direct ? 0 : 1;
}

int memfd_direct_page(struct vmspace_memfd *memfd, const struct vma_backing *backing,
		      uint64_t index, uint64_t *frame)
{
	struct memfd_direct *direct;
	struct stat is;
	int err = memfd_direct_find(memfd, backing, &direct);

	if (err)
		return err;
	if (index >> DIRECT_INDEX_BITS)
		return -EFBIG;
	if (fstat(direct->fd, &is))
		return -EIO;
	if (is.st_size <= 0 || index > (uint64_t)(is.st_size - 1) >> memfd->page_shift)
		return -ENXIO;
	direct->uses++;
	*frame = frame_of(direct, index);
	return 0;
}

static void end_use(struct vmspace_memfd *memfd, struct memfd_direct *direct)
{
	assert(direct->uses);
	if (--direct->uses == 0 && direct->forgotten)
		free_direct(memfd, direct);
}

void memfd_direct_release(struct vmspace_memfd *memfd, uint64_t frame)
{
	end_use(memfd, direct_of(memfd, frame));
}

int memfd_direct_punch(struct vmspace_memfd *memfd, struct memfd_direct *direct, uint64_t first,
		       uint64_t pages)
{
	int err;

	/* No file reaches so far. */
	if (first + pages > (uint64_t)INT64_MAX >> memfd->page_shift)
		return -EFBIG;
	direct->uses++;
	pthread_mutex_unlock(&memfd->lock);
	do {
		err = fallocate(direct->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)(first << memfd->page_shift), (off_t)(pages << memfd->page_shift));
		err = err ? -errno : 0;
	} while (err == -EINTR);
	pthread_mutex_lock(&memfd->lock);
	end_use(memfd, direct);
	return err;
}

void memfd_direct_forget(struct vmspace_memfd *memfd, struct memfd_direct *direct)
{
	direct->forgotten = true;
	if (!direct->uses)
		free_direct(memfd, direct);
}

void memfd_direct_destroy(struct vmspace_memfd *memfd)
{
	for (uint32_t i = 0; i < memfd->direct_count; i++)
		if (memfd->direct[i])
			free_direct(memfd, memfd->direct[i]);
	free(memfd->direct);
}

bool memfd_direct_has(const struct vmspace_memfd *memfd, int fd)
{
	for (uint32_t i = 0; i < memfd->direct_count; i++)
		if (memfd->direct[i] && memfd->direct[i]->fd == fd)
			return true;
	return false;
}

/* The descriptor stays open after the lock is dropped, as the frame is in use. */
int memfd_direct_place(struct vmspace_memfd *memfd, uint64_t frame, off_t *offset)
{
	int fd;

	pthread_mutex_lock(&memfd->lock);
	fd = direct_of(memfd, frame)->fd;
	pthread_mutex_unlock(&memfd->lock);
	*offset = offset_of(memfd, frame);
	return fd;
}

/* Transfer all that can be; `to` or `from` is NULL. */
static size_t transfer(int fd, off_t at, char *to, const char *from, size_t size)
{
	size_t done = 0;

	while (done < size) {
		off_t now = at + (off_t)done;
		ssize_t got = to ? pread(fd, to + done, size - done, now)
				 : pwrite(fd, from + done, size - done, now);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* Of `size` bytes at `offset` of the page at `at`, how many the file has; -1: nothing of the page. */
static ssize_t in_file(int fd, off_t at, size_t offset, size_t size)
{
	off_t from = at + (off_t)offset;
	struct stat is;

	if (fstat(fd, &is) || is.st_size <= at)
		return -1;
	if (is.st_size <= from)
		return 0;
	return (uint64_t)(is.st_size - from) < size ? (ssize_t)(is.st_size - from) : (ssize_t)size;
}

size_t memfd_direct_read(struct vmspace_memfd *memfd, uint64_t frame, size_t offset, void *to,
			 size_t size)
{
	off_t at;
	int fd = memfd_direct_place(memfd, frame, &at);
	ssize_t has = in_file(fd, at, offset, size);
	size_t done;

	if (has < 0)
		return 0;
	done = transfer(fd, at + (off_t)offset, to, NULL, (size_t)has);
	if (done < (size_t)has)
		return done;
	memset((char *)to + done, 0, size - done);
	return size;
}

size_t memfd_direct_write(struct vmspace_memfd *memfd, uint64_t frame, size_t offset,
			  const void *from, size_t size)
{
	off_t at;
	int fd = memfd_direct_place(memfd, frame, &at);
	ssize_t has = in_file(fd, at, offset, size);
	size_t done;

	if (has < 0)
		return 0;
	done = transfer(fd, at + (off_t)offset, NULL, from, (size_t)has);
	return done < (size_t)has ? done : size;
}

/* The view that contains the offset, mapped if it is not. NULL: it cannot be. The lock is held. */
static char *find_view(struct memfd_direct *direct, off_t offset)
{
	unsigned long number = (unsigned long)offset / VIEW_BYTES;
	MA_STATE(mas, &direct->views, number, number);
	char *view = mas_walk(&mas);

	if (view)
		return view;
	view = mmap(NULL, VIEW_BYTES, PROT_READ | (direct->writable ? PROT_WRITE : 0), MAP_SHARED,
		    direct->fd, (off_t)(number * VIEW_BYTES));
	if (view == MAP_FAILED)
		return NULL;
	if (mas_store_gfp(&mas, view, GFP_KERNEL)) {
		munmap(view, VIEW_BYTES);
		return NULL;
	}
	return view;
}

void *memfd_direct_view(struct vmspace_memfd *memfd, uint64_t frame)
{
	off_t offset = offset_of(memfd, frame);
	char *view;

	pthread_mutex_lock(&memfd->lock);
	view = find_view(direct_of(memfd, frame), offset);
	pthread_mutex_unlock(&memfd->lock);
	return view ? view + (unsigned long)offset % VIEW_BYTES : NULL;
}
