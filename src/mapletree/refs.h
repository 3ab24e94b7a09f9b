/* SPDX-License-Identifier: MIT */
/*
 * refs.h - references to entries, in trees with mt_set_entry_ops() (TREE_COUNTED).
 *
 *   references to an entry == slots of leaves, and root words, that hold it
 *
 * A leaf that belongs to several trees has one reference for each of its slots. The reference
 * belongs to the content, not to the place: where a write only moves an entry to another node, or
 * to a copy of its leaf that replaces it, nothing is counted. What a write changes is known from
 * its plan (own.c): the slots that it replaces, and what it puts there. References are taken before
 * anything becomes visible. They are dropped when nothing of the write can fail any more, and like
 * nodes: in RCU mode after a grace period. Until then a reader may still find the entry, in a leaf
 * that was replaced, too.
 */
#ifndef MT_REFS_H
#define MT_REFS_H

#include "node.h"

/*
 * struct mt_refs - what a write changes: @gets references are taken, @puts are dropped. At most the
 * slots of two leaves are replaced; what is dropped with all below it is not listed here.
 */
struct mt_refs {
	unsigned int gets;
	unsigned int puts;
	void *get[3];
	void *put[2 * WIDE_SLOTS];
};

/* refs_counts - whether references to @entry are counted. */
static inline bool refs_counts(const void *entry)
{
	return entry && !xa_is_zero(entry);
}

static inline void refs_get(const struct mt_entry_ops *ops, void *entry)
{
	if (refs_counts(entry))
		ops->get(entry);
}

static inline void refs_put(const struct mt_entry_ops *ops, void *entry)
{
	if (refs_counts(entry))
		ops->put(entry);
}

/* refs_get_leaf, refs_put_leaf - for all slots of a leaf. */
static inline void refs_get_leaf(const struct mt_entry_ops *ops, const struct mt_node *leaf)
{
	unsigned int i, end = node_end(leaf, KIND_LEAF);

	for (i = 0; i <= end; i++)
		refs_get(ops, leaf->wide.slot[i]);
}

static inline void refs_put_leaf(const struct mt_entry_ops *ops, const struct mt_node *leaf)
{
	unsigned int i, end = node_end(leaf, KIND_LEAF);

	for (i = 0; i <= end; i++)
		refs_put(ops, leaf->wide.slot[i]);
}

/* refs_come - note that a slot gets @entry. */
static inline void refs_come(struct mt_refs *refs, void *entry)
{
	if (refs_counts(entry))
		refs->get[refs->gets++] = entry;
}

/* refs_go - note that a slot loses @entry. What has come cancels it. */
static inline void refs_go(struct mt_refs *refs, void *entry)
{
	unsigned int i;

	if (!refs_counts(entry))
		return;
	for (i = 0; i < refs->gets; i++)
		if (refs->get[i] == entry) {
			refs->get[i] = refs->get[--refs->gets];
			return;
		}
	refs->put[refs->puts++] = entry;
}

#endif
