/* SPDX-License-Identifier: MIT */
/*
 * writes.c - one write on one shape, with every check there is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "grace.h"
#include "node.h"
#include "step.h"
#include "watch.h"

#define NODES_MAX 64

/* A copy of a whole tree, as readers that are still in the old nodes may see it. */
struct past {
	void *root;
	unsigned int flags;
	unsigned int nodes;
	unsigned long live;
	struct {
		struct maple_enode *enode;
		struct mt_node copy;
	} node[NODES_MAX];
};

static bool record_node(struct past *past, struct maple_enode *enode)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i;

	if (past->nodes == NODES_MAX)
		return false;
	past->node[past->nodes].enode = enode;
	memcpy(&past->node[past->nodes++].copy, node, sizeof(*node));
	if (kind == KIND_LEAF)
		return true;
	for (i = 0; i <= node_end(node, kind); i++)
		if (!record_node(past, slot_child(node, kind, i)))
			return false;
	return true;
}

static bool record(struct past *past, const struct maple_tree *mt, struct heap *heap)
{
	past->root = mt->ma_root;
	past->flags = mt->ma_flags;
	past->nodes = 0;
	past->live = heap_live(heap);
	return !root_is_node(mt->ma_root) || record_node(past, mt->ma_root);
}

static const char *check_unchanged(const struct past *past, const struct maple_tree *mt,
				   struct heap *heap)
{
	unsigned int i;

	if (mt->ma_root != past->root || mt->ma_flags != past->flags || mt->ma_retired)
		return "a failed write changed the tree";
	if (heap_live(heap) != past->live)
		return "a failed write kept nodes";
	for (i = 0; i < past->nodes; i++)
		if (memcmp(enode_node(past->node[i].enode), &past->node[i].copy, NODE_BYTES))
			return "a failed write changed a node";
	return NULL;
}

static unsigned int changed_words(const struct mt_node *now, const struct mt_node *was)
{
	const size_t word = sizeof(long);
	unsigned int i, changed = 0;

	for (i = 0; i < NODE_BYTES / word; i++)
		changed += memcmp(now->bytes + i * word, was->bytes + i * word, word) != 0;
	return changed;
}

static unsigned int changed_slots(struct mt_node *now, struct mt_node *was, enum node_kind kind)
{
	unsigned int i, changed = 0;

	for (i = 0; i < kind_slots(kind); i++)
		changed += node_slots(now, kind)[i] != node_slots(was, kind)[i];
	return changed;
}

static unsigned int changed_gaps(const struct mt_node *now, const struct mt_node *was,
				 enum node_kind kind)
{
	unsigned int i, changed = 0;

	if (kind != KIND_GAPS)
		return 0;
	for (i = 0; i < GAPS_SLOTS; i++)
		changed += now->gaps.gap[i] != was->gaps.gap[i];
	return changed;
}

/* Whether @enode hangs below @root, or is it. */
static bool hangs_below(struct maple_enode *root, const struct maple_enode *enode)
{
	struct mt_node *node = enode_node(root);
	enum node_kind kind = enode_kind(root);
	unsigned int i;

	if (root == enode || kind == KIND_LEAF)
		return root == enode;
	for (i = 0; i <= node_end(node, kind); i++)
		if (hangs_below(slot_child(node, kind, i), enode))
			return true;
	return false;
}

static bool in_tree(const struct maple_tree *mt, const struct maple_enode *enode)
{
	return root_is_node(mt->ma_root) && hangs_below(mt->ma_root, enode);
}

/* Whether a leaf is unchanged, except for the mark that it has been removed from the tree. */
static bool same_but_dead(const struct mt_node *now, const struct mt_node *was)
{
	struct mt_node marked = *was;

	marked.wide.meta |= META_DEAD;
	return memcmp(now, &marked, sizeof(marked)) == 0;
}

/*
 * In RCU mode a write changes one word, the root or a slot, or one leaf, of what there was: all
 * else stays for the readers of the past. (What they see of the leaf meanwhile: watch.h.) But a
 * leaf that leaves the tree is marked.
 */
static const char *check_past(struct past *past, const struct maple_tree *mt)
{
	unsigned int i, changed = mt->ma_root != past->root;

	for (i = 0; i < past->nodes; i++) {
		struct mt_node *now = enode_node(past->node[i].enode);
		struct mt_node *was = &past->node[i].copy;
		enum node_kind kind = enode_kind(past->node[i].enode);
		unsigned int words = changed_words(now, was);
		unsigned int slots = changed_slots(now, was, kind);

		if (kind == KIND_LEAF) {
			bool left = !in_tree(mt, past->node[i].enode);

			if (left != !!(now->wide.meta & META_DEAD))
				return left ? "a leaf that has left the tree is not marked"
					    : "a leaf of the tree is marked as dead";
			changed += words && !(left && same_but_dead(now, was));
			continue;
		}
		if (words != slots + changed_gaps(now, was, kind))
			return "bounds of a published inner node were changed";
		changed += slots;
	}
	return changed <= 1 ? NULL : "several published nodes were changed";
}

static void *write_entry(const struct write *write, const struct listing *content)
{
	unsigned int first, at = write->kind == WRITE_LIKE_FIRST ? write->first : write->last;

	switch (write->kind) {
	case WRITE_ENTRY:
		return xa_mk_value(50);
	case WRITE_ZERO:
		return XA_ZERO_ENTRY;
	case WRITE_LIKE_FIRST:
	case WRITE_LIKE_LAST:
		return content->range[listing_at(content, at, &first)].entry;
	default:
		return NULL;
	}
}

/* Fails one allocation after the other, until the write would succeed; does not make that write. */
static const char *fail_each(struct world *world, struct ma_state *mas, void *entry,
			     const struct past *past)
{
	unsigned long n;
	const char *wrong;

	for (n = 1; n < 200; n++) {
		int error;

		heap_fail(&world->heap, n);
		error = mas_preallocate(mas, entry, GFP_KERNEL);
		if (!error)
			return heap_failed(&world->heap) ? "a failed allocation went unnoticed"
							 : NULL;
		world->failures++;
		if (error != -ENOMEM || mas->node != MA_ERROR(-ENOMEM) || !mas_is_err(mas))
			return "a failed preallocation does not say -ENOMEM";
		wrong = check_unchanged(past, mas->tree, &world->heap);
		if (wrong)
			return wrong;
		mas_reset(mas);
	}
	return "the write wants too many nodes";
}

/*
 * Compares a cursor that has written with one that walks there. Where no node is left the one that
 * has written is paused: it continues behind what it wrote.
 */
static const char *check_cursor(const struct ma_state *mas, unsigned long first)
{
	MA_STATE(walked, mas->tree, first, first);

	mas_walk(&walked);
	if (walked.status == ma_none)
		walked.status = ma_pause;
	if (mas->status != walked.status || mas->node != walked.node)
		return "the cursor stands on another node than it wrote";
	if (mas->status == ma_active &&
	    (mas->min != walked.min || mas->max != walked.max || mas->offset != walked.offset ||
	     mas->end != walked.end))
		return "the cursor stands at another slot than it wrote";
	return NULL;
}

static const char *store(struct world *world, struct maple_tree *mt, const struct write *write,
			 struct past *past, const struct listing *before,
			 const struct listing *after)
{
	unsigned long first = point_index(write->first);
	unsigned long last = point_last(write->last, world->points);
	void *entry = write_entry(write, before);
	const char *wrong;
	MA_STATE(mas, mt, first, last);

	wrong = fail_each(world, &mas, entry, past);
	if (wrong)
		return wrong;
	heap_deny(&world->heap);
	if (mt->ma_flags & MT_FLAGS_USE_RCU)
		watch_begin(mt, world->points, before, after);
	mas_store_prealloc(&mas, entry);
	wrong = mt->ma_flags & MT_FLAGS_USE_RCU ? watch_end() : NULL;
	if (wrong)
		return wrong;
	if (heap_allocs(&world->heap))
		return "a preallocated write asked for more";
	heap_allow(&world->heap);
	if (mas_is_err(&mas))
		return "a preallocated write failed";
	if (mt->ma_flags & MT_FLAGS_USE_RCU) {
		wrong = check_past(past, mt);
		if (wrong)
			return wrong;
	}
	grace_pass();
	return check_cursor(&mas, first);
}

static const char *check_result(struct world *world, struct maple_tree *mt,
				const struct listing *expected, struct shape *after)
{
	struct listing listing;
	const char *wrong;

	if (!mt_check(mt, &wrong))
		return wrong;
	if (!shape_take(after, &listing, mt, world->points))
		return "a bound falls on no point";
	return listing_equal(&listing, expected) ? NULL : "the content is wrong";
}

/* Erasing through a cursor, beside the store of NULL, and with its own results. */
static const char *erase(struct world *world, const struct shape *before,
			 const struct write *write, const struct listing *content,
			 const struct shape *stored)
{
	unsigned int begin, at = listing_at(content, write->first, &begin);
	struct maple_tree mt = MTREE_INIT(mt, world->flags);
	MA_STATE(mas, &mt, point_index(write->last), point_index(write->last));
	struct listing listing;
	struct shape shape;

	mt_set_allocator(&mt, &world->heap.allocator);
	if (shape_make(before, &mt))
		return "no memory";
	if (mas_erase(&mas) != content->range[at].entry)
		return "mas_erase() returned another entry";
	if (mas.index != begin || mas.last != point_last(content->range[at].last, world->points))
		return "mas_erase() reports another range";
	if (!shape_take(&shape, &listing, &mt, world->points) || shape.length != stored->length ||
	    memcmp(shape.byte, stored->byte, shape.length))
		return "mas_erase() and the store of NULL differ";
	mtree_destroy(&mt);
	grace_pass();
	return NULL;
}

const char *step_write(struct world *world, const struct shape *before,
		       const struct write *write, struct shape *after)
{
	static struct past past;
	struct maple_tree mt = MTREE_INIT(mt, world->flags);
	struct listing content, expected;
	unsigned int at, first;
	const char *wrong;

	mt_set_allocator(&mt, &world->heap.allocator);
	heap_allow(&world->heap);
	if (shape_make(before, &mt) || !record(&past, &mt, &world->heap))
		return "no memory";
	shape_take(after, &content, &mt, world->points);
	expected = content;
	listing_store(&expected, write->first, write->last, write_entry(write, &content));
	wrong = store(world, &mt, write, &past, &content, &expected);
	if (!wrong)
		wrong = check_result(world, &mt, &expected, after);
	if (wrong)
		return wrong;
	mtree_destroy(&mt);
	grace_pass();
	if (heap_live(&world->heap))
		return "nodes were lost";
	at = listing_at(&content, write->first, &first);
	if (write->kind == WRITE_GAP && first == write->first && content.range[at].entry &&
	    content.range[at].last == write->last)
		wrong = erase(world, before, write, &content, after);
	return wrong;
}
