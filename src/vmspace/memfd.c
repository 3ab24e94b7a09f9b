/* SPDX-License-Identifier: MIT */
/* memfd.c - allocates frames from a memfd, zeroed, and frees them; pages of files. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memfd_direct.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

#define ORPHAN 0x80000000u /* the file is gone: free the page with its last mapping */

static void *reserve(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int memfd_open(void)
{
	int fd = memfd_create("guest", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* Linux before 6.3 */
		fd = memfd_create("guest", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int vmspace_memfd_create(struct vmspace_memfd **out, const struct vmspace_memfd_config *config)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), limit = config->limit / page;
	struct vmspace_memfd *memfd;
	int err = -ENOMEM;

	*out = NULL;
	if (!limit || limit >= UINT32_MAX)
		return -EINVAL;
	memfd = calloc(1, sizeof(*memfd));
	if (!memfd)
		return -ENOMEM;
	memfd->config = *config;
	memfd->page_size = page;
	memfd->page_shift = (unsigned int)__builtin_ctzl((unsigned long)page);
	memfd->limit = (uint32_t)limit;
	memfd->fd = memfd_open();
	if (memfd->fd < 0) {
		err = memfd->fd;
		goto no_fd;
	}
	memfd->slots = reserve(limit * sizeof(memfd->slots[0]));
	if (!memfd->slots)
		goto no_slots;
	memfd->view = mmap(NULL, limit * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			   memfd->fd, 0);
	if (memfd->view == MAP_FAILED)
		goto no_view;
	if (pthread_mutex_init(&memfd->lock, NULL))
		goto no_lock;
	if (memfd_fork_enlist(memfd))
		goto no_fork;
	*out = memfd;
	return 0;

no_fork:
	pthread_mutex_destroy(&memfd->lock);
no_lock:
	munmap(memfd->view, limit * page);
no_view:
	munmap(memfd->slots, limit * sizeof(memfd->slots[0]));
no_slots:
	close(memfd->fd);
no_fd:
	free(memfd);
	return err;
}

void *vmspace_memfd_frame(const struct vmspace_memfd *memfd, uint64_t frame)
{
	/* Views of files are made when they are first wanted. */
	if (memfd_is_direct(frame))
		return memfd_direct_view((struct vmspace_memfd *)memfd, frame);
	return memfd->view + memfd_offset(memfd, frame);
}

void vmspace_memfd_use_files(struct vmspace_memfd *memfd,
			     int (*descriptor)(void *ctx, const struct vma_backing *file))
{
	memfd->descriptor = descriptor;
}

size_t vmspace_memfd_used(const struct vmspace_memfd *memfd)
{
	return (size_t)__atomic_load_n(&memfd->used, __ATOMIC_RELAXED) << memfd->page_shift;
}

/* Allocate memory for `pages` from page `first` of the memfd, beyond its end or in a hole. */
static bool provide(struct vmspace_memfd *memfd, uint32_t first, uint32_t pages)
{
	int err;

	do
		err = fallocate(memfd->fd, 0, (off_t)first << memfd->page_shift,
				(off_t)pages << memfd->page_shift);
	while (err && errno == EINTR);
	return !err;
}

/* Double the memfd, growing by at least 64 KiB and at most 2 MiB. */
static bool grow(struct vmspace_memfd *memfd)
{
	uint32_t most = (2u << 20) >> memfd->page_shift, least = (64u << 10) >> memfd->page_shift;
	uint32_t pages = memfd->capacity;

	if (pages > most)
		pages = most;
	if (pages < least)
		pages = least ? least : 1;
	if (pages > memfd->limit - memfd->capacity)
		pages = memfd->limit - memfd->capacity;
	if (!pages || !provide(memfd, memfd->capacity, pages))
		return false;
	memfd->capacity += pages;
	return true;
}

/* Allocate a frame. The lock is held. 0: no memory. */
static uint32_t take_frame(struct vmspace_memfd *memfd)
{
	uint32_t frame = memfd->free;

	if (memfd->lost)
		return 0;
	if (frame) {
		if (!provide(memfd, frame - 1, 1))
			return 0;
		memfd->free = memfd->slots[frame - 1].next_free;
	} else {
		if (memfd->frames == memfd->capacity && !grow(memfd))
			return 0;
		frame = ++memfd->frames;
	}
	memfd->slots[frame - 1] = (struct memfd_slot){ 0 };
	__atomic_store_n(&memfd->used, memfd->used + 1, __ATOMIC_RELAXED);
	return frame;
}

bool memfd_punch(const struct vmspace_memfd *memfd, int fd, uint32_t frame)
{
	int err;

	do
		err = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				memfd_offset(memfd, frame), (off_t)memfd->page_size);
	while (err && errno == EINTR);
	return !err;
}

/* Free a frame: it is zero again, and its memory returns to the system. The lock is held. */
static void give_frame(struct vmspace_memfd *memfd, uint32_t frame)
{
	/* In a child without frames it is the parent's page. */
	if (!memfd->lost && !memfd_punch(memfd, memfd->fd, frame))
		memset(vmspace_memfd_frame(memfd, frame), 0, memfd->page_size);
	memfd->slots[frame - 1].next_free = memfd->free;
	memfd->free = frame;
	__atomic_store_n(&memfd->used, memfd->used - 1, __ATOMIC_RELAXED);
}

uint64_t memfd_alloc(struct vmspace_memfd *memfd)
{
	uint32_t frame;

	pthread_mutex_lock(&memfd->lock);
	frame = take_frame(memfd);
	pthread_mutex_unlock(&memfd->lock);
	return frame;
}

void memfd_free(struct vmspace_memfd *memfd, uint64_t frame)
{
	pthread_mutex_lock(&memfd->lock);
	give_frame(memfd, (uint32_t)frame);
	pthread_mutex_unlock(&memfd->lock);
}

/* ---- files ---- */

static bool same_object(const struct vma_backing *a, const struct vma_backing *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == VMA_BACKING_SHMEM)
		return a->file_id == b->file_id;
	if (a->inode || b->inode)
		return a->inode == b->inode && a->dev_major == b->dev_major &&
		       a->dev_minor == b->dev_minor;
	if (a->name || b->name)
		return a->name && b->name && !strcmp(a->name, b->name);
	return a->file_id == b->file_id;
}

static struct memfd_file **find_file(struct vmspace_memfd *memfd, const struct vma_backing *is)
{
	struct memfd_file **at = &memfd->files;

	while (*at && !same_object(&(*at)->is, is))
		at = &(*at)->next;
	return at;
}

struct memfd_file *memfd_make_file(struct vmspace_memfd *memfd, const struct vma_backing *is)
{
	struct memfd_file **at = find_file(memfd, is), *file = *at;

	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->is = *is;
	if (is->name && !(file->is.name = strdup(is->name))) {
		free(file);
		return NULL;
	}
	mt_init_flags(&file->pages, MT_FLAGS_LOCK_EXTERN);
	return *at = file;
}

static void free_file(struct memfd_file *file)
{
	__mt_destroy(&file->pages);
	free((char *)file->is.name);
	free(file);
}

/* Take another reference of a page of the file; 0: it has none. The lock is held. */
static uint32_t use_page(struct vmspace_memfd *memfd, const struct vma_backing *is,
			 unsigned long index)
{
	struct memfd_file *file = *find_file(memfd, is);
	void *entry = file ? mtree_load(&file->pages, index) : NULL;

	if (!entry)
		return 0;
	memfd->slots[xa_to_value(entry) - 1].uses++;
	return (uint32_t)xa_to_value(entry);
}

static bool has_content(const struct vma_backing *backing)
{
	return backing->kind != VMA_BACKING_SHMEM && backing->kind != VMA_BACKING_SYSV;
}

/* If another thread has added the page meanwhile, use that. */
static int keep_page(struct vmspace_memfd *memfd, const struct vma_backing *backing,
		     unsigned long index, uint32_t *frame)
{
	uint32_t first = use_page(memfd, backing, index);
	struct memfd_file *file;

	if (first) {
		give_frame(memfd, *frame);
		*frame = first;
		return 0;
	}
	file = memfd_make_file(memfd, backing);
	if (file) {
		MA_STATE(mas, &file->pages, index, index);

		if (!mas_store_gfp(&mas, xa_mk_value(*frame), GFP_KERNEL)) {
			memfd->slots[*frame - 1].uses = 1;
			return 0;
		}
	}
	give_frame(memfd, *frame);
	return -ENOMEM;
}

int memfd_file_page(struct vmspace_memfd *memfd, const struct vma_backing *backing, uint64_t index,
		    uint64_t *out)
{
	unsigned long at = (unsigned long)index;
	uint32_t frame;
	int err = 0;

	if (at != index)
		return -EFBIG;
	pthread_mutex_lock(&memfd->lock);
	err = memfd_direct_page(memfd, backing, index, out);
	if (err <= 0) {
		pthread_mutex_unlock(&memfd->lock);
		return err;
	}
	err = has_content(backing) && !memfd->config.read_page ? -ENXIO : 0;
	frame = err ? 0 : use_page(memfd, backing, at);
	if (err)
		goto unlock;
	if (frame)
		goto unlock;
	frame = take_frame(memfd);
	if (!frame) {
		err = -ENOMEM;
		goto unlock;
	}
	if (has_content(backing)) {
		pthread_mutex_unlock(&memfd->lock);
		err = memfd->config.read_page(memfd->config.ctx, backing, index,
					      vmspace_memfd_frame(memfd, frame));
		pthread_mutex_lock(&memfd->lock);
	}
	if (err)
		give_frame(memfd, frame);
	else
		err = keep_page(memfd, backing, at, &frame);
unlock:
	pthread_mutex_unlock(&memfd->lock);
	*out = frame;
	return err;
}

void memfd_file_release(struct vmspace_memfd *memfd, uint64_t frame)
{
	pthread_mutex_lock(&memfd->lock);
	if (memfd_is_direct(frame)) {
		memfd_direct_release(memfd, frame);
	} else {
		struct memfd_slot *slot = &memfd->slots[frame - 1];

		assert(slot->uses & ~ORPHAN);
		slot->uses--;
		if (slot->uses == ORPHAN)
			give_frame(memfd, (uint32_t)frame);
	}
	pthread_mutex_unlock(&memfd->lock);
}

void vmspace_memfd_forget(struct vmspace_memfd *memfd, const struct vma_backing *backing)
{
	struct memfd_file **at, *file;

	pthread_mutex_lock(&memfd->lock);
	at = find_file(memfd, backing);
	file = *at;
	if (file) {
		MA_STATE(mas, &file->pages, 0, 0);
		void *entry;

		*at = file->next;
		if (file->direct)
			memfd_direct_forget(memfd, file->direct);
		mas_for_each(&mas, entry, ULONG_MAX) {
			uint32_t frame = (uint32_t)xa_to_value(entry);

			memfd->slots[frame - 1].uses |= ORPHAN;
			if (memfd->slots[frame - 1].uses == ORPHAN)
				give_frame(memfd, frame);
		}
		free_file(file);
	}
	pthread_mutex_unlock(&memfd->lock);
}

void vmspace_memfd_destroy(struct vmspace_memfd *memfd)
{
	struct memfd_file *file;

	if (!memfd)
		return;
	memfd_fork_delist(memfd);
	while ((file = memfd->files)) {
		memfd->files = file->next;
		free_file(file);
	}
	memfd_direct_destroy(memfd);
	pthread_mutex_destroy(&memfd->lock);
	munmap(memfd->view, (size_t)memfd->limit << memfd->page_shift);
	munmap(memfd->slots, memfd->limit * sizeof(memfd->slots[0]));
	close(memfd->fd);
	free(memfd);
}
