/* SPDX-License-Identifier: MIT */
/*
 * window_units.c - windows of guests whose pages are smaller than the host's.
 *
 * The host maps a unit, as many pages as one of its own has, or nothing. So a unit is mapped while all
 * of its pages are translated, to the frames of one unit in their order; or all to the frame of zeros. It
 * can be written while all of them can. Otherwise it is inaccessible, and the program has to go by
 * vmspace_access(). Nobody may reach more by the host's mapping than by the guest's pages.
 *
 * units[] says how each unit is mapped: SHOWN() of its first page, writable or not as it is as a whole;
 * ZEROS; or CLOSED. It follows shown[], what pages are translated to. tried[] says for which accesses
 * faults about a page of the unit were found not to help: how often pages of the unit have changed, modulo
 * 2^32, which makes the rest void; the state of the space's areas in which that was found, modulo 2^29; a
 * bit for each kind of access. All are changed under flush_lock, and may be read without it.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "window_inside.h"

#define CLOSED SHOWN_NOTHING
#define ZEROS  1u /* mapped to be read, and no frame's; no SHOWN() is that */

static uint64_t load(const uint64_t *record)
{
	return __atomic_load_n(record, __ATOMIC_RELAXED);
}

static void store(uint64_t *record, uint64_t value)
{
	__atomic_store_n(record, value, __ATOMIC_RELAXED);
}

#define KINDS ((uint64_t)(VMSPACE_ACCESS_READ | VMSPACE_ACCESS_WRITE | VMSPACE_ACCESS_EXEC))
#define CHANGE (UINT64_C(1) << 32)

/* Pages of the unit have changed. */
static void note_change(const struct vmspace_window *window, size_t unit)
{
	uint64_t *tried = &window->tried[unit];

	store(tried, (load(tried) & ~(CHANGE - 1)) + CHANGE);
}

/* An access to write makes the pages about it present to be written, whatever else it is. */
static uint64_t kind_of(unsigned int access)
{
	if (access & VMSPACE_ACCESS_WRITE)
		return VMSPACE_ACCESS_WRITE;
	return access & VMSPACE_ACCESS_EXEC ? VMSPACE_ACCESS_EXEC : VMSPACE_ACCESS_READ;
}

/* In this state of the areas, without kinds of accesses. */
static uint64_t tried_in(unsigned long areas)
{
	return (uint64_t)areas * (KINDS + 1) & (CHANGE - 1);
}

static size_t unit_of(const struct vmspace_window *window, unsigned long addr)
{
	const struct vmspace_memfd *memfd = window->memfd;

	return (addr - window->start) >> memfd->page_shift >> memfd->unit_shift;
}

static char *host_of(const struct vmspace_window *window, size_t unit)
{
	return window->base + unit * window->memfd->host_page;
}

/* Are the frames from this one on those of a unit? */
static bool begins_unit(const struct vmspace_memfd *memfd, uint64_t frame)
{
	return !(memfd_index(frame) & (memfd_unit(memfd) - 1));
}

/* How the unit is to be mapped, from what its pages are translated to. */
static uint64_t wanted(const struct vmspace_window *window, size_t unit)
{
	const struct vmspace_memfd *memfd = window->memfd;
	const uint64_t *shown = &window->shown[unit << memfd->unit_shift];
	unsigned int pages = memfd_unit(memfd), in_order = 1, same = 1;
	uint64_t first = load(shown), all = first;

	if (first == SHOWN_NOTHING)
		return CLOSED;
	while (in_order < pages && load(&shown[in_order]) >> 1 == (first >> 1) + in_order)
		all &= load(&shown[in_order++]);
	if (in_order == pages)
		return begins_unit(memfd, first >> 1) ? SHOWN(first >> 1, all & 1) : CLOSED;
	while (same < pages && load(&shown[same]) == first)
		same++;
	return same == pages && memfd_is_zeros(memfd, first >> 1) ? ZEROS : CLOSED;
}

/* Map the unit so. False: the system maps no more. */
static bool open_unit(const struct vmspace_window *window, size_t unit, uint64_t as)
{
	int prot = PROT_READ | (window->is_code ? PROT_EXEC : 0);
	size_t size = window->memfd->host_page;
	char *at = host_of(window, unit);

	if (as == ZEROS)
		return mmap(at, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			    0) != MAP_FAILED;
	if ((as & 1) && !window->is_code)
		prot |= PROT_WRITE;
	return window_open_frames(window, at, as >> 1, size, prot);
}

/* What is to be done with a unit. */
enum step { KEEP, CLOSE, PROTECT, OPEN };

static enum step step_of(const struct vmspace_window *window, size_t unit, uint64_t *then)
{
	uint64_t now = load(&window->units[unit]);

	*then = wanted(window, unit);
	if (*then == now)
		return KEEP;
	if (*then == CLOSED)
		return CLOSE;
	return now != ZEROS && *then == (now & ~UINT64_C(1)) ? PROTECT : OPEN;
}

/*
 * Map units [first, end) as their pages have become. flush_lock is held. False: the system maps no more,
 * and what was mapped before may be still.
 */
static bool follow(const struct vmspace_window *window, size_t first, size_t end)
{
	size_t next;

	for (size_t unit = first; unit < end; unit = next) {
		uint64_t then, other;
		enum step step = step_of(window, unit, &then);
		char *at = host_of(window, unit);
		bool done = true;

		store(&window->units[unit], then);
		for (next = unit + 1; (step == CLOSE || step == PROTECT) && next < end; next++) {
			if (step_of(window, next, &other) != step)
				break;
			store(&window->units[next], other);
		}
		if (step == CLOSE)
			done = window_close_part(at, (next - unit) * window->memfd->host_page);
		else if (step == PROTECT)
			done = !mprotect(at, (next - unit) * window->memfd->host_page, PROT_READ);
		else if (step == OPEN)
			done = open_unit(window, unit, then);
		if (!done)
			return false;
	}
	return true;
}

void units_show(struct vmspace_window *window, unsigned long addr, uint64_t frame, bool writable)
{
	size_t unit = unit_of(window, addr);

	pthread_mutex_lock(&window->flush_lock);
	store(window_shown_at(window, addr), SHOWN(frame, writable));
	note_change(window, unit);
	if (!follow(window, unit, unit + 1)) {
		window_flush_locked(window);
		/* A page alone maps nothing. */
		store(window_shown_at(window, addr), SHOWN(frame, writable));
	}
	pthread_mutex_unlock(&window->flush_lock);
}

/* Pages of units [first, end) were taken away; of all but the first and the last unit, all of them. */
static bool close_units(const struct vmspace_window *window, size_t first, size_t end)
{
	size_t inner = first + 1, inner_end = end - 1;

	note_change(window, first);
	note_change(window, inner_end);
	if (!follow(window, first, inner) || !follow(window, inner_end, end))
		return false;
	if (inner >= inner_end)
		return true;
	/* Nothing is found of them before a page is shown again, which is a change. */
	window_forget(window, &window->tried[inner], inner_end - inner);
	if (!window_forget(window, &window->units[inner], inner_end - inner))
		return true;
	return window_close_part(host_of(window, inner),
				 (inner_end - inner) * window->memfd->host_page);
}

void units_hide(struct vmspace_window *window, unsigned long start, size_t size)
{
	size_t pages = size >> window->memfd->page_shift;

	pthread_mutex_lock(&window->flush_lock);
	if (window_forget(window, window_shown_at(window, start), pages) &&
	    !close_units(window, unit_of(window, start), unit_of(window, start + (size - 1)) + 1))
		window_flush_locked(window);
	pthread_mutex_unlock(&window->flush_lock);
}

void units_write_protect(struct vmspace_window *window, unsigned long start, size_t size)
{
	size_t pages = size >> window->memfd->page_shift;
	uint64_t *shown = window_shown_at(window, start);

	pthread_mutex_lock(&window->flush_lock);
	for (size_t i = 0; i < pages; i++)
		if (load(&shown[i]) & 1) {
			store(&shown[i], load(&shown[i]) & ~UINT64_C(1));
			note_change(window, unit_of(window, start + (i << window->memfd->page_shift)));
		}
	if (!follow(window, unit_of(window, start), unit_of(window, start + (size - 1)) + 1))
		window_flush_locked(window);
	pthread_mutex_unlock(&window->flush_lock);
}

bool units_reach(const struct vmspace_window *window, unsigned long addr, bool write)
{
	uint64_t as = load(&window->units[unit_of(window, addr)]);

	return as != CLOSED && (!write || (as != ZEROS && (as & 1)));
}

bool units_may_open(const struct vmspace_window *window, unsigned long addr, unsigned int access,
		    unsigned long areas, uint64_t *tried)
{
	*tried = load(&window->tried[unit_of(window, addr)]);
	return !(*tried & kind_of(access)) || (*tried & (CHANGE - 1) & ~KINDS) != tried_in(areas);
}

void units_stay_closed(struct vmspace_window *window, unsigned long addr, unsigned int access,
		       unsigned long areas, uint64_t tried)
{
	uint64_t *at = &window->tried[unit_of(window, addr)];
	uint64_t kinds = kind_of(access);

	if ((tried & (CHANGE - 1) & ~KINDS) == tried_in(areas))
		kinds |= tried & KINDS;
	pthread_mutex_lock(&window->flush_lock);
	if (load(at) == tried)
		store(at, (tried & ~(CHANGE - 1)) | tried_in(areas) | kinds);
	pthread_mutex_unlock(&window->flush_lock);
}

void units_wish(const struct vmspace_window *window, unsigned long addr, uint64_t after,
		struct memfd_wish *wish)
{
	const struct vmspace_memfd *memfd = window->memfd;
	unsigned long number = addr >> memfd->page_shift;
	size_t at, first, end;

	*wish = (struct memfd_wish){ .place = (unsigned int)(number % CHUNK_FRAMES), .whole = true };
	if (after && memfd_fits(memfd, after + 1, number)) {
		wish->frame = after + 1;
		wish->whole = !(number & (memfd_unit(memfd) - 1));
	}
	if (after || !vmspace_window_host(window, addr))
		return;
	at = (addr - window->start) >> memfd->page_shift;
	first = at & ~(size_t)(memfd_unit(memfd) - 1);
	end = first + memfd_unit(memfd);
	for (size_t page = first; page < end && !wish->frame; page++) {
		uint64_t frame = window_frame_from(window, at, page);

		if (page != at && frame && memfd_fits(memfd, frame, number)) {
			wish->frame = frame;
			wish->whole = false;
		}
	}
	if (!wish->frame && first) {
		uint64_t frame = window_frame_from(window, at, first - 1);

		wish->frame = frame && memfd_fits(memfd, frame, number) ? frame : 0;
	}
}
