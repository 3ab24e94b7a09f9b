/* SPDX-License-Identifier: MIT */
/* write.c - perform one write: in its leaf, by a copy of the leaf, or by laying nodes out anew. */
#include "write.h"

#include <errno.h>

#include "change_leaves.h"
#include "content.h"
#include "cursor.h"
#include "expected.h"
#include "leaf_merge.h"
#include "leaf_plan.h"
#include "leaf_short.h"
#include "leaf_write.h"
#include "own.h"
#include "retire.h"
#include "retry.h"
#include "trace.h"
#include "watch.h"

/* ---- the memory that a write needs ---------------------------------------------------------- */

/* All that the write takes, if it has more to do than to change the tree's own nodes; else 0. */
static unsigned int blocks_if_shared(struct maple_tree *mt, unsigned long first,
				     unsigned long last, void *entry)
{
	struct mt_own own;

	if (!tree_is_shared(mt) && !tree_is_counted(mt))
		return 0;
	own_plan(&own, mt, first, last, entry);
	return own.total;
}

/*
 * Beside readers even a leaf that could change in place may have to be copied when the write takes
 * place: see retry.h.
 */
unsigned int write_blocks(struct maple_tree *mt, unsigned long *first, unsigned long *last,
			  void *entry)
{
	unsigned int shared = blocks_if_shared(mt, *first, *last, entry);
	unsigned long step = finger_to(mt, *first);
	enum write_kind kind = WRITE_SPAN;
	struct mt_leaf_plan p;
	struct mt_layout l;

	if (step)
		kind = leaf_plan(&p, mt, *first, *last, entry, step);
	if (kind < WRITE_LAYOUT) {
		*first = p.first;
		*last = p.last;
		if (shared)
			return shared;
		if (kind == WRITE_COPY && leaf_first_slot(&p, mt)) {
			layout_plan_before(&l, mt, &p);
			return l.blocks;
		}
		return kind == WRITE_COPY || mt_in_rcu(mt) ? retire_replace_blocks(mt) : 0;
	}
	if (kind == WRITE_LAYOUT)
		layout_plan(&l, mt, &p);
	else
		layout_plan_span(&l, mt, *first, *last, entry, step);
	*first = l.first;
	*last = l.last;
	return shared ? shared : l.blocks;
}

/* ---- writes through a cursor ---------------------------------------------------------------- */

/*
 * Puts the cursor on slot @at of @leaf, to which the tree's finger leads. @end: the leaf's last
 * slot.
 */
static ALWAYS_INLINE void stand_at(struct ma_state *mas, const struct maple_tree *mt,
				   struct mt_node *leaf, unsigned int at, unsigned int end)
{
	const struct mt_finger *finger = &mt->ma_finger;

	assert(finger->step[0] == step_make(leaf, at));
	mas->node = enode_make(leaf, KIND_LEAF);
	mas->parent = NULL; /* it may belong to another leaf */
	mas->batch = NULL;
	mas->min = finger->min;
	mas->max = finger->max;
	watch_tree(mas);
	mas->offset = (unsigned char)at;
	mas->end = (unsigned char)end;
	mas->status = ma_active;
	assert(tree_is_sound(mas->tree));
}

/* Puts the cursor on what was written, to which the tree's finger leads. */
static void stand_at_finger(struct ma_state *mas)
{
	unsigned long step = mas->tree->ma_finger.step[0];
	struct mt_node *leaf = step_node(step);

	stand_at(mas, mas->tree, leaf, step_offset(step), node_end(leaf, KIND_LEAF));
}

/*
 * After a store that left the tree without nodes. A cursor that goes on continues behind what it
 * wrote, whatever is stored there meanwhile: that is what a pause is.
 */
static void stand_rootless(struct ma_state *mas)
{
	mas->parent = NULL;
	mas->batch = NULL;
	mas->node = NULL;
	mas->status = mas->index == 0 && mas->tree->ma_root ? ma_root : ma_pause;
	assert(tree_is_sound(mas->tree));
}

/* Brings the cursor's reserve to @blocks, allocating if it @may. Returns whether it is enough. */
static bool reserve_for(struct ma_state *mas, struct pool_list *reserve, unsigned int blocks,
			bool may)
{
	*reserve = take_reserve(mas);
	if (reserve->count >= blocks ||
	    (may && retire_reserve(mas->tree, reserve, blocks)))
		return true;
	keep_reserve(mas, reserve);
	mas->reserve_wanted = blocks;
	return false;
}

/* Ends a store through a cursor that changed leaves (change_leaves.h). */
static int leaves_changed(struct ma_state *mas, enum leaves_changed result,
			  const struct pool_list *reserve, unsigned int blocks)
{
	unsigned long step = mas->tree->ma_finger.step[0];

	keep_reserve(mas, reserve);
	if (result == LEAVES_NO_MEMORY) {
		mas->reserve_wanted = blocks;
		return fail(mas, -ENOMEM);
	}
	if (!mt_height(mas->tree)) {
		mas->index = 0;
		mas->last = ULONG_MAX;
		stand_rootless(mas);
		return 0;
	}
	stand_at_finger(mas);
	mas->index = slot_first(step_node(step), step_offset(step), mas->min);
	mas->last = slot_last(step_node(step), KIND_LEAF, step_offset(step), mas->max);
	return 0;
}

static int store_by_pair(struct ma_state *mas, const struct mt_leaf_pair *g, bool may)
{
	struct pool_list reserve = take_reserve(mas);
	unsigned int blocks;
	enum leaves_changed result = change_pair(mas->tree, g, &reserve, may, &blocks);

	return leaves_changed(mas, result, &reserve, blocks);
}

/* A store that changes more than a leaf. @kind is WRITE_LAYOUT, planned from @p, or WRITE_SPAN. */
static int store_by_layout(struct ma_state *mas, enum write_kind kind, const struct mt_leaf_plan *p,
			   void *entry, unsigned long step, bool may)
{
	struct maple_tree *mt = mas->tree;
	struct pool_list reserve;
	struct mt_layout l;

	if (kind == WRITE_LAYOUT)
		layout_plan(&l, mt, p);
	else
		layout_plan_span(&l, mt, mas->index, mas->last, entry, step);
	if (!reserve_for(mas, &reserve, l.blocks, may))
		return fail(mas, -ENOMEM);
	TRACE_OP(mt, l.first, l.last, TRACE_LAYOUT);
	layout_write(&l, mt, &reserve);
	keep_reserve(mas, &reserve);
	mas->index = l.first;
	mas->last = l.last;
	if (!mt_height(mt)) {
		stand_rootless(mas);
		return 0;
	}
	stand_at_finger(mas);
	return 0;
}

/* A store that replaces the leaf by a changed copy. */
static int store_by_copy(struct ma_state *mas, const struct mt_leaf_plan *p, bool may,
			 const struct expected *expected)
{
	struct maple_tree *mt = mas->tree;
	struct pool_list reserve;
	struct mt_node *fresh;

	if (!reserve_for(mas, &reserve, retire_replace_blocks(mt), may))
		return fail(mas, -ENOMEM);
	TRACE_OP(mt, p->first, p->last, TRACE_COPY);
	fresh = pool_take(&reserve);
	leaf_copy(mt, p, fresh);
	assert(is_met(expected, mt));
	(void)expected;
	retire_node(mt, p->leaf, &reserve);
	keep_reserve(mas, &reserve);
	mas->index = p->first;
	mas->last = p->last;
	stand_at(mas, mt, fresh, plan_at(p), p->new_end);
	return 0;
}

/*
 * The same; but if the next such write could be one in place if only the leaf began earlier, then
 * together with what lies before, so that it does. That takes more memory: of a store that may not
 * allocate it is not asked.
 */
static int store_by_copy_once(struct ma_state *mas, const struct mt_leaf_plan *p, bool may,
			      const struct expected *expected)
{
	struct maple_tree *mt = mas->tree;
	struct pool_list reserve;
	struct mt_leaf_pair pair;
	struct mt_layout l;
	unsigned int blocks;
	bool paired;

	if (retrying_or_shared(mt) || !leaf_first_slot(p, mt))
		return store_by_copy(mas, p, may, expected);
	paired = leaf_pair_plan_before(&pair, mt, p);
	if (!paired)
		layout_plan_before(&l, mt, p);
	blocks = paired ? leaf_pair_blocks(&pair, mt) : l.blocks;
	if (!may && mas->reserve_count < blocks)
		return store_by_copy(mas, p, may, expected);
	if (paired)
		return store_by_pair(mas, &pair, may);
	if (!reserve_for(mas, &reserve, blocks, may))
		return fail(mas, -ENOMEM);
	TRACE_OP(mt, p->first, p->last, TRACE_LAYOUT);
	layout_write(&l, mt, &reserve);
	keep_reserve(mas, &reserve);
	mas->index = p->first;
	mas->last = p->last;
	stand_at_finger(mas);
	return 0;
}

static __attribute__((noinline)) int store_by_new_nodes(struct ma_state *mas, enum write_kind kind,
							const struct mt_leaf_plan *p,
							void *entry, unsigned long step,
							bool may, const struct expected *expected)
{
	enum leaves_changed result;
	struct mt_leaf_pair pair;
	struct pool_list reserve;
	unsigned int blocks = 0;

	if (kind == WRITE_COPY)
		return store_by_copy_once(mas, p, may, expected);
	if (kind == WRITE_SPAN)
		return leaf_pair_plan_span(&pair, mas->tree, mas->index, mas->last, entry, step)
			       ? store_by_pair(mas, &pair, may)
			       : store_by_layout(mas, kind, p, entry, step, may);
	reserve = take_reserve(mas);
	result = change_leaves(mas->tree, p, &reserve, may, &blocks);
	if (result != LEAVES_TOO_FEW)
		return leaves_changed(mas, result, &reserve, blocks);
	keep_reserve(mas, &reserve);
	return store_by_layout(mas, kind, p, entry, step, may);
}

/* Carries out @p, whose kind is @kind, and puts the cursor there. @step: its first slot. */
static ALWAYS_INLINE int store_plan(struct ma_state *mas, const struct mt_leaf_plan *p,
				    enum write_kind kind, unsigned long step, void *entry, bool may,
				    const struct expected *expected)
{
	struct maple_tree *mt = mas->tree;

	if (kind >= WRITE_COPY) {
		struct mt_leaf_plan copy = *p; /* so that *p itself may stay in registers */

		return store_by_new_nodes(mas, kind, &copy, entry, step, may, expected);
	}
	leaf_write(mt, p);
	assert(is_met(expected, mt));
	mas->index = p->first;
	mas->last = p->last;
	stand_at(mas, mt, p->leaf, plan_at(p), p->new_end);
	return 0;
}

/* A store that leaf_short() does not handle, at the slot of @step. */
static __attribute__((noinline)) int store_at(struct ma_state *mas, unsigned long step,
					      void *entry, bool may,
					      const struct expected *expected)
{
	struct mt_leaf_plan p;
	enum write_kind kind = leaf_plan(&p, mas->tree, mas->index, mas->last, entry, step);

	return store_plan(mas, &p, kind, step, entry, may, expected);
}

/*
 * Stores an entry over an entry, in exactly the range that the cursor stands on: no walk is needed,
 * and no gap and no pivot changes. Returns false if this is not such a store. A leaf that the
 * cursor found in a read-side section cannot be used: whoever held the lock then may have replaced
 * it.
 */
static __attribute__((noinline)) bool replace_here(struct ma_state *mas, void *entry, void **old)
{
	struct mt_node *leaf = enode_node(mas->node);
	unsigned int offset = mas->offset, end;
	struct leaf_writer writer;

	if (!entry || !mas->node || mas->gap_written || mas->watch != &mas->tree->ma_writes ||
	    !watch_holds(mas) || !leaf_version_lasts(leaf))
		return false;
	if (slot_first(leaf, offset, mas->min) != mas->index ||
	    slot_last(leaf, KIND_LEAF, offset, mas->max) != mas->last || !leaf->wide.slot[offset])
		return false;
	end = node_end(leaf, KIND_LEAF);
	if (end < 2) /* the tree may need no node after the store */
		return false;
	if (old)
		*old = leaf->wide.slot[offset];
	tree_changes(mas->tree);
	writer = leaf_writer_begin(leaf, 0);
	put_slot(&writer, offset, entry);
	leaf_writer_end(&writer);
	watch_tree(mas);
	mas->batch = NULL;
	return true;
}

/*
 * Allocates the blocks for a copy. They are not taken from the reserve, which later stores may
 * need.
 */
static bool get_copy(struct ma_state *mas)
{
	struct pool_list reserve = take_reserve(mas);
	bool got = retire_reserve(mas->tree, &reserve,
				  reserve.count + retire_replace_blocks(mas->tree));

	keep_reserve(mas, &reserve);
	return got;
}

/*
 * Carries out @p, planned at @step, where all nodes that change are the tree's own, without a short
 * cut. If leaves, or this one, must not be changed in place, but there is no memory for a copy, the
 * leaf is changed in place all the same: a store that needs no memory must not fail because readers
 * are slow. But a leaf whose versions are used up is always copied.
 */
static int store_own_plan(struct ma_state *mas, struct mt_leaf_plan *p, enum write_kind kind,
			  unsigned long step, void *entry, bool may)
{
	struct maple_tree *mt = mas->tree;
	struct expected expected;
	bool must, copies;
	int error;

	expect(&expected, mt, mas->index, mas->last, entry, step);
	if (kind >= WRITE_COPY)
		return store_by_new_nodes(mas, kind, p, entry, step, may, &expected);
	must = mt_in_rcu(mt) && !leaf_version_lasts(p->leaf);
	copies = must || readers_retry(mt);
	if (copies && kind != WRITE_NOTHING && (!may || get_copy(mas) || must)) {
		p->kind = WRITE_COPY;
		error = store_by_copy(mas, p, false, &expected);
		if (!error || must)
			return error;
		p->kind = kind;
	}
	if (kind != WRITE_NOTHING && !leaf_version_lasts(p->leaf))
		leaf_begin_anew(p->leaf);
	leaf_write(mt, p);
	assert(is_met(&expected, mt));
	mas->index = p->first;
	mas->last = p->last;
	stand_at(mas, mt, p->leaf, plan_at(p), p->new_end);
	return 0;
}

/* The same from the beginning. */
static int store_planned(struct ma_state *mas, void *entry, bool may)
{
	struct maple_tree *mt = mas->tree;
	unsigned long step = finger_to(mt, mas->index);
	enum write_kind kind;
	struct mt_leaf_plan p;

	if (!step)
		return store_by_layout(mas, WRITE_SPAN, NULL, entry, step, may);
	kind = leaf_plan(&p, mt, mas->index, mas->last, entry, step);
	return store_own_plan(mas, &p, kind, step, entry, may);
}

/*
 * Makes the nodes that the store is going to change the tree's own, with memory for the store
 * itself at hand, which therefore cannot fail any more. 0 or -ENOMEM.
 */
static int make_own(struct ma_state *mas, struct mt_own *own, void *entry, bool may)
{
	struct pool_list reserve;

	own_plan(own, mas->tree, mas->index, mas->last, entry);
	if (!reserve_for(mas, &reserve, own->total, may))
		return fail(mas, -ENOMEM);
	TRACE_OP(mas->tree, mas->index, mas->last, TRACE_OWN);
	own_make(own, mas->tree, &reserve);
	keep_reserve(mas, &reserve);
	return 0;
}

static void end_own(struct ma_state *mas, const struct mt_own *own)
{
	struct pool_list reserve = take_reserve(mas);

	own_end(own, mas->tree, &reserve);
	keep_reserve(mas, &reserve);
}

/*
 * Whether the store, planned in *@p then, changes one leaf alone, which is the tree's own, as mostly
 * after another store near by.
 */
static bool is_own_plan(struct maple_tree *mt, struct mt_leaf_plan *p, unsigned long first,
			unsigned long last, void *entry, unsigned long step)
{
	return step && !tree_is_counted(mt) && own_has_leaf(mt) &&
	       leaf_plan(p, mt, first, last, entry, step) < WRITE_LAYOUT;
}

/* A store in a tree with TREE_SHARED or TREE_COUNTED. */
static int store_owned(struct ma_state *mas, void *entry, bool may)
{
	unsigned long step = finger_to(mas->tree, mas->index);
	bool reserved = mas->reserve_count;
	struct mt_leaf_plan p;
	struct mt_own own;
	int error;

	if (is_own_plan(mas->tree, &p, mas->index, mas->last, entry, step))
		return store_own_plan(mas, &p, p.kind, step, entry, may);
	error = make_own(mas, &own, entry, may);
	if (!error) {
		error = store_planned(mas, entry, may);
		assert(!error);
		end_own(mas, &own);
	}
	if (!reserved)
		mas_destroy(mas);
	return error;
}

/*
 * A store for which the look at its leaf is not enough. In a snapshot the stamp is odd meanwhile,
 * so that cursors of readers keep nothing.
 */
static __attribute__((noinline, cold)) int store_slowly(struct ma_state *mas, void *entry, bool may)
{
	struct maple_tree *mt = mas->tree;
	bool stamped = tree_is_stamped(mt);
	int error;

	if (stamped)
		tree_begin_change(mt);
	if (tree_is_shared(mt) || tree_is_counted(mt))
		error = store_owned(mas, entry, may);
	else
		error = store_planned(mas, entry, may);
	if (!stamped)
		return error;
	tree_end_change(mt);
	if (mas->status == ma_active)
		watch_tree(mas);
	return error;
}

/* A store in a tree without nodes. */
static __attribute__((noinline)) int store_rootless(struct ma_state *mas, void *entry, bool may)
{
	struct pool_list reserve;
	enum leaves_changed result;

	if (tree_is_counted(mas->tree))
		return store_slowly(mas, entry, may);
	if (!root_leaf_comes(mas->tree, mas->last, entry))
		return store_by_layout(mas, WRITE_SPAN, NULL, entry, 0, may);
	reserve = take_reserve(mas);
	result = first_leaf(mas->tree, mas->index, mas->last, entry, &reserve, may);
	return leaves_changed(mas, result, &reserve, 1);
}

/* The entry at @index, to which @step leads. */
static inline void *entry_before(const struct maple_tree *mt, unsigned long step,
				 unsigned long index)
{
	if (step)
		return step_node(step)->wide.slot[step_offset(step)];
	return index ? NULL : mt->ma_root;
}

int write_store(struct ma_state *mas, void *entry, bool may, void **old)
{
	struct maple_tree *mt = mas->tree;
	unsigned long step, first = mas->index, last = mas->last;
	struct expected expected;
	unsigned int end;
	int at;

	if (mas->status == ma_active && !retrying_or_shared(mt) && replace_here(mas, entry, old))
		return 0;
	if (first > last)
		return fail(mas, -EINVAL);
	mas->gap_written = false;
	tree_changes(mt);
	step = finger_to(mt, first);
	if (old)
		*old = entry_before(mt, step, first);
	if (!step)
		return store_rootless(mas, entry, may);
	if (retrying_or_shared(mt) || !leaf_version_lasts(step_node(step)))
		return store_slowly(mas, entry, may);
	expect(&expected, mt, first, last, entry, step);
	at = leaf_short(mt, step, &first, &last, entry, &end);
	if (at < 0)
		return store_at(mas, step, entry, may, &expected);
	WORK(WRITE_SHORT);
	assert(is_met(&expected, mt));
	mas->index = first;
	mas->last = last;
	stand_at(mas, mt, step_node(step), (unsigned int)at, end);
	return 0;
}

/* Whether a store at @step, which may be 0, begins with a look at its leaf, and that is all. */
static inline bool begins_in_leaf(const struct maple_tree *mt, unsigned long step)
{
	return step && !retrying_or_shared(mt) && leaf_version_lasts(step_node(step));
}

bool write_merge(struct ma_state *mas, void *entry, mt_same_fn *same, bool may, int *error)
{
	struct maple_tree *mt = mas->tree;
	unsigned long step = finger_to(mt, mas->index);
	struct expected expected;
	struct mt_leaf_plan p;

	if (!begins_in_leaf(mt, step) ||
	    !leaf_merge(&p, mt, mas->index, mas->last, entry, same, step))
		return false;
	mas->index = p.first;
	mas->last = p.last;
	TRACE_WRITE(mas, entry);
	mas->gap_written = false;
	tree_changes(mt);
	step = step_make(p.leaf, p.low);
	expect(&expected, mt, p.first, p.last, entry, step);
	*error = store_plan(mas, &p, p.kind, step, entry, may, &expected);
	return true;
}

/* ---- the same without a cursor --------------------------------------------------------------- */

/* What leaf_short() and its parts did not do. */
static __attribute__((noinline)) int store_in_leaf(struct maple_tree *mt, unsigned long step,
						   unsigned long first, unsigned long last,
						   void *entry, bool may,
						   const struct expected *expected)
{
	MA_STATE(mas, mt, first, last);

	return store_at(&mas, step, entry, may, expected);
}

/*
 * The same of @p, a write in the leaf of the finger that may change the one beside it: its kind has
 * not been asked for yet.
 */
static int store_in_leaves(struct maple_tree *mt, const struct mt_leaf_plan *p, unsigned long step,
			   unsigned long first, unsigned long last, bool may,
			   const struct expected *expected)
{
	struct pool_list reserve = { NULL, 0 };
	enum leaves_changed result = LEAVES_TOO_FEW;
	unsigned int blocks;

	if (p->beside || needs_layout(p, mt))
		result = change_leaves(mt, p, &reserve, may, &blocks);
	if (result == LEAVES_TOO_FEW)
		return store_in_leaf(mt, step, first, last, p->entry, may, expected);
	assert(!reserve.count && tree_is_sound(mt));
	return result == LEAVES_DONE ? 0 : -ENOMEM;
}

/* An entry comes into the gap that is slot @at, and fill_gap() did not do it. */
static __attribute__((noinline)) int fill_in_leaves(struct maple_tree *mt, unsigned long step,
						    unsigned long first, unsigned long last,
						    void *entry, bool may,
						    const struct expected *expected)
{
	struct mt_node *leaf = step_node(step);
	unsigned int at = step_offset(step);
	struct mt_leaf_plan p;

	p.leaf = leaf;
	p.entry = entry;
	p.first = first;
	p.last = last;
	p.below = slot_first(leaf, at, mt->ma_finger.min) - 1;
	p.top = last_of(leaf, at, mt->ma_finger.max);
	p.kind = WRITE_LAYOUT;
	p.beside = 0;
	p.low = p.high = at;
	p.left = p.below + 1 != first;
	p.right = last != p.top;
	p.end = node_end(leaf, KIND_LEAF);
	p.new_end = p.end + p.left + p.right;
	return store_in_leaves(mt, &p, step, first, last, may, expected);
}

/* The entry that is slot @at, [@first, @last], goes, and clear_slot() did not do it. */
static __attribute__((noinline)) int clear_in_leaves(struct maple_tree *mt, unsigned long step,
						     unsigned long first, unsigned long last,
						     const struct expected *expected)
{
	struct mt_node *leaf = step_node(step);
	unsigned int at = step_offset(step);
	struct mt_leaf_plan p;

	p.leaf = leaf;
	p.entry = NULL;
	p.first = first;
	p.last = last;
	p.below = first - 1;
	p.top = last;
	p.kind = WRITE_LAYOUT;
	p.low = p.high = at;
	p.left = p.right = 0;
	p.end = node_end(leaf, KIND_LEAF);
	p.beside = join_gaps(&p, mt);
	p.new_end = p.end - (p.high - p.low);
	return store_in_leaves(mt, &p, step, first, last, true, expected);
}

static __attribute__((noinline)) int store_anywhere(struct maple_tree *mt, unsigned long first,
						    unsigned long last, void *entry, bool may)
{
	struct pool_list reserve = { NULL, 0 };
	MA_STATE(mas, mt, first, last);

	TRACE_WRITE_RANGE(mt, first, last, entry);
	if (root_leaf_comes(mt, last, entry)) {
		tree_changes(mt);
		return first_leaf(mt, first, last, entry, &reserve, may) == LEAVES_DONE ? 0 : -ENOMEM;
	}
	return write_store(&mas, entry, may, NULL);
}

int write_range(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry,
		bool may)
{
	unsigned long step = finger_to(mt, first), from = first, to = last;
	struct expected expected;
	unsigned int end;

	if (!begins_in_leaf(mt, step))
		return store_anywhere(mt, first, last, entry, may);
	TRACE_WRITE_RANGE(mt, first, last, entry);
	tree_changes(mt);
	expect(&expected, mt, first, last, entry, step);
	if (leaf_short(mt, step, &from, &to, entry, &end) < 0)
		return store_in_leaf(mt, step, first, last, entry, may, &expected);
	WORK(WRITE_SHORT);
	assert(is_met(&expected, mt));
	assert(tree_is_sound(mt));
	return 0;
}

/* Carries out @p, which takes new nodes. */
static __attribute__((noinline)) int store_by_new_nodes_of(struct maple_tree *mt,
							   const struct mt_leaf_plan *p,
							   bool may,
							   const struct expected *expected)
{
	MA_STATE(mas, mt, p->first, p->last);

	return store_by_new_nodes(&mas, p->kind, p, p->entry, step_make(p->leaf, p->low), may,
				  expected);
}

bool write_merge_range(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry,
		       mt_same_fn *same, bool may, int *error)
{
	unsigned long step = finger_to(mt, first);
	struct expected expected;
	struct mt_leaf_plan p;

	if (!begins_in_leaf(mt, step) || !leaf_merge(&p, mt, first, last, entry, same, step))
		return false;
	TRACE_WRITE_RANGE(mt, p.first, p.last, entry);
	tree_changes(mt);
	expect(&expected, mt, p.first, p.last, entry, step_make(p.leaf, p.low));
	*error = 0;
	if (p.kind >= WRITE_COPY) {
		struct mt_leaf_plan copy = p; /* so that p itself may stay in registers */

		*error = store_by_new_nodes_of(mt, &copy, may, &expected);
		return true;
	}
	leaf_write(mt, &p);
	assert(is_met(&expected, mt));
	assert(tree_is_sound(mt));
	return true;
}

/* Gaps are never adjacent, so what is free lies in a single one. */
int write_insert(struct maple_tree *mt, unsigned long first, unsigned long last, void *entry,
		 bool may)
{
	unsigned long step = finger_to(mt, first);
	struct mt_node *leaf = step_node(step);
	unsigned int at = step_offset(step), end;
	struct expected expected;

	if (step && (leaf->wide.slot[at] || last_of(leaf, at, mt->ma_finger.max) < last))
		return -EEXIST;
	if (!step && !first && mt->ma_root)
		return -EEXIST;
	if (!entry || !begins_in_leaf(mt, step))
		return store_anywhere(mt, first, last, entry, may);
	TRACE_WRITE_RANGE(mt, first, last, entry);
	tree_changes(mt);
	expect(&expected, mt, first, last, entry, step);
	end = node_end(leaf, KIND_LEAF);
	if (leaf_is_tiny(mt, leaf) ||
	    (fills_tail(mt, at, end, last)
		     ? fill_tail(mt, leaf, first, last, entry, &end)
		     : fill_gap(mt, leaf, at, first, last, entry, &end)) < 0)
		return fill_in_leaves(mt, step, first, last, entry, may, &expected);
	WORK(WRITE_SHORT);
	assert(is_met(&expected, mt));
	assert(tree_is_sound(mt));
	return 0;
}

int write_erase(struct maple_tree *mt, unsigned long index, void **old)
{
	unsigned long step = finger_to(mt, index), first, last, from, to;
	struct mt_node *leaf = step_node(step);
	unsigned int at = step_offset(step), end;
	struct expected expected;

	*old = entry_before(mt, step, index);
	if (!*old)
		return 0;
	if (!step)
		return store_anywhere(mt, index, index, NULL, true);
	from = first = first_of(leaf, at, &mt->ma_finger);
	to = last = last_of(leaf, at, mt->ma_finger.max);
	if (!begins_in_leaf(mt, step))
		return store_anywhere(mt, first, last, NULL, true);
	TRACE_WRITE_RANGE(mt, first, last, NULL);
	tree_changes(mt);
	expect(&expected, mt, first, last, NULL, step);
	end = node_end(leaf, KIND_LEAF);
	if (leaf_is_tiny(mt, leaf) || clear_slot(mt, leaf, at, &from, &to, &end) < 0)
		return clear_in_leaves(mt, step, first, last, &expected);
	WORK(WRITE_SHORT);
	assert(is_met(&expected, mt));
	assert(tree_is_sound(mt));
	return 0;
}
