/* SPDX-License-Identifier: MIT */
/*
 * lookup_many.c - many lookups at once: groups walk down the tree in step, level by level, so that
 * the cache misses of a level overlap (group prefetching: S. Chen, A. Ailamaki, P. Gibbons and T.
 * Mowry, "Improving hash join performance through prefetching", 2004).
 *
 * All leaves of a tree have the same depth, and a slot is only ever replaced by a node of the same
 * level. So lookups that start from one root reach their leaves together, whatever is written
 * meanwhile. Compiled once for each instruction set, as descend.c is.
 */
#include "rcu.h"
#include "search.h"
#include "variants.h"

#ifdef MT_ISA
void VARIANT(lookup_load_many)(struct maple_tree *mt, const unsigned long *keys, void **entries,
			       size_t count);
#else
#define lookup_load_many mtree_load_many
#endif

/* How many lookups walk down together. 16 have 64 cache lines in flight. */
#define GROUP 16

/* One level down, from inner nodes of @kind. */
static inline void step_down(struct maple_enode **at, enum node_kind kind,
			     const unsigned long *keys, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		at[i] = search_child(at[i], kind, keys[i]);
		node_prefetch(at[i]);
	}
}

/* @count > 0. */
static inline void load_group(struct maple_tree *mt, const unsigned long *keys,
			      void **entries, size_t count)
{
	struct maple_enode *root = root_load(mt), *at[GROUP];
	size_t i;

	if (!root_is_node(root)) {
		for (i = 0; i < count; i++)
			entries[i] = search_rootless(root, keys[i]);
		return;
	}
	at[0] = root;
	for (i = 1; i < count; i++)
		at[i] = root;
	while (enode_kind(at[0]) != KIND_LEAF) {
		if (enode_kind(at[0]) == KIND_INNER)
			step_down(at, KIND_INNER, keys, count);
		else
			step_down(at, KIND_GAPS, keys, count);
	}
	for (i = 0; i < count; i++)
		entries[i] = search_entry(mt, at[i], keys[i]);
}

void VARIANT(lookup_load_many)(struct maple_tree *mt, const unsigned long *keys, void **entries,
			       size_t count)
{
	struct read_section section = read_enter(mt);

	for (; count >= GROUP; count -= GROUP, keys += GROUP, entries += GROUP)
		load_group(mt, keys, entries, GROUP);
	if (count)
		load_group(mt, keys, entries, count);
	read_leave(section);
}
