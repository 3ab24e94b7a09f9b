/* SPDX-License-Identifier: MIT */
/*
 * window_inside.h - what a window is, for the files that it is made of: window.c, window_blocks.c
 * (several pages mapped at once, under guards) and window_units.c (pages smaller than the host's).
 */
#ifndef VMSPACE_WINDOW_INSIDE_H
#define VMSPACE_WINDOW_INSIDE_H

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
#define GUARD_BIT      (UINT64_C(1) << 62)
#define GUARDED(shown) ((shown) | GUARD_BIT)

#define SPARES 4

struct vmspace_window {
	struct vmspace_memory memory;
	struct vmspace_memfd *memfd;
	struct vmspace_window *next; /* of the memfd's; under its lock */
	const struct vmspace *owner; /* the space that uses it, or NULL; atomic */
	char *base;
	unsigned long start;
	size_t size;
	/*
	 * What each page shows, so that mapping a page again as it is needs no system call. Written
	 * under the lock of the page's area; and by window_flush_locked(), which empties all of it
	 * while `flushes` is odd.
	 */
	uint64_t *shown;
	/*
	 * Where the host's pages are larger: how each of those (a unit) is mapped, see window_units.c;
	 * `shown` is then what each page is translated to, whether or not it is mapped, and both are
	 * written under flush_lock as well. Otherwise NULL.
	 */
	uint64_t *units;
	uint64_t *tried;             /* by unit: what faults did not help, see window_units.c; or NULL */
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

/* ---- window.c ---- */

static inline uint64_t *window_shown_at(const struct vmspace_window *window, unsigned long addr)
{
	return &window->shown[(addr - window->start) >> window->memfd->page_shift];
}

/* Set entries of a record to 0. Returns whether any may have been another. */
bool window_forget(const struct vmspace_window *window, uint64_t *record, size_t entries);
/* Make a part of the window inaccessible. False: the system maps nothing more. */
bool window_close_part(char *at, size_t size);
/* Map `size` bytes of frames from `frame` on at `at`, in place of what is there. */
bool window_open_frames(const struct vmspace_window *window, char *at, uint64_t frame, size_t size,
			int prot);
/* End all translations. flush_lock is held. */
void window_flush_locked(struct vmspace_window *window);

/* The frame of another page, or the page itself, less the distance between them; 0: it has none. */
static inline uint64_t window_frame_from(const struct vmspace_window *window, size_t at, size_t page)
{
	uint64_t shown = __atomic_load_n(&window->shown[page], __ATOMIC_RELAXED);
	uint64_t frame = (shown & ~GUARD_BIT) >> 1;

	/* What is not writable is often the frame of zeros, or shared. */
	if (!(shown & 1) || !frame || memfd_is_direct(frame) || (page > at && frame <= page - at))
		return 0;
	return frame + at - page;
}

/* ---- window_blocks.c ---- */

/*
 * Blocks begin at multiples of their size in the guest's addresses, so that the lock of one page table
 * protects each. The block of page `at`: pages [*low, *high) of the window.
 */
void window_block_bounds(const struct vmspace_window *window, size_t at, size_t *low, size_t *high);
/*
 * Map and record the page, by a block within [start, end) if that pays; otherwise it has to be mapped
 * alone.
 */
void window_show_in_block(const struct vmspace_window *window, unsigned long addr, uint64_t frame,
			  bool writable, unsigned long start, unsigned long end);

/* ---- window_units.c: of a window with units ---- */

/* Translate the page, and map its unit if that is possible now. */
void units_show(struct vmspace_window *window, unsigned long addr, uint64_t frame, bool writable);
/* End the translations of [start, start + size), whole pages of the window. */
void units_hide(struct vmspace_window *window, unsigned long start, size_t size);
/* Take the right to write from the translations of [start, start + size). */
void units_write_protect(struct vmspace_window *window, unsigned long start, size_t size);
/* Can the page be accessed through the window, to be written if `write`? Takes no lock. */
bool units_reach(const struct vmspace_window *window, unsigned long addr, bool write);
/*
 * Of a page that is translated, and cannot be accessed so (VMSPACE_ACCESS_*) through the window: may faults
 * about it change that? Not if they were found not to since a page of the unit or an area has changed;
 * `areas` has another value after each change of areas. *tried: for units_stay_closed(). Takes no lock.
 */
bool units_may_open(const struct vmspace_window *window, unsigned long addr, unsigned int access,
		    unsigned long areas, uint64_t *tried);
/* They were made, and it is as before. */
void units_stay_closed(struct vmspace_window *window, unsigned long addr, unsigned int access,
		       unsigned long areas, uint64_t tried);
/*
 * Which frame the page should have, so that its unit can be mapped; `after`: the frame of the page
 * below, if that is not mapped yet, or 0.
 */
void units_wish(const struct vmspace_window *window, unsigned long addr, uint64_t after,
		struct memfd_wish *wish);

#endif
