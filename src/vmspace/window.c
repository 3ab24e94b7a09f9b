/* SPDX-License-Identifier: MIT */
/*
 * window.c - maps a space's pages into the process: guest address a is at base + (a - start).
 *
 * Pages without a translation are mapped inaccessible. The window is never unmapped while it
 * exists, so no other mapping of the process can be placed in it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memfd.h"

struct vmspace_window {
	struct vmspace_memory memory;
	struct vmspace_memfd *memfd;
	char *base;
	unsigned long start;
	size_t size;
	pthread_mutex_t spare_lock;
	bool spare;                  /* there is a page above the window that flush() may unmap */
};

static uint64_t window_alloc(void *ctx)
{
	return memfd_alloc(((struct vmspace_window *)ctx)->memfd);
}

static void window_free(void *ctx, uint64_t frame)
{
	memfd_free(((struct vmspace_window *)ctx)->memfd, frame);
}

static void window_copy(void *ctx, uint64_t to, uint64_t from)
{
	const struct vmspace_memfd *memfd = ((struct vmspace_window *)ctx)->memfd;

	memcpy(vmspace_memfd_frame(memfd, to), vmspace_memfd_frame(memfd, from),
	       memfd->page_size);
}

static int window_file_page(void *ctx, const struct vma_backing *backing, uint64_t index,
			    uint64_t *frame)
{
	return memfd_file_page(((struct vmspace_window *)ctx)->memfd, backing, index, frame);
}

static void window_file_release(void *ctx, uint64_t frame)
{
	memfd_file_release(((struct vmspace_window *)ctx)->memfd, frame);
}

/* Make a part of the window inaccessible. */
static bool close_part(char *at, size_t size)
{
	return mmap(at, size, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* Map an inaccessible page after the window; `flags` says whether it may replace another. */
static bool open_spare(const struct vmspace_window *window, int flags)
{
	const struct vmspace_memfd *memfd = window->memfd;
	char *at = window->base + window->size;
	char *got = mmap(at, memfd->page_size, PROT_NONE, MAP_SHARED | flags, memfd->fd, 0);

	if (got != MAP_FAILED && got != at)
		munmap(got, memfd->page_size);
	return got == at;
}

/* The system maps nothing any more, not even in place of other mappings, until there are fewer. */
static bool close_with_spare(struct vmspace_window *window)
{
	bool closed = false;

	pthread_mutex_lock(&window->spare_lock);
	if (window->spare) {
		munmap(window->base + window->size, window->memfd->page_size);
		closed = close_part(window->base, window->size);
		window->spare = open_spare(window, MAP_FIXED_NOREPLACE);
	}
	pthread_mutex_unlock(&window->spare_lock);
	return closed;
}

/*
 * End all translations: each separately mapped page is an area of the process, which may not have
 * more than vm.max_map_count.
 */
static void flush(struct vmspace_window *window)
{
	if (close_part(window->base, window->size) || close_with_spare(window))
		return;
	/* Guests must not reach frames that were freed. This needs no additional area. */
	if (mprotect(window->base, window->size, PROT_NONE))
		abort();
}

static bool open_page(const struct vmspace_window *window, char *at, uint64_t frame, int prot)
{
	const struct vmspace_memfd *memfd = window->memfd;

	return mmap(at, memfd->page_size, prot, MAP_SHARED | MAP_FIXED, memfd->fd,
		    memfd_offset(memfd, frame)) != MAP_FAILED;
}

static int window_map(void *ctx, unsigned long addr, uint64_t frame, unsigned int access)
{
	struct vmspace_window *window = ctx;
	int prot = PROT_READ | (access & VMSPACE_ACCESS_WRITE ? PROT_WRITE : 0);
	char *at = vmspace_window_host(window, addr);

	if (!at || open_page(window, at, frame, prot))
		return 0;
	flush(window);
	return open_page(window, at, frame, prot) ? 0 : -ENOMEM;
}

static void window_unmap(void *ctx, unsigned long start, unsigned long end)
{
	struct vmspace_window *window = ctx;
	unsigned long top = window->start + (window->size - 1);
	unsigned long last = end - 1 < top ? end - 1 : top;

	if (start < window->start)
		start = window->start;
	if (start <= last && !close_part(vmspace_window_host(window, start), last - start + 1))
		flush(window);
}

int vmspace_window_create(struct vmspace_window **out, struct vmspace_memfd *memfd,
			  unsigned long start, size_t size)
{
	struct vmspace_window *window;

	*out = NULL;
	if (!size || ((start | size) & (memfd->page_size - 1)) || start + (size - 1) < start ||
	    size + memfd->page_size < size)
		return -EINVAL;
	window = calloc(1, sizeof(*window));
	if (!window)
		return -ENOMEM;
	window->memory = (struct vmspace_memory){
		.ctx = window,
		.alloc = window_alloc,
		.free = window_free,
		.copy = window_copy,
		.file_page = window_file_page,
		.file_release = window_file_release,
		.map = window_map,
		.unmap = window_unmap,
	};
	window->memfd = memfd;
	window->start = start;
	window->size = size;
	window->base = mmap(NULL, size + memfd->page_size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (window->base == MAP_FAILED)
		goto no_base;
	if (pthread_mutex_init(&window->spare_lock, NULL))
		goto no_lock;
	window->spare = open_spare(window, MAP_FIXED);
	if (!window->spare)
		munmap(window->base + size, memfd->page_size);
	*out = window;
	return 0;

no_lock:
	munmap(window->base, size + memfd->page_size);
no_base:
	free(window);
	return -ENOMEM;
}

void vmspace_window_destroy(struct vmspace_window *window)
{
	if (!window)
		return;
	munmap(window->base, window->size);
	if (window->spare)
		munmap(window->base + window->size, window->memfd->page_size);
	pthread_mutex_destroy(&window->spare_lock);
	free(window);
}

const struct vmspace_memory *vmspace_window_memory(const struct vmspace_window *window)
{
	return &window->memory;
}

void *vmspace_window_host(const struct vmspace_window *window, unsigned long addr)
{
	unsigned long at = addr - window->start;

	return addr >= window->start && at < window->size ? window->base + at : NULL;
}

bool vmspace_window_guest(const struct vmspace_window *window, const void *host,
			  unsigned long *addr)
{
	uintptr_t at = (uintptr_t)host - (uintptr_t)window->base;

	if (at >= window->size)
		return false;
	*addr = window->start + (unsigned long)at;
	return true;
}
