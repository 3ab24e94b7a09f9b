/* SPDX-License-Identifier: MIT */
/*
 * vma_store.c - the memory of a space's areas: blocks that grow with the space, one after the other
 * filled from its start; given back when the space is emptied.
 *
 * Large spaces take extents of 2 MiB, on huge pages where the system has them. Those that come back
 * are kept for the next space that forks, up to as many as are in use: the system would have to
 * clear them again, which costs as much as the copying.
 *
 * Under the address sanitizer every area comes from the C library, so that it can see misuse.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <urcu/urcu-bp.h>

#include "vma.h"

#if defined(__SANITIZE_ADDRESS__)
#define STORE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STORE_SANITIZED 1
#endif
#endif

/*
 * In a typed store a reader that came by a pointer to the area in time may look at its lock at any
 * later one: it has to find the word that says "gone" there.
 */
static void mark_gone(const struct vma_store *store, struct vma *vma)
{
	unsigned long word;

	if (!store->typed)
		return;
	word = __atomic_load_n(&vma->lock, __ATOMIC_RELAXED);
	__atomic_store_n(&vma->lock, word | VMA_LOCK_GONE, __ATOMIC_RELEASE);
}

#ifdef STORE_SANITIZED

/* An area, and what frees it once no reader can have a pointer to it. */
struct sanitized {
	struct vma vma;
	struct rcu_head rcu;
};

struct vma *vma_alloc(struct vma_store *store)
{
	struct sanitized *place = malloc(sizeof(*place));

	(void)store;
	if (!place)
		return NULL;
	place->vma.lock = VMA_LOCK_GONE;
	return &place->vma;
}

static void free_later(struct rcu_head *rcu)
{
	free((char *)rcu - offsetof(struct sanitized, rcu));
}

void vma_release(struct vma_store *store, struct vma *vma)
{
	struct sanitized *place = (struct sanitized *)vma;

	mark_gone(store, vma);
	if (store->typed)
		urcu_bp_call_rcu(&place->rcu, free_later);
	else
		free(place);
}

void vma_store_clear(struct vma_store *store)
{
	struct vma *vma;

	while ((vma = store->spare)) {
		store->spare = vma->next_gone;
		free(vma);
	}
	*store = (struct vma_store){ .typed = store->typed };
}

#else

/* What an area's place holds; the list of free ones goes through the places themselves. */
union vma_place {
	struct vma vma;
	union vma_place *next_free;
};

struct vma_block {
	struct vma_block *next;
	size_t count; /* of places; EXTENT_COUNT: an extent */
	union vma_place place[];
};

#define EXTENT_BYTES ((size_t)2 << 20)
#define EXTENT_COUNT ((EXTENT_BYTES - sizeof(struct vma_block)) / sizeof(union vma_place))
#define FIRST_COUNT  16
#define MOST_COUNT   1023 /* 64 KiB, while a space is not known to be large */
#define LARGE_COUNT  (8 * EXTENT_COUNT)
#define EXTENTS_KEPT 8

/* Extents of all spaces; its lock covers it. kept == length of list. */
static struct {
	pthread_mutex_t lock;
	pthread_once_t once;
	struct vma_block *list;
	size_t kept;
	size_t used;
} extents = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

static void lock_extents(void)
{
	pthread_mutex_lock(&extents.lock);
}

static void unlock_extents(void)
{
	pthread_mutex_unlock(&extents.lock);
}

/* A fork in another thread must not leave the child with the lock taken. */
static void set_up(void)
{
	pthread_atfork(lock_extents, unlock_extents, unlock_extents);
}

static struct vma_block *extent_new(void)
{
	struct vma_block *extent;

	pthread_once(&extents.once, set_up);
	lock_extents();
	extent = extents.list;
	if (extent) {
		extents.list = extent->next;
		extents.kept--;
	} else {
		extent = aligned_alloc(EXTENT_BYTES, EXTENT_BYTES);
#ifdef MADV_HUGEPAGE
		if (extent)
			madvise(extent, EXTENT_BYTES, MADV_HUGEPAGE);
#endif
	}
	extents.used += extent != NULL;
	unlock_extents();
	return extent;
}

static void extent_free(struct vma_block *extent)
{
	lock_extents();
	extents.used--;
	extent->next = extents.list;
	extents.list = extent;
	extents.kept++;
	while (extents.kept > EXTENTS_KEPT && extents.kept > extents.used) {
		extent = extents.list;
		extents.list = extent->next;
		extents.kept--;
		free(extent);
	}
	unlock_extents();
}

static struct vma_block *block_new(size_t count)
{
	if (count == EXTENT_COUNT)
		return extent_new();
	return aligned_alloc(_Alignof(struct vma_block),
			     sizeof(struct vma_block) + count * sizeof(union vma_place));
}

static void block_free(struct vma_block *block)
{
	if (block->count == EXTENT_COUNT)
		extent_free(block);
	else
		free(block);
}

/* How many areas the next block holds. */
static size_t next_count(const struct vma_store *store)
{
	size_t count = store->blocks ? 2 * store->blocks->count : FIRST_COUNT;

	if (store->expected >= EXTENT_COUNT || store->made >= LARGE_COUNT)
		return EXTENT_COUNT;
	if (store->expected)
		return store->expected;
	return count < MOST_COUNT ? count : MOST_COUNT;
}

static bool add_block(struct vma_store *store)
{
	size_t count = next_count(store);
	struct vma_block *block = block_new(count);

	if (!block)
		return false;
	block->next = store->blocks;
	block->count = count;
	store->blocks = block;
	store->next = block->place;
	store->end = block->place + count;
	store->made += count;
	store->expected -= count < store->expected ? count : store->expected;
	return true;
}

struct vma *vma_alloc(struct vma_store *store)
{
	union vma_place *place = store->free;

	if (place) {
		store->free = place->next_free;
		return &place->vma;
	}
	if (store->next == store->end && !add_block(store))
		return NULL;
	store->next->vma.lock = VMA_LOCK_GONE;
	return &store->next++->vma;
}

void vma_release(struct vma_store *store, struct vma *vma)
{
	union vma_place *place = (union vma_place *)vma;

	mark_gone(store, vma);
	place->next_free = store->free;
	store->free = place;
}

void vma_store_clear(struct vma_store *store)
{
	struct vma_block *block, *next;

	for (block = store->blocks; block; block = next) {
		next = block->next;
		block_free(block);
	}
	*store = (struct vma_store){ .typed = store->typed };
}

#endif
