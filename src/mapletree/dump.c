/* SPDX-License-Identifier: MIT */
/*
 * dump.c - print a tree or a cursor, and count what a tree is made of.
 */
#include <stdio.h>

#include "share.h"

/* Depth and format of what is printed. */
struct printer {
	enum mt_dump_format format;
	unsigned int depth;
};

static void print_range(struct printer p, unsigned long first, unsigned long last)
{
	fprintf(stderr, "%*s", (int)(2 * p.depth), "");
	fprintf(stderr, p.format == mt_dump_hex ? "%#lx-%#lx: " : "%lu-%lu: ", first, last);
}

static void print_entry(struct printer p, const void *entry, unsigned long first,
			unsigned long last)
{
	print_range(p, first, last);
	if (!entry)
		fprintf(stderr, "NULL\n");
	else if (xa_is_value(entry))
		fprintf(stderr, "value %lu\n", xa_to_value(entry));
	else if (xa_is_zero(entry))
		fprintf(stderr, "zero entry\n");
	else
		fprintf(stderr, "%p\n", entry);
}

static void print_node(struct printer p, struct maple_enode *enode, unsigned long min,
		       unsigned long max)
{
	static const char *const names[] = { "leaf", "inner", "inner with gaps" };
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int end = node_end(node, kind);
	unsigned int i;

	print_range(p, min, max);
	fprintf(stderr, "%s %p, %u slots", names[kind], (void *)node, end + 1);
	for (i = 0; kind == KIND_GAPS && i <= end; i++)
		fprintf(stderr, "%s%#lx", i ? " " : ", gaps ", gap_load(node, i));
	fprintf(stderr, "\n");
	p.depth++;
	for (i = 0; i <= end; i++) {
		unsigned long first = slot_first(node, i, min);
		unsigned long last = slot_last(node, kind, i, max);

		if (kind == KIND_LEAF)
			print_entry(p, slot_load(node, kind, i), first, last);
		else
			print_node(p, slot_child(node, kind, i), first, last);
	}
}

void mt_dump(const struct maple_tree *mt, enum mt_dump_format format)
{
	struct printer p = { format, 0 };
	void *root = root_load(mt);

	fprintf(stderr, "maple_tree %p: flags %#x, height %u, root %p\n", (const void *)mt,
		mt->ma_flags, mt_height(mt), root);
	if (root_is_node(root))
		print_node(p, root, 0, ULONG_MAX);
	else if (root)
		print_entry(p, root, 0, 0);
}

void mas_dump(const struct ma_state *mas)
{
	static const char *const names[] = { "active", "start", "root", "none", "pause",
					     "overflow", "underflow", "error" };

	fprintf(stderr,
		"ma_state %p: tree %p, index %#lx, last %#lx, %s, node %p, min %#lx, max %#lx, "
		"offset %u of %u, reserve %u\n",
		(const void *)mas, (void *)mas->tree, mas->index, mas->last, names[mas->status],
		(void *)mas->node, mas->min, mas->max, mas->offset, mas->end, mas->reserve_count);
}

/* @shared: a node above belongs to other trees, too. */
static void count_node(struct mt_statistics *stats, struct maple_enode *enode,
		       unsigned int level, bool shared)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i;

	shared |= node_shares(node, kind) > 0;
	stats->shared += shared;
	stats->nodes++;
	stats->leaves += kind == KIND_LEAF;
	stats->level[level].nodes++;
	stats->level[level].used += node_end(node, kind) + 1;
	stats->level[level].slots += kind_slots(kind);
	for (i = 0; i <= node_end(node, kind); i++) {
		if (kind != KIND_LEAF)
			count_node(stats, slot_child(node, kind, i), level - 1, shared);
		else if (slot_load(node, kind, i))
			stats->entries++;
		else
			stats->gaps++;
	}
}

void mt_get_statistics(struct maple_tree *mt, struct mt_statistics *stats)
{
	void *root = root_load(mt);

	*stats = (struct mt_statistics){ .height = mt_height(mt) };
	if (root_is_node(root)) {
		count_node(stats, root, stats->height - 1, false);
	} else {
		stats->entries = root != NULL;
		stats->gaps = 1;
	}
	stats->bytes = stats->nodes * NODE_BYTES;
}
