/* SPDX-License-Identifier: MIT */
/*
 * vma_store.c - allocates a space's areas from blocks, which grow with the space and are freed when
 * it is emptied.
 *
 * Large spaces use extents of 2 MiB, on huge pages where the system has them. Freed extents are
 * kept for the next fork, up to as many as are in use: the kernel would have to clear fresh ones,
 * which costs as much as copying the areas.
 *
 * Under AddressSanitizer every area is a separate malloc(), so that misuse is detected.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "vma_store.h"

#if defined(__SANITIZE_ADDRESS__)
#define STORE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STORE_SANITIZED 1
#endif
#endif

/* Whoever uses the memory next attaches it: see sync_attach(). */
static void mark_detached(const struct vma_store *store, struct vma *vma)
{
	if (store->locks)
		vma->lock = VMA_LOCK_DETACHED;
}

/* Empty, but for what the space is. */
static void forget(struct vma_store *store)
{
	*store = (struct vma_store){ .locks = store->locks };
}

#ifdef STORE_SANITIZED

struct vma *vma_alloc(struct vma_store *store)
{
	struct vma *vma = malloc(sizeof(*vma));

	(void)store;
	if (vma)
		vma->lock = VMA_LOCK_DETACHED;
	return vma;
}

void vma_release(struct vma_store *store, struct vma *vma)
{
	mark_detached(store, vma);
	free(vma);
}

bool vma_free_all(struct vma_store *store)
{
	(void)store;
	return false;
}

void vma_store_clear(struct vma_store *store)
{
	struct vma *vma;

	while ((vma = store->spare)) {
		store->spare = vma->list_next;
		free(vma);
	}
	forget(store);
}

#else

/* Memory for one area; free slots are linked through their first word. */
union vma_slot {
	struct vma vma;
	union vma_slot *next_free;
};

struct vma_block {
	struct vma_block *next;
	size_t count; /* of places; EXTENT_COUNT: an extent */
	union vma_slot slot[];
};

#define EXTENT_BYTES ((size_t)2 << 20)
#define EXTENT_COUNT ((EXTENT_BYTES - sizeof(struct vma_block)) / sizeof(union vma_slot))
#define FIRST_COUNT  16
#define MOST_COUNT   1023 /* 64 KiB, unless the space is known to be large */
#define LARGE_COUNT  (8 * EXTENT_COUNT)
#define EXTENTS_KEPT 8

/* Extents of all spaces, protected by `lock`. kept == length of list. */
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

/* If another thread forks the process, the child must not find the lock taken. */
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
			     sizeof(struct vma_block) + count * sizeof(union vma_slot));
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

	if (store->expected >= EXTENT_COUNT || store->slots >= LARGE_COUNT)
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
	store->first_unused = block->slot;
	store->block_end = block->slot + count;
	store->slots += count;
	store->expected -= count < store->expected ? count : store->expected;
	return true;
}

struct vma *vma_alloc(struct vma_store *store)
{
	union vma_slot *slot = store->free;

	if (slot) {
		store->free = slot->next_free;
		return &slot->vma;
	}
	if (store->first_unused == store->block_end && !add_block(store))
		return NULL;
	store->first_unused->vma.lock = VMA_LOCK_DETACHED;
	return &store->first_unused++->vma;
}

void vma_release(struct vma_store *store, struct vma *vma)
{
	union vma_slot *slot = (union vma_slot *)vma;

	mark_detached(store, vma);
	vma->end = 0; /* not in use: vma_free_all() */
	slot->next_free = store->free;
	store->free = slot;
}

bool vma_free_all(struct vma_store *store)
{
	union vma_slot *end = store->first_unused;
	struct vma_block *block;

	for (block = store->blocks; block; block = block->next) {
		union vma_slot *slot;

		if (block != store->blocks)
			end = block->slot + block->count;
		for (slot = block->slot; slot < end; slot++)
			if (slot->vma.end)
				vma_free(store, &slot->vma);
	}
	return true;
}

void vma_store_clear(struct vma_store *store)
{
	struct vma_block *block, *next;

	for (block = store->blocks; block; block = next) {
		next = block->next;
		block_free(block);
	}
	forget(store);
}

#endif
