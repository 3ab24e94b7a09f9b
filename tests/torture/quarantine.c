/* SPDX-License-Identifier: MIT */
/*
 * quarantine.c - a node allocator that keeps freed nodes, poisoned, for as long as it can.
 */
#include "quarantine.h"
#include "../poison.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE 4096
#define FREED 0x6b
#define FRESH 0xa5

/* With the lock held: queue[(first + i) % QUEUE] for i < count wait, oldest first. */
static struct {
	pthread_mutex_t lock;
	unsigned char *queue[QUEUE];
	unsigned int first;
	unsigned int count;
	unsigned long live;
	unsigned long freed;
} yard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void let_go(size_t size)
{
	unsigned char *block = yard.queue[yard.first];
	size_t i;

	ASAN_UNPOISON_MEMORY_REGION(block, size);
	for (i = 0; i < size; i++) {
		if (block[i] == FREED)
			continue;
		fprintf(stderr, "torture: freed node %p was written at byte %zu\n",
			(void *)block, i);
		abort();
	}
	yard.first = (yard.first + 1) % QUEUE;
	yard.count--;
	free(block);
}

static void *allocate(void *ctx, size_t size, size_t align)
{
	void *block = aligned_alloc(align, size);

	(void)ctx;
	if (!block)
		return NULL;
	memset(block, FRESH, size);
	pthread_mutex_lock(&yard.lock);
	yard.live++;
	pthread_mutex_unlock(&yard.lock);
	return block;
}

static void give_back(void *ctx, void *block, size_t size)
{
	(void)ctx;
	memset(block, FREED, size);
	ASAN_POISON_MEMORY_REGION(block, size);
	pthread_mutex_lock(&yard.lock);
	if (!yard.live--) {
		fprintf(stderr, "torture: more nodes given back than taken\n");
		abort();
	}
	if (yard.count == QUEUE)
		let_go(size);
	yard.queue[(yard.first + yard.count++) % QUEUE] = block;
	yard.freed++;
	pthread_mutex_unlock(&yard.lock);
}

const struct mt_allocator quarantine = { allocate, give_back, NULL };

unsigned long quarantine_live(void)
{
	unsigned long live;

	pthread_mutex_lock(&yard.lock);
	live = yard.live;
	pthread_mutex_unlock(&yard.lock);
	return live;
}

unsigned long quarantine_drain(void)
{
	unsigned long freed;

	pthread_mutex_lock(&yard.lock);
	while (yard.count)
		let_go(256);
	freed = yard.freed;
	pthread_mutex_unlock(&yard.lock);
	return freed;
}
