/* SPDX-License-Identifier: MIT */
/*
 * slab.c - the default node allocator: slabs of 255 blocks behind a cache per thread.
 *
 * A thread takes blocks from, and puts them into, its own magazine without a lock; an empty one is
 * refilled, a full one half emptied, under the lock of the depot that holds the slabs (after
 * Bonwick and Adams, "Magazines and Vmem", 2001). Blocks freed by the thread that runs RCU
 * callbacks so find their way back to the writers.
 *
 * Under the address sanitizer every block comes from the C library, so that it can see misuse.
 */
#include "slab.h"

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define SLAB_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_SANITIZED 1
#endif
#endif

#ifdef SLAB_SANITIZED

struct mt_node *slab_alloc(void)
{
	return aligned_alloc(NODE_BYTES, NODE_BYTES);
}

void slab_free(struct mt_node *block)
{
	free(block);
}

void slab_shrink(void)
{
}

#else

#define SLAB_BYTES        65536u
#define SLAB_BLOCKS       (SLAB_BYTES / NODE_BYTES - 1) /* the first block's place is the head */
#define EMPTY_SLABS_KEPT  128u /* 8 MiB: what a busy writer has under way to readers in RCU mode */
#define MAGAZINE_FULL     128u
#define MAGAZINE_EXCHANGE 64u

/*
 * The head of a slab, at its aligned start; the depot's lock covers it.
 *   free_count == length of free + (SLAB_BLOCKS - carved)
 *   in the depot's list if and only if free_count > 0
 */
struct slab {
	struct slab *next;
	struct slab *prev;
	struct mt_node *free;
	unsigned int free_count;
	unsigned int carved;
};

static_assert(sizeof(struct slab) <= NODE_BYTES, "the head takes one block");

/* @usable: slabs with free blocks; @empty: how many of those are all free. */
static struct depot {
	pthread_mutex_t lock;
	pthread_once_t once;
	pthread_key_t thread_exit;
	struct slab *usable;
	unsigned int empty;
} depot = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

/* A thread's blocks. count == length of head; count < MAGAZINE_FULL. */
struct magazine {
	struct mt_node *head;
	unsigned int count;
	bool known; /* its owner's exit will empty it */
};

static _Thread_local struct magazine magazine __attribute__((tls_model("initial-exec")));

static void link_slab(struct slab *slab)
{
	slab->prev = NULL;
	slab->next = depot.usable;
	if (slab->next)
		slab->next->prev = slab;
	depot.usable = slab;
}

static void unlink_slab(struct slab *slab)
{
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		depot.usable = slab->next;
	if (slab->next)
		slab->next->prev = slab->prev;
}

static bool add_slab(void)
{
	struct slab *slab = aligned_alloc(SLAB_BYTES, SLAB_BYTES);

	if (!slab)
		return false;
	slab->free = NULL;
	slab->free_count = SLAB_BLOCKS;
	slab->carved = 0;
	link_slab(slab);
	depot.empty++;
	return true;
}

static struct mt_node *take_block(struct slab *slab)
{
	struct mt_node *block = slab->free;

	depot.empty -= slab->free_count == SLAB_BLOCKS;
	if (block)
		slab->free = block->next;
	else
		block = (struct mt_node *)slab + ++slab->carved;
	if (--slab->free_count == 0)
		unlink_slab(slab);
	return block;
}

static void put_block(struct mt_node *block)
{
	struct slab *slab = (struct slab *)((uintptr_t)block & ~(uintptr_t)(SLAB_BYTES - 1));

	block->next = slab->free;
	slab->free = block;
	if (slab->free_count++ == 0)
		link_slab(slab);
	if (slab->free_count < SLAB_BLOCKS)
		return;
	if (depot.empty < EMPTY_SLABS_KEPT) {
		depot.empty++;
		return;
	}
	unlink_slab(slab);
	free(slab);
}

static void refill(struct magazine *m)
{
	pthread_mutex_lock(&depot.lock);
	while (m->count < MAGAZINE_EXCHANGE && (depot.usable || add_slab())) {
		struct mt_node *block = take_block(depot.usable);

		block->next = m->head;
		m->head = block;
		m->count++;
	}
	pthread_mutex_unlock(&depot.lock);
}

static void empty_down_to(struct magazine *m, unsigned int count)
{
	pthread_mutex_lock(&depot.lock);
	while (m->count > count) {
		struct mt_node *block = m->head;

		m->head = block->next;
		m->count--;
		put_block(block);
	}
	pthread_mutex_unlock(&depot.lock);
}

static void thread_exits(void *arg)
{
	empty_down_to(arg, 0);
	magazine.known = false; /* a later destructor may still allocate */
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

static void know(struct magazine *m)
{
	pthread_once(&depot.once, set_up);
	pthread_setspecific(depot.thread_exit, m);
	m->known = true;
}

struct mt_node *slab_alloc(void)
{
	struct magazine *m = &magazine;
	struct mt_node *block;

	if (__builtin_expect(!m->count, 0)) {
		if (!m->known)
			know(m);
		refill(m);
		if (!m->count)
			return NULL;
	}
	block = m->head;
	m->head = block->next;
	m->count--;
	return block;
}

void slab_free(struct mt_node *block)
{
	struct magazine *m = &magazine;

	if (__builtin_expect(!m->known, 0))
		know(m);
	block->next = m->head;
	m->head = block;
	if (++m->count >= MAGAZINE_FULL)
		empty_down_to(m, MAGAZINE_FULL - MAGAZINE_EXCHANGE);
}

void slab_shrink(void)
{
	struct slab *slab, *next;

	empty_down_to(&magazine, 0);
	pthread_mutex_lock(&depot.lock);
	for (slab = depot.usable; slab; slab = next) {
		next = slab->next;
		if (slab->free_count < SLAB_BLOCKS)
			continue;
		unlink_slab(slab);
		free(slab);
		depot.empty--;
	}
	pthread_mutex_unlock(&depot.lock);
}

#endif
