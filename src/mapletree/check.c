/* SPDX-License-Identifier: MIT */
/*
 * check.c - check the invariants of a whole tree and say which one is broken.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gap.h"

static _Thread_local char reason_text[200];

/* State of the walk over the tree. */
struct audit {
	const struct maple_tree *mt;
	unsigned int height;
	bool after_gap; /* the range before was a gap */
};

__attribute__((format(printf, 1, 2))) static bool broken(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason_text, sizeof(reason_text), format, args);
	va_end(args);
	return false;
}

static bool check_pivots(struct mt_node *node, enum node_kind kind, unsigned long min,
			 unsigned long max)
{
	unsigned int end = node_end(node, kind);
	unsigned long first = min;
	unsigned int i;

	if (end >= kind_slots(kind))
		return broken("node %p: end %u past its %u slots", (void *)node, end,
			      kind_slots(kind));
	for (i = 0; i < end; i++) {
		if (node->pivot[i] < first || node->pivot[i] >= max)
			return broken("node %p: pivot %u = %#lx outside %#lx..%#lx", (void *)node,
				      i, node->pivot[i], first, max);
		first = node->pivot[i] + 1;
	}
	for (; i < kind_slots(kind) - 1; i++)
		if (node->pivot[i] != ULONG_MAX)
			return broken("node %p: pivot %u = %#lx past the end is not the maximum",
				      (void *)node, i, node->pivot[i]);
	return true;
}

static bool check_unused(struct mt_node *node, enum node_kind kind)
{
	unsigned int i;

	for (i = node_end(node, kind) + 1; i < kind_slots(kind); i++) {
		if (slot_load(node, kind, i))
			return broken("node %p: slot %u past the end is not NULL", (void *)node, i);
		if (kind == KIND_GAPS && gap_load(node, i))
			return broken("node %p: gap %u past the end is not 0", (void *)node, i);
	}
	return true;
}

static bool check_leaf(struct audit *audit, struct mt_node *leaf)
{
	unsigned int i;

	if (leaf_version(leaf) & META_DEAD && !tree_is_stamped(audit->mt))
		return broken("leaf %p: marked as dead, but in the tree", (void *)leaf);
	for (i = 0; i <= node_end(leaf, KIND_LEAF); i++) {
		bool gap = !leaf->wide.slot[i];

		if (gap && audit->after_gap)
			return broken("leaf %p: slot %u is a gap that should be joined with the "
				      "one before", (void *)leaf, i);
		audit->after_gap = gap;
	}
	return true;
}

static bool check_node(struct audit *audit, struct maple_enode *enode, unsigned int level,
		       unsigned long min, unsigned long max);

static bool check_child(struct audit *audit, struct mt_node *node, enum node_kind kind,
			unsigned int i, unsigned int level, unsigned long first,
			unsigned long last)
{
	struct maple_enode *child = slot_child(node, kind, i);
	unsigned long widest;

	if (!root_is_node(child) || (uintptr_t)child < 4096)
		return broken("node %p: slot %u = %p is no node", (void *)node, i, (void *)child);
	if (!check_node(audit, child, level + 1, first, last))
		return false;
	if (kind != KIND_GAPS)
		return true;
	widest = gap_widest(enode_node(child), enode_kind(child), first, last);
	if (gap_load(node, i) != widest)
		return broken("node %p: gap %u is %#lx, but the widest below is %#lx", (void *)node,
			      i, gap_load(node, i), widest);
	return true;
}

static bool check_node(struct audit *audit, struct maple_enode *enode, unsigned int level,
		       unsigned long min, unsigned long max)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i, end;

	if (kind != (level == audit->height ? KIND_LEAF : inner_kind(audit->mt)))
		return broken("node %p at level %u of %u has kind %d", (void *)node, level,
			      audit->height, kind);
	if (!check_pivots(node, kind, min, max) || !check_unused(node, kind))
		return false;
	if (kind == KIND_LEAF)
		return check_leaf(audit, node);
	end = node_end(node, kind);
	for (i = 0; i <= end; i++)
		if (!check_child(audit, node, kind, i, level, slot_first(node, i, min),
				 slot_last(node, kind, i, max)))
			return false;
	return true;
}

static bool check_tree(struct maple_tree *mt)
{
	struct audit audit = { mt, mt_height(mt), false };
	void *root = root_load(mt);
	struct mt_node *leaf;

	if (!root_is_node(root)) {
		if (audit.height)
			return broken("height %u, but the root is no node", audit.height);
		return true;
	}
	if (!audit.height)
		return broken("height 0, but the root is a node");
	if (!check_node(&audit, root, 1, 0, ULONG_MAX))
		return false;
	leaf = enode_node(root);
	if (audit.height > 1)
		return node_end(leaf, inner_kind(mt)) ? true : broken("the root has one child");
	if (node_end(leaf, KIND_LEAF) == 0 && !leaf->wide.slot[0])
		return broken("the tree holds nothing, but has a node");
	if (node_end(leaf, KIND_LEAF) == 1 && leaf->wide.pivot[0] == 0 && !leaf->wide.slot[1] &&
	    entry_fits_root(leaf->wide.slot[0]))
		return broken("a lone entry at 0 stands in a node");
	return true;
}

bool mt_check(struct maple_tree *mt, const char **reason)
{
	bool sound = check_tree(mt);

	if (reason)
		*reason = sound ? "" : reason_text;
	return sound;
}

void mt_validate(struct maple_tree *mt)
{
	const char *reason;

	if (mt_check(mt, &reason))
		return;
	mt_dump(mt, mt_dump_hex);
	fprintf(stderr, "mapletree: invariant broken: %s\n", reason);
	abort();
}
