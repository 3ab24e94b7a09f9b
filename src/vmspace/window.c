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
#include <unistd.h>

#include "guards.h"
#include "window_inside.h"

/* From so many pages on, a record is dropped as a whole instead of page by page. */
#define MANY_PAGES 65536u

/* What a mapping that nobody accesses may be of, whether or not the frame is in use. */
#define FIRST_FRAME 1u

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
	struct vmspace_memfd *memfd = ((struct vmspace_window *)ctx)->memfd;

	/* Not through a view: the file may be cut meanwhile. */
	if (memfd_is_direct(from))
		memfd_direct_read(memfd, from, 0, vmspace_memfd_frame(memfd, to),
				  memfd->page_size);
	else
		memcpy(vmspace_memfd_frame(memfd, to), vmspace_memfd_frame(memfd, from),
		       memfd->page_size);
}

static int window_file_page(void *ctx, const struct vma_backing *backing, uint64_t index,
			    uint64_t *frame)
{
	return memfd_file_page(((struct vmspace_window *)ctx)->memfd, backing, index, index, frame);
}

static void window_file_release(void *ctx, uint64_t frame)
{
	memfd_file_release(((struct vmspace_window *)ctx)->memfd, frame);
}

bool window_close_part(char *at, size_t size)
{
	return mmap(at, size, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static char *spare_at(const struct vmspace_window *window, unsigned int i)
{
	return window->base + window->size + i * window->memfd->system_page;
}

/* Map an inaccessible page after the window; `flags` says whether it may replace another. */
static bool open_spare(const struct vmspace_window *window, unsigned int i, int flags)
{
	struct vmspace_memfd *memfd = window->memfd;
	char *at = spare_at(window, i);
	char *got = memfd_map(memfd, at, memfd->system_page, PROT_NONE, flags, FIRST_FRAME);

	if (got != MAP_FAILED && got != at)
		munmap(got, memfd->system_page);
	return got == at;
}

/*
 * The system maps nothing any more, not even in place of other mappings, until there are fewer. What
 * is unmapped for that another thread may take for a page of its own. It finds nothing for the next one
 * then, and waits for us: so it takes a few tries at most.
 */
static bool close_with_spares(struct vmspace_window *window)
{
	bool closed = false;
	unsigned int i;

	for (i = 0; i < SPARES && !closed; i++) {
		if (!window->spare[i])
			continue;
		if (i)
			usleep(100u << 2 * i);
		munmap(spare_at(window, i), window->memfd->system_page);
		window->spare[i] = false;
		closed = window_close_part(window->base, window->size);
	}
	for (i = 0; i < SPARES; i++)
		if (!window->spare[i])
			window->spare[i] = open_spare(window, i, MAP_FIXED_NOREPLACE);
	return closed;
}

/* The record of units follows that of pages. */
static size_t record_size(const struct vmspace_window *window)
{
	const struct vmspace_memfd *memfd = window->memfd;
	size_t units = memfd->unit_shift ? window->size >> memfd->page_shift >> memfd->unit_shift : 0;

	return ((window->size >> memfd->page_shift) + 2 * units) * sizeof(window->shown[0]);
}

/*
 * End all translations: each separately mapped page is an area of the process, which may not have
 * more than vm.max_map_count.
 *
 * The record is emptied first: a page of which it says nothing is shown is closed when we are done.
 * What another thread maps and records meanwhile may or may not be closed; it sees that `flushes`
 * has changed, and records that it does not know.
 */
void window_flush_locked(struct vmspace_window *window)
{
	__atomic_add_fetch(&window->flushes, 1, __ATOMIC_SEQ_CST);
	if (madvise(window->shown, record_size(window), MADV_DONTNEED))
		abort(); /* it cannot fail for memory that is ours */
	/* Guests must not reach frames that were freed. The last way needs no additional area. */
	if (!window_close_part(window->base, window->size) && !close_with_spares(window) &&
	    mprotect(window->base, window->size, PROT_NONE))
		abort();
	__atomic_add_fetch(&window->flushes, 1, __ATOMIC_SEQ_CST);
}

static void flush(struct vmspace_window *window)
{
	pthread_mutex_lock(&window->flush_lock);
	window_flush_locked(window);
	pthread_mutex_unlock(&window->flush_lock);
}

bool window_open_frames(const struct vmspace_window *window, char *at, uint64_t frame, size_t size,
			int prot)
{
	return memfd_map(window->memfd, at, size, prot, MAP_FIXED, frame) != MAP_FAILED;
}

/* The page is mapped so, if all of the window has not been closed since `flushes` was `before`. */
static void record_shown(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
			 bool writable, unsigned long before)
{
	uint64_t *shown = window_shown_at(window, addr);

	__atomic_store_n(shown, SHOWN(frame, writable), __ATOMIC_SEQ_CST);
	if (before % 2 || __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST) != before)
		__atomic_store_n(shown, SHOWN_UNKNOWN, __ATOMIC_RELAXED);
}

/* Map the page and record that. False: the system maps no more. */
static bool show_page(struct vmspace_window *window, unsigned long addr, uint64_t frame,
		      bool writable)
{
	unsigned long before = __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST);
	int prot = PROT_READ | (window->is_code ? PROT_EXEC : writable ? PROT_WRITE : 0);

	if (!window_open_frames(window, vmspace_window_host(window, addr), frame,
				window->memfd->page_size, prot))
		return false;
	record_shown(window, addr, frame, writable, before);
	return true;
}

static bool is_shown(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
		     bool writable)
{
	return __atomic_load_n(window_shown_at(window, addr), __ATOMIC_RELAXED) == SHOWN(frame, writable);
}

static void unmap_part(struct vmspace_window *window, unsigned long start, unsigned long end);

/* Map the page again if it is not shown so, after all others if need be. */
static int show(struct vmspace_window *window, unsigned long addr, uint64_t frame, bool writable)
{
	if (is_shown(window, addr, frame, writable))
		return 0;
	if (window->units) {
		units_show(window, addr, frame, writable);
		return 0;
	}
	if (show_page(window, addr, frame, writable))
		return 0;
	flush(window);
	return show_page(window, addr, frame, writable) ? 0 : -ENOMEM;
}

/* What the view of code shows at `addr`, in the window, follows. */
static int show_code(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
		     unsigned int access)
{
	if (!window->code)
		return 0;
	if (access & VMSPACE_ACCESS_EXEC)
		return show(window->code, addr, frame, false);
	unmap_part(window->code, addr, addr + window->memfd->page_size);
	return 0;
}

static int window_map(void *ctx, unsigned long addr, uint64_t frame, unsigned int access)
{
	struct vmspace_window *window = ctx;
	int err;

	if (window->memfd->lost)
		return -ENOMEM;
	if (!vmspace_window_host(window, addr))
		return 0;
	err = show(window, addr, frame, access & VMSPACE_ACCESS_WRITE);
	if (!err)
		err = show_code(window, addr, frame, access);
	/* There is no translation at all, then. */
	if (err)
		unmap_part(window, addr, addr + window->memfd->page_size);
	return err;
}

/* Show the page, if there is nothing but a guard before it. */
static bool show_guarded(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
			 bool writable)
{
	unsigned long before = __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST);
	uint64_t shown = __atomic_load_n(window_shown_at(window, addr), __ATOMIC_RELAXED);

	if (shown != GUARDED(SHOWN(frame, writable)) ||
	    madvise(vmspace_window_host(window, addr), window->memfd->page_size,
		    MADV_GUARD_REMOVE))
		return false;
	record_shown(window, addr, frame, writable, before);
	return true;
}

/* Which frame the page should have: that beside the frames of the pages about it. */
static void wish_for(const struct vmspace_window *window, unsigned long addr,
		     struct memfd_wish *wish)
{
	size_t at = (addr - window->start) >> window->memfd->page_shift;
	size_t low, high;

	window_block_bounds(window, at, &low, &high);
	wish->place = (unsigned int)(addr >> window->memfd->page_shift) % CHUNK_FRAMES;
	wish->frame = window_frame_from(window, at, at);
	for (size_t page = at; !wish->frame && page-- > low;)
		wish->frame = window_frame_from(window, at, page);
	for (size_t page = at + 1; !wish->frame && page < high; page++)
		wish->frame = window_frame_from(window, at, page);
	if (!wish->frame && at && at == low) {
		wish->frame = window_frame_from(window, at, at - 1);
		wish->begins = true;
	}
}

/* The part of [start, end) that lies in the window. False: none. */
static bool clip(const struct vmspace_window *window, unsigned long *start, unsigned long end,
		 size_t *size)
{
	unsigned long top = window->start + (window->size - 1);
	unsigned long last = end - 1 < top ? end - 1 : top;

	if (*start < window->start)
		*start = window->start;
	*size = last - *start + 1;
	return *start <= last;
}

bool window_forget(const struct vmspace_window *window, uint64_t *record, size_t entries)
{
	bool any = false;

	if (entries >= MANY_PAGES) {
		size_t page = window->memfd->system_page;
		char *from = (char *)(((uintptr_t)record + page - 1) & ~(page - 1));
		char *to = (char *)((uintptr_t)(record + entries) & ~(page - 1));

		if (madvise(from, (size_t)(to - from), MADV_DONTNEED))
			abort();
		memset(record, 0, (size_t)(from - (char *)record));
		memset(to, 0, (size_t)((char *)(record + entries) - to));
		return true;
	}
	for (size_t i = 0; i < entries; i++)
		if (__atomic_load_n(&record[i], __ATOMIC_RELAXED)) {
			__atomic_store_n(&record[i], 0, __ATOMIC_RELAXED);
			any = true;
		}
	return any;
}

static void unmap_part(struct vmspace_window *window, unsigned long start, unsigned long end)
{
	size_t size;

	if (!clip(window, &start, end, &size))
		return;
	if (window->units)
		units_hide(window, start, size);
	else if (window_forget(window, window_shown_at(window, start),
			       size >> window->memfd->page_shift) &&
		 !window_close_part(vmspace_window_host(window, start), size))
		flush(window);
}

static void window_unmap(void *ctx, unsigned long start, unsigned long end)
{
	struct vmspace_window *window = ctx;

	unmap_part(window, start, end);
	if (window->code)
		unmap_part(window->code, start, end);
}

/* ---- what page tables ask ---- */

static struct vmspace_window *window_of(const struct vmspace_memory *memory)
{
	return memory->map == window_map ? memory->ctx : NULL;
}

size_t window_unit_size(const struct vmspace_memory *memory)
{
	const struct vmspace_window *window = window_of(memory);

	return window && window->units ? window->memfd->host_page : 0;
}

size_t window_page_size(const struct vmspace_memory *memory)
{
	const struct vmspace_window *window = window_of(memory);

	return window ? window->memfd->page_size : 0;
}

bool window_shows(const struct vmspace_memory *memory, unsigned long addr, uint64_t frame,
		  unsigned int access)
{
	const struct vmspace_window *window = window_of(memory);

	return window && vmspace_window_host(window, addr) &&
	       is_shown(window, addr, frame, access & VMSPACE_ACCESS_WRITE) &&
	       (!window->code || !(access & VMSPACE_ACCESS_EXEC) ||
		is_shown(window->code, addr, frame, false));
}

/* The window, or its view of code, through which such an access goes. */
static struct vmspace_window *view_for(struct vmspace_window *window, unsigned int access)
{
	bool executes = (access & VMSPACE_ACCESS_EXEC) && !(access & VMSPACE_ACCESS_WRITE);

	return executes && window->code ? window->code : window;
}

bool window_may_open(const struct vmspace_memory *memory, unsigned long addr, unsigned int access,
		     unsigned long areas, uint64_t *tried)
{
	struct vmspace_window *window = window_of(memory);

	return window && window->units && vmspace_window_host(window, addr) &&
	       !vmspace_window_is_direct(window, addr, access) &&
	       units_may_open(view_for(window, access), addr, access, areas, tried);
}

void window_tried_to_open(const struct vmspace_memory *memory, unsigned long addr, unsigned int access,
			  unsigned long areas, uint64_t tried)
{
	struct vmspace_window *window = window_of(memory);

	if (!vmspace_window_is_direct(window, addr, access))
		units_stay_closed(view_for(window, access), addr, access, areas, tried);
}

uint64_t window_alloc_at(const struct vmspace_memory *memory, unsigned long addr, uint64_t after,
		      bool zero)
{
	const struct vmspace_window *window = window_of(memory);
	struct memfd_wish wish = { .frame = after ? after + 1 : 0 };

	if (!window)
		return memory->alloc(memory->ctx);
	if (window->units)
		units_wish(window, addr, after, &wish);
	else if (!after && vmspace_window_host(window, addr))
		wish_for(window, addr, &wish);
	return memfd_alloc_near(window->memfd, &wish, zero);
}

uint64_t window_alloc_zeros(const struct vmspace_memory *memory)
{
	const struct vmspace_window *window = window_of(memory);
	uint64_t frame = memory->alloc(memory->ctx);

	if (window && frame)
		memfd_set_zeros(window->memfd, frame);
	return frame;
}

int window_file_page_at(const struct vmspace_memory *memory, const struct vma_backing *backing,
			uint64_t index, unsigned long addr, uint64_t *frame)
{
	const struct vmspace_window *window = window_of(memory);

	if (!window)
		return memory->file_page(memory->ctx, backing, index, frame);
	return memfd_file_page(window->memfd, backing, index, addr >> window->memfd->page_shift,
			       frame);
}

int window_prepare_hole(const struct vmspace_memory *memory, const struct vma_backing *backing,
			uint64_t index, unsigned long addr, unsigned long size)
{
	struct vmspace_memfd *memfd = window_memfd(memory);

	return memfd ? memfd_prepare_hole(memfd, backing, index, size >> memfd->page_shift,
					  addr >> memfd->page_shift)
		     : 0;
}

int window_make_hole(const struct vmspace_memory *memory, const struct vma_backing *backing,
		     uint64_t index, unsigned long size)
{
	struct vmspace_memfd *memfd = window_memfd(memory);

	return memfd ? memfd_make_hole(memfd, backing, index, size >> memfd->page_shift) : 0;
}

int window_map_in(const struct vmspace_memory *memory, unsigned long addr, uint64_t frame,
		  unsigned int access, unsigned long start, unsigned long end)
{
	struct vmspace_window *window = window_of(memory);
	bool writable = access & VMSPACE_ACCESS_WRITE;

	/* If it is shown then, only the view of code is left to do. */
	if (window && !window->memfd->lost && vmspace_window_host(window, addr) &&
	    !is_shown(window, addr, frame, writable) &&
	    !show_guarded(window, addr, frame, writable))
		window_show_in_block(window, addr, frame, writable, start, end);
	return memory->map(memory->ctx, addr, frame, access);
}

/* How many pages from `shown` on are writable, as far as is known, or how many are not. */
static size_t run_length(const uint64_t *shown, size_t pages, bool writable)
{
	size_t n = 0;

	while (n < pages && (__atomic_load_n(&shown[n], __ATOMIC_RELAXED) & 1) == writable)
		n++;
	return n;
}

/* Make `pages` pages from number `first` of the window on read-only; all are shown and writable. */
static bool protect_run(const struct vmspace_window *window, size_t first, size_t pages)
{
	unsigned int shift = window->memfd->page_shift;

	for (size_t i = first; i < first + pages; i++) {
		/* It may not be there, and must not become readable then. */
		if (window->shown[i] == SHOWN_UNKNOWN)
			return false;
		__atomic_store_n(&window->shown[i], window->shown[i] & ~UINT64_C(1),
				 __ATOMIC_RELAXED);
	}
	return !mprotect(window->base + (first << shift), pages << shift, PROT_READ);
}

bool window_write_protect(const struct vmspace_memory *memory, unsigned long start,
			  unsigned long end)
{
	struct vmspace_window *window = window_of(memory);
	size_t size, pages, i, n;
	bool done = true;

	if (!window)
		return false;
	if (!clip(window, &start, end, &size))
		return true;
	if (window->units) {
		units_write_protect(window, start, size);
		return true;
	}
	i = (start - window->start) >> window->memfd->page_shift;
	pages = i + (size >> window->memfd->page_shift);
	/* A flush would close pages that the record says are shown. */
	pthread_mutex_lock(&window->flush_lock);
	for (; done && i < pages; i += n) {
		n = run_length(window->shown + i, pages - i, false);
		if (n)
			continue;
		n = run_length(window->shown + i, pages - i, true);
		done = protect_run(window, i, n);
	}
	pthread_mutex_unlock(&window->flush_lock);
	return done;
}

bool window_set_guards(const struct vmspace_memory *memory, bool guards)
{
	struct vmspace_window *window = window_of(memory);

	window->guards = guards && !window->units && guards_exist();
	return window->guards == guards;
}

struct vmspace_memfd *window_memfd(const struct vmspace_memory *memory)
{
	const struct vmspace_window *window = window_of(memory);

	return window ? window->memfd : NULL;
}

bool window_take(const struct vmspace_memory *memory, const struct vmspace *space)
{
	struct vmspace_window *window = window_of(memory);
	const struct vmspace *none = NULL;

	return !window || __atomic_compare_exchange_n(&window->owner, &none, space, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void window_give_back(const struct vmspace_memory *memory, const struct vmspace *space)
{
	struct vmspace_window *window = window_of(memory);
	const struct vmspace *owner = space;

	if (window)
		(void)__atomic_compare_exchange_n(&window->owner, &owner, NULL, false,
						  __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

bool window_is_taken(const struct vmspace_memory *memory)
{
	const struct vmspace_window *window = window_of(memory);

	return window && __atomic_load_n(&window->owner, __ATOMIC_ACQUIRE);
}

struct vmspace_window *window_next(const struct vmspace_window *window)
{
	return window->next;
}

void window_close(struct vmspace_window *window)
{
	/* Another thread of the parent may have held it. */
	pthread_mutex_init(&window->flush_lock, NULL);
	window->flushes &= ~1UL;
	flush(window);
}

int vmspace_window_create(struct vmspace_window **out, struct vmspace_memfd *memfd,
			  unsigned long start, size_t size)
{
	struct vmspace_window *window;

	*out = NULL;
	if (!size || ((start | size) & (memfd->host_page - 1)) || start + (size - 1) < start ||
	    size + memfd->system_page < size)
		return -EINVAL;
	if (size + SPARES * memfd->system_page < size)
		return -ENOMEM;
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
	window->base = mmap(NULL, size + SPARES * memfd->system_page, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (window->base == MAP_FAILED)
		goto no_base;
	window->shown = mmap(NULL, record_size(window), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (window->shown == MAP_FAILED)
		goto no_record;
	if (pthread_mutex_init(&window->flush_lock, NULL))
		goto no_lock;
	if (memfd->unit_shift) {
		window->units = window->shown + (size >> memfd->page_shift);
		window->tried = window->units + (size >> memfd->page_shift >> memfd->unit_shift);
	}
	window->guards = !window->units && guards_exist();
	for (unsigned int i = 0; i < SPARES; i++) {
		window->spare[i] = open_spare(window, i, MAP_FIXED);
		if (!window->spare[i])
			munmap(spare_at(window, i), memfd->system_page);
	}
	pthread_mutex_lock(&memfd->lock);
	window->next = memfd->windows;
	memfd->windows = window;
	pthread_mutex_unlock(&memfd->lock);
	*out = window;
	return 0;

no_lock:
	munmap(window->shown, record_size(window));
no_record:
	munmap(window->base, size + SPARES * memfd->system_page);
no_base:
	free(window);
	return -ENOMEM;
}

int vmspace_window_create_code(struct vmspace_window *window)
{
	struct vmspace_memfd *memfd = window->memfd;
	struct vmspace_window *code;
	char *page;
	int err;

	if (window->code || window->is_code)
		return -EINVAL;
	/* The system may not allow it at all; a fault could not tell why. */
	page = memfd_map(memfd, NULL, memfd->system_page, PROT_READ | PROT_EXEC, 0, FIRST_FRAME);
	if (page == MAP_FAILED)
		return -errno;
	munmap(page, memfd->system_page);
	err = vmspace_window_create(&code, window->memfd, window->start, window->size);
	if (err)
		return err;
	code->is_code = true;
	window->code = code;
	return 0;
}

void *vmspace_window_code(const struct vmspace_window *window, unsigned long addr)
{
	return window->code ? vmspace_window_host(window->code, addr) : NULL;
}

void vmspace_window_destroy(struct vmspace_window *window)
{
	struct vmspace_window **at;

	if (!window)
		return;
	vmspace_window_destroy(window->code);
	pthread_mutex_lock(&window->memfd->lock);
	for (at = &window->memfd->windows; *at != window; at = &(*at)->next)
		;
	*at = window->next;
	pthread_mutex_unlock(&window->memfd->lock);
	munmap(window->base, window->size);
	for (unsigned int i = 0; i < SPARES; i++)
		if (window->spare[i])
			munmap(spare_at(window, i), window->memfd->system_page);
	munmap(window->shown, record_size(window));
	pthread_mutex_destroy(&window->flush_lock);
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

static bool reaches(const struct vmspace_window *window, unsigned long addr, bool write)
{
	uint64_t shown;

	if (window->units)
		return units_reach(window, addr, write);
	shown = __atomic_load_n(window_shown_at(window, addr), __ATOMIC_RELAXED);
	return shown != SHOWN_NOTHING && shown != SHOWN_UNKNOWN && !(shown & GUARD_BIT) &&
	       (!write || (shown & 1));
}

bool vmspace_window_is_direct(const struct vmspace_window *window, unsigned long addr,
			      unsigned int access)
{
	if (!vmspace_window_host(window, addr))
		return false;
	if ((access & VMSPACE_ACCESS_EXEC) && window->code) {
		if (!reaches(window->code, addr, false))
			return false;
		access &= ~VMSPACE_ACCESS_EXEC;
		if (!access)
			return true;
	}
	return reaches(window, addr, access & VMSPACE_ACCESS_WRITE);
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

bool vmspace_window_code_guest(const struct vmspace_window *window, const void *host,
			       unsigned long *addr)
{
	return window->code && vmspace_window_guest(window->code, host, addr);
}
