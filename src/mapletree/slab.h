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

/* slab_shrink - give the calling thread's cache and all empty slabs back to the system. */
void slab_shrink(void);

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
 * What a thread holds: block[0 .. count - 1], of which count <= limit. The blocks themselves are
 * not touched while they lie here. limit == 0: the thread has no magazine of its own (yet).
 */
struct slab_magazine {
	unsigned int count;
	unsigned int limit;
	struct mt_node *block[MAGAZINE_BLOCKS];
};

extern _Thread_local struct slab_magazine *slab_magazine
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The ways out of line: the magazine is empty; it is full. */
struct mt_node *slab_alloc_refill(void);
void slab_free_full(struct mt_node *block);

/* slab_alloc - a block aligned to its size, of unspecified content, or NULL. Not for signal
 * handlers. */
static inline struct mt_node *slab_alloc(void)
{
	struct slab_magazine *m = slab_magazine;

	if (__builtin_expect(!m->count, 0))
		return slab_alloc_refill();
	return m->block[--m->count];
}

/*
 * slab_alloc_many - @count blocks at once, if the thread holds so many; else none, and false. The
 * last one of @block has the lowest address if they came in one piece.
 */
static inline bool slab_alloc_many(struct mt_node **block, unsigned int count)
{
	struct slab_magazine *m = slab_magazine;
	unsigned int i;

	if (__builtin_expect(m->count < count, 0))
		return false;
	m->count -= count;
	for (i = 0; i < count; i++)
		block[i] = m->block[m->count + i];
	return true;
}

/* slab_free - give a block of slab_alloc() back; any thread. */
static inline void slab_free(struct mt_node *block)
{
	struct slab_magazine *m = slab_magazine;

	if (__builtin_expect(m->count == m->limit, 0))
		slab_free_full(block);
	else
		m->block[m->count++] = block;
}

#endif

#endif
