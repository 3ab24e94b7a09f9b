/* SPDX-License-Identifier: MIT */
/*
 * path.c - walk down for a write, recording the way to its first and to its last index.
 */
#include "path.h"

#include "gap.h"
#include "search.h"

/* A leaf with the content of a root that is no node: maybe an entry at 0, then a gap. */
static void make_virtual_leaf(struct mt_path *path, void *root)
{
	struct mt_node *leaf = &path->scratch;
	unsigned int i;

	for (i = 0; i < WIDE_SLOTS - 1; i++)
		leaf->wide.pivot[i] = ULONG_MAX;
	leaf->wide.slot[0] = root;
	leaf->wide.slot[1] = NULL;
	node_set_end(leaf, KIND_LEAF, root ? 1 : 0);
	if (root)
		leaf->wide.pivot[0] = 0;
}

static unsigned long step_last(const struct mt_step *s)
{
	return slot_last(s->node, s->kind, s->offset, s->max);
}

void path_walk(struct mt_path *path, struct maple_tree *mt, unsigned long first,
	       unsigned long last)
{
	struct maple_enode *root = mt->ma_root;
	struct mt_step *fork;
	unsigned int i;

	WORK(WALK);
	path->virtual_leaf = !root_is_node(root);
	if (path->virtual_leaf) {
		make_virtual_leaf(path, root);
		root = enode_make(&path->scratch, KIND_LEAF);
	}
	path->depth = path_descend(path->left, 0, (struct place){ root, 0, ULONG_MAX }, first);

	i = path->depth - 1;
	if (path->left[i].max < last) /* not the common case of a write within a leaf */
		for (i = 0; step_last(&path->left[i]) >= last; i++)
			;
	path->parted = i;
	fork = &path->right[i];
	*fork = path->left[i];
	if (step_last(fork) >= last)
		return;
	fork->offset = (unsigned char)node_search(fork->node, fork->kind, last);
	if (fork->kind != KIND_LEAF)
		path_descend(path->right, i + 1,
			     (struct place){ slot_child(fork->node, fork->kind, fork->offset),
					     slot_first(fork->node, fork->offset, fork->min),
					     step_last(fork) },
			     last);
}

/* The bounds of the gap at @index, if there is one. */
static bool gap_at(struct maple_tree *mt, unsigned long index, unsigned long *first,
		   unsigned long *last)
{
	struct mt_step way[MAPLE_HEIGHT_MAX];
	unsigned int depth = path_descend(way, 0, (struct place){ mt->ma_root, 0, ULONG_MAX },
					  index);
	const struct mt_step *leaf = &way[depth - 1];

	WORK(WALK);
	*first = slot_first(leaf->node, leaf->offset, leaf->min);
	*last = step_last(leaf);
	return !leaf->node->wide.slot[leaf->offset];
}

bool path_gap_at(struct maple_tree *mt, unsigned long index)
{
	unsigned long first, last;

	return gap_at(mt, index, &first, &last);
}

void path_update_gaps(struct maple_tree *mt, unsigned long index, unsigned int level)
{
	struct mt_path path;

	path_walk(&path, mt, index, index);
	gap_update_path(&path, path.depth - 1 - level);
}

/* Both sides return whether the path has to be walked again. */
static bool join_left(struct mt_step *leaf, struct maple_tree *mt, unsigned long *first)
{
	unsigned long gap_first, gap_last, slot_start = slot_first(leaf->node, leaf->offset,
								   leaf->min);

	if (!leaf->node->wide.slot[leaf->offset]) {
		*first = slot_start;
		return false;
	}
	if (slot_start < *first || *first == 0)
		return false;
	if (leaf->offset) {
		if (!leaf->node->wide.slot[leaf->offset - 1]) {
			leaf->offset--;
			*first = slot_first(leaf->node, leaf->offset, leaf->min);
		}
		return false;
	}
	if (!gap_at(mt, *first - 1, &gap_first, &gap_last))
		return false;
	*first = gap_first;
	return true;
}

static bool join_right(struct mt_step *leaf, struct maple_tree *mt, unsigned long *last)
{
	unsigned long gap_first, gap_last;

	if (!leaf->node->wide.slot[leaf->offset]) {
		*last = step_last(leaf);
		return false;
	}
	if (step_last(leaf) > *last || *last == ULONG_MAX)
		return false;
	if (leaf->offset < leaf->end) {
		if (!leaf->node->wide.slot[leaf->offset + 1]) {
			leaf->offset++;
			*last = step_last(leaf);
		}
		return false;
	}
	if (!gap_at(mt, *last + 1, &gap_first, &gap_last))
		return false;
	*last = gap_last;
	return true;
}

void path_join_gaps(struct mt_path *path, struct maple_tree *mt, unsigned long *first,
		    unsigned long *last)
{
	unsigned int leaf = path->depth - 1;
	bool walk_again = join_left(path_left(path, leaf), mt, first);

	walk_again |= join_right(path_right(path, leaf), mt, last);
	if (walk_again)
		path_walk(path, mt, *first, *last);
}

unsigned int path_dropped_children(struct mt_path *path, unsigned int step)
{
	const struct mt_step *left = path_left(path, step);
	const struct mt_step *right = path_right(path, step);

	if (left->kind == KIND_LEAF)
		return 0;
	if (step <= path->parted)
		return right->offset > left->offset ? right->offset - left->offset - 1u : 0;
	return (unsigned int)(left->end - left->offset + right->offset);
}
