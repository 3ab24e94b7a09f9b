/* SPDX-License-Identifier: MIT */
/*
 * slab.h - the default node allocator: blocks of NODE_BYTES, cached per thread.
 */
#ifndef MT_SLAB_H
#define MT_SLAB_H

#include <stdlib.h>

#include "node.h"

#if defined(__SANITIZE_ADDRESS__)
#define SLAB_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_SANITIZED 1
#endif
#endif

/*
 * slab_shrink - give the blocks that all threads have cached, and all empty slabs, back to the
 * system.
 */
void slab_shrink(void);

/* slab_attach - give the calling thread its magazine now. False: not enough memory for one. */
bool slab_attach(void);

/*
 * slab_detach - return the calling thread's magazine and the blocks in it; it may get another one.
 */
void slab_detach(void);

#ifdef SLAB_SANITIZED

/* Every block comes from the C library, so that the sanitizer detects misuse. */
static inline struct mt_node *slab_alloc(void)
{
	return aligned_alloc(NODE_BYTES, NODE_BYTES);
}

static inline void slab_free(struct mt_node *block)
{
	free(block);
}

static inline bool slab_alloc_many(struct mt_node **block, unsigned int count)
{
	(void)block;
	(void)count;
	return false;
}

#else

#define MAGAZINE_BLOCKS 128

/*
 * The protocol between a thread and slab_shrink() depends on the order of an access to bottom and
 * one to top (see slab.c). ThreadSanitizer does not understand membarrier(); there, and on systems
 * without membarrier(), the accesses themselves are ordered.
 */
#if defined(__SANITIZE_THREAD__)
#define SLAB_ORDERED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLAB_ORDERED 1
#endif
#endif
#if !defined(__linux__) && !defined(SLAB_ORDERED)
#define SLAB_ORDERED 1
#endif

#ifdef SLAB_ORDERED
#define SLAB_CLAIM __ATOMIC_SEQ_CST
#define SLAB_LOOK  __ATOMIC_SEQ_CST
#else
#define SLAB_CLAIM __ATOMIC_RELAXED
#define SLAB_LOOK  __ATOMIC_ACQUIRE
#endif

/*
 * The blocks that a thread holds: block[top .. bottom - 1], where 0 <= top <= bottom <= limit while
 * no operation is in progress. The blocks themselves are not touched while they are here.
 * @bottom: written by the owner only, without a lock.
 * @top:    written under the depot's lock, by the owner or by a thread that takes blocks from here.
 * @limit:  0 for the magazine shared by threads that have none. It never holds a block.
 * @taken_from, @taken: the blocks that slab_shrink() is taking; like @next and @prev, under the
 *           depot's lock.
 */
struct slab_magazine {
	int bottom;
	int top;
	int limit;
	int taken_from;
	int taken;
	struct slab_magazine *next;
	struct slab_magazine *prev;
	struct mt_node *block[MAGAZINE_BLOCKS];
};

extern _Thread_local struct slab_magazine *slab_magazine
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The slow paths: the claim of a block failed; there is no room for another block. */
struct mt_node *slab_alloc_refill(void);
void slab_free_full(struct mt_node *block);

/*
 * slab_claim - claim the @count uppermost blocks: lower bottom, and return it. If it is then below
 * *@top, the blocks are not the caller's.
 */
static inline int slab_claim(struct slab_magazine *m, int count, int *top)
{
	int bottom = __atomic_load_n(&m->bottom, __ATOMIC_RELAXED) - count;

	__atomic_store_n(&m->bottom, bottom, SLAB_CLAIM);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*top = __atomic_load_n(&m->top, SLAB_CLAIM);
	return bottom;
}

/*
 * slab_alloc - a block of unspecified content, aligned to its size, or NULL. Not for signal
 * handlers.
 */
static inline struct mt_node *slab_alloc(void)
{
	struct slab_magazine *m = slab_magazine;
	int top, bottom = slab_claim(m, 1, &top);

	if (__builtin_expect(bottom < top, 0))
		return slab_alloc_refill();
	return m->block[(unsigned int)bottom];
}

/*
 * slab_alloc_many - allocate @count blocks at once if the thread holds that many; otherwise none,
 * and return false. If the blocks are contiguous, the last one of @block has the lowest address.
 */
static inline bool slab_alloc_many(struct mt_node **block, unsigned int count)
{
	struct slab_magazine *m = slab_magazine;
	int top, bottom = slab_claim(m, (int)count, &top);
	unsigned int i;

	if (__builtin_expect(bottom < top, 0)) {
		__atomic_store_n(&m->bottom, m->limit ? bottom + (int)count : 0, __ATOMIC_RELEASE);
		return false;
	}
	for (i = 0; i < count; i++)
		block[i] = m->block[(unsigned int)bottom + i];
	return true;
}

/* slab_free - return a block of slab_alloc(); any thread. */
static inline void slab_free(struct mt_node *block)
{
	struct slab_magazine *m = slab_magazine;
	int bottom = __atomic_load_n(&m->bottom, __ATOMIC_RELAXED);

	if (__builtin_expect((unsigned int)bottom >= (unsigned int)m->limit, 0)) {
		slab_free_full(block);
		return;
	}
	m->block[(unsigned int)bottom] = block;
	__atomic_store_n(&m->bottom, bottom + 1, __ATOMIC_RELEASE);
}

#endif

#endif
