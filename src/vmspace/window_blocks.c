/* SPDX-License-Identifier: MIT */
/* window_blocks.c - pages of a window that are mapped several at once, under guards. */
#include <sys/mman.h>

#include "guards.h"
#include "window_inside.h"

/*
 * Pages are mapped one by one; or, where a neighbour shows that there are more to come, a block with
 * the frames beside, under guards (MADV_GUARD_INSTALL, Linux 6.15 for memfds). A guard is in the
 * page table alone: to remove one takes a fifth of the time of a mapping, and no area of the
 * process is cut in two. Which pages a guest may reach is the same in both ways.
 */
#define BLOCK_PAGES 64u
#define LEAST_PAGES 4u /* for fewer it does not pay */
#define MOST_SHOWN  4u /* pages that are shown have to be faulted in again */

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
	uint64_t last = memfd_is_direct(frame) ? (UINT64_C(1) << DIRECT_INDEX_BITS) - 1
					       : window->memfd->limit - 1;

	*below = memfd_index(frame);
	*above = last - *below;
}

void window_block_bounds(const struct vmspace_window *window, size_t at, size_t *low, size_t *high)
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

	window_block_bounds(window, block->at, &low, &high);
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
	size_t size = (block->end - block->first) << memfd->page_shift;
	char *to = window->base + (block->first << memfd->page_shift);
	char *at = memfd_map(memfd, NULL, size, PROT_READ | (block->writable ? PROT_WRITE : 0), 0, frame);

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

void window_show_in_block(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
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
