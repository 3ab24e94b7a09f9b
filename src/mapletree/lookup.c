/* SPDX-License-Identifier: MIT */
/*
 * lookup.c - the ways down from the root: a lookup's, a cursor's and a writer's.
 *
 * The hot loops of the library. On x86-64 this file is compiled once more for each instruction
 * set that search.h knows; lookup_select.c binds the names to one of them when the program starts,
 * so that the choice costs a call nothing (see variants.h).
 */
#include "path.h"
#include "rcu.h"
#include "search.h"
#include "variants.h"
#include "walk.h"
#include "way.h"

#ifdef MT_ISA
void *VARIANT(lookup_load)(struct maple_tree *mt, unsigned long index);
void *VARIANT(walk_to)(struct ma_state *mas, unsigned long index);
void VARIANT(walk_ahead)(struct ma_state *mas, unsigned long index, int step, bool move);
unsigned int VARIANT(path_descend)(struct mt_step *step, unsigned int from, struct place at,
				   unsigned long index);
unsigned long VARIANT(way_descend)(struct maple_tree *mt, unsigned long index);
unsigned long VARIANT(way_in_leaf)(unsigned long step, unsigned long index);
#else
#define lookup_load mtree_load
#endif

/* ---- a lookup --------------------------------------------------------------------------- */

/* From an inner node of a tree whose inner nodes are all of one kind. */
static inline void *load_below(struct maple_enode *enode, enum node_kind kind, unsigned long index)
{
	do {
		enode = search_child(enode, kind, index);
		node_prefetch_slots(enode);
	} while (enode_kind(enode) != KIND_LEAF);
	return search_entry(enode, index);
}

static inline void *load(const struct maple_tree *mt, unsigned long index)
{
	struct maple_enode *root = root_load(mt);

	if (!root_is_node(root))
		return search_rootless(root, index);
	switch (enode_kind(root)) {
	case KIND_LEAF:
		return search_entry(root, index);
	case KIND_INNER:
		return load_below(root, KIND_INNER, index);
	default:
		return load_below(root, KIND_GAPS, index);
	}
}

/* Apart, so that lookups in other trees save no registers for it. */
static __attribute__((noinline)) void *load_in_section(struct maple_tree *mt, unsigned long index)
{
	struct read_section section = read_enter(mt);
	void *entry = load(mt, index);

	read_leave(section);
	return entry;
}

void *VARIANT(lookup_load)(struct maple_tree *mt, unsigned long index)
{
	return mt_in_rcu(mt) ? load_in_section(mt, index) : load(mt, index);
}

/* ---- a cursor --------------------------------------------------------------------------- */

/* A leaf, what it covers, and where it hangs. */
struct spot {
	struct place leaf;
	struct place parent; /* enode NULL: the leaf is the root */
	unsigned int offset; /* of the leaf in it */
	struct maple_enode *above; /* the parent's parent, or NULL */
	unsigned int above_offset; /* of the parent in it */
};

static inline struct spot descend(struct maple_enode *root, unsigned long index)
{
	struct spot spot = { { root, 0, ULONG_MAX }, { NULL, 0, ULONG_MAX }, 0, NULL, 0 };

	while (enode_kind(spot.leaf.enode) != KIND_LEAF) {
		struct mt_node *node = enode_node(spot.leaf.enode);
		enum node_kind kind = enode_kind(spot.leaf.enode);

		spot.above = spot.parent.enode;
		spot.above_offset = spot.offset;
		spot.parent = spot.leaf;
		spot.offset = node_search(node, kind, index);
		spot.leaf.enode = slot_child(node, kind, spot.offset);
		node_prefetch_slots(spot.leaf.enode);
		spot.leaf.min = slot_first(node, spot.offset, spot.parent.min);
		spot.leaf.max = slot_last(node, kind, spot.offset, spot.parent.max);
	}
	return spot;
}

static inline void remember_parent(struct ma_state *mas, const struct spot *spot)
{
	mas->parent = spot->parent.enode;
	if (!mas->parent)
		return;
	mas->parent_min = spot->parent.min;
	mas->parent_max = spot->parent.max;
	mas->parent_offset = (unsigned char)spot->offset;
	mas->parent_end = (unsigned char)node_end(enode_node(mas->parent),
						  enode_kind(mas->parent));
}

/* Never holds. */
static inline void watch_nothing(struct ma_state *mas)
{
	static const unsigned long changed = 1;

	mas->watch = &changed;
	mas->version = 0;
}

/* What the cursor, which has just read @leaf at its version, watches from now on. See walk.h. */
static inline void watch_from_here(struct ma_state *mas, const struct mt_node *leaf)
{
	if (!mt_in_rcu(mas->tree))
		watch_tree(mas);
	else if (UNLIKELY(!read_ongoing_known(mas->tree)))
		watch_nothing(mas);
	else if (read_ongoing(mas->tree))
		watch_leaf(mas, leaf, mas->version);
	else
		watch_tree(mas);
}

/*
 * Puts the cursor on the range of its leaf that holds @index, which the leaf covers. A leaf that is
 * dead by now was in the tree when it was reached, so it is good for this step, not for the next.
 */
static void *stand_in_leaf(struct ma_state *mas, unsigned long index)
{
	struct mt_node *leaf = enode_node(mas->node);
	void *entry;

	mas->watch = &leaf->wide.meta;
	do {
		mas->version = leaf_version(leaf);
	} while (!walk_read_range(mas, node_search(leaf, KIND_LEAF, index), &entry) ||
		 index < mas->index || index > mas->last);
	mas->end = (unsigned char)(mas->version & META_END_MASK);
	mas->gap_written = false;
	mas->batch = NULL;
	watch_from_here(mas, leaf);
	return entry;
}

static void *walk_rootless(struct ma_state *mas, void *entry, unsigned long index)
{
	mas->node = NULL;
	mas->parent = NULL;
	mas->batch = NULL;
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

void *VARIANT(walk_to)(struct ma_state *mas, unsigned long index)
{
	struct maple_enode *root = root_load(mas->tree);
	struct spot spot;

	if (!root_is_node(root))
		return walk_rootless(mas, root, index);
	spot = descend(root, index);
	remember_parent(mas, &spot);
	mas->node = spot.leaf.enode;
	mas->min = spot.leaf.min;
	mas->max = spot.leaf.max;
	return stand_in_leaf(mas, index);
}

/* Asks for a child, if there is such a slot. */
static inline void prefetch_child(struct maple_enode *enode, unsigned int offset)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);

	if (offset <= node_end(node, kind))
		node_prefetch(slot_child(node, kind, offset));
}

void VARIANT(walk_ahead)(struct ma_state *mas, unsigned long index, int step, bool move)
{
	struct maple_enode *root = root_load(mas->tree);
	unsigned int way = (unsigned int)step, i;
	struct spot spot = { { NULL, 0, 0 }, { NULL, 0, 0 }, 0, NULL, 0 };

	if (root_is_node(root))
		spot = descend(root, index);
	if (move) {
		remember_parent(mas, &spot);
		mas->parent_offset = (unsigned char)(mas->parent_offset - step);
	}
	if (!spot.parent.enode)
		return;
	if (spot.above)
		prefetch_child(spot.above, spot.above_offset + way);
	for (i = 0; i < LEAVES_AHEAD; i++)
		prefetch_child(spot.parent.enode, spot.offset + i * way);
}

/* ---- a writer --------------------------------------------------------------------------- */

unsigned int VARIANT(path_descend)(struct mt_step *step, unsigned int from, struct place at,
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
		at.enode = slot_child(s->node, s->kind, s->offset);
		node_prefetch_slots(at.enode);
		at.min = slot_first(s->node, s->offset, at.min);
		at.max = slot_last(s->node, s->kind, s->offset, at.max);
	}
}

unsigned long VARIANT(way_descend)(struct maple_tree *mt, unsigned long index)
{
	struct mt_way *way = &mt->ma_way;
	enum node_kind kind = inner_kind(mt);
	unsigned int height = mt_height(mt);
	unsigned int level = height - 1;
	struct mt_node *node = enode_node(mt->ma_root);
	unsigned long min = 0, max = ULONG_MAX;

	for (; level; level--) {
		unsigned int offset = node_search(node, kind, index);
		struct maple_enode *child;

		if (level < WAY_LEVELS)
			way->step[level] = way_step(node, offset);
		min = slot_first(node, offset, min);
		max = slot_last(node, kind, offset, max);
		child = slot_child(node, kind, offset);
		node_prefetch_slots(child);
		node = enode_node(child);
	}
	way->step[0] = way_step(node, node_search(node, KIND_LEAF, index));
	way->min = min;
	way->max = max;
	way->height = height;
	return way->step[0];
}

unsigned long VARIANT(way_in_leaf)(unsigned long step, unsigned long index)
{
	struct mt_node *leaf = step_node(step);

	return way_step(leaf, node_search(leaf, KIND_LEAF, index));
}
