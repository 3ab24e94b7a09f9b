/* SPDX-License-Identifier: MIT */
/*
 * sharing.c - snapshots, and references to entries: the operation, the count of each entry, and a
 * census of all nodes when no grace period is awaited.
 */
#include "world.h"

#include <errno.h>

#include "refs.h"
#include "share.h"

/* ---- references to entries ------------------------------------------------------------------ */

#define COUNTS (1 << 16) /* more than entries are made in a run */

/* A count of a former run is none: so the table need not be cleared. */
static struct count {
	const void *entry;
	unsigned long run;
	long references;
	long slots; /* that hold it: for the census */
} counts[COUNTS], *met[COUNTS]; /* met[0 .. met_count - 1]: those of this run */

static size_t met_count;
static unsigned long run;
static struct world *counted_world;

static struct count *count_of(const void *entry)
{
	size_t at = (size_t)((uintptr_t)entry * UINT64_C(0x9e3779b97f4a7c15) >> (64 - 16));

	while (counts[at].run == run && counts[at].entry != entry)
		at = (at + 1) % COUNTS;
	if (counts[at].run != run) {
		counts[at] = (struct count){ entry, run, 0, 0 };
		met[met_count++] = &counts[at];
	}
	return &counts[at];
}

static void get(void *entry)
{
	count_of(entry)->references++;
}

static void put(void *entry)
{
	if (count_of(entry)->references-- <= 0)
		fail(counted_world, "entry %p was put without a reference", entry);
}

const struct mt_entry_ops sharing_ops = { get, put };

void sharing_open(struct world *world)
{
	counted_world = world;
	met_count = 0;
	run++;
}

void sharing_expect_alive(struct world *world, const struct tree *tree, const void *entry)
{
	if (tree->counted && refs_counts(entry) && count_of(entry)->references <= 0)
		fail(world, "a reader holds entry %p, to which nobody refers", entry);
}

/* ---- the census ------------------------------------------------------------------------------ */

#define NODES (1 << 15)

static struct seen {
	const struct maple_enode *enode;
	unsigned long census;
	unsigned long words;
} nodes[NODES], *seen[NODES]; /* seen[0 .. seen_count - 1]: those of this census */

static size_t seen_count;
static unsigned long census;

static struct seen *seen_of(const struct maple_enode *enode)
{
	size_t at = (uintptr_t)enode / NODE_BYTES % NODES;

	while (nodes[at].census == census && nodes[at].enode != enode)
		at = (at + 1) % NODES;
	if (nodes[at].census != census) {
		nodes[at] = (struct seen){ enode, census, 0 };
		seen[seen_count++] = &nodes[at];
	}
	return &nodes[at];
}

static void count_slot(const struct tree *tree, const void *entry)
{
	if (tree->counted && refs_counts(entry))
		count_of(entry)->slots++;
}

static void count_words(const struct tree *tree, struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);

	if (seen_of(enode)->words++)
		return;
	for (unsigned int i = 0; i <= node_end(node, kind); i++)
		if (kind == KIND_LEAF)
			count_slot(tree, node->wide.slot[i]);
		else
			count_words(tree, slot_child(node, kind, i));
}

void sharing_census(struct world *world)
{
	census++;
	seen_count = 0;
	for (size_t i = 0; i < met_count; i++)
		met[i]->slots = 0;
	for (unsigned int i = 0; i < TREES; i++) {
		void *root = world->tree[i].mt.ma_root;

		if (root_is_node(root))
			count_words(&world->tree[i], root);
		else
			count_slot(&world->tree[i], root);
	}
	for (size_t i = 0; i < seen_count; i++) {
		const struct maple_enode *enode = seen[i]->enode;

		expect_number(world, "references to a node",
			      node_shares(enode_node(enode), enode_kind(enode)) + 1,
			      seen[i]->words);
	}
	for (size_t i = 0; i < met_count; i++)
		if (met[i]->references != met[i]->slots)
			fail(world, "entry %p has %ld references and stands in %ld slots",
			     met[i]->entry, met[i]->references, met[i]->slots);
}

/* ---- the operation --------------------------------------------------------------------------- */

/* Into a tree made for it, mostly; else into any, which may be refused. */
void op_snapshot(struct world *world, struct tree *tree)
{
	unsigned int how = input_byte(&world->in);
	struct tree *to = &world->tree[how % TREES];
	bool locked = how & 4;
	int got, expected = 0;

	if (how >> 4 && to != tree)
		world_renew(world, how % TREES, tree->flags, tree->own_memory, tree->counted);
	record(world, tree, locked ? "mas_snapshot" : "mtree_snapshot",
	       (unsigned long)(to - world->tree), 0, 0, NULL);
	if (to == tree || !oracle_empty(&to->oracle) || to->flags != tree->flags ||
	    to->counted != tree->counted || to->own_memory != tree->own_memory)
		expected = -EINVAL;
	heap_deny(&world->heap);
	if (locked) {
		MA_STATE(mas, &tree->mt, 0, 0);

		mtree_lock(&tree->mt);
		if (to != tree)
			mtree_lock(&to->mt);
		got = mas_snapshot(&mas, &to->mt, GFP_KERNEL);
		if (to != tree)
			mtree_unlock(&to->mt);
		mtree_unlock(&tree->mt);
	} else {
		got = mtree_snapshot(&tree->mt, &to->mt, GFP_KERNEL);
	}
	heap_allow(&world->heap);
	if (got != expected)
		fail(world, "returned %d, expected %d", got, expected);
	if (!expected)
		oracle_copy(&to->oracle, &tree->oracle);
	if (to != tree)
		tree_changed(world, to, NULL);
	tree_changed(world, tree, NULL); /* what its cursors have reserved was for less */
}
