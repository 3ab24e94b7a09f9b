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

/* slab_shrink - give what all threads have cached, and all empty slabs, back to the system. */
void slab_shrink(void);

/* slab_attach - give the calling thread its magazine now. False: not enough memory for one. */
bool slab_attach(void);

/* slab_detach - give the calling thread's magazine and what it holds back; it may get another. */
void slab_detach(void);

#ifdef SLAB_SANITIZED

/* Every block comes from the C library, so that the sanitizer can see misuse. */
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
 * Threads give way to slab_shrink() by the order of an access to bottom and one to top (slab.c says
 * how). ThreadSanitizer sees no membarrier(); there, and where the system has none, the order is in
 * the accesses.
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
 * What a thread holds: block[top .. bottom - 1], where 0 <= top <= bottom <= limit at rest. The
 * blocks themselves are not touched while they lie here.
 * @bottom: the owner's; it stores without a lock.
 * @top:    stored under the depot's lock, by the owner or by a thread that takes what lies here.
 * @limit:  0: the magazine that threads share that have none. It never holds a block.
 * @taken_from, @taken: what slab_shrink() is taking. They, @next and @prev: the depot's lock.
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

/* The ways out of line: the claim of a block failed; there is no room for another one. */
struct mt_node *slab_alloc_refill(void);
void slab_free_full(struct mt_node *block);

/*
 * slab_claim - claim the @count uppermost blocks: bottom goes down, to the value returned. If that
 * is below *@top then, they are not the caller's.
 */
static inline int slab_claim(struct slab_magazine *m, int count, int *top)
{
	int bottom = __atomic_load_n(&m->bottom, __ATOMIC_RELAXED) - count;

	__atomic_store_n(&m->bottom, bottom, SLAB_CLAIM);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*top = __atomic_load_n(&m->top, SLAB_CLAIM);
	return bottom;
}

/* slab_alloc - a block aligned to its size, of unspecified content, or NULL. Not for signal
 * handlers. */
static inline struct mt_node *slab_alloc(void)
{
	struct slab_magazine *m = slab_magazine;
	int top, bottom = slab_claim(m, 1, &top);

	if (__builtin_expect(bottom < top, 0))
		return slab_alloc_refill();
	return m->block[(unsigned int)bottom];
}

/*
 * slab_alloc_many - @count blocks at once, if the thread holds so many; else none, and false. The
 * last one of @block has the lowest address if they came in one piece.
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

/* slab_free - give a block of slab_alloc() back; any thread. */
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
