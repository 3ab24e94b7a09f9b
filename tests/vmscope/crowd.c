/* SPDX-License-Identifier: MIT */
/*
 * crowd.c - threads that map, move, split, protect and touch, each its own blocks, which lie between those of
 * the others: which of them become one area depends on who touched what first. Usage: crowd THREADS CHANGES (of each)
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096L

enum { THREADS = 16, BLOCKS = 64, LARGEST = 1024 /* pages */ };

struct block {
	char *at;
	long pages;
};

static long changes;

static char *map(char *at, long pages, int fixed)
{
	char *got = mmap(at, (size_t)(pages * PAGE), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);

	return got == MAP_FAILED ? NULL : got;
}

/* Fails where the block is several areas. */
static void move(struct block *block)
{
	char *got = mremap(block->at, (size_t)(block->pages * PAGE),
			   (size_t)(2 * block->pages * PAGE), MREMAP_MAYMOVE);

	if (got == MAP_FAILED)
		return;
	block->at = got;
	block->pages *= 2;
}

static void release(struct block *block)
{
	munmap(block->at, (size_t)(block->pages * PAGE));
	block->at = NULL;
}

static void begin(struct block *block, unsigned int *seed)
{
	block->pages = 1 + rand_r(seed) % 64;
	block->at = map(NULL, block->pages, 0);
	if (block->at)
		*block->at = 1;
}

static void change(struct block *block, unsigned int *seed)
{
	switch (rand_r(seed) % 5) {
	case 0:
		mprotect(block->at, PAGE, PROT_READ);
		break;
	case 1:
		move(block);
		break;
	case 2:
		madvise(block->at, (size_t)(block->pages * PAGE), MADV_DONTNEED);
		break;
	case 3:
		if (block->pages > 2)
			map(block->at + PAGE, 1, MAP_FIXED);
		break;
	default:
		release(block);
		return;
	}
	if (block->pages > LARGEST)
		release(block);
}

static void *work(void *number)
{
	unsigned int seed = (unsigned int)(size_t)number + 1;
	struct block blocks[BLOCKS] = { { .pages = 0 } };

	for (long i = 0; i < changes; i++) {
		struct block *block = &blocks[rand_r(&seed) % BLOCKS];

		if (block->at)
			change(block, &seed);
		else
			begin(block, &seed);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	long count = argc > 2 ? atoi(argv[1]) : 0;

	if (count < 1 || count > THREADS)
		return 2;
	changes = atol(argv[2]);
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
