/* SPDX-License-Identifier: MIT */
/*
 * copy.c - copy a tree node by node. Compiled for each instruction set, as descend.c is.
 *
 * A node holds no pointer upwards and nothing that depends on its address, so a copy of its bytes
 * with the children exchanged is a node of the new tree. Nodes are copied depth first, in the order
 * of a later walk. While the leaves below one node are copied, those below the next node are
 * prefetched.
 */
#include "copy.h"

#include <string.h>

#include "pool.h"
#include "retire.h"
#include "search.h"
#include "share.h"
#include "variants.h"

#ifdef MT_ISA
struct maple_enode *VARIANT(copy_tree)(const struct mt_allocator *alloc, struct maple_enode *root,
				       bool shared);
#endif

#define LINE_BYTES 64

static void prefetch_node(const struct maple_enode *enode)
{
	const unsigned char *bytes = enode_node(enode)->bytes;
	unsigned int at;

	for (at = 0; at < NODE_BYTES; at += LINE_BYTES)
		__builtin_prefetch(&bytes[at]);
}

/* Allocates @count blocks. On failure it allocates none and returns false. */
static bool alloc_many(const struct mt_allocator *alloc, struct mt_node **block,
		       unsigned int count)
{
	unsigned int i;

	if (!alloc && slab_alloc_many(block, count))
		return true;
	for (i = count; i-- > 0;) {
		block[i] = pool_alloc(alloc);
		if (block[i])
			continue;
		while (++i < count)
			pool_free(alloc, block[i]);
		return false;
	}
	return true;
}

#if defined(SEARCH_VECTORS) && defined(__AVX512F__)

static inline void copy_bytes(struct mt_node *copy, const struct mt_node *node)
{
	unsigned int at;

#pragma GCC unroll 4
	for (at = 0; at < NODE_BYTES; at += 64)
		_mm512_store_si512(&copy->bytes[at], _mm512_load_si512(&node->bytes[at]));
}

#else

/*
 * Lets the C library copy, which knows the widest stores of this processor. For a size that it
 * knows, the compiler would emit 16-byte moves, which take half as long again.
 */
static inline void copy_bytes(struct mt_node *copy, const struct mt_node *node)
{
	size_t bytes = sizeof(*node);

	__asm__("" : "+r"(bytes));
	memcpy(copy, node, bytes);
}

#endif

/* @shared: the source may belong to several trees. */
static ALWAYS_INLINE void copy_node(struct mt_node *copy, struct mt_node *node, enum node_kind kind,
				    bool shared)
{
	if (UNLIKELY(shared))
		node_copy_shared(copy, node, kind);
	else
		copy_bytes(copy, node);
}

/* Frees a copy of which only the first @children children have been copied. */
static void drop_partial(const struct mt_allocator *alloc, struct mt_node *copy,
			 enum node_kind kind, unsigned int children)
{
	while (children--)
		retire_free_subtree(alloc, slot_child(copy, kind, children));
	pool_free(alloc, copy);
}

/*
 * Replaces the leaves that @copy shares with its source, @node, by copies. @ahead is the source of
 * the node after it, or NULL. False: not enough memory, nothing was replaced.
 */
static bool copy_leaves(const struct mt_allocator *alloc, struct mt_node *copy,
			struct mt_node *node, enum node_kind kind, struct maple_enode *ahead,
			bool shared)
{
	void **next = ahead ? node_slots(enode_node(ahead), kind) : NULL;
	void **from = node_slots(node, kind), **to = node_slots(copy, kind);
	unsigned int i, count = node_end(node, kind) + 1;
	struct mt_node *leaf[WIDE_SLOTS];

	if (!alloc_many(alloc, leaf, count))
		return false;
	for (i = 0; i < count; i++) {
		if (next && next[i])
			prefetch_node(next[i]);
		copy_node(leaf[count - 1 - i], enode_node(from[i]), KIND_LEAF, shared);
		to[i] = enode_make(leaf[count - 1 - i], KIND_LEAF);
	}
	return true;
}

/* Copies the inner node @enode and all below it. */
static struct maple_enode *copy_inner(const struct mt_allocator *alloc, struct maple_enode *enode,
				      struct maple_enode *ahead, bool shared)
{
	enum node_kind kind = enode_kind(enode);
	struct mt_node *node = enode_node(enode), *copy = pool_alloc(alloc);
	void **from = node_slots(node, kind);
	unsigned int i, end = node_end(node, kind);

	if (!copy)
		return NULL;
	copy_node(copy, node, kind, shared);
	if (enode_kind(from[0]) == KIND_LEAF) {
		if (copy_leaves(alloc, copy, node, kind, ahead, shared))
			return enode_make(copy, kind);
		pool_free(alloc, copy);
		return NULL;
	}
	for (i = 0; i <= end; i++)
		prefetch_node(from[i]);
	for (i = 0; i <= end; i++) {
		struct maple_enode *next = i < end ? from[i + 1] : NULL;
		struct maple_enode *child = copy_inner(alloc, from[i], next, shared);

		if (!child) {
			drop_partial(alloc, copy, kind, i);
			return NULL;
		}
		node_slots(copy, kind)[i] = child;
	}
	return enode_make(copy, kind);
}

struct maple_enode *VARIANT(copy_tree)(const struct mt_allocator *alloc, struct maple_enode *root,
				       bool shared)
{
	struct mt_node *leaf;

	if (enode_kind(root) != KIND_LEAF)
		return copy_inner(alloc, root, NULL, shared);
	leaf = pool_alloc(alloc);
	if (!leaf)
		return NULL;
	copy_node(leaf, enode_node(root), KIND_LEAF, shared);
	return enode_make(leaf, KIND_LEAF);
}
