/* SPDX-License-Identifier: MIT */
/*
 * shape.c - trees as a short string of bytes and back, and their content as flat lists.
 */
#include "shape.h"

#include <errno.h>
#include <string.h>

#include "dead.h"
#include "gap.h"
#include "node.h"
#include "publish.h"
#include "share.h"

/* Bits of the byte that names a node's end; or, for one that was there before, its number. */
#define BYTE_DEAD 64
#define BYTE_SEEN 128

/* Of the byte behind a tree's height. */
#define TREE_BYTE_SHARED  1
#define TREE_BYTE_STAMPED 2

enum { CLASS_GAP, CLASS_PLAIN, CLASS_ZERO };

static unsigned char entry_class(const void *entry)
{
	return !entry ? CLASS_GAP : xa_is_zero(entry) ? CLASS_ZERO : CLASS_PLAIN;
}

static void *class_entry(unsigned char class, unsigned int point)
{
	return class == CLASS_GAP     ? NULL
	       : class == CLASS_ZERO  ? XA_ZERO_ENTRY
				      : xa_mk_value(100 + point);
}

/* ---- taking ---------------------------------------------------------------------------- */

struct taker {
	struct shape *shape;
	struct listing *listing;
	unsigned int points;
	struct maple_enode *seen[SHAPE_NODES];
	unsigned int nodes;
};

static bool put(struct taker *t, unsigned char byte)
{
	if (t->shape->length == SHAPE_MAX)
		return false;
	t->shape->byte[t->shape->length++] = byte;
	return true;
}

/* Notes a range that ends at @last in the listing. */
static bool list_range(struct taker *t, unsigned long last, void *entry)
{
	struct listing *listing = t->listing;

	if (last == ULONG_MAX)
		last = t->points - 1;
	if (last >= t->points || listing->ranges == POINTS_MAX)
		return false;
	listing->range[listing->ranges].last = (unsigned char)last;
	listing->range[listing->ranges++].entry = entry;
	return true;
}

/* The same, in the string as well. */
static bool put_range(struct taker *t, unsigned long last, void *entry)
{
	return list_range(t, last, entry) && put(t, entry_class(entry));
}

/* A node that another tree has, too: its content is in the string already. */
static bool list_node(struct taker *t, struct maple_enode *enode, unsigned long max)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i;

	for (i = 0; i <= node_end(node, kind); i++) {
		unsigned long last = slot_last(node, kind, i, max);

		if (kind == KIND_LEAF ? !list_range(t, last, slot_load(node, kind, i))
				      : !list_node(t, slot_child(node, kind, i), last))
			return false;
	}
	return true;
}

static unsigned int seen_at(const struct taker *t, const struct maple_enode *enode)
{
	unsigned int i = 0;

	while (i < t->nodes && t->seen[i] != enode)
		i++;
	return i;
}

static bool take_node(struct taker *t, struct maple_enode *enode, unsigned long max)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int end = node_end(node, kind);
	unsigned int i = seen_at(t, enode);
	bool dead = kind == KIND_LEAF && leaf_version(node) & META_DEAD;

	if (i < t->nodes)
		return put(t, (unsigned char)(BYTE_SEEN + i)) && list_node(t, enode, max);
	if (t->nodes == SHAPE_NODES || !put(t, (unsigned char)(end | (dead ? BYTE_DEAD : 0))))
		return false;
	t->seen[t->nodes++] = enode;
	for (i = 0; i < end; i++)
		if (node->pivot[i] >= t->points || !put(t, (unsigned char)node->pivot[i]))
			return false;
	for (i = 0; i <= end; i++) {
		unsigned long last = slot_last(node, kind, i, max);

		if (kind == KIND_LEAF ? !put_range(t, last, slot_load(node, kind, i))
				      : !take_node(t, slot_child(node, kind, i), last))
			return false;
	}
	return true;
}

static bool take_tree(struct taker *t, const struct maple_tree *mt)
{
	void *root = root_load(mt);
	unsigned char flags = (tree_is_shared(mt) ? TREE_BYTE_SHARED : 0) |
			      (tree_is_stamped(mt) ? TREE_BYTE_STAMPED : 0);

	t->listing->ranges = 0;
	if (!put(t, (unsigned char)mt_height(mt)) || !put(t, flags))
		return false;
	if (root_is_node(root))
		return take_node(t, root, ULONG_MAX);
	return (!root || put_range(t, 0, root)) && put_range(t, ULONG_MAX, NULL);
}

bool shape_take_all(struct shape *shape, struct listing *listing, struct maple_tree *const *mt,
		    unsigned int trees, unsigned int points)
{
	struct taker t = { .shape = shape, .points = points };
	unsigned int i;

	shape->length = 0;
	for (i = 0; i < trees; i++) {
		t.listing = &listing[i];
		if (!take_tree(&t, mt[i]))
			return false;
	}
	return true;
}

bool shape_take(struct shape *shape, struct listing *listing, struct maple_tree *mt,
		unsigned int points)
{
	return shape_take_all(shape, listing, &mt, 1, points);
}

/* ---- making ---------------------------------------------------------------------------- */

struct maker {
	const unsigned char *byte;
	struct maple_tree *mt;
	struct maple_enode *made[SHAPE_NODES];
	unsigned int nodes;
};

static struct maple_enode *make_node(struct maker *m, unsigned int level, unsigned long min,
				     unsigned long max)
{
	const struct mt_allocator *alloc = m->mt->ma_alloc;
	enum node_kind kind = level ? inner_kind(m->mt) : KIND_LEAF;
	unsigned int i, byte = *m->byte++, end = byte & (BYTE_DEAD - 1);
	struct mt_node *node;

	if (byte & BYTE_SEEN) {
		node_share(enode_node(m->made[byte - BYTE_SEEN]), kind);
		return m->made[byte - BYTE_SEEN];
	}
	node = alloc->alloc(alloc->ctx, NODE_BYTES, NODE_BYTES);
	if (!node)
		return NULL;
	m->made[m->nodes++] = enode_make(node, kind);
	memset(node, 0, sizeof(*node));
	for (i = 0; i < kind_slots(kind) - 1; i++)
		node->pivot[i] = i < end ? *m->byte++ : ULONG_MAX;
	node_set_end(node, kind, end);
	if (byte & BYTE_DEAD)
		dead_mark(node);
	for (i = 0; i <= end; i++) {
		unsigned long first = slot_first(node, i, min);
		unsigned long last = slot_last(node, kind, i, max);

		if (!level) {
			node_slots(node, kind)[i] = class_entry(*m->byte++, (unsigned int)first);
			continue;
		}
		node_slots(node, kind)[i] = make_node(m, level - 1, first, last);
		if (!node_slots(node, kind)[i])
			return NULL; /* the rest leaks: the test ends here */
		if (kind == KIND_GAPS)
			gap_set(node, i, gap_widest(enode_node(slot_child(node, kind, i)),
						    enode_kind(slot_child(node, kind, i)), first,
						    last));
	}
	return enode_make(node, kind);
}

static int make_tree(struct maker *m)
{
	unsigned int height = *m->byte++, flags = *m->byte++;
	void *root;

	if (flags & TREE_BYTE_SHARED)
		m->mt->ma_retrying |= TREE_SHARED;
	if (flags & TREE_BYTE_STAMPED)
		m->mt->ma_flags |= TREE_STAMPED;
	if (height) {
		root = make_node(m, height - 1, 0, ULONG_MAX);
		if (!root)
			return -ENOMEM;
	} else {
		root = class_entry(*m->byte++, 0);
		m->byte += root != NULL; /* the gap behind it */
	}
	publish_root(m->mt, root, height);
	return 0;
}

int shape_make_all(const struct shape *shape, struct maple_tree *const *mt, unsigned int trees)
{
	struct maker m = { .byte = shape->byte };
	unsigned int i;
	int error = 0;

	for (i = 0; i < trees && !error; i++) {
		m.mt = mt[i];
		error = make_tree(&m);
	}
	return error;
}

int shape_make(const struct shape *shape, struct maple_tree *mt)
{
	return shape_make_all(shape, &mt, 1);
}

/* ---- the flat model -------------------------------------------------------------------- */

unsigned int listing_at(const struct listing *listing, unsigned int point, unsigned int *first)
{
	unsigned int i = 0;

	while (listing->range[i].last < point)
		i++;
	*first = i ? listing->range[i - 1].last + 1u : 0;
	return i;
}

/* Appends a range; gaps join. */
static void append(struct listing *listing, unsigned int last, void *entry)
{
	unsigned int n = listing->ranges;

	if (!entry && n && !listing->range[n - 1].entry)
		n--;
	listing->range[n].last = (unsigned char)last;
	listing->range[n].entry = entry;
	listing->ranges = n + 1;
}

void listing_store(struct listing *listing, unsigned int first, unsigned int last, void *entry)
{
	const struct listing old = *listing;
	unsigned int i, begin = 0;

	listing->ranges = 0;
	for (i = 0; i < old.ranges; begin = old.range[i].last + 1u, i++) {
		if (begin < first)
			append(listing, old.range[i].last < first ? old.range[i].last : first - 1,
			       old.range[i].entry);
		if (begin <= last && last <= old.range[i].last)
			append(listing, last, entry);
		if (old.range[i].last > last)
			append(listing, old.range[i].last, old.range[i].entry);
	}
}

bool listing_equal(const struct listing *a, const struct listing *b)
{
	unsigned int i;

	if (a->ranges != b->ranges)
		return false;
	for (i = 0; i < a->ranges; i++)
		if (a->range[i].last != b->range[i].last || a->range[i].entry != b->range[i].entry)
			return false;
	return true;
}
