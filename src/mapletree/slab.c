/* SPDX-License-Identifier: MIT */
/*
 * slab.c - the default node allocator: slabs of 255 blocks behind a cache per thread.
 *
 * A thread takes blocks from, and puts them into, its own magazine without a lock; an empty one is
 * refilled, a full one half emptied, under the lock of the depot that holds the slabs (after
 * Bonwick and Adams, "Magazines and Vmem", 2001). Blocks freed by the thread that runs RCU
 * callbacks so find their way back to the writers.
 *
 * Which blocks are free is said by addresses in the magazines and by bits in the slabs: a free
 * block is not touched, so neither a free nor an allocation waits for memory.
 *
 * The first slabs come from the C library one by one: a small process pays for little more than it
 * uses. Above 8 MiB they come as regions of 2 MiB, on huge pages where the system has them: that
 * is where pages of 4 KiB begin to be too many for the processor's tables.
 */
#include "slab.h"

#ifdef SLAB_SANITIZED

void slab_shrink(void)
{
}

#else

#include <string.h>
#include <sys/mman.h>

#define SLAB_BYTES        65536u
#define SLAB_BLOCKS       (SLAB_BYTES / NODE_BYTES - 1) /* the first block's place is the head */
#define SLAB_WORDS        (SLAB_BYTES / NODE_BYTES / 64)
#define REGION_BYTES      (2u << 20)
#define REGION_SLABS      (REGION_BYTES / SLAB_BYTES)
#define REGIONS_FROM      128u  /* slabs: 8 MiB */
#define EMPTY_SLABS_KEPT  1024u /* 64 MiB, or as much as is in use: what comes and goes is kept */
#define MAGAZINE_EXCHANGE 64u

/*
 * What came as one and goes back as one: a slab alone or REGION_SLABS of them. Stands in the head
 * of its first slab. The depot's lock covers it.
 *   empty == number of its slabs that are all free; empty <= made <= slabs
 */
struct region {
	unsigned int slabs;
	unsigned int made; /* slabs that have a head already */
	unsigned int empty;
};

/*
 * The head of a slab, at its aligned start; the depot's lock covers it.
 *   free_count == number of bits in free
 *   in the depot's list of empty slabs if and only if free_count == SLAB_BLOCKS, in that of partly
 *   used ones if and only if 0 < free_count < SLAB_BLOCKS
 */
struct slab {
	struct slab *next;
	struct slab *prev;
	struct region *region;
	uint64_t free[SLAB_WORDS];
	unsigned int free_count;
	struct region region_here; /* if the region begins here */
};

static_assert(sizeof(struct slab) <= NODE_BYTES, "the head takes one block");

/* @made: region with room for further slabs, or NULL; @slabs, @empty: how many there are. */
static struct depot {
	pthread_mutex_t lock;
	pthread_once_t once;
	pthread_key_t thread_exit;
	struct slab *partial;
	struct slab *all_free;
	struct region *making;
	unsigned int slabs;
	unsigned int empty;
} depot = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

/* The magazine of threads that have none. */
static struct slab_magazine no_magazine;

_Thread_local struct slab_magazine *slab_magazine
	__attribute__((tls_model("initial-exec"))) = &no_magazine;

/* ---- slabs ------------------------------------------------------------------------------ */

static struct slab **list_of(const struct slab *slab)
{
	return slab->free_count == SLAB_BLOCKS ? &depot.all_free : &depot.partial;
}

static void link_slab(struct slab *slab)
{
	struct slab **list = list_of(slab);

	slab->prev = NULL;
	slab->next = *list;
	if (slab->next)
		slab->next->prev = slab;
	*list = slab;
}

static void unlink_slab(struct slab *slab)
{
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		*list_of(slab) = slab->next;
	if (slab->next)
		slab->next->prev = slab->prev;
}

/* REGION_BYTES, aligned to their size, or NULL. */
static void *map_region(void)
{
	char *map = mmap(NULL, 2 * (size_t)REGION_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (map == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)map & (REGION_BYTES - 1);
	if (before)
		munmap(map, before);
	munmap(map + before + REGION_BYTES, REGION_BYTES - before);
#ifdef MADV_HUGEPAGE
	madvise(map + before, REGION_BYTES, MADV_HUGEPAGE);
#endif
	return map + before;
}

static struct region *new_region(void)
{
	unsigned int slabs = depot.slabs < REGIONS_FROM ? 1 : REGION_SLABS;
	struct slab *first = slabs > 1 ? map_region() : NULL;

	if (!first) {
		slabs = 1;
		first = aligned_alloc(SLAB_BYTES, SLAB_BYTES);
	}
	if (!first)
		return NULL;
	first->region_here = (struct region){ .slabs = slabs };
	return &first->region_here;
}

static char *region_start(struct region *region)
{
	return (char *)((uintptr_t)region & ~(uintptr_t)(SLAB_BYTES - 1));
}

static bool add_slab(void)
{
	struct region *region = depot.making ? depot.making : new_region();
	struct slab *slab;

	if (!region)
		return false;
	slab = (struct slab *)(region_start(region) + (size_t)region->made * SLAB_BYTES);
	slab->region = region;
	memset(slab->free, 0xff, sizeof(slab->free));
	slab->free[0] &= ~1ull;
	slab->free_count = SLAB_BLOCKS;
	region->made++;
	region->empty++;
	depot.making = region->made < region->slabs ? region : NULL;
	depot.slabs++;
	depot.empty++;
	link_slab(slab);
	return true;
}

/* All slabs of @region are empty. */
static void drop_region(struct region *region)
{
	unsigned int i, slabs = region->slabs;
	char *start = region_start(region);

	for (i = 0; i < region->made; i++)
		unlink_slab((struct slab *)(start + (size_t)i * SLAB_BYTES));
	depot.slabs -= region->made;
	depot.empty -= region->made;
	if (depot.making == region)
		depot.making = NULL;
	if (slabs > 1)
		munmap(start, REGION_BYTES);
	else
		free(start);
}

/* Takes up to @count blocks of @slab, written downwards from @end; returns how many. */
static unsigned int take_blocks(struct slab *slab, struct mt_node **end, unsigned int count)
{
	unsigned int word, taken = 0;

	if (slab->free_count == SLAB_BLOCKS) {
		slab->region->empty--;
		depot.empty--;
	}
	unlink_slab(slab);
	for (word = 0; word < SLAB_WORDS; word++) {
		uint64_t bits = slab->free[word];

		for (; bits && taken < count; bits &= bits - 1)
			*(end - ++taken) = (struct mt_node *)slab + 64 * word +
					   (unsigned int)__builtin_ctzll(bits);
		slab->free[word] = bits;
	}
	slab->free_count -= taken;
	if (slab->free_count)
		link_slab(slab);
	return taken;
}

static void put_block(struct mt_node *block)
{
	struct slab *slab = (struct slab *)((uintptr_t)block & ~(uintptr_t)(SLAB_BYTES - 1));
	unsigned int number = (unsigned int)(block - (struct mt_node *)slab);

	assert(!(slab->free[number / 64] >> number % 64 & 1) && "a node is freed twice");
	slab->free[number / 64] |= 1ull << number % 64;
	if (slab->free_count && slab->free_count + 1 < SLAB_BLOCKS) {
		slab->free_count++;
		return;
	}
	if (slab->free_count)
		unlink_slab(slab);
	slab->free_count++;
	link_slab(slab);
	if (slab->free_count < SLAB_BLOCKS)
		return;
	depot.empty++;
	if (++slab->region->empty == slab->region->made && depot.empty > EMPTY_SLABS_KEPT &&
	    depot.empty > depot.slabs / 2)
		drop_region(slab->region);
}

/* ---- magazines -------------------------------------------------------------------------- */

/* Fills the empty magazine so that it hands out blocks by rising address. */
static void refill(struct slab_magazine *m)
{
	unsigned int room = MAGAZINE_EXCHANGE;

	pthread_mutex_lock(&depot.lock);
	while (room && (depot.partial || depot.all_free || add_slab()))
		room -= take_blocks(depot.partial ? depot.partial : depot.all_free,
				    &m->block[room], room);
	pthread_mutex_unlock(&depot.lock);
	m->count = MAGAZINE_EXCHANGE - room;
	if (room)
		memmove(m->block, &m->block[room], m->count * sizeof(m->block[0]));
}

/* Gives the blocks back that have lain there longest. */
static void empty_down_to(struct slab_magazine *m, unsigned int count)
{
	unsigned int i, gone = m->count - count;

	pthread_mutex_lock(&depot.lock);
	for (i = 0; i < gone; i++)
		put_block(m->block[i]);
	pthread_mutex_unlock(&depot.lock);
	memmove(m->block, &m->block[gone], count * sizeof(m->block[0]));
	m->count = count;
}

/* Destructors of other keys that run later may still allocate: they get a new magazine. */
static void thread_exits(void *magazine)
{
	slab_magazine = &no_magazine;
	empty_down_to(magazine, 0);
	free(magazine);
}

static void lock_depot(void)
{
	pthread_mutex_lock(&depot.lock);
}

static void unlock_depot(void)
{
	pthread_mutex_unlock(&depot.lock);
}

/* A fork in another thread must not leave the child with the depot locked. */
static void set_up(void)
{
	pthread_key_create(&depot.thread_exit, thread_exits);
	pthread_atfork(lock_depot, unlock_depot, unlock_depot);
}

/* A magazine for the calling thread, or NULL. */
static struct slab_magazine *new_magazine(void)
{
	struct slab_magazine *m = malloc(sizeof(*m));

	pthread_once(&depot.once, set_up);
	if (!m)
		return NULL;
	if (pthread_setspecific(depot.thread_exit, m)) {
		free(m);
		return NULL;
	}
	m->count = 0;
	m->limit = MAGAZINE_BLOCKS;
	slab_magazine = m;
	return m;
}

struct mt_node *slab_alloc_refill(void)
{
	struct slab_magazine *m = slab_magazine;

	if (!m->limit)
		m = new_magazine();
	if (!m)
		return NULL;
	refill(m);
	return m->count ? m->block[--m->count] : NULL;
}

void slab_free_full(struct mt_node *block)
{
	struct slab_magazine *m = slab_magazine;

	if (!m->limit)
		m = new_magazine();
	if (!m) { /* no memory for one: this block goes back by itself */
		lock_depot();
		put_block(block);
		unlock_depot();
		return;
	}
	if (m->count == m->limit)
		empty_down_to(m, MAGAZINE_BLOCKS - MAGAZINE_EXCHANGE);
	m->block[m->count++] = block;
}

void slab_shrink(void)
{
	struct slab *slab, *next;

	if (slab_magazine->limit)
		empty_down_to(slab_magazine, 0);
	lock_depot();
	for (slab = depot.all_free; slab; slab = next) {
		struct region *region = slab->region;

		for (next = slab->next; next && next->region == region; next = next->next)
			;
		if (region->empty == region->made)
			drop_region(region);
	}
	unlock_depot();
}

#endif
