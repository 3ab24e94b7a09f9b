/* SPDX-License-Identifier: MIT */
/*
 * slab.c - the default node allocator: slabs of 255 blocks behind a cache per thread.
 *
 * A thread takes blocks from and returns them to its own magazine without a lock. An empty magazine
 * is refilled, and a full one half emptied, under the lock of the depot that holds the slabs (after
 * Bonwick and Adams, "Magazines and Vmem", 2001). So blocks that are freed by the thread that runs
 * RCU callbacks find their way back to the writers. A thread that cannot have a magazine (no memory
 * for it, or no key whose destructor tells that the thread ends) exchanges each block with the
 * depot directly; under valgrind no thread has one (memcheck.h).
 *
 * Free blocks are recorded by address in the magazines and by bits in the slabs. A free block
 * itself is not touched, so neither allocating nor freeing waits for memory.
 *
 * The first slabs come from the C library one by one, so a small process pays for little more than
 * it uses. Above 8 MiB they come in regions of 2 MiB, on huge pages where the system has them: from
 * there on, pages of 4 KiB are too many for the processor's TLBs.
 *
 * slab_shrink() empties the magazines of all threads, idle ones too, and costs the owners nothing
 * as long as nobody shrinks. It works like a thief that takes work from the queue of a running
 * thread (Frigo, Leiserson and Randall, "The implementation of the Cilk-5 multithreaded language",
 * 1998, the THE protocol), with the owner's fence moved to the thief. The owner takes from the
 * upper end of block[top .. bottom - 1], the thief from the lower one:
 *
 * owner, to take block c = bottom - 1   thief, with the depot's lock
 * O1  bottom = c                        T1  taken = bottom; top = taken
 * O2  if top > c, back out:             T2  membarrier(): of every thread, the accesses before
 *     the lock decides                      some point are done, those after it not begun
 * O3  use block[c]                      T3  b = bottom (acquire); the blocks from the old top
 *                                           up to the lesser of b and taken are the thief's
 *                                       T4  top = that limit, or the old top if b is below it
 *
 * The compiler keeps O1 and O2 in program order (a compiler barrier); the processor may reorder
 * them. No block is taken twice. Proof: let c be below taken. If the point of T2 comes after O1, T3
 * sees bottom at c or a later store to it. If the point comes before O1, it also comes before O2,
 * which sees top as T1 or T4 set it: either value is above c, or the thief took nothing from c
 * upwards. If O1 comes before the point and O2 after it, both see each other and both leave block c
 * alone: the owner backs out under the lock, which it gets when the thief has finished, and looks
 * again.
 * A later store that T3 sees may be that of slab_free(), bottom = c + 1, which put another block at
 * c. It is a release store and T3 an acquire load, so the thief reads that other block. slab_free()
 * needs nothing more: it writes at bottom, and the thief reads below it. The owner uses the slots
 * below top again only after it has set top back to 0, under the lock.
 * Where membarrier() is not available, on kernels before 4.3 or in a sandbox that refuses it,
 * slab_shrink() empties the caller's magazine only. With SLAB_ORDERED, O1, O2, T1 and T3 are
 * sequentially consistent instead: one of O2 and T3 comes last of the four, and sees the other
 * side's store.
 *
 * After a fork the child has the magazines of threads that it does not have. Whatever such a thread
 * was doing, the blocks between top and bottom are free, and the child takes them back at once.
 * Only the block that the thread was about to put there, or had just claimed, is lost.
 */
#include "slab.h"

#ifdef SLAB_SANITIZED

void slab_shrink(void)
{
}

bool slab_attach(void)
{
	return true;
}

void slab_detach(void)
{
}

#else

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#ifndef SLAB_ORDERED
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "memcheck.h"

#define SLAB_BYTES        65536u
#define SLAB_BLOCKS       (SLAB_BYTES / NODE_BYTES - 1) /* the head takes one block's place */
#define SLAB_WORDS        (SLAB_BYTES / NODE_BYTES / 64)
#define REGION_BYTES      (2u << 20)
#define REGION_SLABS      (REGION_BYTES / SLAB_BYTES)
#define REGIONS_FROM      128u  /* slabs: 8 MiB */
#define EMPTY_SLABS_KEPT  1024u /* 64 MiB, or as much as is in use: a varying load keeps it */
#define MAGAZINE_EXCHANGE 64u

/*
 * Memory that is obtained and returned as one: a single slab or REGION_SLABS of them. Stored in the
 * head of its first slab. The depot's lock covers it.
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

/*
 * @fork_safe: the fork handlers are registered, so a child never finds the lock taken.
 * @has_key: thread_exit is a valid key. Both are set once, under @once.
 * @magazines: those of all threads, a doubly linked list.
 * @making: region with room for further slabs, or NULL.
 * @slabs, @empty: number of slabs, and of those that are all free.
 */
static struct depot {
	pthread_mutex_t lock;
	pthread_once_t once;
	pthread_key_t thread_exit;
	bool fork_safe;
	bool has_key;
	struct slab_magazine *magazines;
	struct slab *partial;
	struct slab *all_free;
	struct region *making;
	unsigned int slabs;
	unsigned int empty;
} depot = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

/*
 * The magazine of threads that have none. No claim of a block succeeds here and none is put here,
 * whatever bottom is: each claim lowers it and then sets it back.
 */
static struct slab_magazine no_magazine = { .top = INT_MAX };

_Thread_local struct slab_magazine *slab_magazine
	__attribute__((tls_model("initial-exec"))) = &no_magazine;

/* ---- slabs ------------------------------------------------------------------------------- */

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

/* Maps REGION_BYTES, aligned to their size. Returns NULL on failure. */
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
	/* Of a block within one of malloc(), memcheck would not tell who freed it. */
	bool single = depot.slabs < REGIONS_FROM && !memcheck_is_here();
	unsigned int slabs = single ? 1 : REGION_SLABS;
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
	assert(region->made < region->slabs);
	region->made++;
	region->empty++;
	depot.making = region->made < region->slabs ? region : NULL;
	depot.slabs++;
	depot.empty++;
	link_slab(slab);
	return true;
}

/* Returns @region to the system; all its slabs are empty. */
static void drop_region(struct region *region)
{
	unsigned int i, slabs = region->slabs;
	char *start = region_start(region);

	assert(region->empty == region->made && depot.empty >= region->empty);
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

/* Takes up to @count blocks of @slab, stored downwards from @end; returns how many. */
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
	assert(taken && taken <= slab->free_count);
	slab->free_count -= taken;
	if (slab->free_count)
		link_slab(slab);
	return taken;
}

static void put_block(struct mt_node *block)
{
	struct slab *slab = (struct slab *)((uintptr_t)block & ~(uintptr_t)(SLAB_BYTES - 1));
	unsigned int number = (unsigned int)(block - (struct mt_node *)slab);

	assert(number && slab->free_count < SLAB_BLOCKS);
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

static struct mt_node *take_block(void)
{
	struct mt_node *block = NULL;

	if (depot.partial || depot.all_free || add_slab())
		take_blocks(depot.partial ? depot.partial : depot.all_free, &block + 1, 1);
	return block;
}

/* ---- magazines: depot's lock held ----------------------------------------------------------- */

static void set_content(struct slab_magazine *m, int top, int bottom)
{
	assert(0 <= top && top <= bottom && bottom <= m->limit);
	__atomic_store_n(&m->bottom, bottom, __ATOMIC_RELEASE);
	__atomic_store_n(&m->top, top, __ATOMIC_RELAXED);
}

/* Fills an empty magazine so that it hands out blocks in ascending order of their addresses. */
static void refill(struct slab_magazine *m)
{
	unsigned int room = MAGAZINE_EXCHANGE;

	assert(m->top == m->bottom);
	while (room && (depot.partial || depot.all_free || add_slab()))
		room -= take_blocks(depot.partial ? depot.partial : depot.all_free,
				    &m->block[room], room);
	if (room)
		memmove(m->block, &m->block[room],
			(MAGAZINE_EXCHANGE - room) * sizeof(m->block[0]));
	set_content(m, 0, (int)(MAGAZINE_EXCHANGE - room));
}

/* Returns the blocks that have been in the magazine longest, until only @count are left. */
static void empty_down_to(struct slab_magazine *m, int count)
{
	int i, kept = m->bottom - count;

	assert(m->top <= m->bottom);
	if (kept < m->top)
		kept = m->top;
	for (i = m->top; i < kept; i++)
		put_block(m->block[i]);
	count = m->bottom - kept;
	memmove(m->block, &m->block[kept], (size_t)count * sizeof(m->block[0]));
	set_content(m, 0, count);
}

static void link_magazine(struct slab_magazine *m)
{
	m->prev = NULL;
	m->next = depot.magazines;
	if (m->next)
		m->next->prev = m;
	depot.magazines = m;
}

/* Returns the magazine of a thread that will not use it any more. */
static void drop_magazine(struct slab_magazine *m)
{
	if (m->bottom < m->top) /* a fork lost the thread while it claimed a block */
		m->bottom = m->top;
	empty_down_to(m, 0);
	assert(m->top == m->bottom);
	if (m->prev)
		m->prev->next = m->next;
	else
		depot.magazines = m->next;
	if (m->next)
		m->next->prev = m->prev;
	free(m);
}

/* T2. Returns whether it was possible. */
static bool other_threads_fence(void)
{
#ifdef SLAB_ORDERED
	return true;
#else
	/* Registering again costs next to nothing, so a fork needs no special treatment. */
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) &&
	    !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0))
		return true;
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0);
#endif
}

/* T3 and T4. Without a @fence only the caller's own blocks can be taken. */
static void take_content(struct slab_magazine *m, bool fence)
{
	int i, end = __atomic_load_n(&m->bottom, SLAB_LOOK);

	if (end > m->taken)
		end = m->taken;
	if (end < m->taken_from || !(fence || m == slab_magazine))
		end = m->taken_from;
	for (i = m->taken_from; i < end; i++)
		put_block(m->block[i]);
	__atomic_store_n(&m->top, end, __ATOMIC_RELAXED);
}

/* Returns the blocks in the magazines of all threads to the slabs. */
static void empty_magazines(void)
{
	struct slab_magazine *m;
	bool fence;

	for (m = depot.magazines; m; m = m->next) {
		m->taken_from = m->top;
		m->taken = __atomic_load_n(&m->bottom, __ATOMIC_RELAXED);
		if (m->taken < m->taken_from) /* its owner is about to back out */
			m->taken = m->taken_from;
		__atomic_store_n(&m->top, m->taken, SLAB_CLAIM);
	}
	fence = other_threads_fence();
	for (m = depot.magazines; m; m = m->next)
		take_content(m, fence);
}
/* ---- magazines: depot's lock not held ------------------------------------------------------- */

static void lock_depot(void)
{
	pthread_mutex_lock(&depot.lock);
}

static void unlock_depot(void)
{
	pthread_mutex_unlock(&depot.lock);
}

/*
 * Runs when a thread ends. Destructors of other keys that run later may still allocate: they get a
 * new magazine.
 */
static void magazine_destructor(void *magazine)
{
	slab_magazine = &no_magazine;
	lock_depot();
	drop_magazine(magazine);
	unlock_depot();
}

/* After a fork, in the child: its only thread is the one that forked. */
static void drop_other_magazines(void)
{
	struct slab_magazine *m, *next;

	for (m = depot.magazines; m; m = next) {
		next = m->next;
		if (m != slab_magazine)
			drop_magazine(m);
	}
	unlock_depot();
}

static void init_depot(void)
{
	depot.fork_safe = !pthread_atfork(lock_depot, unlock_depot, drop_other_magazines);
	depot.has_key = !memcheck_is_here() &&
			!pthread_key_create(&depot.thread_exit, magazine_destructor);
}

/* Creates a magazine for the calling thread, or returns NULL. */
static struct slab_magazine *new_magazine(void)
{
	struct slab_magazine *m;

	pthread_once(&depot.once, init_depot);
	if (!depot.has_key || !depot.fork_safe)
		return NULL;
	m = malloc(sizeof(*m));
	if (!m)
		return NULL;
	if (pthread_setspecific(depot.thread_exit, m)) {
		free(m);
		return NULL;
	}
	m->limit = MAGAZINE_BLOCKS;
	set_content(m, 0, 0);
	lock_depot();
	link_magazine(m);
	unlock_depot();
	slab_magazine = m;
	return m;
}

/* Allocates a single block for a thread without a magazine. */
static struct mt_node *alloc_without_magazine(void)
{
	struct mt_node *block;

	if (!depot.fork_safe)
		return NULL;
	lock_depot();
	block = take_block();
	memcheck_alloc(block);
	unlock_depot();
	return block;
}

struct mt_node *slab_alloc_refill(void)
{
	struct slab_magazine *m = slab_magazine;
	struct mt_node *block = NULL;

	if (m->limit) { /* back out */
		lock_depot();
		__atomic_store_n(&m->bottom, m->bottom + 1, __ATOMIC_RELEASE);
	} else {
		__atomic_store_n(&m->bottom, 0, __ATOMIC_RELAXED);
		m = new_magazine();
		if (!m)
			return alloc_without_magazine();
		lock_depot();
	}
	if (m->bottom == m->top)
		refill(m);
	assert(m->top <= m->bottom);
	if (m->bottom > m->top) {
		__atomic_store_n(&m->bottom, m->bottom - 1, __ATOMIC_RELEASE);
		block = m->block[m->bottom];
	}
	unlock_depot();
	return block;
}

void slab_free_full(struct mt_node *block)
{
	struct slab_magazine *m = slab_magazine;

	if (!m->limit)
		m = new_magazine();
	lock_depot();
	if (m) {
		if (m->bottom == m->limit)
			empty_down_to(m, MAGAZINE_BLOCKS - MAGAZINE_EXCHANGE);
		m->block[m->bottom] = block;
		__atomic_store_n(&m->bottom, m->bottom + 1, __ATOMIC_RELEASE);
	} else {
		memcheck_free(block);
		put_block(block);
	}
	unlock_depot();
}

bool slab_attach(void)
{
	if (slab_magazine->limit || new_magazine())
		return true;
	/* Without a key no thread ever gets a magazine, and none needs one. */
	return depot.fork_safe && !depot.has_key;
}

void slab_detach(void)
{
	struct slab_magazine *m = slab_magazine;

	if (!m->limit)
		return;
	pthread_setspecific(depot.thread_exit, NULL); /* cannot fail: it has been set before */
	magazine_destructor(m);
}

void slab_shrink(void)
{
	struct slab *slab, *next;

	lock_depot();
	empty_magazines();
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
