/* SPDX-License-Identifier: MIT */
/*
 * node.h - the layout of nodes and of the tagged words that point to them.
 *
 * A node is 256 bytes, 256-byte aligned, and holds no pointer upwards. Three kinds:
 *
 *   KIND_LEAF   slots hold entries                        pivots | meta | slots
 *   KIND_INNER  slots hold tagged nodes                   pivots | meta | slots
 *   KIND_GAPS   the same, and the widest gap per child    pivots | meta | slots | gaps
 *
 * Slot i covers (pivot[i-1], pivot[i]]; slot 0 begins at the node's min and slot `end` goes to
 * the node's max, which both come from the path above. Invariants:
 *   end < slots of the kind
 *   min <= pivot[0] < pivot[1] < ... < pivot[end-1] < max
 *   pivot[i] == ULONG_MAX for every i >= end      (so a search needs neither end nor max)
 *   slot[i] == NULL, gap[i] == 0 for every i > end
 *   leaf: no two neighbouring slots are NULL, across leaves neither
 *   gap[i] == widest run of indexes without entry below slot i
 *
 * In RCU mode a published inner node changes only in whole slots and gaps. A published leaf may
 * change in place too, one word after the other, so that every single store leads from a leaf that
 * means something to one that does (see inplace.h). Before each such store the version of the leaf
 * is raised, and after the last one; readers that find it changed look again.
 */
#ifndef MT_NODE_H
#define MT_NODE_H

#include <assert.h>
#include <mapletree/maple_tree.h>
#include <stdint.h>

#include "work.h"

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Called through its entry in the global offset table, not through a stub that jumps there. */
#if __has_attribute(noplt)
#define NO_PLT __attribute__((noplt))
#else
#define NO_PLT
#endif

/*
 * Inlines the parts of a fast path into each of its callers. Builds in which branches are counted
 * or stepped through do not optimise, and keep one copy of each part.
 */
#ifdef __OPTIMIZE__
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

#define NODE_BYTES 256

#ifdef MT_TEST_SLOTS /* small nodes: tests reach high trees with few entries */
#define WIDE_SLOTS MT_TEST_SLOTS
#define GAPS_SLOTS MT_TEST_SLOTS
#elif ULONG_MAX > 0xffffffff
#define WIDE_SLOTS 16
#define GAPS_SLOTS 10
#else
#define WIDE_SLOTS 30
#define GAPS_SLOTS 21
#endif
#define WIDE_PIVOTS (WIDE_SLOTS - 1)
#define GAPS_PIVOTS (GAPS_SLOTS - 1)

enum node_kind { KIND_LEAF, KIND_INNER, KIND_GAPS };

/*
 * The meta word: the last slot in use in the lowest bits; whether the leaf is about to leave the
 * tree, or has left it (dead.h); whether its words are being changed (inplace.h); the version.
 * Above it, where a word has 64 bits, how many references there are besides one (share.h).
 */
#define META_END_MASK      0x7ful
#define META_DEAD          0x80ul
#define META_WRITING       0x100ul
#define META_VERSION_SHIFT 9
#define META_VERSION_ONE   (1ul << META_VERSION_SHIFT)
#ifdef MT_TEST_VERSION_BITS /* short versions: tests reach the last one with few writes */
#define META_VERSION_BITS MT_TEST_VERSION_BITS
#else
#define META_VERSION_BITS (32 - META_VERSION_SHIFT)
#endif
#define META_VERSION_MAX (~0ul >> (CHAR_BIT * sizeof(long) - META_VERSION_BITS))

/* What a reader reads of a leaf with one of these bits set holds for that moment only. */
#define META_UNSETTLED (META_DEAD | META_WRITING)

struct node_wide {
	unsigned long pivot[WIDE_PIVOTS];
	unsigned long meta;
	void *slot[WIDE_SLOTS];
#if ULONG_MAX <= 0xffffffff
	unsigned long shares;
#endif
};

struct node_gaps {
	unsigned long pivot[GAPS_PIVOTS];
	unsigned long meta;
	void *slot[GAPS_SLOTS];
	unsigned long gap[GAPS_SLOTS];
#if ULONG_MAX <= 0xffffffff
	unsigned long shares;
#endif
};

struct mt_node {
	union {
		unsigned long pivot[WIDE_PIVOTS]; /* the same place in every kind */
		struct node_wide wide;
		struct node_gaps gaps;
		struct mt_node *next; /* while the node is in a list of free ones */
		unsigned char bytes[NODE_BYTES];
	};
} __attribute__((aligned(NODE_BYTES)));

static_assert(sizeof(struct mt_node) == NODE_BYTES, "a node is four cache lines");
static_assert(WIDE_SLOTS >= 4 && GAPS_SLOTS >= 4, "a split needs room for three new items");
static_assert(GAPS_SLOTS <= WIDE_SLOTS && WIDE_SLOTS < 128, "end and offsets fit a char");

/* ---- tagged words: node | kind << 2 | 2 ------------------------------------------------ */

static inline struct maple_enode *enode_make(struct mt_node *node, enum node_kind kind)
{
	return (struct maple_enode *)((uintptr_t)node | (uintptr_t)kind << 2 | 2);
}

static inline struct mt_node *enode_node(const struct maple_enode *enode)
{
	return (struct mt_node *)((uintptr_t)enode & ~(uintptr_t)(NODE_BYTES - 1));
}

static inline enum node_kind enode_kind(const struct maple_enode *enode)
{
	return (enum node_kind)((uintptr_t)enode >> 2 & 3);
}

/*
 * root_is_node - whether a root word is a tagged node; otherwise it is NULL or a lone entry at 0.
 */
static inline bool root_is_node(const void *root)
{
	return ((uintptr_t)root & 3) == 2;
}

/* enode_is_gaps - whether a root word is a tagged node of KIND_GAPS. */
static inline bool enode_is_gaps(const void *root)
{
	return ((uintptr_t)root & 15) == (KIND_GAPS << 2 | 2);
}

/*
 * entry_fits_root - whether an entry can be stored in the root word without being mistaken for a
 * node.
 */
static inline bool entry_fits_root(const void *entry)
{
	return entry && !root_is_node(entry);
}

/* entry_reserved - an entry that the normal API refuses to store. */
static inline bool entry_reserved(const void *entry)
{
	return xa_is_internal(entry) && (uintptr_t)entry < 4096 && !xa_is_zero(entry);
}

/* ---- fields ---------------------------------------------------------------------------- */

static inline unsigned int kind_slots(enum node_kind kind)
{
	return kind == KIND_GAPS ? GAPS_SLOTS : WIDE_SLOTS;
}

/* kind_min_slots - a node with fewer slots in use is joined with a sibling, if it has one. */
static inline unsigned int kind_min_slots(enum node_kind kind)
{
	return (kind_slots(kind) + 2) / 3;
}

/*
 * leaf_min_slots - the same for leaves of a tree of @height. Where the root is all there is above
 * them, few leaves are cheap, and joining is not.
 */
static inline unsigned int leaf_min_slots(unsigned int height)
{
	unsigned int least = kind_min_slots(KIND_LEAF);

	return height == 2 ? (least + 1) / 2 : least;
}

/* node_meta - the meta word; another tree's writer may be counting references in it. */
static inline unsigned long *node_meta(struct mt_node *node, enum node_kind kind)
{
	return kind == KIND_GAPS ? &node->gaps.meta : &node->wide.meta;
}

/* node_end - the last slot in use; for writers. */
static inline unsigned int node_end(const struct mt_node *node, enum node_kind kind)
{
	const unsigned long *meta = kind == KIND_GAPS ? &node->gaps.meta : &node->wide.meta;

	return __atomic_load_n(meta, __ATOMIC_RELAXED) & META_END_MASK;
}

/* node_set_end - for nodes that no reader can see; makes the reference to it the only one. */
static inline void node_set_end(struct mt_node *node, enum node_kind kind, unsigned int end)
{
	*node_meta(node, kind) = end;
#if ULONG_MAX <= 0xffffffff
	if (kind == KIND_GAPS)
		node->gaps.shares = 0;
	else
		node->wide.shares = 0;
#endif
}

/*
 * read_barrier - loads before it are done before loads after it.
 *
 * gcc warns that its ThreadSanitizer does not understand fences, so it would miss a happens-before
 * relation established by a fence alone. None depends on this one: all loads in the bracket below
 * are atomic, and those of slots are acquire loads. So under ThreadSanitizer a full barrier, which
 * gcc accepts, provides the same order.
 */
static inline void read_barrier(void)
{
#ifdef __SANITIZE_THREAD__
	__sync_synchronize();
#else
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/*
 * leaf_version, leaf_unchanged - a reader's bracket around what it reads of a leaf. If the version
 * at the end equals the one at the beginning, all that was read belongs to one state of the leaf.
 */
static inline unsigned long leaf_version(const struct mt_node *leaf)
{
	return __atomic_load_n(&leaf->wide.meta, __ATOMIC_ACQUIRE);
}

static inline bool leaf_unchanged(const struct mt_node *leaf, unsigned long version)
{
	read_barrier();
	return __atomic_load_n(&leaf->wide.meta, __ATOMIC_RELAXED) == version;
}

static inline void **node_slots(struct mt_node *node, enum node_kind kind)
{
	return kind == KIND_GAPS ? node->gaps.slot : node->wide.slot;
}

static inline unsigned long gap_load(struct mt_node *node, unsigned int offset)
{
	return __atomic_load_n(&node->gaps.gap[offset], __ATOMIC_RELAXED);
}

static inline void gap_set(struct mt_node *node, size_t offset, unsigned long gap)
{
	__atomic_store_n(&node->gaps.gap[offset], gap, __ATOMIC_RELAXED);
}

/*
 * node_pad - make slot @end the last one in use, and fill what follows, up to slot @old_end, as the
 * layout requires. For nodes that no reader can see.
 */
static inline void node_pad(struct mt_node *node, enum node_kind kind, unsigned int end,
			    unsigned int old_end)
{
	void **slot = node_slots(node, kind);
	size_t i;

	/*
	 * Atomic, so that the compiler does not call memset(): usually none, one or two are stored.
	 */
	for (i = end; i < old_end; i++) {
		__atomic_store_n(&node->pivot[i], ULONG_MAX, __ATOMIC_RELAXED);
		__atomic_store_n(&slot[i + 1], NULL, __ATOMIC_RELAXED);
		if (kind == KIND_GAPS)
			gap_set(node, i + 1, 0);
	}
	node_set_end(node, kind, end);
}

/*
 * node_is_valid - the invariants of a node that can be checked in a few loads; mt_check() checks
 * all.
 */
static inline bool node_is_valid(struct mt_node *node, enum node_kind kind)
{
	unsigned int end = node_end(node, kind), last = kind_slots(kind) - 1;

	return end <= last && (end < last ? node->pivot[end] == ULONG_MAX : true) &&
	       node->pivot[last - 1] >= node->pivot[end ? end - 1 : 0] &&
	       (end < 2 || node->pivot[end - 1] > node->pivot[end - 2]) &&
	       (end == last || !node_slots(node, kind)[end + 1]) &&
	       (kind == KIND_LEAF || node_slots(node, kind)[end]);
}

/* slot_load - a slot, as readers load it; pairs with slot_publish(). */
static inline void *slot_load(struct mt_node *node, enum node_kind kind, size_t offset)
{
	return __atomic_load_n(&node_slots(node, kind)[offset], __ATOMIC_ACQUIRE);
}

/* slot_child - a slot of an inner node, as a tagged node. */
static inline struct maple_enode *slot_child(struct mt_node *node, enum node_kind kind,
					     unsigned int offset)
{
	return (struct maple_enode *)slot_load(node, kind, offset);
}

/* slot_publish - the one store that makes a write visible; lock held. */
static inline void slot_publish(struct mt_node *node, enum node_kind kind, size_t offset,
				void *value)
{
	__atomic_store_n(&node_slots(node, kind)[offset], value, __ATOMIC_RELEASE);
}

/* pivot_load - a pivot, as readers load it; pairs with pivot_publish(). */
static inline unsigned long pivot_load(const struct mt_node *node, size_t offset)
{
	return __atomic_load_n(&node->pivot[offset], __ATOMIC_RELAXED);
}

static inline void pivot_publish(struct mt_node *node, size_t offset, unsigned long pivot)
{
	__atomic_store_n(&node->pivot[offset], pivot, __ATOMIC_RELEASE);
}

/* slot_first, slot_last - the bounds of a slot of a node that covers [min, max]. */
static inline unsigned long slot_first(const struct mt_node *node, unsigned int offset,
				       unsigned long min)
{
	return offset ? pivot_load(node, offset - 1) + 1 : min;
}

static inline unsigned long slot_last(const struct mt_node *node, enum node_kind kind,
				      unsigned int offset, unsigned long max)
{
	unsigned long pivot = offset < kind_slots(kind) - 1 ? pivot_load(node, offset) : max;

	return pivot < max ? pivot : max;
}

/* tree_flags - MT_FLAGS_*; a writer may be changing the height in them. */
static inline unsigned int tree_flags(const struct maple_tree *mt)
{
	return __atomic_load_n(&mt->ma_flags, __ATOMIC_RELAXED);
}

/*
 * TREE_SHARED: nodes of the tree may belong to other trees, too (share.h), since it is a snapshot
 * or has been snapshotted. A bit of ma_retrying, so that the writer of a tree without it asks for
 * both in one test; set and cleared under the lock.
 * TREE_STAMPED: it is a snapshot, whose leaves another tree may mark as dead: cursors compare its
 * stamp (watch.h), which is odd while it is being written. A bit of ma_flags besides MT_FLAGS_*.
 * Each is set before the tree gets nodes to share, and may be cleared when it has none.
 * TREE_COUNTED: references to entries are counted (refs.h). Beside TREE_SHARED, for the same reason.
 */
#define TREE_SHARED  0x80000000u
#define TREE_COUNTED 0x40000000u
#define TREE_STAMPED 0x1000u

static inline bool tree_is_shared(const struct maple_tree *mt)
{
	return UNLIKELY(__atomic_load_n(&mt->ma_retrying, __ATOMIC_RELAXED) & TREE_SHARED);
}

static inline bool tree_is_counted(const struct maple_tree *mt)
{
	return UNLIKELY(__atomic_load_n(&mt->ma_retrying, __ATOMIC_RELAXED) & TREE_COUNTED);
}

static inline bool tree_is_stamped(const struct maple_tree *mt)
{
	return UNLIKELY(tree_flags(mt) & TREE_STAMPED);
}

/*
 * tree_changes - announce a change of @mt: raise its stamp. It is raised before the first store of
 * the change, and every store that readers see is a release store; so a thread that sees one of
 * these stores also sees the new stamp. A release store itself: who sees the stamp also sees that
 * the lock was taken. It stays even, or odd. Lock held.
 */
static inline void tree_changes(struct maple_tree *mt)
{
	__atomic_store_n(&mt->ma_writes, mt->ma_writes + 2, __ATOMIC_RELEASE);
}

/*
 * tree_begin_change, tree_end_change - the stamp is odd in between, as it has to be during each
 * change of a tree with TREE_STAMPED.
 */
static inline void tree_begin_change(struct maple_tree *mt)
{
	assert(!(mt->ma_writes & 1));
	__atomic_store_n(&mt->ma_writes, mt->ma_writes + 1, __ATOMIC_RELEASE);
}

static inline void tree_end_change(struct maple_tree *mt)
{
	assert(mt->ma_writes & 1);
	__atomic_store_n(&mt->ma_writes, mt->ma_writes + 1, __ATOMIC_RELEASE);
}

static inline bool tree_tracks_gaps(const struct maple_tree *mt)
{
	return tree_flags(mt) & MT_FLAGS_ALLOC_RANGE;
}

/* inner_kind - the kind of all inner nodes of a tree. */
static inline enum node_kind inner_kind(const struct maple_tree *mt)
{
	return tree_tracks_gaps(mt) ? KIND_GAPS : KIND_INNER;
}

/* A node and what is below it, and the indexes it covers. */
struct subtree {
	struct maple_enode *enode;
	unsigned long min;
	unsigned long max;
};

/* root_load - the root word, as readers load it; pairs with publish_root(). */
static inline void *root_load(const struct maple_tree *mt)
{
	return __atomic_load_n(&mt->ma_root, __ATOMIC_ACQUIRE);
}

#endif
