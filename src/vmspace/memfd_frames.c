/* SPDX-License-Identifier: MIT */
/*
 * memfd_frames.c - which frames of a memfd are in use, and which have memory.
 *
 * Frames are kept in chunks of CHUNK_FRAMES. A window asks for the frame that lies beside those of
 * the neighbouring pages, so that the system can join their mappings; where there is no neighbour it
 * begins a chunk, which others then leave alone as long as there are chunks of which nothing is used.
 *
 * Freed frames keep their memory for a while, as it is quicker to clear it than to have the system
 * take it and give it again; see most_idle().
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "memfd.h"

/* Memory is asked of the system for so many frames at once, where they are used one after the other. */
#define AHEAD 16u
/* No more frames than these have memory without being in use; nor more than are in use. */
#define MOST_IDLE 512u

/*
 * Lists of chunks, by what is in them; a chunk all of whose frames are in use is in none.
 * Numbers of chunks are one higher where 0 means none.
 */
enum { UNUSED, UNUSED_IDLE, PARTIAL, PARTIAL_IDLE, FULL };

static uint64_t bit_of(uint32_t frame)
{
	return UINT64_C(1) << ((frame - 1) % CHUNK_FRAMES);
}

static struct memfd_chunk *chunk_of(const struct vmspace_memfd *memfd, uint32_t frame)
{
	return &memfd->chunks[(frame - 1) / CHUNK_FRAMES];
}

static uint64_t idle_of(const struct memfd_chunk *chunk)
{
	return chunk->memory & ~chunk->used;
}

static unsigned int list_of(const struct memfd_chunk *chunk)
{
	if (chunk->used == UINT64_MAX)
		return FULL;
	return (chunk->used ? PARTIAL : UNUSED) + (idle_of(chunk) ? 1 : 0);
}

static void link_chunk(struct vmspace_memfd *memfd, uint32_t index)
{
	struct memfd_chunk *chunk = &memfd->chunks[index];
	unsigned int list = list_of(chunk);

	chunk->prev = 0;
	chunk->next = list == FULL ? 0 : memfd->lists[list];
	if (list == FULL)
		return;
	if (chunk->next)
		memfd->chunks[chunk->next - 1].prev = index + 1;
	memfd->lists[list] = index + 1;
}

/* Before a chunk changes. */
static void unlink_chunk(struct vmspace_memfd *memfd, uint32_t index)
{
	struct memfd_chunk *chunk = &memfd->chunks[index];
	unsigned int list = list_of(chunk);

	if (list == FULL)
		return;
	if (chunk->next)
		memfd->chunks[chunk->next - 1].prev = chunk->prev;
	if (chunk->prev)
		memfd->chunks[chunk->prev - 1].next = chunk->next;
	else
		memfd->lists[list] = chunk->next;
}

/* Begin a chunk that was never used. False: there is none. */
static bool make_chunk(struct vmspace_memfd *memfd)
{
	uint32_t index = memfd->chunk_count, first = index * CHUNK_FRAMES;

	if (index > (memfd->limit - 1) / CHUNK_FRAMES)
		return false;
	/* Frames beyond the limit are never free. */
	memfd->chunks[index] = (struct memfd_chunk){
		.used = memfd->limit - first < CHUNK_FRAMES ? UINT64_MAX << (memfd->limit - first) : 0,
	};
	memfd->chunk_count++;
	link_chunk(memfd, index);
	return true;
}

/* Allocate memory for `pages` frames from `frame` on. */
static bool provide(const struct vmspace_memfd *memfd, uint32_t frame, uint32_t pages)
{
	int err;

	do
		err = fallocate(memfd->fd, 0, memfd_offset(memfd, frame),
				(off_t)pages << memfd->page_shift);
	while (err && errno == EINTR);
	return !err;
}

bool memfd_punch(const struct vmspace_memfd *memfd, int fd, uint32_t frame, uint32_t pages)
{
	int err;

	do
		err = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				memfd_offset(memfd, frame), (off_t)pages << memfd->page_shift);
	while (err && errno == EINTR);
	return !err;
}

/* The first run of bits that are set, from bit *from on; its length, 0: none. *from is set. */
static uint32_t next_run(uint64_t bits, unsigned int *from)
{
	uint64_t left = *from < CHUNK_FRAMES ? bits >> *from << *from : 0;
	uint64_t rest;

	if (!left)
		return 0;
	*from = (unsigned int)__builtin_ctzll(left);
	rest = ~(left >> *from);
	return rest ? (uint32_t)__builtin_ctzll(rest) : CHUNK_FRAMES;
}

uint32_t memfd_next_used(const struct vmspace_memfd *memfd, uint32_t *frame)
{
	uint32_t index = (*frame - 1) / CHUNK_FRAMES;
	unsigned int from = (*frame - 1) % CHUNK_FRAMES;

	for (; index < memfd->chunk_count; index++, from = 0) {
		const struct memfd_chunk *chunk = &memfd->chunks[index];
		/* Those beyond the limit have no memory. */
		uint32_t pages = next_run(chunk->used & chunk->memory, &from);

		if (pages) {
			*frame = index * CHUNK_FRAMES + from + 1;
			return pages;
		}
	}
	return 0;
}

void memfd_forget_idle(struct vmspace_memfd *memfd)
{
	for (uint32_t i = 0; i < memfd->chunk_count; i++) {
		unlink_chunk(memfd, i);
		memfd->chunks[i].memory &= memfd->chunks[i].used;
		memfd->chunks[i].dirty = 0;
		link_chunk(memfd, i);
	}
	memfd->idle = 0;
}

/*
 * The host has memory for whole pages of its own: of those of which nothing is used, all is given back.
 */
static void widen(const struct vmspace_memfd *memfd, const struct memfd_chunk *chunk,
		  unsigned int *from, uint32_t *pages)
{
	unsigned int unit = memfd_unit(memfd), end = *from + *pages;

	while (*from % unit && !(chunk->used >> (*from - 1) & 1))
		--*from;
	while (end % unit && !(chunk->used >> end & 1))
		end++;
	*pages = end - *from;
}

/* Give a chunk's idle memory back. False: the system refused. */
static bool trim_chunk(struct vmspace_memfd *memfd, uint32_t index)
{
	struct memfd_chunk *chunk = &memfd->chunks[index];
	uint64_t idle = idle_of(chunk);
	unsigned int from = 0;
	uint32_t pages;

	while ((pages = next_run(idle, &from))) {
		uint64_t mask = (pages < CHUNK_FRAMES ? (UINT64_C(1) << pages) - 1 : UINT64_MAX)
				<< from;
		unsigned int all_from = from;
		uint32_t all = pages;

		widen(memfd, chunk, &all_from, &all);
		if (!memfd_punch(memfd, memfd->fd, index * CHUNK_FRAMES + all_from + 1, all))
			return false;
		unlink_chunk(memfd, index);
		chunk->memory &= ~mask;
		chunk->dirty &= ~mask;
		link_chunk(memfd, index);
		memfd->idle -= pages;
		from += pages;
	}
	return true;
}

static uint32_t most_idle(const struct vmspace_memfd *memfd)
{
	return memfd->used < MOST_IDLE ? memfd->used : MOST_IDLE;
}

static void trim(struct vmspace_memfd *memfd)
{
	while (memfd->idle > most_idle(memfd)) {
		/* Whole chunks first: they take one call. */
		uint32_t index = memfd->lists[UNUSED_IDLE] ? memfd->lists[UNUSED_IDLE]
							    : memfd->lists[PARTIAL_IDLE];

		if (!index || !trim_chunk(memfd, index - 1))
			return;
	}
}

/* A free frame of a chunk that has one, with memory if there is such. */
static uint32_t free_of(const struct vmspace_memfd *memfd, uint32_t index)
{
	const struct memfd_chunk *chunk = &memfd->chunks[index];
	uint64_t idle = idle_of(chunk);

	return index * CHUNK_FRAMES + (uint32_t)__builtin_ctzll(idle ? idle : ~chunk->used) + 1;
}

/* A chunk of which nothing is used, its number plus one; 0: there is none. */
static uint32_t unused_chunk(struct vmspace_memfd *memfd)
{
	if (!memfd->lists[UNUSED_IDLE] && !memfd->lists[UNUSED])
		make_chunk(memfd);
	return memfd->lists[UNUSED_IDLE] ? memfd->lists[UNUSED_IDLE] : memfd->lists[UNUSED];
}

/* Any free frame, or 0. Those that nobody placed come from one chunk, in ascending order. */
static uint32_t choose_any(struct vmspace_memfd *memfd)
{
	if (!memfd->loose || list_of(&memfd->chunks[memfd->loose - 1]) == FULL)
		memfd->loose = unused_chunk(memfd);
	if (memfd->loose && list_of(&memfd->chunks[memfd->loose - 1]) != FULL)
		return free_of(memfd, memfd->loose - 1);
	for (int list = PARTIAL_IDLE; list >= UNUSED; list--)
		if (memfd->lists[list])
			return free_of(memfd, memfd->lists[list] - 1);
	return 0;
}

/* Is the frame free that is wished for, and may it be had? */
static bool may_have(struct vmspace_memfd *memfd, const struct memfd_wish *wish)
{
	const struct memfd_chunk *chunk;

	if (!wish->frame || wish->frame > memfd->limit)
		return false;
	if ((wish->frame - 1) / CHUNK_FRAMES == memfd->chunk_count)
		make_chunk(memfd);
	if ((wish->frame - 1) / CHUNK_FRAMES >= memfd->chunk_count)
		return false;
	chunk = chunk_of(memfd, (uint32_t)wish->frame);
	return !(chunk->used & bit_of((uint32_t)wish->frame)) && !(wish->begins && chunk->used);
}

/* The frames of a chunk that are of one unit with the one at this place. */
static uint64_t unit_mask(const struct vmspace_memfd *memfd, unsigned int place)
{
	unsigned int frames = memfd_unit(memfd);
	uint64_t mask = frames < CHUNK_FRAMES ? (UINT64_C(1) << frames) - 1 : UINT64_MAX;

	return mask << (place & ~(frames - 1));
}

/* Look into so many chunks for a unit. */
#define MOST_LOOKS 16u

/* A frame in a unit of which nothing is used, where pages with the number `place` are in theirs; or 0. */
static uint32_t find_unit(const struct vmspace_memfd *memfd, unsigned int place)
{
	unsigned int frames = memfd_unit(memfd), looks = 0;

	for (int list = PARTIAL_IDLE; list >= PARTIAL; list--)
		for (uint32_t chunk = memfd->lists[list]; chunk && looks < MOST_LOOKS;
		     chunk = memfd->chunks[chunk - 1].next, looks++)
			for (unsigned int at = 0; at < CHUNK_FRAMES; at += frames)
				if (!(memfd->chunks[chunk - 1].used & unit_mask(memfd, at)))
					return (chunk - 1) * CHUNK_FRAMES + at + place % frames + 1;
	return 0;
}

/* The frame that is wished of a chunk of which nothing is used. */
static uint32_t begin_chunk(struct vmspace_memfd *memfd, uint32_t chunk,
			    const struct memfd_wish *wish)
{
	if (chunk == memfd->loose)
		memfd->loose = 0;
	return (chunk - 1) * CHUNK_FRAMES + wish->place + 1;
}

/* The same of frames that lie in units. */
static uint32_t choose_in_unit(struct vmspace_memfd *memfd, const struct memfd_wish *wish)
{
	uint32_t chunk, frame;

	if (may_have(memfd, wish) &&
	    (!wish->whole || !(chunk_of(memfd, (uint32_t)wish->frame)->used &
			       unit_mask(memfd, (unsigned int)(wish->frame - 1) % CHUNK_FRAMES))))
		return (uint32_t)wish->frame;
	chunk = unused_chunk(memfd);
	if (chunk)
		return begin_chunk(memfd, chunk, wish);
	frame = find_unit(memfd, wish->place);
	return frame ? frame : choose_any(memfd);
}

static uint32_t choose_near(struct vmspace_memfd *memfd, const struct memfd_wish *wish)
{
	uint32_t chunk;

	if (memfd->unit_shift)
		return choose_in_unit(memfd, wish);
	if (may_have(memfd, wish))
		return (uint32_t)wish->frame;
	/* If another is in between, no place helps. */
	chunk = wish->frame && !wish->begins ? 0 : unused_chunk(memfd);
	return chunk ? begin_chunk(memfd, chunk, wish) : choose_any(memfd);
}

/* Of a frame without memory. How many have it then, from it on; 0: the system has none. */
static uint32_t provide_from(const struct vmspace_memfd *memfd, uint32_t frame)
{
	const struct memfd_chunk *chunk = chunk_of(memfd, frame);
	unsigned int at = (frame - 1) % CHUNK_FRAMES;
	uint32_t pages = 1;

	if (at && chunk->used >> (at - 1) & 1)
		while (pages < AHEAD && at + pages < CHUNK_FRAMES &&
		       !((chunk->memory | chunk->used) >> (at + pages) & 1))
			pages++;
	if (provide(memfd, frame, pages))
		return pages;
	return pages > 1 && provide(memfd, frame, 1) ? 1 : 0;
}

/* A free frame that has memory, or 0. */
static uint32_t choose_idle(const struct vmspace_memfd *memfd)
{
	uint32_t chunk = memfd->lists[PARTIAL_IDLE] ? memfd->lists[PARTIAL_IDLE]
						     : memfd->lists[UNUSED_IDLE];

	return chunk ? free_of(memfd, chunk - 1) : 0;
}

uint32_t memfd_take(struct vmspace_memfd *memfd, const struct memfd_wish *wish, bool *dirty)
{
	uint32_t frame, pages = 0;
	struct memfd_chunk *chunk;

	if (memfd->lost)
		return 0;
	frame = wish ? choose_near(memfd, wish) : choose_any(memfd);
	if (!frame)
		return 0;
	if (!(chunk_of(memfd, frame)->memory & bit_of(frame))) {
		pages = provide_from(memfd, frame);
		frame = pages ? frame : choose_idle(memfd);
		if (!frame)
			return 0;
	}
	chunk = chunk_of(memfd, frame);
	unlink_chunk(memfd, (frame - 1) / CHUNK_FRAMES);
	if (pages)
		chunk->memory |= ((UINT64_C(1) << pages) - 1) << ((frame - 1) % CHUNK_FRAMES);
	*dirty = chunk->dirty & bit_of(frame);
	chunk->used |= bit_of(frame);
	chunk->dirty &= ~bit_of(frame);
	link_chunk(memfd, (frame - 1) / CHUNK_FRAMES);
	memfd->idle = memfd->idle + pages - 1;
	memfd->slots[frame - 1] = (struct memfd_slot){ 0 };
	__atomic_store_n(&memfd->used, memfd->used + 1, __ATOMIC_RELAXED);
	return frame;
}

void memfd_give(struct vmspace_memfd *memfd, uint32_t frame)
{
	struct memfd_chunk *chunk = chunk_of(memfd, frame);

	assert(chunk->used & chunk->memory & bit_of(frame));
	unlink_chunk(memfd, (frame - 1) / CHUNK_FRAMES);
	chunk->used &= ~bit_of(frame);
	chunk->dirty |= bit_of(frame);
	link_chunk(memfd, (frame - 1) / CHUNK_FRAMES);
	memfd->idle++;
	__atomic_store_n(&memfd->used, memfd->used - 1, __ATOMIC_RELAXED);
	/* In a child without frames it is the parent's page. */
	if (!memfd->lost)
		trim(memfd);
}
