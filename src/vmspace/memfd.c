/* SPDX-License-Identifier: MIT */
/* memfd.c - guest memory in a memfd: made, ended; frames for pages, and pages of files. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <mapletree/maple_tree_rcu.h>

#include "memfd_direct.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

#define ORPHAN 0x80000000u /* the file is gone: free the page with its last mapping */
#define ZEROS  0x40000000u /* no page of a file, and always zeros */

#define LEAST_PAGE 1024u   /* what a space takes, see vmspace_config_check() */

static void *reserve(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static size_t chunks_size(const struct vmspace_memfd *memfd)
{
	return ((size_t)memfd->limit / CHUNK_FRAMES + 1) * sizeof(memfd->chunks[0]);
}

int memfd_duplicate(int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, MEMFD_LEAST_FD);

	return own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int memfd_open(void)
{
	int fd = memfd_create("guest", MFD_CLOEXEC | MFD_NOEXEC_SEAL), high;

	if (fd < 0 && errno == EINVAL) /* Linux before 6.3 */
		fd = memfd_create("guest", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	high = memfd_duplicate(fd);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

void *memfd_map(struct vmspace_memfd *memfd, void *at, size_t size, int prot, int flags, uint64_t frame)
{
	off_t offset = memfd_offset(memfd, frame);
	void *got;

	if (memfd_is_direct(frame)) {
		int fd = memfd_direct_place(memfd, frame, &offset);

		return mmap(at, size, prot, MAP_SHARED | flags, fd, offset);
	}
	/* Who moves the descriptor closes the old number when we have left. */
	mt_read_lock();
	got = mmap(at, size, prot, MAP_SHARED | flags, __atomic_load_n(&memfd->fd, __ATOMIC_ACQUIRE),
		   offset);
	mt_read_unlock();
	return got;
}

static bool power_of_two(size_t n)
{
	return n && !(n & (n - 1));
}

int vmspace_memfd_create(struct vmspace_memfd **out, const struct vmspace_memfd_config *config)
{
	return vmspace_memfd_create_pages(out, config, (size_t)sysconf(_SC_PAGESIZE), 0);
}

int vmspace_memfd_create_pages(struct vmspace_memfd **out,
			       const struct vmspace_memfd_config *config, size_t page,
			       size_t host_page)
{
	size_t system = (size_t)sysconf(_SC_PAGESIZE), host = host_page ? host_page : system, limit;
	struct vmspace_memfd *memfd;
	int err = -ENOMEM;

	*out = NULL;
	if (!power_of_two(page) || page < LEAST_PAGE || page > system)
		return -EINVAL;
	if (!power_of_two(host) || host < system || host / page > CHUNK_FRAMES)
		return -EINVAL;
	limit = config->limit / page;
	if (!limit || limit >= UINT32_MAX)
		return -EINVAL;
	memfd = calloc(1, sizeof(*memfd));
	if (!memfd)
		return -ENOMEM;
	memfd->config = *config;
	memfd->page_size = page;
	memfd->page_shift = (unsigned int)__builtin_ctzl((unsigned long)page);
	memfd->system_page = system;
	memfd->host_page = host;
	memfd->unit_shift = (unsigned int)__builtin_ctzl((unsigned long)(host / page));
	memfd->limit = (uint32_t)limit;
	memfd->fd = memfd_open();
	if (memfd->fd < 0) {
		err = memfd->fd;
		goto no_fd;
	}
	memfd->slots = reserve(limit * sizeof(memfd->slots[0]));
	if (!memfd->slots)
		goto no_slots;
	memfd->chunks = reserve(chunks_size(memfd));
	if (!memfd->chunks)
		goto no_chunks;
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
	munmap(memfd->chunks, chunks_size(memfd));
no_chunks:
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

/* Allocate a frame, zeroed, as is wished if that is not NULL. The lock is held. 0: no memory. */
static uint32_t take_frame(struct vmspace_memfd *memfd, const struct memfd_wish *wish)
{
	bool dirty;
	uint32_t frame = memfd_take(memfd, wish, &dirty);

	if (frame && dirty)
		memset(vmspace_memfd_frame(memfd, frame), 0, memfd->page_size);
	return frame;
}

static uint64_t alloc_frame(struct vmspace_memfd *memfd, const struct memfd_wish *wish, bool zero)
{
	uint32_t frame;
	bool dirty;

	pthread_mutex_lock(&memfd->lock);
	frame = memfd_take(memfd, wish, &dirty);
	pthread_mutex_unlock(&memfd->lock);
	if (frame && dirty && zero)
		memset(vmspace_memfd_frame(memfd, frame), 0, memfd->page_size);
	return frame;
}

uint64_t memfd_alloc(struct vmspace_memfd *memfd)
{
	return alloc_frame(memfd, NULL, true);
}

uint64_t memfd_alloc_near(struct vmspace_memfd *memfd, const struct memfd_wish *wish, bool zero)
{
	return alloc_frame(memfd, wish, zero);
}

void memfd_set_zeros(struct vmspace_memfd *memfd, uint64_t frame)
{
	__atomic_store_n(&memfd->slots[frame - 1].uses, ZEROS, __ATOMIC_RELAXED);
}

bool memfd_is_zeros(const struct vmspace_memfd *memfd, uint64_t frame)
{
	return !memfd_is_direct(frame) &&
	       __atomic_load_n(&memfd->slots[frame - 1].uses, __ATOMIC_RELAXED) == ZEROS;
}

void memfd_free(struct vmspace_memfd *memfd, uint64_t frame)
{
	pthread_mutex_lock(&memfd->lock);
	memfd_give(memfd, (uint32_t)frame);
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

struct memfd_file *memfd_find_file(struct vmspace_memfd *memfd, const struct vma_backing *is)
{
	return *find_file(memfd, is);
}

void memfd_add_writer(struct vmspace_memfd *memfd, uint64_t frame)
{
	if (memfd_is_direct(frame))
		return;
	pthread_mutex_lock(&memfd->lock);
	memfd->slots[frame - 1].writers++;
	pthread_mutex_unlock(&memfd->lock);
}

void memfd_end_writer(struct vmspace_memfd *memfd, uint64_t frame)
{
	if (memfd_is_direct(frame))
		return;
	pthread_mutex_lock(&memfd->lock);
	assert(memfd->slots[frame - 1].writers);
	memfd->slots[frame - 1].writers--;
	memfd->slots[frame - 1].dirty = true;
	pthread_mutex_unlock(&memfd->lock);
}

void memfd_cut_page(struct vmspace_memfd *memfd, struct memfd_file *file, unsigned long index,
		    uint32_t frame)
{
	MA_STATE(mas, &file->pages, index, index);

	/* If there is no memory to forget it, it stays, and is found to be gone the next time. */
	if (xa_to_value(mas_walk(&mas)) != frame || mas_store_gfp(&mas, NULL, GFP_KERNEL))
		return;
	memfd->slots[frame - 1].uses |= ORPHAN;
	memfd->slots[frame - 1].dirty = false;
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

/*
 * Which frame a page of the file should have, so that its unit can be mapped: beside those of the pages
 * about it, as the first mapping has them. The lock is held.
 */
static void wish_for(struct vmspace_memfd *memfd, const struct vma_backing *is, unsigned long index,
		     unsigned long place, struct memfd_wish *wish)
{
	unsigned long unit = memfd_unit(memfd), at = place & (unit - 1);
	struct memfd_file *file = *find_file(memfd, is);

	*wish = (struct memfd_wish){ .place = (unsigned int)(place % CHUNK_FRAMES), .whole = true };
	for (unsigned long i = 0; file && i <= unit; i++) {
		/* Pages of the unit, and last the one below it. */
		unsigned long other = i < unit ? index - at + i : index - at - 1;
		void *entry = mtree_load(&file->pages, other);
		uint64_t frame = entry ? xa_to_value(entry) + index - other : 0;

		if (!entry || !frame || !memfd_fits(memfd, frame, place))
			continue;
		wish->frame = frame;
		wish->whole = i == unit;
		return;
	}
}

/* If another thread has added the page meanwhile, use that. */
static int keep_page(struct vmspace_memfd *memfd, const struct vma_backing *backing,
		     unsigned long index, uint32_t *frame)
{
	uint32_t first = use_page(memfd, backing, index);
	struct memfd_file *file;

	if (first) {
		memfd_give(memfd, *frame);
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
	memfd_give(memfd, *frame);
	return -ENOMEM;
}

/* Again if the file was written by others meanwhile: who told of that did not find the page. */
static int read_content(struct vmspace_memfd *memfd, const struct vma_backing *backing,
			uint64_t index, uint32_t frame)
{
	void *page = vmspace_memfd_frame(memfd, frame);
	unsigned long before;
	int err;

	for (;;) {
		before = memfd->changes;
		pthread_mutex_unlock(&memfd->lock);
		err = memfd->config.read_page(memfd->config.ctx, backing, index, page);
		pthread_mutex_lock(&memfd->lock);
		if (memfd->changes == before)
			return err;
		memset(page, 0, memfd->page_size);
	}
}

int memfd_file_page(struct vmspace_memfd *memfd, const struct vma_backing *backing, uint64_t index,
		    unsigned long place, uint64_t *out)
{
	unsigned long at = (unsigned long)index;
	struct memfd_wish wish;
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
	err = memfd_has_content(backing) && !memfd->config.read_page ? -ENXIO : 0;
	frame = err ? 0 : use_page(memfd, backing, at);
	if (err)
		goto unlock;
	if (frame)
		goto unlock;
	if (memfd->unit_shift)
		wish_for(memfd, backing, at, place, &wish);
	frame = take_frame(memfd, memfd->unit_shift ? &wish : NULL);
	if (!frame) {
		err = -ENOMEM;
		goto unlock;
	}
	if (memfd_has_content(backing))
		err = read_content(memfd, backing, index, frame);
	if (err)
		memfd_give(memfd, frame);
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
			memfd_give(memfd, (uint32_t)frame);
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
				memfd_give(memfd, frame);
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
	munmap(memfd->chunks, chunks_size(memfd));
	munmap(memfd->slots, memfd->limit * sizeof(memfd->slots[0]));
	close(memfd->fd);
	free(memfd);
}
