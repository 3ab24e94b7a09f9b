/* SPDX-License-Identifier: MIT */
/*
 * descend.c - the walks down from the root: of a lookup, a cursor and a writer.
 *
 * These are the hot loops of the library. On x86-64 this file is compiled once more for each
 * instruction set that search.h knows. variants.c binds the names to one of them when the program
 * starts, so that the choice costs nothing at each call (see variants.h).
 */
#include "finger.h"
#include "rcu.h"
#include "search.h"
#include "trace.h"
#include "variants.h"
#include "walk.h"

#ifdef MT_ISA
void *VARIANT(lookup_load)(struct maple_tree *mt, unsigned long index);
void *VARIANT(lookup_range)(struct maple_tree *mt, unsigned long index, unsigned long *first,
			    unsigned long *last);
void *VARIANT(walk_to)(struct ma_state *mas, unsigned long index);
void VARIANT(walk_ahead)(struct ma_state *mas, unsigned long index, int step, bool move);
unsigned long VARIANT(finger_descend)(const struct maple_tree *mt, struct mt_finger *finger,
				      unsigned long index);
unsigned long VARIANT(leaf_find)(unsigned long step, unsigned long index);
#else
#define lookup_load mtree_load
#endif

/* ---- a lookup --------------------------------------------------------------------------- */

/* Looks up from an inner node of a tree whose inner nodes are all of @kind. */
static inline void *load_below(struct maple_tree *mt, struct maple_enode *enode,
			       enum node_kind kind, unsigned long index)
{
	do {
		enode = search_child(enode, kind, index);
		node_prefetch_slots(enode);
	} while (enode_kind(enode) != KIND_LEAF);
	return search_entry(mt, enode, index);
}

static inline void *load(struct maple_tree *mt, unsigned long index)
{
	struct maple_enode *root = root_load(mt);

	if (!root_is_node(root))
		return search_rootless(root, index);
	switch (enode_kind(root)) {
	case KIND_LEAF:
		return search_entry(mt, root, index);
	case KIND_INNER:
		return load_below(mt, root, KIND_INNER, index);
	default:
		return load_below(mt, root, KIND_GAPS, index);
	}
}

/* Out of line, so that lookups in trees without RCU mode save no registers for it. */
static __attribute__((noinline)) void *load_in_section(struct maple_tree *mt, unsigned long index)
{
	struct read_section section = read_enter(mt);
	void *entry = load(mt, index);

	read_leave(section);
	return entry;
}

void *VARIANT(lookup_load)(struct maple_tree *mt, unsigned long index)
{
	TRACE_READ(mt, 0ul, ULONG_MAX, index);
	return mt_in_rcu(mt) ? load_in_section(mt, index) : load(mt, index);
}

/* ---- a lookup that tells the range ------------------------------------------------------- */

/*
 * The range at @index of a leaf that covers [*@first, *@last], and its entry. False: the leaf
 * changed, maybe only by a boundary that moved after it was searched.
 */
static ALWAYS_INLINE bool try_bounds(struct mt_node *leaf, unsigned long index, void **entry,
				     unsigned long *first, unsigned long *last)
{
	unsigned long version = leaf_version(leaf), below = 0, max;
	unsigned int offset = node_search(leaf, KIND_LEAF, index);

	*entry = slot_load(leaf, KIND_LEAF, offset);
	if (offset)
		below = pivot_load(leaf, offset - 1);
	max = slot_last(leaf, KIND_LEAF, offset, *last);
	if (!leaf_unchanged(leaf, version) || max < index || (offset && below >= index))
		return false;
	if (offset)
		*first = below + 1;
	*last = max;
	return true;
}

/* Repeats a failed try_bounds() until it succeeds. Out of line: hardly any lookup needs it. */
static __attribute__((noinline, cold)) void *retry_bounds(struct maple_tree *mt,
							  struct mt_node *leaf,
							  unsigned long index,
							  unsigned long *first,
							  unsigned long *last)
{
	unsigned int failed = 0;
	void *entry;

	do
		failed = retry(mt, failed);
	while (!try_bounds(leaf, index, &entry, first, last));
	retry_end(mt, failed);
	return entry;
}

/* Narrows [*@first, *@last] down to the leaf that covers @index, through inner nodes of @kind. */
static ALWAYS_INLINE struct maple_enode *bounds_below(struct maple_enode *enode,
						      enum node_kind kind, unsigned long index,
						      unsigned long *first, unsigned long *last)
{
	do {
		struct mt_node *node = node_of(enode, kind);
		unsigned int offset = node_search(node, kind, index);

		enode = slot_child(node, kind, offset);
		node_prefetch_slots(enode);
		*first = slot_first(node, offset, *first);
		*last = slot_last(node, kind, offset, *last);
	} while (enode_kind(enode) != KIND_LEAF);
	return enode;
}

void *VARIANT(lookup_range)(struct maple_tree *mt, unsigned long index, unsigned long *first,
			    unsigned long *last)
{
	struct maple_enode *enode = root_load(mt);
	unsigned long min = 0, max = ULONG_MAX;
	void *entry;

	TRACE_READ(mt, 0ul, ULONG_MAX, index);
	if (!root_is_node(enode)) {
		*first = enode && index;
		*last = enode && !index ? 0 : ULONG_MAX;
		return search_rootless(enode, index);
	}
	if (enode_kind(enode) == KIND_INNER)
		enode = bounds_below(enode, KIND_INNER, index, &min, &max);
	else if (enode_kind(enode) == KIND_GAPS)
		enode = bounds_below(enode, KIND_GAPS, index, &min, &max);
	if (UNLIKELY(!try_bounds(node_of(enode, KIND_LEAF), index, &entry, &min, &max)))
		entry = retry_bounds(mt, node_of(enode, KIND_LEAF), index, &min, &max);
	*first = min;
	*last = max;
	return entry;
}

/* ---- a cursor --------------------------------------------------------------------------- */

/* A leaf, its bounds, and the two nodes above it. */
struct leaf_path {
	struct subtree leaf;
	struct subtree parent; /* enode NULL: the leaf is the root */
	unsigned int offset; /* of the leaf in its parent */
	struct maple_enode *grandparent; /* or NULL */
	unsigned int parent_offset; /* of the parent in the grandparent */
};

static inline struct leaf_path descend(struct maple_enode *root, unsigned long index)
{
	struct leaf_path path = { { root, 0, ULONG_MAX }, { NULL, 0, ULONG_MAX }, 0, NULL, 0 };

	while (enode_kind(path.leaf.enode) != KIND_LEAF) {
		struct mt_node *node = enode_node(path.leaf.enode);
		enum node_kind kind = enode_kind(path.leaf.enode);

		path.grandparent = path.parent.enode;
		path.parent_offset = path.offset;
		path.parent = path.leaf;
		path.offset = node_search(node, kind, index);
		path.leaf.enode = slot_child(node, kind, path.offset);
		node_prefetch_slots(path.leaf.enode);
		path.leaf.min = slot_first(node, path.offset, path.parent.min);
		path.leaf.max = slot_last(node, kind, path.offset, path.parent.max);
	}
	return path;
}

static inline void remember_parent(struct ma_state *mas, const struct leaf_path *path)
{
	mas->parent = path->parent.enode;
	if (!mas->parent)
		return;
	mas->parent_min = path->parent.min;
	mas->parent_max = path->parent.max;
	mas->parent_offset = (unsigned char)path->offset;
	mas->parent_end = (unsigned char)node_end(enode_node(mas->parent),
						  enode_kind(mas->parent));
}

/* Reads the range of the cursor's leaf that holds @index. False: the leaf changed meanwhile. */
static inline bool try_range(struct ma_state *mas, unsigned long index, void **entry)
{
	struct mt_node *leaf = enode_node(mas->node);

	mas->watch = &leaf->wide.meta;
	mas->version = leaf_version(leaf);
	return walk_look(mas, node_search(leaf, KIND_LEAF, index), entry) &&
	       mas->index <= index && index <= mas->last;
}

/* Repeats a failed try_range() until it succeeds. Out of line: hardly any walk needs it. */
static __attribute__((noinline, cold)) void *retry_range(struct ma_state *mas, unsigned long index)
{
	unsigned int failed = 0;
	void *entry;

	do
		failed = retry(mas->tree, failed);
	while (!try_range(mas, index, &entry));
	retry_end(mas->tree, failed);
	return entry;
}

/* Makes watch_holds() false from now on. */
static inline void watch_nothing(struct ma_state *mas)
{
	static const unsigned long changed = 1;

	mas->watch = &changed;
	mas->version = 0;
}

/*
 * Chooses the word to watch for a cursor that has just read @leaf at its version. @stamp: see
 * watch_begin().
 */
static inline void watch_after_walk(struct ma_state *mas, const struct mt_node *leaf,
				    unsigned long stamp)
{
	if (!mt_in_rcu(mas->tree))
		watch_tree(mas);
	else if (UNLIKELY(!read_ongoing_known(mas->tree)))
		watch_nothing(mas);
	else if (!read_ongoing(mas->tree))
		watch_tree(mas);
	else if (UNLIKELY(stamp != NO_STAMP))
		watch_stamp(mas, stamp);
	else
		watch_leaf(mas, leaf, mas->version);
}

/*
 * Puts the cursor on the range of its leaf that holds @index; the leaf must cover @index. A leaf
 * that is dead by now was in the tree when the cursor reached it, so it may be used for this step,
 * but not for the next one.
 */
static void *stand_in_leaf(struct ma_state *mas, unsigned long index, unsigned long stamp)
{
	void *entry;

	if (UNLIKELY(!try_range(mas, index, &entry)))
		entry = retry_range(mas, index);
	mas->end = (unsigned char)(mas->version & META_END_MASK);
	mas->gap_written = false;
	mas->batch = NULL;
	watch_after_walk(mas, enode_node(mas->node), stamp);
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
	const struct maple_tree *mt = mas->tree;
	unsigned long stamp;
	struct leaf_path path;
	void *root;

	TRACE_READ(mt, mas->min, mas->max, index);
	root = root_load(mt);
	stamp = watch_begin(mt, &root);
	if (!root_is_node(root))
		return walk_rootless(mas, root, index);
	WORK(WALK);
	path = descend(root, index);
	remember_parent(mas, &path);
	mas->node = path.leaf.enode;
	mas->min = path.leaf.min;
	mas->max = path.leaf.max;
	return stand_in_leaf(mas, index, stamp);
}

/* Prefetches a child, if there is such a slot. */
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
	struct leaf_path path = { { NULL, 0, 0 }, { NULL, 0, 0 }, 0, NULL, 0 };

	WORK(WALK_AHEAD);
	if (root_is_node(root))
		path = descend(root, index);
	if (move) {
		remember_parent(mas, &path);
		mas->parent_offset = (unsigned char)(mas->parent_offset - step);
	}
	if (!path.parent.enode)
		return;
	if (path.grandparent)
		prefetch_child(path.grandparent, path.parent_offset + way);
	for (i = 0; i < LEAVES_AHEAD; i++)
		prefetch_child(path.parent.enode, path.offset + i * way);
}

/* ---- a writer --------------------------------------------------------------------------- */

unsigned long VARIANT(finger_descend)(const struct maple_tree *mt, struct mt_finger *finger,
				      unsigned long index)
{
	unsigned int flags = mt->ma_flags; /* loaded once */
	enum node_kind kind = flags & MT_FLAGS_ALLOC_RANGE ? KIND_GAPS : KIND_INNER;
	unsigned int level = ((flags & MT_FLAGS_HEIGHT_MASK) >> MT_FLAGS_HEIGHT_OFFSET) - 1;
	struct mt_node *node = enode_node(mt->ma_root);

	WORK(WALK);
	finger->height = level + 1;
	for (; level; level--) {
		unsigned int offset = node_search(node, kind, index);
		struct maple_enode *child = slot_child(node, kind, offset);

		finger->step[level] = step_make(node, offset);
		node_prefetch_slots(child);
		node = enode_node(child);
	}
	finger->step[0] = step_make(node, node_search(node, KIND_LEAF, index));
	finger->min = finger_first(finger, 0);
	finger->max = finger_last(finger, 0, kind);
	return finger->step[0];
}

unsigned long VARIANT(leaf_find)(unsigned long step, unsigned long index)
{
	struct mt_node *leaf = step_node(step);

	return step_make(leaf, node_search(leaf, KIND_LEAF, index));
}
