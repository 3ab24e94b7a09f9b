/* SPDX-License-Identifier: MIT */
/*
 * heap.c - a node allocator for tests: counts its blocks, poisons freed ones, fails on demand.
 */
#include "heap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sanitizer.h"

#define BLOCK_BYTES 256
#define FREED 0x6b
#define FRESH 0xa5

#ifdef WITH_ASAN
#define KEEP_FREED 0
#else
#define KEEP_FREED 1
#endif

struct heap_block {
	struct heap_block *next;
	unsigned char pattern[BLOCK_BYTES - sizeof(void *)];
};

static void check_freed(const struct heap_block *block)
{
	size_t i;

	for (i = 0; i < sizeof(block->pattern); i++) {
		if (block->pattern[i] == FREED)
			continue;
		fprintf(stderr, "heap: freed node %p was written at byte %zu\n",
			(const void *)block, i + sizeof(void *));
		abort();
	}
}

static struct heap_block *take_free(struct heap *heap)
{
	struct heap_block *block = heap->free;

	if (!block)
		return aligned_alloc(BLOCK_BYTES, BLOCK_BYTES);
	heap->free = block->next;
	check_freed(block);
	return block;
}

static void *allocate(void *ctx, size_t size, size_t align)
{
	struct heap *heap = ctx;
	struct heap_block *block = NULL;

	if (size != BLOCK_BYTES || align != BLOCK_BYTES) {
		fprintf(stderr, "heap: asked for %zu bytes aligned to %zu\n", size, align);
		abort();
	}
	pthread_mutex_lock(&heap->lock);
	if (++heap->allocs != heap->fail_at && !heap->deny) {
		block = take_free(heap);
		heap->live++;
	} else {
		heap->failed++;
	}
	pthread_mutex_unlock(&heap->lock);
	if (block)
		memset(block, FRESH, BLOCK_BYTES);
	return block;
}

static void give_back(void *ctx, void *address, size_t size)
{
	struct heap *heap = ctx;
	struct heap_block *block = address;

	if (!block || size != BLOCK_BYTES) {
		fprintf(stderr, "heap: %p of %zu bytes given back\n", address, size);
		abort();
	}
	memset(block, FREED, BLOCK_BYTES);
	pthread_mutex_lock(&heap->lock);
	if (!heap->live--) {
		fprintf(stderr, "heap: more nodes given back than taken\n");
		abort();
	}
	if (KEEP_FREED) {
		block->next = heap->free;
		heap->free = block;
	} else {
		free(block);
	}
	pthread_mutex_unlock(&heap->lock);
}

void heap_open(struct heap *heap)
{
	*heap = (struct heap){ .allocator = { allocate, give_back, heap } };
	pthread_mutex_init(&heap->lock, NULL);
}

void heap_close(struct heap *heap)
{
	if (heap->live) {
		fprintf(stderr, "heap: %lu nodes leaked\n", heap->live);
		abort();
	}
	while (heap->free)
		free(take_free(heap));
	pthread_mutex_destroy(&heap->lock);
}

static void restart(struct heap *heap, unsigned long fail_at, bool deny)
{
	pthread_mutex_lock(&heap->lock);
	heap->allocs = 0;
	heap->fail_at = fail_at;
	heap->deny = deny;
	pthread_mutex_unlock(&heap->lock);
}

void heap_fail(struct heap *heap, unsigned long nth)
{
	pthread_mutex_lock(&heap->lock);
	heap->failed = 0;
	pthread_mutex_unlock(&heap->lock);
	restart(heap, nth, false);
}

void heap_deny(struct heap *heap)
{
	restart(heap, 0, true);
}

void heap_allow(struct heap *heap)
{
	restart(heap, 0, false);
}

static unsigned long read_locked(struct heap *heap, const unsigned long *field)
{
	unsigned long value;

	pthread_mutex_lock(&heap->lock);
	value = *field;
	pthread_mutex_unlock(&heap->lock);
	return value;
}

unsigned long heap_live(struct heap *heap)
{
	return read_locked(heap, &heap->live);
}

unsigned long heap_allocs(struct heap *heap)
{
	return read_locked(heap, &heap->allocs);
}

unsigned long heap_failed(struct heap *heap)
{
	return read_locked(heap, &heap->failed);
}
