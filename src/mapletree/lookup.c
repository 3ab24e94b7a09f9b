/* SPDX-License-Identifier: MIT */
/*
 * lookup.c - the ways down from the root: a lookup's, a cursor's and a writer's.
 *
 * The hot loops of the library. On x86-64 this file is compiled once more for each instruction
 * set that search.h knows, with LOOKUP_ISA naming it; lookup_select.c binds the names to one of
 * them when the program starts, so that the choice costs a call nothing.
 */
#include "path.h"
#include "rcu.h"
#include "search.h"
#include "walk.h"

#ifdef LOOKUP_ISA
#define PASTE_(name, isa) name##_##isa
#define PASTE(name, isa)  PASTE_(name, isa)
#define LOOKUP(name)      PASTE(name, LOOKUP_ISA)
void *LOOKUP(lookup_load)(struct maple_tree *mt, unsigned long index);
void *LOOKUP(walk_to)(struct ma_state *mas, unsigned long index);
unsigned int LOOKUP(path_descend)(struct mt_step *step, unsigned int from, struct place at,
				  unsigned long index);
#else
#define LOOKUP(name) name
#define lookup_load  mtree_load
#endif

/* The entry at @index in a leaf. */
static inline void *load_from_leaf(struct mt_node *leaf, unsigned long index)
{
	unsigned long version;
	void *entry;

	do {
		version = leaf_version(leaf);
		entry = slot_load(leaf, KIND_LEAF, node_search(leaf, KIND_LEAF, index));
	} while (__builtin_expect(!leaf_unchanged(leaf, version), 0));
	return entry;
}

/* The child of an inner node that covers @index, its cache lines on their way. */
static inline struct maple_enode *child_at(struct mt_node *node, enum node_kind kind,
					   unsigned int offset)
{
	struct maple_enode *child = slot_child(node, kind, offset);

	node_prefetch(enode_node(child));
	return child;
}

static inline void *load(const struct maple_tree *mt, unsigned long index)
{
	struct maple_enode *enode = root_load(mt);

	if (!root_is_node(enode))
		return index ? NULL : enode;
	while (enode_kind(enode) != KIND_LEAF) {
		struct mt_node *node = enode_node(enode);
		enum node_kind kind = enode_kind(enode);

		enode = child_at(node, kind, node_search(node, kind, index));
	}
	return load_from_leaf(enode_node(enode), index);
}

void *LOOKUP(lookup_load)(struct maple_tree *mt, unsigned long index)
{
	struct read_section section = read_enter(mt);
	void *entry = load(mt, index);

	read_leave(section);
	return xa_is_zero(entry) ? NULL : entry;
}

/* Puts the cursor on the range of its leaf that holds @index, which the leaf covers. */
static void *search_leaf(struct ma_state *mas, unsigned long index)
{
	struct mt_node *leaf = enode_node(mas->node);
	void *entry;

	do {
		mas->version = leaf_version(leaf);
	} while (!walk_read_range(mas, node_search(leaf, KIND_LEAF, index), &entry) ||
		 index < mas->index || index > mas->last);
	mas->end = (unsigned char)(mas->version & META_END_MASK);
	mas->gap_written = false;
	return entry;
}

static void *walk_rootless(struct ma_state *mas, void *entry, unsigned long index)
{
	mas->node = NULL;
	mas->gap_written = false;
	if (entry && index == 0) {
		mas->status = ma_root;
		mas->index = mas->last = 0;
		return entry;
	}
	mas->status = ma_none;
	mas->index = entry ? 1 : 0;
	mas->last = ULONG_MAX;
	return NULL;
}

void *LOOKUP(walk_to)(struct ma_state *mas, unsigned long index)
{
	struct maple_enode *enode = root_load(mas->tree);

	if (!root_is_node(enode))
		return walk_rootless(mas, enode, index);
	mas->min = 0;
	mas->max = ULONG_MAX;
	while (enode_kind(enode) != KIND_LEAF) {
		struct mt_node *node = enode_node(enode);
		enum node_kind kind = enode_kind(enode);
		unsigned int offset = node_search(node, kind, index);

		enode = child_at(node, kind, offset);
		mas->min = slot_first(node, offset, mas->min);
		mas->max = slot_last(node, kind, offset, mas->max);
	}
	mas->node = enode;
	return search_leaf(mas, index);
}

unsigned int LOOKUP(path_descend)(struct mt_step *step, unsigned int from, struct place at,
				  unsigned long index)
{
	for (;;) {
		struct mt_step *s = &step[from++];

		assert(from <= MAPLE_HEIGHT_MAX && index >= at.min && index <= at.max);
		s->node = enode_node(at.enode);
		s->kind = enode_kind(at.enode);
		s->min = at.min;
		s->max = at.max;
		s->offset = (unsigned char)node_search(s->node, s->kind, index);
		s->end = (unsigned char)node_end(s->node, s->kind);
		assert(s->offset <= s->end);
		if (s->kind == KIND_LEAF)
			return from;
		at.enode = child_at(s->node, s->kind, s->offset);
		at.min = slot_first(s->node, s->offset, at.min);
		at.max = slot_last(s->node, s->kind, s->offset, at.max);
	}
}
