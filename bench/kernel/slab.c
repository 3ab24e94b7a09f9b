/* SPDX-License-Identifier: MIT */
/*
 * slab.c - nodes for the kernel's tree: magazines of free nodes per thread, a depot of full
 * magazines for all, chunks of one magazine each behind it. (J. Bonwick and J. Adams, "Magazines
 * and Vmem", 2001.)
 */
#include "slab.h"

#include <pthread.h>
#include <stdlib.h>

#define MAGAZINE 64 /* nodes */
#define SHEAF    32 /* nodes that one has room for, unless more are asked for */

/* A free node; the first of a full magazine in the depot also links to the next one. */
struct node {
	struct node *next;
	struct node *next_magazine;
};

struct magazine {
	struct node *head;
	unsigned int count;
};

static __thread struct magazine loaded, spare; /* spare is full or empty */
static __thread struct slab_sheaf *idle;       /* with its nodes: the next one taken */

static pthread_mutex_t depot_lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *depot;      /* full magazines */
static size_t depot_magazines;  /* how many */
static size_t carved;           /* nodes ever made */

static void refill(void)
{
	char *chunk;

	pthread_mutex_lock(&depot_lock);
	if (depot) {
		loaded = (struct magazine){ depot, MAGAZINE };
		depot = depot->next_magazine;
		depot_magazines--;
		pthread_mutex_unlock(&depot_lock);
		return;
	}
	carved += MAGAZINE;
	pthread_mutex_unlock(&depot_lock);
	chunk = aligned_alloc(NODE_BYTES * MAGAZINE, NODE_BYTES * MAGAZINE);
	if (!chunk)
		abort();
	for (int i = MAGAZINE; i-- > 0;) {
		struct node *node = (struct node *)(chunk + i * NODE_BYTES);

		node->next = loaded.head;
		loaded.head = node;
	}
	loaded.count = MAGAZINE;
}

void *kernel_slab_alloc(void)
{
	struct node *node;

	if (__builtin_expect(!loaded.count, 0)) {
		if (spare.count) {
			loaded = spare;
			spare = (struct magazine){ NULL, 0 };
		} else {
			refill();
		}
	}
	node = loaded.head;
	loaded.head = node->next;
	loaded.count--;
	return node;
}

void kernel_slab_free(void *block)
{
	struct node *node = block;

	if (__builtin_expect(loaded.count == MAGAZINE, 0)) {
		if (spare.count) {
			pthread_mutex_lock(&depot_lock);
			spare.head->next_magazine = depot;
			depot = spare.head;
			depot_magazines++;
			pthread_mutex_unlock(&depot_lock);
		}
		spare = loaded;
		loaded = (struct magazine){ NULL, 0 };
	}
	node->next = loaded.head;
	loaded.head = node;
	loaded.count++;
}

struct slab_sheaf *kernel_sheaf_take(unsigned int count)
{
	struct slab_sheaf *sheaf = idle;

	idle = NULL;
	return kernel_sheaf_fill(&sheaf, count) ? sheaf : NULL;
}

/* Fills up to @count nodes; NULL becomes a new one. */
bool kernel_sheaf_fill(struct slab_sheaf **place, unsigned int count)
{
	struct slab_sheaf *sheaf = *place;

	if (__builtin_expect(!sheaf || sheaf->room < count, 0)) {
		unsigned int room = count > SHEAF ? count : SHEAF;
		unsigned int before = sheaf ? sheaf->count : 0;

		sheaf = realloc(sheaf, sizeof(*sheaf) + room * sizeof(*sheaf->nodes));
		if (!sheaf)
			return false;
		sheaf->count = before;
		sheaf->room = room;
		*place = sheaf;
	}
	while (sheaf->count < count)
		sheaf->nodes[sheaf->count++] = kernel_slab_alloc();
	return true;
}

/* Its nodes stay in it if it becomes the idle one. */
void kernel_sheaf_return(struct slab_sheaf *sheaf)
{
	if (!idle) {
		idle = sheaf;
		return;
	}
	while (sheaf->count)
		kernel_slab_free(sheaf->nodes[--sheaf->count]);
	free(sheaf);
}

/* Of this thread and the depot: exact while other threads hold no free nodes. */
size_t kernel_slab_live(void)
{
	size_t live;

	pthread_mutex_lock(&depot_lock);
	live = carved - depot_magazines * MAGAZINE - loaded.count - spare.count -
	       (idle ? idle->count : 0);
	pthread_mutex_unlock(&depot_lock);
	return live;
}
