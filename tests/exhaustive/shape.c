/* SPDX-License-Identifier: MIT */
/*
 * shape.c - a tree as a short string of bytes and back, and its content as a flat list.
 */
#include "shape.h"

#include <errno.h>
#include <string.h>

#include "gap.h"
#include "node.h"
#include "publish.h"

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
};

static bool put(struct taker *t, unsigned char byte)
{
	if (t->shape->length == SHAPE_MAX)
		return false;
	t->shape->byte[t->shape->length++] = byte;
	return true;
}

/* Notes a range that ends at @last. */
static bool put_range(struct taker *t, unsigned long last, void *entry)
{
	struct listing *listing = t->listing;

	if (last == ULONG_MAX)
		last = t->points - 1;
	if (last >= t->points || listing->ranges == POINTS_MAX)
		return false;
	listing->range[listing->ranges].last = (unsigned char)last;
	listing->range[listing->ranges++].entry = entry;
	return put(t, entry_class(entry));
}

static bool take_node(struct taker *t, struct maple_enode *enode, unsigned long max)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int end = node_end(node, kind);
	unsigned int i;

	if (!put(t, (unsigned char)end))
		return false;
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

bool shape_take(struct shape *shape, struct listing *listing, const struct maple_tree *mt,
		unsigned int points)
{
	struct taker t = { shape, listing, points };
	void *root = root_load(mt);

	shape->length = 0;
	listing->ranges = 0;
	if (!put(&t, (unsigned char)mt_height(mt)))
		return false;
	if (root_is_node(root))
		return take_node(&t, root, ULONG_MAX);
	return (!root || put_range(&t, 0, root)) && put_range(&t, ULONG_MAX, NULL);
}

/* ---- making ---------------------------------------------------------------------------- */

struct maker {
	const unsigned char *byte;
	struct maple_tree *mt;
};

static struct maple_enode *make_node(struct maker *m, unsigned int level, unsigned long min,
				     unsigned long max)
{
	const struct mt_allocator *alloc = m->mt->ma_alloc;
	enum node_kind kind = level ? inner_kind(m->mt) : KIND_LEAF;
	struct mt_node *node = alloc->alloc(alloc->ctx, NODE_BYTES, NODE_BYTES);
	unsigned int i, end = *m->byte++;

	if (!node)
		return NULL;
	memset(node, 0, sizeof(*node));
	for (i = 0; i < kind_slots(kind) - 1; i++)
		node->pivot[i] = i < end ? *m->byte++ : ULONG_MAX;
	node_set_end(node, kind, end);
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

int shape_make(const struct shape *shape, struct maple_tree *mt)
{
	struct maker m = { shape->byte + 1, mt };
	unsigned int height = shape->byte[0];
	void *root;

	if (height) {
		root = make_node(&m, height - 1, 0, ULONG_MAX);
		if (!root)
			return -ENOMEM;
	} else {
		root = class_entry(shape->byte[1], 0);
	}
	publish_root(mt, root, height);
	return 0;
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
