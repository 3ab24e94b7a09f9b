/* SPDX-License-Identifier: MIT */
/*
 * heap.h - a node allocator for tests: counts its blocks, poisons freed ones, fails on demand.
 *
 * A freed block is filled with a pattern, which is checked before the block is handed out again
 * and at heap_close(): a write through a stale pointer aborts the test. Under AddressSanitizer
 * blocks go back to the C library instead, so that stale reads are reported too.
 * Calls may come from any thread. With the lock held:
 *   live == blocks handed out and not given back
 */
#ifndef TEST_HEAP_H
#define TEST_HEAP_H

#include <mapletree/maple_tree.h>
#include <pthread.h>

struct heap_block;

struct heap {
	struct mt_allocator allocator; /* for mt_set_allocator() */
	pthread_mutex_t lock;
	struct heap_block *free;
	unsigned long live;
	unsigned long allocs;  /* asked for since heap_fail() or heap_allow() */
	unsigned long failed;  /* of those, refused; heap_fail() alone restarts this */
	unsigned long fail_at; /* the allocation that fails, counted from 1; 0: none */
	bool deny;             /* all fail */
};

void heap_open(struct heap *heap);

/* heap_close - checks and frees what is unused; all blocks must have come back. */
void heap_close(struct heap *heap);

/* From now on: the @nth allocation fails | all fail | none fails. Each restarts the count. */
void heap_fail(struct heap *heap, unsigned long nth);
void heap_deny(struct heap *heap);
void heap_allow(struct heap *heap);

unsigned long heap_live(struct heap *heap);
unsigned long heap_allocs(struct heap *heap);
unsigned long heap_failed(struct heap *heap);

#endif
