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
#include "memfd_direct.h"
#include "window.h"

/* What a page of a window shows: SHOWN(frame, writable); or one of these. */
#define SHOWN(frame, writable) ((frame) << 1 | (writable))
#define SHOWN_NOTHING 0u /* it is inaccessible */
#define SHOWN_UNKNOWN 1u /* another thread was just ending all translations */
/*
 * Or the page would show that, but for a guard: it is inaccessible until that is removed. Frames
 * leave the bit free: see DIRECT_FILE_BITS.
 */
#define GUARDED(shown) ((shown) | UINT64_C(1) << 62)

/*
 * Pages are mapped one by one; or, where a neighbour shows that there are more to come, a block with
 * the frames beside, under guards (MADV_GUARD_INSTALL, Linux 6.15 for memfds). A guard is in the
 * page table alone: to remove one takes a fifth of the time of a mapping, and no area of the
 * process is cut in two. Which pages a guest may reach is the same in both ways.
 */
#define BLOCK_PAGES 64u
#define LEAST_PAGES 4u /* for fewer it does not pay */
#define MOST_SHOWN  4u /* pages that are shown have to be faulted in again */

/* From so many pages on, a record is dropped as a whole instead of page by page. */
#define MANY_PAGES 65536u

#define SPARES 4

struct vmspace_window {
	struct vmspace_memory memory;
	struct vmspace_memfd *memfd;
	struct vmspace_window *next; /* of the memfd's; under its lock */
	char *base;
	unsigned long start;
	size_t size;
	/*
	 * What each page shows, so that mapping a page again as it is needs no system call. Written
	 * under the lock of the page's area; and by flush(), which empties all of it while `flushes`
	 * is odd.
	 */
	uint64_t *shown;
	unsigned long flushes;
	pthread_mutex_t flush_lock;
	bool spare[SPARES];          /* there are pages above the window that flush() may unmap */
	bool guards;                 /* the system has them */
	/*
	 * The view of what may be executed, a window of its own that is this one's; or NULL. Constant
	 * once the window is used. Its pages are mapped and unmapped after this one's, under the same
	 * locks.
	 */
	struct vmspace_window *code;
	bool is_code;                /* it is such a view */
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

static char *spare_at(const struct vmspace_window *window, unsigned int i)
{
	return window->base + window->size + i * window->memfd->page_size;
}

/* Map an inaccessible page after the window; `flags` says whether it may replace another. */
static bool open_spare(const struct vmspace_window *window, unsigned int i, int flags)
{
	const struct vmspace_memfd *memfd = window->memfd;
	char *at = spare_at(window, i);
	char *got = mmap(at, memfd->page_size, PROT_NONE, MAP_SHARED | flags, memfd->fd, 0);

	if (got != MAP_FAILED && got != at)
		munmap(got, memfd->page_size);
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
		munmap(spare_at(window, i), window->memfd->page_size);
		window->spare[i] = false;
		closed = close_part(window->base, window->size);
	}
	for (i = 0; i < SPARES; i++)
		if (!window->spare[i])
			window->spare[i] = open_spare(window, i, MAP_FIXED_NOREPLACE);
	return closed;
}

static size_t record_size(const struct vmspace_window *window)
{
	return (window->size >> window->memfd->page_shift) * sizeof(window->shown[0]);
}

static uint64_t *shown_at(const struct vmspace_window *window, unsigned long addr)
{
	return &window->shown[(addr - window->start) >> window->memfd->page_shift];
}

/*
 * End all translations: each separately mapped page is an area of the process, which may not have
 * more than vm.max_map_count.
 *
 * The record is emptied first: a page of which it says nothing is shown is closed when we are done.
 * What another thread maps and records meanwhile may or may not be closed; it sees that `flushes`
 * has changed, and records that it does not know.
 */
static void flush(struct vmspace_window *window)
{
	pthread_mutex_lock(&window->flush_lock);
	__atomic_add_fetch(&window->flushes, 1, __ATOMIC_SEQ_CST);
	if (madvise(window->shown, record_size(window), MADV_DONTNEED))
		abort(); /* it cannot fail for memory that is ours */
	/* Guests must not reach frames that were freed. The last way needs no additional area. */
	if (!close_part(window->base, window->size) && !close_with_spares(window) &&
	    mprotect(window->base, window->size, PROT_NONE))
		abort();
	__atomic_add_fetch(&window->flushes, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&window->flush_lock);
}

static bool open_page(const struct vmspace_window *window, char *at, uint64_t frame, int prot)
{
	struct vmspace_memfd *memfd = window->memfd;
	off_t offset = memfd_offset(memfd, frame);
	int fd = memfd_is_direct(frame) ? memfd_direct_place(memfd, frame, &offset) : memfd->fd;

	return mmap(at, memfd->page_size, prot, MAP_SHARED | MAP_FIXED, fd, offset) != MAP_FAILED;
}

/* Map the page and record that. False: the system maps no more. */
static bool show_page(struct vmspace_window *window, unsigned long addr, uint64_t frame,
		      bool writable)
{
	unsigned long before = __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST);
	int prot = PROT_READ | (window->is_code ? PROT_EXEC : writable ? PROT_WRITE : 0);
	uint64_t *shown = shown_at(window, addr);

	if (!open_page(window, vmspace_window_host(window, addr), frame, prot))
		return false;
	__atomic_store_n(shown, SHOWN(frame, writable), __ATOMIC_SEQ_CST);
	if (before % 2 || __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST) != before)
		__atomic_store_n(shown, SHOWN_UNKNOWN, __ATOMIC_RELAXED);
	return true;
}

static bool is_shown(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
		     bool writable)
{
	return __atomic_load_n(shown_at(window, addr), __ATOMIC_RELAXED) == SHOWN(frame, writable);
}

static void unmap_part(struct vmspace_window *window, unsigned long start, unsigned long end);

/* Map the page again if it is not shown so, after all others if need be. */
static int show(struct vmspace_window *window, unsigned long addr, uint64_t frame, bool writable)
{
	if (is_shown(window, addr, frame, writable) || show_page(window, addr, frame, writable))
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

/* ---- blocks ---- */

/* Numbers of pages: a part of a window in which page `at` is to be mapped. */
struct block {
	size_t first, at, end;
	uint64_t frame;              /* of page `at` */
	bool writable;
	unsigned int shown;          /* pages that are shown and stay */
};

static uint64_t shown_in(const struct block *block, size_t page)
{
	return SHOWN(block->frame + page - block->at, block->writable);
}

/* Can this other page become part of the block, as it shows nothing else? */
static bool joins(const struct vmspace_window *window, struct block *block, size_t page)
{
	uint64_t shown = __atomic_load_n(&window->shown[page], __ATOMIC_RELAXED);

	if (shown == shown_in(block, page))
		block->shown++;
	return shown == SHOWN_NOTHING || shown == shown_in(block, page);
}

/* How far frames go on below and above this one. */
static void frames_about(const struct vmspace_window *window, uint64_t frame, uint64_t *below,
			 uint64_t *above)
{
	uint64_t index = frame - 1, last = window->memfd->limit - 1;

	if (memfd_is_direct(frame)) {
		last = (UINT64_C(1) << DIRECT_INDEX_BITS) - 1;
		index = frame & last;
	}
	*below = index;
	*above = last - index;
}

/*
 * Blocks begin at multiples of their size in the guest's addresses, so that the lock of one page table
 * protects each. The block of page `at`: pages [*low, *high) of the window.
 */
static void block_bounds(const struct vmspace_window *window, size_t at, size_t *low, size_t *high)
{
	unsigned int shift = window->memfd->page_shift;
	size_t before = (window->start >> shift) % BLOCK_PAGES, pages = window->size >> shift;
	size_t first = (at + before) & ~(size_t)(BLOCK_PAGES - 1);

	*low = first > before ? first - before : 0;
	*high = first + BLOCK_PAGES - before;
	if (*high > pages)
		*high = pages;
}

/* The block about the page, within [start, end) and the window. False: it does not pay. */
static bool find_block(const struct vmspace_window *window, struct block *block,
		       unsigned long start, unsigned long end)
{
	unsigned int shift = window->memfd->page_shift;
	uint64_t below, above;
	size_t low, high;

	block_bounds(window, block->at, &low, &high);
	if (start > window->start && (start - window->start) >> shift > low)
		low = (start - window->start) >> shift;
	if ((end - window->start) >> shift < high)
		high = (end - window->start) >> shift;
	frames_about(window, block->frame, &below, &above);
	block->first = block->at;
	block->end = block->at + 1;
	while (block->first > low && below && joins(window, block, block->first - 1)) {
		block->first--;
		below--;
	}
	while (block->end < high && above && joins(window, block, block->end)) {
		block->end++;
		above--;
	}
	return block->end - block->first >= LEAST_PAGES && block->shown &&
	       block->shown <= MOST_SHOWN;
}

/* Is it under a guard in the block? */
static bool is_guarded(const struct vmspace_window *window, const struct block *block, size_t page)
{
	return page != block->at &&
	       __atomic_load_n(&window->shown[page], __ATOMIC_RELAXED) == SHOWN_NOTHING;
}

/* Install the guards of a block that is mapped at `to`. */
static bool install_guards(const struct vmspace_window *window, const struct block *block, char *to)
{
	unsigned int shift = window->memfd->page_shift;
	size_t next;

	for (size_t page = block->first; page < block->end; page = next) {
		bool guarded = is_guarded(window, block, page);

		for (next = page + 1; next < block->end; next++)
			if (is_guarded(window, block, next) != guarded)
				break;
		if (guarded && madvise(to + ((page - block->first) << shift),
				       (next - page) << shift, MADV_GUARD_INSTALL))
			return false;
	}
	return true;
}

/* Map a block elsewhere, with its guards, and move it to its place: nobody sees it half done. */
static bool open_block(const struct vmspace_window *window, const struct block *block)
{
	struct vmspace_memfd *memfd = window->memfd;
	uint64_t frame = block->frame - (block->at - block->first);
	off_t offset = memfd_offset(memfd, frame);
	int fd = memfd_is_direct(frame) ? memfd_direct_place(memfd, frame, &offset) : memfd->fd;
	size_t size = (block->end - block->first) << memfd->page_shift;
	char *to = window->base + (block->first << memfd->page_shift);
	char *at = mmap(NULL, size, PROT_READ | (block->writable ? PROT_WRITE : 0), MAP_SHARED, fd,
			offset);

	if (at == MAP_FAILED)
		return false;
	if (install_guards(window, block, at) &&
	    mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
		return true;
	munmap(at, size);
	return false;
}

static void record_block(const struct vmspace_window *window, const struct block *block, bool known)
{
	for (size_t page = block->first; page < block->end; page++) {
		uint64_t shown = shown_in(block, page);

		if (is_guarded(window, block, page))
			shown = GUARDED(shown);
		__atomic_store_n(&window->shown[page], known ? shown : SHOWN_UNKNOWN,
				 __ATOMIC_SEQ_CST);
	}
}

/* Map and record the page, by a block if that pays; otherwise it has to be mapped alone. */
static void show_in_block(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
			  bool writable, unsigned long start, unsigned long end)
{
	unsigned long before = __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST);
	struct block block = {
		.at = (addr - window->start) >> window->memfd->page_shift,
		.frame = frame, .writable = writable,
	};

	if (!window->guards || !find_block(window, &block, start, end) || !open_block(window, &block))
		return;
	record_block(window, &block, true);
	if (before % 2 || __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST) != before)
		record_block(window, &block, false);
}

/* The same, if there is nothing but a guard before it. */
static bool show_guarded(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
			 bool writable)
{
	unsigned long before = __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST);
	uint64_t *shown = shown_at(window, addr);

	if (__atomic_load_n(shown, __ATOMIC_RELAXED) != GUARDED(SHOWN(frame, writable)) ||
	    madvise(vmspace_window_host(window, addr), window->memfd->page_size,
		    MADV_GUARD_REMOVE))
		return false;
	__atomic_store_n(shown, SHOWN(frame, writable), __ATOMIC_SEQ_CST);
	if (before % 2 || __atomic_load_n(&window->flushes, __ATOMIC_SEQ_CST) != before)
		__atomic_store_n(shown, SHOWN_UNKNOWN, __ATOMIC_RELAXED);
	return true;
}

/* The frame of another page, or the page itself, less the distance between them; 0: it has none. */
static uint64_t frame_from(const struct vmspace_window *window, size_t at, size_t page)
{
	uint64_t shown = __atomic_load_n(&window->shown[page], __ATOMIC_RELAXED);
	uint64_t frame = (shown & ~GUARDED(UINT64_C(0))) >> 1;

	/* What is not writable is often the frame of zeros, or shared. */
	if (!(shown & 1) || !frame || memfd_is_direct(frame) || (page > at && frame <= page - at))
		return 0;
	return frame + at - page;
}

/* Which frame the page should have: that beside the frames of the pages about it. */
static void wish_for(const struct vmspace_window *window, unsigned long addr,
		     struct memfd_wish *wish)
{
	size_t at = (addr - window->start) >> window->memfd->page_shift;
	size_t low, high;

	block_bounds(window, at, &low, &high);
	wish->place = (unsigned int)(addr >> window->memfd->page_shift) % CHUNK_FRAMES;
	wish->frame = frame_from(window, at, at);
	for (size_t page = at; !wish->frame && page-- > low;)
		wish->frame = frame_from(window, at, page);
	for (size_t page = at + 1; !wish->frame && page < high; page++)
		wish->frame = frame_from(window, at, page);
	if (!wish->frame && at && at == low) {
		wish->frame = frame_from(window, at, at - 1);
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

/* Record that nothing is shown in [start, start + size). Returns whether anything may have been. */
static bool forget_shown(const struct vmspace_window *window, unsigned long start, size_t size)
{
	size_t pages = size >> window->memfd->page_shift;
	uint64_t *shown = shown_at(window, start);
	bool any = false;

	if (pages >= MANY_PAGES) {
		size_t host = window->memfd->page_size;
		char *from = (char *)(((uintptr_t)shown + host - 1) & ~(host - 1));
		char *to = (char *)((uintptr_t)(shown + pages) & ~(host - 1));

		if (madvise(from, (size_t)(to - from), MADV_DONTNEED))
			abort();
		memset(shown, 0, (size_t)(from - (char *)shown));
		memset(to, 0, (size_t)((char *)(shown + pages) - to));
		return true;
	}
	for (size_t i = 0; i < pages; i++)
		if (__atomic_load_n(&shown[i], __ATOMIC_RELAXED) != SHOWN_NOTHING) {
			__atomic_store_n(&shown[i], SHOWN_NOTHING, __ATOMIC_RELAXED);
			any = true;
		}
	return any;
}

static void unmap_part(struct vmspace_window *window, unsigned long start, unsigned long end)
{
	size_t size;

	if (clip(window, &start, end, &size) && forget_shown(window, start, size) &&
	    !close_part(vmspace_window_host(window, start), size))
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

uint64_t window_alloc_at(const struct vmspace_memory *memory, unsigned long addr, uint64_t after,
		      bool zero)
{
	const struct vmspace_window *window = window_of(memory);
	struct memfd_wish wish = { .frame = after ? after + 1 : 0 };

	if (!window)
		return memory->alloc(memory->ctx);
	if (!after && vmspace_window_host(window, addr))
		wish_for(window, addr, &wish);
	return memfd_alloc_near(window->memfd, &wish, zero);
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
		show_in_block(window, addr, frame, writable, start, end);
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

	window->guards = guards && guards_exist();
	return window->guards == guards;
}

struct vmspace_memfd *window_memfd(const struct vmspace_memory *memory)
{
	const struct vmspace_window *window = window_of(memory);

	return window ? window->memfd : NULL;
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
	if (!size || ((start | size) & (memfd->page_size - 1)) || start + (size - 1) < start ||
	    size + memfd->page_size < size)
		return -EINVAL;
	if (size + SPARES * memfd->page_size < size)
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
	window->base = mmap(NULL, size + SPARES * memfd->page_size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (window->base == MAP_FAILED)
		goto no_base;
	window->shown = mmap(NULL, record_size(window), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (window->shown == MAP_FAILED)
		goto no_record;
	if (pthread_mutex_init(&window->flush_lock, NULL))
		goto no_lock;
	window->guards = guards_exist();
	for (unsigned int i = 0; i < SPARES; i++) {
		window->spare[i] = open_spare(window, i, MAP_FIXED);
		if (!window->spare[i])
			munmap(spare_at(window, i), memfd->page_size);
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
	munmap(window->base, size + SPARES * memfd->page_size);
no_base:
	free(window);
	return -ENOMEM;
}

int vmspace_window_create_code(struct vmspace_window *window)
{
	const struct vmspace_memfd *memfd = window->memfd;
	struct vmspace_window *code;
	char *page;
	int err;

	if (window->code || window->is_code)
		return -EINVAL;
	/* The system may not allow it at all; a fault could not tell why. */
	page = mmap(NULL, memfd->page_size, PROT_READ | PROT_EXEC, MAP_SHARED, memfd->fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	munmap(page, memfd->page_size);
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
			munmap(spare_at(window, i), window->memfd->page_size);
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
