/* SPDX-License-Identifier: MIT */
/*
 * trees.h - trees of many shapes, copies of them on heaps of their own, and what they hold.
 */
#ifndef FAULT_TREES_H
#define FAULT_TREES_H

#include "heap.h"

/* Entries of a built tree begin at multiples of this. */
#define STRIDE 10

enum tree_kind {
	TREE_APART,    /* ascending, gaps between */
	TREE_TOUCHING, /* ascending, none between */
	TREE_DOWN,     /* descending */
	TREE_SHUFFLED, /* in random order */
	TREE_THINNED,  /* touching, then most of it erased in places */
	TREE_TOP,      /* apart, and an entry up to ULONG_MAX */
	TREE_KINDS
};

/* What a tree is built as: @entries of @kind (0: empty), with MT_FLAGS_* @flags. */
struct recipe {
	enum tree_kind kind;
	unsigned int entries;
	unsigned int flags;
};

/* A tree and the heap its nodes come from. */
struct scene {
	struct maple_tree mt;
	struct heap heap;
	struct scene *next;
};

/* All of a tree that a caller can see, in short. */
struct digest {
	unsigned long long ranges; /* a hash of all indexes and entries, in order */
	struct mt_statistics shape;
};

/* scene_build - a new tree by @recipe. scene_copy - one with the content of @from. */
struct scene *scene_build(const struct recipe *recipe);
struct scene *scene_copy(struct scene *from);

/* scene_close - destroy the tree; its heap is checked by the next scenes_settle(). */
void scene_close(struct scene *scene);

/* scenes_settle - @wait for grace periods; then all nodes of closed trees must be back. */
void scenes_settle(bool wait);

struct digest digest_take(struct maple_tree *mt);
bool digest_equal(const struct digest *a, const struct digest *b);

/* expect - unless @holds, say what does not, where, and abort. */
#define expect(holds, ...) ((holds) ? (void)0 : complain(#holds, __FILE__, __LINE__, __VA_ARGS__))
__attribute__((format(printf, 4, 5), noreturn)) void complain(const char *what, const char *file,
							     int line, const char *format, ...);

/* expect_sound - mt_check(), with a dump if it fails. */
void expect_sound(struct maple_tree *mt, const char *when);

#endif
