/* SPDX-License-Identifier: MIT */
/*
 * wrong.c - does what valgrind should find, or nothing wrong: wrong nothing|use|lose.
 */
#include <mapletree/maple_tree.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct maple_tree *mt)
{
	for (unsigned long i = 0; i < 100; i++)
		if (mtree_store_range(mt, 10 * i, 10 * i + 5, xa_mk_value(i), GFP_KERNEL))
			abort();
}

/* The word that leads to a node has marks in its low bits. */
static volatile const unsigned long *root_node(const struct maple_tree *mt)
{
	return (const unsigned long *)((uintptr_t)mt->ma_root & ~(uintptr_t)255);
}

int main(int argc, char **argv)
{
	struct maple_tree *mt = malloc(sizeof(*mt)), other;
	const char *what = argc > 1 ? argv[1] : "";
	volatile const unsigned long *node;
	unsigned long word = 0;

	if (!mt)
		return 1;
	mt_init(mt);
	fill(mt);
	node = root_node(mt);
	word += node[8];
	if (strcmp(what, "lose") == 0) {
		memset(mt, 0, sizeof(*mt));
		node = NULL;
	} else {
		mtree_destroy(mt);
	}
	if (strcmp(what, "use") == 0)
		word += node[8];
	/* Others take the blocks again, and all is well. */
	mt_init_flags(&other, MT_FLAGS_USE_RCU | MT_FLAGS_ALLOC_RANGE);
	for (int i = 0; i < 20; i++) {
		fill(&other);
		mtree_destroy(&other);
	}
	mt_barrier();
	free(mt);
	printf("%s\n", word ? "done" : "empty");
	return 0;
}
