/* SPDX-License-Identifier: MIT */
/* scarce.c - see scarce.h; the program is linked with --wrap for what the libraries allocate by. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "../poison.h"
#include "scarce.h"

struct scarce scarce = { .draws = 1 };

static bool fails(void)
{
	if (scarce.counting)
		scarce.asked++;
	if (scarce.one_of) {
		scarce.draws = scarce.draws * 6364136223846793005u + 1442695040888963407u;
		return !((scarce.draws >> 33) % scarce.one_of);
	}
	if (!scarce.countdown)
		return false;
	if (scarce.countdown > 1) {
		scarce.countdown--;
		return false;
	}
	scarce.countdown = scarce.for_good ? 1 : 0;
	return true;
}

static void *counted(void *block)
{
	if (block)
		__atomic_fetch_add(&scarce.blocks, 1, __ATOMIC_RELAXED);
	return block;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size)
{
	void *grown = fails() ? NULL : __real_realloc(block, size);

	return block ? grown : counted(grown);
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : counted(__real_strdup(text));
}

void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : counted(__real_aligned_alloc(align, size));
}

static void *uncounted(void *block)
{
	if (block)
		__atomic_fetch_sub(&scarce.blocks, 1, __ATOMIC_RELAXED);
	return block;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
	__real_free(uncounted(block));
}

/* An area's memory: a block serves many, so the failure has to come before it. */
struct vma *__real_vma_alloc(struct vma_store *store);
struct vma *__wrap_vma_alloc(struct vma_store *store);
struct vma *__wrap_vma_alloc(struct vma_store *store)
{
	return fails() ? NULL : __real_vma_alloc(store);
}

/*
 * Each call reserves dozens of nodes and gives nearly all of them back. In a stock they wait, the
 * oldest first, until QUARANTINE others have been given back.
 */
#define QUARANTINE 512
#define STOCK 2048
static struct {
	bool wanted;
	void *block[STOCK];
	unsigned int first; /* block[(first + i) % STOCK] for i < count wait */
	unsigned int count;
} stock;

void scarce_stock(bool wanted)
{
#ifdef SLAB_SANITIZED /* defined for valgrind, which is to know of each node whether it is free */
	wanted = false;
#endif
	stock.wanted = wanted;
	/* Or the C library gives memory back to the system after each call, to ask for it again. */
	mallopt(M_TRIM_THRESHOLD, 1 << 28);
}

static void *node_alloc(void *ctx, size_t size, size_t align)
{
	void *block;

	(void)ctx;
	if (!stock.wanted || stock.count <= QUARANTINE)
		return __wrap_aligned_alloc(align, size);
	block = stock.block[stock.first];
	stock.first = (stock.first + 1) % STOCK;
	stock.count--;
	ASAN_UNPOISON_MEMORY_REGION(block, size);
	return counted(block);
}

static void node_free(void *ctx, void *block, size_t size)
{
	(void)ctx;
	if (!stock.wanted || stock.count == STOCK) {
		__wrap_free(block);
		return;
	}
	ASAN_POISON_MEMORY_REGION(block, size);
	stock.block[(stock.first + stock.count++) % STOCK] = uncounted(block);
}

const struct mt_allocator scarce_nodes = { .alloc = node_alloc, .free = node_free };

/* Frames are numbered upwards and never used twice; what is in them does not matter here. */
static uint64_t frame_alloc(void *ctx)
{
	static uint64_t last;

	(void)ctx;
	if (fails())
		return 0;
	scarce.frames++;
	return ++last;
}

static void frame_free(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
	scarce.frames--;
}

static void frame_copy(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	(void)to;
	(void)from;
}

static int file_page(void *ctx, const struct vma_backing *backing, uint64_t index, uint64_t *frame)
{
	(void)ctx;
	(void)backing;
	*frame = 1000000000 + index;
	if (fails())
		return -ENOMEM;
	scarce.file_uses++;
	return 0;
}

static void file_release(void *ctx, uint64_t frame)
{
	(void)ctx;
	(void)frame;
	scarce.file_uses--;
}

static int map_page(void *ctx, unsigned long addr, uint64_t frame, unsigned int access)
{
	(void)ctx;
	(void)addr;
	(void)frame;
	(void)access;
	if (!fails())
		return 0;
	scarce.refused = true;
	return -ENOMEM;
}

static void unmap_pages(void *ctx, unsigned long start, unsigned long end)
{
	(void)ctx;
	(void)start;
	(void)end;
}

const struct vmspace_memory scarce_memory = {
	.alloc = frame_alloc, .free = frame_free, .copy = frame_copy, .file_page = file_page,
	.file_release = file_release, .map = map_page, .unmap = unmap_pages,
};
