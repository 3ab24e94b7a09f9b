/* SPDX-License-Identifier: MIT */
/*
 * family.c - one operation on trees that share nodes, with every check there is.
 */
#include "family.h"

#include <errno.h>
#include <string.h>

#include "grace.h"
#include "refs.h"
#include "retire.h"
#include "share.h"
#include "watch.h"

#define NEW_ENTRY 50 /* what is stored: no shape holds it */
#define NOBODY FAMILY_MAX

/* ---- references to entries ------------------------------------------------------------------ */

#define NUMBERS 256 /* entries are values below */

static unsigned int references[NUMBERS];
static bool too_few;

static void get(void *entry)
{
	references[xa_to_value(entry)]++;
}

static void drop(void *entry)
{
	too_few |= !references[xa_to_value(entry)]--;
}

static const struct mt_entry_ops counting = { get, drop };

/* ---- a census: every node, who refers to it, and what it holds -------------------------------- */

struct census {
	unsigned int nodes;
	struct {
		struct maple_enode *enode;
		unsigned int words;
		unsigned int trees; /* those that reach it: a bit each */
		struct mt_node copy;
	} node[SHAPE_NODES];
	unsigned int slots[NUMBERS]; /* that hold an entry */
	struct {
		void *root;
		unsigned int flags;
		unsigned int retrying;
	} tree[FAMILY_MAX];
	unsigned int references[NUMBERS];
	unsigned long live;
};

static void count_slot(struct census *c, void *entry)
{
	if (refs_counts(entry))
		c->slots[xa_to_value(entry)]++;
}

static void count_node(struct census *c, unsigned int tree, struct maple_enode *enode, bool word)
{
	struct mt_node *node = enode_node(enode);
	enum node_kind kind = enode_kind(enode);
	unsigned int i, at = 0;
	bool first;

	while (at < c->nodes && c->node[at].enode != enode)
		at++;
	first = at == c->nodes;
	if (first) {
		c->nodes++;
		assert(c->nodes <= SHAPE_NODES);
		c->node[at].enode = enode;
		c->node[at].words = c->node[at].trees = 0;
		memcpy(&c->node[at].copy, node, sizeof(*node));
	}
	c->node[at].words += word;
	c->node[at].trees |= 1u << tree;
	for (i = 0; i <= node_end(node, kind); i++)
		if (kind != KIND_LEAF)
			count_node(c, tree, slot_child(node, kind, i), first);
		else if (first)
			count_slot(c, node->wide.slot[i]);
}

static void take_census(struct census *c, struct family *f)
{
	unsigned int i;

	c->nodes = 0;
	memset(c->slots, 0, sizeof(c->slots));
	for (i = 0; i < f->trees; i++) {
		struct maple_tree *mt = &f->tree[i];

		c->tree[i].root = mt->ma_root;
		c->tree[i].flags = mt->ma_flags;
		c->tree[i].retrying = mt->ma_retrying;
		if (root_is_node(mt->ma_root))
			count_node(c, i, mt->ma_root, true);
		else
			count_slot(c, mt->ma_root);
	}
	memcpy(c->references, references, sizeof(references));
	c->live = heap_live(&f->heap);
}

/* @settled: no grace period is awaited. Otherwise what waits still counts. */
static const char *check_counts(struct family *f, const struct census *c, bool settled)
{
	unsigned int i;

	for (i = 0; i < c->nodes; i++) {
		struct maple_enode *enode = c->node[i].enode;
		unsigned long words = node_shares(enode_node(enode), enode_kind(enode)) + 1;

		if (words < c->node[i].words)
			return "a node has fewer references than words refer to it";
		if (settled && words > c->node[i].words)
			return "a node has more references than words refer to it";
	}
	for (i = 0; i < NUMBERS && f->counted; i++) {
		if (too_few || references[i] < c->slots[i])
			return "an entry has fewer references than slots hold it";
		if (settled && references[i] > c->slots[i])
			return "an entry has more references than slots hold it";
	}
	return settled && c->live != c->nodes ? "a node is in no tree, but was not freed" : NULL;
}

static const char *check_unchanged(struct family *f, const struct census *was)
{
	unsigned int i;

	for (i = 0; i < f->trees; i++)
		if (f->tree[i].ma_root != was->tree[i].root ||
		    f->tree[i].ma_flags != was->tree[i].flags ||
		    f->tree[i].ma_retrying != was->tree[i].retrying || f->tree[i].ma_retired)
			return "a failed operation changed a tree";
	for (i = 0; i < was->nodes; i++)
		if (memcmp(enode_node(was->node[i].enode), &was->node[i].copy, NODE_BYTES))
			return "a failed operation changed a node";
	if (memcmp(references, was->references, sizeof(references)))
		return "a failed operation kept references to entries";
	return heap_live(&f->heap) != was->live ? "a failed operation kept nodes" : NULL;
}

/* What other trees reach stays as it is, but for its count and the mark of a leaf. */
static const char *check_others(const struct census *was, const struct op *op)
{
	unsigned int i;

	for (i = 0; i < was->nodes; i++) {
		struct mt_node now, then = was->node[i].copy;
		enum node_kind kind = enode_kind(was->node[i].enode);

		if (!(was->node[i].trees & ~(1u << op->tree)))
			continue;
		now = *enode_node(was->node[i].enode);
		*node_meta(&now, kind) = node_end(&now, kind);
		*node_meta(&then, kind) = node_end(&then, kind);
		*shares_word(&now, kind) &= ~(~0ul << SHARES_SHIFT);
		*shares_word(&then, kind) &= ~(~0ul << SHARES_SHIFT);
		if (memcmp(&now, &then, NODE_BYTES))
			return "a node that another tree has was changed";
	}
	return NULL;
}

/*
 * No grace period has passed since @was, so the leaves that a tree without stamp has lost since are
 * marked: its readers may be there still, and nobody has them for its own.
 */
static const char *check_lost(struct family *f, const struct census *was)
{
	static struct census now;
	unsigned int i, k;

	take_census(&now, f);
	for (i = 0; i < was->nodes; i++) {
		unsigned int trees = 0;

		if (enode_kind(was->node[i].enode) != KIND_LEAF)
			continue;
		for (k = 0; k < now.nodes; k++)
			if (now.node[k].enode == was->node[i].enode)
				trees = now.node[k].trees;
		for (k = 0; k < f->trees; k++)
			if ((was->node[i].trees & ~trees) >> k & 1 &&
			    !(was->tree[k].flags & TREE_STAMPED) &&
			    !(leaf_version(enode_node(was->node[i].enode)) & META_DEAD))
				return "a leaf that has left its tree is not marked";
	}
	return NULL;
}

/* ---- trees ----------------------------------------------------------------------------------- */

void family_open(struct family *f)
{
	heap_open(&f->heap);
}

void family_close(struct family *f)
{
	heap_close(&f->heap);
}

void family_begin(struct family *f)
{
	unsigned int i;

	memset(references, 0, sizeof(references));
	too_few = false;
	heap_allow(&f->heap);
	for (i = 0; i < f->trees; i++) {
		mt_init_flags(&f->tree[i], f->flags);
		mt_set_allocator(&f->tree[i], &f->heap.allocator);
		if (f->counted)
			mt_set_entry_ops(&f->tree[i], &counting);
	}
}

const char *family_end(struct family *f)
{
	unsigned int i;

	heap_allow(&f->heap);
	for (i = 0; i < f->trees; i++)
		mtree_destroy(&f->tree[i]);
	grace_pass();
	for (i = 0; i < NUMBERS; i++)
		if (references[i])
			return "an entry is referred to when all trees are destroyed";
	return heap_live(&f->heap) ? "nodes are left when all trees are destroyed" : NULL;
}

static void take_shape(struct family *f, struct shape *shape)
{
	struct maple_tree *mt[FAMILY_MAX] = { &f->tree[0], &f->tree[1], &f->tree[2] };

	if (!shape_take_all(shape, f->content, mt, f->trees, f->points))
		shape->length = 0;
}

/* The trees are as in @shape; *@c is theirs. */
static const char *begin(struct family *f, const struct shape *shape, struct census *c)
{
	struct maple_tree *mt[FAMILY_MAX] = { &f->tree[0], &f->tree[1], &f->tree[2] };
	struct shape again;

	family_begin(f);
	if (shape_make_all(shape, mt, f->trees))
		return "no memory";
	take_shape(f, &again);
	if (again.length != shape->length || memcmp(again.byte, shape->byte, again.length))
		return "trees made from a shape have another one";
	take_census(c, f);
	if (f->counted)
		memcpy(references, c->slots, sizeof(references));
	memcpy(c->references, references, sizeof(references));
	return check_counts(f, c, true);
}

bool family_possible(const struct family *f, const struct op *op)
{
	if (op->tree >= f->trees || op->to >= f->trees)
		return false;
	if (op->kind <= OP_ERASE)
		return op->to == 0 && op->first <= op->last && op->last < f->points;
	if (op->first || op->last || mtree_empty(&f->tree[op->tree]))
		return false;
	return op->kind == OP_DESTROY ? op->to == 0
				      : op->to != op->tree && mtree_empty(&f->tree[op->to]);
}

/* ---- one operation ---------------------------------------------------------------------------- */

static void *entry_of(const struct op *op)
{
	return op->kind == OP_STORE ? xa_mk_value(NEW_ENTRY) : NULL;
}

/* What the trees should hold afterwards. */
static void expect(const struct family *f, const struct op *op, struct listing *expected)
{
	memcpy(expected, f->content, sizeof(f->content));
	if (op->kind == OP_SNAPSHOT)
		expected[op->to] = expected[op->tree];
	else if (op->kind == OP_DESTROY)
		listing_store(&expected[op->tree], 0, f->points - 1, NULL);
	else
		listing_store(&expected[op->tree], op->first, op->last, entry_of(op));
}

/* Snapshots need no memory, and destroying a tree succeeds without. */
static int carry_out(struct family *f, const struct op *op, struct ma_state *mas)
{
	struct maple_tree *mt = &f->tree[op->tree];
	int error;

	if (op->kind == OP_SNAPSHOT)
		return mtree_snapshot(mt, &f->tree[op->to], GFP_KERNEL);
	if (op->kind == OP_DESTROY) {
		mtree_destroy(mt);
		return 0;
	}
	mas_set_range(mas, point_index(op->first), point_last(op->last, f->points));
	error = mas_store_gfp(mas, entry_of(op), GFP_KERNEL);
	mas_destroy(mas);
	return error;
}

/* The result of operations: contents, invariants, counts, now and when readers have left. */
static const char *check_result(struct family *f, const struct listing *expected,
				struct shape *after)
{
	static struct census now;
	const char *wrong;
	unsigned int i;

	take_census(&now, f);
	wrong = check_counts(f, &now, false);
	if (wrong)
		return wrong;
	for (i = 0; i < f->trees; i++)
		retire_hand_over(&f->tree[i]);
	grace_pass();
	take_census(&now, f);
	wrong = check_counts(f, &now, true);
	if (wrong)
		return wrong;
	take_shape(f, after);
	if (!after->length)
		return "trees outgrew their shape";
	for (i = 0; i < f->trees; i++) {
		if (!mt_check(&f->tree[i], &wrong))
			return wrong;
		if (!listing_equal(&f->content[i], &expected[i]))
			return "the content is wrong";
	}
	return NULL;
}

/* With the first allocation refused, the second ..., until it succeeds. */
static const char *try_each(struct family *f, const struct op *op, const struct census *before)
{
	MA_STATE(mas, &f->tree[op->tree], 0, 0);
	unsigned long n;
	const char *wrong;
	int error;

	for (n = 1; n < 200; n++) {
		heap_fail(&f->heap, n);
		error = carry_out(f, op, &mas);
		if (!error)
			return heap_failed(&f->heap) && op->kind != OP_DESTROY
				       ? "a failed allocation went unnoticed" : NULL;
		f->failures++;
		if (error != -ENOMEM || !heap_failed(&f->heap))
			return "an operation failed, but not for want of memory";
		wrong = check_unchanged(f, before);
		if (wrong)
			return wrong;
		mas_reset(&mas);
	}
	return "a store wants too many nodes";
}

/* With reserved nodes alone; what reserves nothing has no memory at all. */
static const char *try_reserved(struct family *f, const struct op *op, const struct census *before)
{
	MA_STATE(mas, &f->tree[op->tree], point_index(op->first), point_last(op->last, f->points));
	unsigned long n;
	const char *wrong;
	bool reserved = op->kind > OP_ERASE;

	for (n = 1; !reserved && n < 200; n++) {
		heap_fail(&f->heap, n);
		reserved = !mas_preallocate(&mas, entry_of(op), GFP_KERNEL);
		if (reserved)
			break;
		f->failures++;
		wrong = check_unchanged(f, before);
		if (wrong)
			return wrong;
		mas_reset(&mas);
	}
	heap_deny(&f->heap);
	if (op->kind > OP_ERASE)
		return carry_out(f, op, &mas) ? "an operation failed without memory" : NULL;
	mas_store_prealloc(&mas, entry_of(op));
	if (heap_allocs(&f->heap))
		return "a preallocated write asked for more";
	return mas_is_err(&mas) ? "a preallocated write failed" : NULL;
}

/* While a reader watches a tree. */
static const char *try_watched(struct family *f, const struct op *op, unsigned int watched,
			       const struct listing *expected)
{
	MA_STATE(mas, &f->tree[op->tree], 0, 0);
	int error;
	const char *wrong;

	watch_begin(&f->tree[watched], f->points, &f->content[watched], &expected[watched]);
	error = carry_out(f, op, &mas);
	wrong = watch_end();
	return error ? "an operation failed" : wrong;
}

/* @way: 0, 1, or 2 + the tree that is watched. */
static const char *step(struct family *f, const struct shape *before, const struct op *op,
			struct shape *after, unsigned int way)
{
	static struct census was;
	struct listing expected[FAMILY_MAX], content[FAMILY_MAX];
	const char *wrong = begin(f, before, &was);

	if (wrong)
		return wrong;
	expect(f, op, expected);
	memcpy(content, f->content, sizeof(content));
	wrong = way == 0   ? try_each(f, op, &was)
		: way == 1 ? try_reserved(f, op, &was)
			   : try_watched(f, op, way - 2, expected);
	heap_allow(&f->heap);
	if (!wrong)
		wrong = check_others(&was, op);
	if (!wrong)
		wrong = check_result(f, expected, after);
	if (!wrong)
		wrong = family_end(f);
	memcpy(f->content, content, sizeof(content));
	return wrong;
}

const char *family_step(struct family *f, const struct shape *before, const struct op *op,
			struct shape *after)
{
	unsigned int way, ways = 2 + (f->flags & MT_FLAGS_USE_RCU ? f->trees : 0);
	const char *wrong = NULL;
	struct shape first;

	for (way = 0; way < ways && !wrong; way++) {
		wrong = step(f, before, op, after, way);
		if (!wrong && way && (after->length != first.length ||
				      memcmp(after->byte, first.byte, first.length)))
			return "the same operation has another result without memory";
		first = *after;
	}
	return wrong;
}

const char *family_pair(struct family *f, const struct shape *before, const struct op *one,
			const struct op *two)
{
	static struct census was, between;
	struct listing expected[FAMILY_MAX];
	const char *wrong = begin(f, before, &was);
	struct shape after;
	MA_STATE(mas, &f->tree[one->tree], 0, 0);
	MA_STATE(mas2, &f->tree[two->tree], 0, 0);

	if (wrong)
		return wrong;
	expect(f, one, expected);
	if (carry_out(f, one, &mas))
		return "an operation failed";
	if (!family_possible(f, two))
		return family_end(f);
	take_census(&between, f);
	memcpy(f->content, expected, sizeof(expected));
	expect(f, two, expected);
	if (carry_out(f, two, &mas2))
		return "an operation failed";
	wrong = check_others(&between, two);
	if (!wrong && f->flags & MT_FLAGS_USE_RCU)
		wrong = check_lost(f, &was);
	if (!wrong)
		wrong = check_result(f, expected, &after);
	return wrong ? wrong : family_end(f);
}
